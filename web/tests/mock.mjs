// A small server that speaks the protocol from fixtures, with the policy that the real one sends. For tests only.

import { createReadStream, existsSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Server } from 'socket.io';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
export const STATIC = here('../../src/surefoot/server/static');
const TYPES = { '.html': 'text/html; charset=utf-8', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml' };
export const POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self' ws:; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types svelte-trusted-html surefoot-worker";

export const fixture = (name) => JSON.parse(readFileSync(here(`../fixtures/${name}.json`), 'utf8'));

const PATCH = `--- a/adder.py\n+++ b/adder.py\n@@ -1,14 +1,15 @@\n # one\n # two\n # three\n # four\n # five\n # six\n # seven\n def add(a, b):\n-    return a - b\n+    """The sum."""\n+    return a + b\n \n # eight\n # nine\n # ten\n # eleven\n`;

/** Runs by id: {seq, rows: Map}. Commands answer questions and record themselves, so that tests can look at them. */
export async function startMock({ token = 'test-token', port = 0, policy = POLICY } = {}) {
  const runs = new Map();
  const commands = new Map();
  /** What was asked and sent, and what a test wants to be answered. */
  const control = { requests: [], sent: [], started: [], refuse: null, fail: null, talk: null, proofs: null };
  const http = createServer((request, response) => void answer(request, response));
  const io = new Server(http, { transports: ['websocket'], serveClient: false });
  const load = (name) => {
    const { end } = fixture(name);
    runs.set(end.run, { id: end.run, seq: end.seq, rows: new Map(end.rows.map((row) => [row.key, row])) });
    return end.run;
  };
  const json = (response, status, body) => {
    response.writeHead(status, { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' });
    response.end(JSON.stringify(body));
  };
  const listRows = () => [...runs.values()].map((run) => run.rows.get('run'));

  async function answer(request, response) {
    response.setHeader('Content-Security-Policy', policy);
    response.setHeader('X-Content-Type-Options', 'nosniff');
    const url = new URL(request.url, 'http://x');
    if (!url.pathname.startsWith('/api/')) return file(url.pathname, response);
    if (request.headers.authorization !== `Bearer ${token}`) return json(response, 401, { error: { code: 'unauthorized', message: 'no token', remedy: '' } });
    control.requests.push(url.pathname + url.search);
    if (control.fail?.(url.pathname)) return json(response, 500, { error: { code: 'error', message: 'it does not work', remedy: '' } });
    let body = '';
    for await (const chunk of request) body += chunk;
    const [, , what, id, part, sub] = url.pathname.split('/').map(decodeURIComponent);
    if (what === 'info') return json(response, 200, { version: '0', protocol: 1, scope: control.scope ?? 'control', cwd: '/srv/projects/adder', models: ['local', 'strong-1'], locale_hint: null });
    if (what === 'runs' && !id) {
      if (request.method === 'GET') return json(response, 200, { runs: listRows(), next: null });
      control.started.push(JSON.parse(body));
      return json(response, 202, { run: [...runs.keys()][0] });
    }
    if (what === 'stats') {
      control.asked = [...(control.asked ?? []), url.search];
      return control.stats ? json(response, 200, control.stats) : json(response, 500, { error: { code: 'error', message: 'the journal is damaged', remedy: '' } });
    }
    const run = runs.get(id);
    if (!run) return json(response, 404, { error: { code: 'unknown_run', message: `no run ${id}`, remedy: '' } });
    if (part === undefined) return json(response, 200, { run: run.id, seq: run.seq, rows: [...run.rows.values()] });
    if (part === 'diff') return json(response, 200, { files: [{ path: 'adder.py', status: 'modified', binary: false, patch: PATCH, lines: 15, truncated: false }] });
    if (part === 'plan') return json(response, 200, { plan: '[[step]]\nid = "note"\nname = "Write the change log"\n' });
    if (part === 'steps') {
      const rows = [...run.rows.values()];
      return json(response, 200, {
        step: run.rows.get(`step:${sub}`), attempts: rows.filter((row) => row.kind === 'try' && row.step === sub), actions: rows.filter((row) => row.kind === 'action' && row.step === sub),
        proofs: control.proofs?.map(({ label, hash }) => ({ label, passed: true, red_before: true, detail: '', exit_code: 0, output_hash: hash, duration_ms: 40 })) ?? [{ label: 'python3 test_adder.py', passed: true, red_before: true, detail: 'ok', exit_code: 0, output_hash: 'def', duration_ms: 40 }],
        artifacts: [{ id: 'write', kind: 'result', hash: 'abc', size: 64, summary: 'adder.py is there' }], log: '\u001b[32mok\u001b[0m <img src=x onerror=alert(1)>\nsecond line',
      });
    }
    if (part === 'blobs') return response.end(`blob ${sub}`);
    if (part === 'conversation') return json(response, 200, control.talk?.(url.searchParams.get('after')) ?? { messages: [
      { id: 'm1', role: 'user', purpose: 'step', step: 'write', text: 'Write adder.py', calls: [], result_of: null, tokens: null, at: 1794898770, truncated: 0 },
      { id: 'm2', role: 'assistant', purpose: 'step', step: 'write', text: '<b>bold?</b> I write it.', calls: [{ id: 'c1', name: 'write_file', arguments: { path: 'adder.py' } }], result_of: null, tokens: { prompt: 120, output: 40, cached: 0 }, at: 1794898771, truncated: 12 },
    ], next: null });
    if (part === 'commands') {
      const command = JSON.parse(body);
      if (control.queue) return json(response, 202, { queued: true, seq: run.seq, reason: control.queue });
      if (!commands.has(command.commandId)) {
        control.sent.push(command);
        commands.set(command.commandId, carryOut(run, command));
      }
      const result = commands.get(command.commandId);
      return json(response, result.refused ? 409 : 200, result);
    }
    return json(response, 404, { error: { code: 'unknown', message: 'unknown', remedy: '' } });
  }

  function carryOut(run, command) {
    if (control.refuse) return { refused: true, reason: control.refuse };
    const seq = run.seq + 1;
    const upserts = [];
    if (command.command === 'answer') {
      const question = run.rows.get(`question:${command.question}`);
      if (!question || question.answer !== null) return { refused: true, reason: 'it is answered already' };
      if (command.expectHash !== question.hash) return { refused: true, reason: 'the question has changed' };
      upserts.push({ ...question, answer: command.answer, answered_by: 'user' });
      const row = run.rows.get('run');
      upserts.push({ ...row, open_questions: row.open_questions - 1, status: 'running' });
    } else if (command.command === 'skip') upserts.push({ ...run.rows.get(`step:${command.step}`), status: 'skipped' });
    else if (command.command === 'pause') upserts.push({ ...run.rows.get('run'), status: 'paused' });
    push(run.id, upserts, [], seq);
    return { accepted: true, seq };
  }

  /** Change rows of a run and tell its watchers. */
  function push(id, upserts, removed = [], upto = undefined) {
    const run = runs.get(id);
    const after = run.seq;
    run.seq = upto ?? run.seq + 1;
    for (const row of upserts) run.rows.set(row.key, row);
    for (const key of removed) run.rows.delete(key);
    io.to(id).emit('run:rows', { v: 1, run: id, after, upto: run.seq, upserts, removed });
    io.emit('runs:rows', { v: 1, upserts: listRows(), removed: [] });
  }

  function file(path, response) {
    const target = join(STATIC, normalize(path === '/' ? '/index.html' : path));
    if (!target.startsWith(STATIC) || !existsSync(target) || !statSync(target).isFile()) {
      response.writeHead(404);
      return response.end();
    }
    response.writeHead(200, { 'Content-Type': TYPES[extname(target)] ?? 'application/octet-stream' });
    return createReadStream(target).pipe(response);
  }

  io.use((socket, next) => (socket.handshake.auth.token === token ? next() : next(new Error('unauthorized: the token is wrong'))));
  io.on('connection', (socket) => {
    socket.on('runs:watch', (_, ack) => {
      ack({});
      socket.emit('runs:snapshot', { v: 1, rows: listRows() });
    });
    socket.on('run:watch', ({ run: id, after }, ack) => {
      const run = runs.get(id);
      if (!run) return ack({ error: `no run ${id}` });
      ack({ head: run.seq });
      control.watched = [...(control.watched ?? []), after ?? null];
      void socket.join(id);
      if (after !== run.seq) socket.emit('run:snapshot', { v: 1, run: id, seq: run.seq, rows: [...run.rows.values()] });
    });
    socket.on('run:unwatch', ({ run: id }, ack) => {
      void socket.leave(id);
      ack?.({});
    });
  });
  const beat = setInterval(() => io.emit('beat', { at: Date.now() / 1000 }), 10_000);
  await new Promise((resolve) => http.listen(port, '127.0.0.1', resolve));
  return {
    base: `http://127.0.0.1:${http.address().port}`, port: http.address().port, token, io, runs, control, load, push,
    async close() {
      clearInterval(beat);
      io.disconnectSockets(true);
      http.closeAllConnections();
      await io.close();
    },
  };
}
