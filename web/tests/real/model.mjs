// A model server on loopback that speaks chat completions with tool calls and answers by a story. Everything else in a
// run is real: its process, its journal, its tools, its checks.
import { createServer } from 'node:http';

/**
 * `story` is a function of a request that returns the turn of the model: {text?, calls: [[tool, arguments]]}. It sees no more
 * than a model does, so it answers the same after a restart, a retry or a fork.
 */
export async function startModel(story, name = 'strong-1') {
  const requests = [];
  const server = createServer((request, response) => void answer(request, response));

  async function answer(request, response) {
    let body = '';
    for await (const chunk of request) body += chunk;
    if (request.method === 'GET') return json(response, 200, { object: 'list', data: [{ id: name, object: 'model' }] });
    const asked = new Talk(JSON.parse(body));
    requests.push(asked);
    return stream(response, asked, await story(asked));
  }

  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    requests,
    spec: `http://127.0.0.1:${server.address().port}/v1#${name}`,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** What a model sees of a conversation. */
export class Talk {
  constructor(body) {
    this.model = body.model;
    this.messages = body.messages;
    this.tools = (body.tools ?? []).map((tool) => tool.function.name);
    this.streamed = body.stream === true;
    this.size = JSON.stringify(body).length;
  }

  text(message) {
    return typeof message.content === 'string' ? message.content : (message.content ?? []).map((part) => part.text ?? '').join('');
  }

  /** Everything that was said to the model, in one text. */
  get said() {
    return this.messages.map((message) => this.text(message)).join('\n');
  }

  /** The words of the task. */
  get task() {
    return this.said.split('# Task\n', 2)[1]?.split('\n#', 1)[0].trim() ?? '';
  }

  /** The name of the step that the model works on; empty before the plan is accepted. */
  get step() {
    return [...this.said.matchAll(/^# Step \S+: (.*)$/gm)].at(-1)?.[1] ?? '';
  }

  /** The turns of the model since the step began. */
  get turns() {
    const from = this.messages.findLastIndex((message) => message.role !== 'assistant' && /^# Step \S+: /m.test(this.text(message)));
    return this.messages.slice(from + 1).filter((message) => message.role === 'assistant').length;
  }

  /** The last results of tools. */
  get last() {
    const from = this.messages.findLastIndex((message) => message.role === 'assistant');
    return this.messages.slice(from + 1).map((message) => this.text(message)).join('\n');
  }
}

function json(response, status, body) {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

function stream(response, asked, { text = '', calls = [] }) {
  const id = `call-${asked.messages.length}`;
  const output = text.length + JSON.stringify(calls).length;
  const chunk = (delta, finish = null, more = {}) => `data: ${JSON.stringify({ id: '1', object: 'chat.completion.chunk', created: 1, model: asked.model, choices: [{ index: 0, delta, finish_reason: finish }], ...more })}\n\n`;
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(chunk({ role: 'assistant' }));
  for (let at = 0; at < text.length; at += 40) response.write(chunk({ content: text.slice(at, at + 40) }));
  calls.forEach(([name, args], index) => {
    response.write(chunk({ tool_calls: [{ index, id: `${id}-${index}`, type: 'function', function: { name, arguments: '' } }] }));
    response.write(chunk({ tool_calls: [{ index, function: { arguments: JSON.stringify(args) } }] }));
  });
  response.write(chunk({}, calls.length > 0 ? 'tool_calls' : 'stop'));
  response.write(chunk({}, null, { choices: [], usage: { prompt_tokens: Math.ceil(asked.size / 4), completion_tokens: Math.ceil(output / 4) } }));
  response.end('data: [DONE]\n\n');
}
