"""A scripted model server on loopback that speaks the wire protocols of conversations.

The same `Said` is streamed as chat completions, as Responses, or as Anthropic messages, depending on the path of the
request. For the text protocol, the calls are written into the text.
"""

import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Literal

from support.loopback import Loopback, Request, Response, event_stream, json_response, serving
from surefoot.models.base import ModelReply, ModelRequest
from surefoot.models.items import Message, ToolResultMessage, ToolSpec
from surefoot.models.providers.anthropic import Anthropic
from surefoot.models.providers.openai_compatible import OpenAICompatible

FORMS = ("chat", "responses", "messages", "text")
KEY = "sk-test-0123456789abcdefghij"

READ = ToolSpec(
    name="read_file",
    description="Reads a file.",
    parameters={
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "start": {"type": "integer"},
            "lines": {"type": "array", "items": {"type": "integer"}},
        },
        "required": ["path"],
    },
)
RUN = ToolSpec(
    name="run_command",
    description="Runs a command.",
    parameters={"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]},
)


@dataclass(frozen=True)
class Call:
    name: str
    arguments: dict[str, Any] | str
    id: str = ""

    @property
    def raw(self) -> str:
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments)


@dataclass(frozen=True)
class Said:
    """One answer. `piece` is the length of the streamed pieces; `end` is how the stream ends."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    reasoning: str = ""
    finish: Literal["", "length"] = ""
    piece: int = 7
    end: Literal["complete", "lost", "cut"] = "complete"
    usage: dict[str, Any] = field(default_factory=dict)
    reasoning_field: str = "reasoning_content"


@dataclass(frozen=True)
class Failed:
    status: int
    message: str
    headers: dict[str, str] = field(default_factory=dict)
    more: dict[str, Any] = field(default_factory=dict)


Script = Said | Failed | Callable[[Request], Said | Failed]


CALL = Said(calls=(Call("read_file", {"path": "a.py"}),), reasoning="Let me think.")


@asynccontextmanager
async def scripted(*script: Script, form: str = "chat") -> AsyncIterator[Loopback]:
    """A server that gives these answers in turn, the last one again and again."""
    answers: Iterator[Script] = iter(script)
    numbers = count(1)
    last: list[Script] = []

    def respond(request: Request) -> Response:
        if request.method == "GET":
            return json_response({"object": "list", "data": []})
        if form == "text" and "tools" in request.body:
            return json_response({"error": {"message": "this model does not support tools"}}, 400)
        last[:] = [next(answers, last[0] if last else Said(text="done"))]
        answer = last[0](request) if callable(last[0]) else last[0]
        return render(request, answer, next(numbers), form)

    async with serving(respond) as server:
        yield server


def render(request: Request, answer: Said | Failed, number: int, form: str = "chat") -> Response:
    if isinstance(answer, Failed):
        kind = {"type": "error"} if request.path.endswith("/messages") else {}
        body = {**kind, "error": {"message": answer.message, **answer.more}}
        return json_response(body, answer.status, **answer.headers)
    if form == "text":
        answer = Said(text=answer.text + "".join(map(written, answer.calls)), finish=answer.finish, end=answer.end)
    if request.path.endswith("/responses"):
        lines = list(_responses(answer, number))
    elif request.path.endswith("/messages"):
        lines = list(_messages(answer, number))
    else:
        lines = list(_chat(answer, number))
    if answer.end != "complete":
        lines = lines[: len(lines) - 3]
    return event_stream(lines, "lost" if answer.end == "lost" else "complete")


def written(call: Call) -> str:
    """A call in the text protocol."""
    values = call.arguments if isinstance(call.arguments, dict) else {"path": call.arguments}
    body = "".join(f"<parameter={name}>\n{value}\n</parameter>\n" for name, value in values.items())
    return f"\n<tool_call>\n<function={call.name}>\n{body}</function>\n</tool_call>"


def client_for(form: str, server: Loopback, model: str = "m", **more: Any) -> OpenAICompatible | Anthropic:
    if form == "messages":
        return Anthropic(model, KEY, server.address, **more)
    protocol: Literal["chat", "responses"] = "responses" if form == "responses" else "chat"
    return OpenAICompatible(f"{server.address}/v1", model, KEY, protocol=protocol, **more)


def ask(*items: Any, **more: Any) -> ModelRequest:
    """A request of a conversation; a plain string is a message of the user."""
    messages = tuple(Message(role="user", content=item) if isinstance(item, str) else item for item in items)
    return ModelRequest(messages=messages, **{"tools": (READ, RUN), "temperature": None, "max_tokens": 32_000, **more})


async def bodies(
    form: str, model: str, *script: Script, ask_for: tuple[ModelRequest, ...] = (), **client: Any
) -> tuple[list[dict[str, Any]], list[ModelReply]]:
    """Ask once for each request, or hold a conversation of one call. Returns what was sent and answered."""
    async with scripted(*script or (CALL,)) as server:
        model_client = client_for(form, server, model, **client)
        replies = []
        for request in ask_for:
            replies.append(await model_client.complete(request))
        if not ask_for:
            replies.append(await model_client.complete(ask("Fix it.", effort="high")))
            replies.append(await model_client.complete(ask(*conversation(replies[0]), effort="high")))
        await model_client.aclose()
    return server.bodies(), replies


def conversation(reply: ModelReply) -> list[Any]:
    results = [ToolResultMessage(call_id=call.id, text="x = 1") for call in reply.calls]
    return ["Fix it.", reply.as_turn(), *results]


def refusing(test: Callable[[dict[str, Any]], bool], message: str, status: int = 400) -> Script:
    """Refuses requests with some property, and answers all others."""

    def respond(request: Request) -> Said | Failed:
        return Failed(status, message) if test(request.body) else CALL

    return respond


def pieces(text: str, length: int) -> list[str]:
    return [text[start : start + length] for start in range(0, len(text), length)]


def _chat(answer: Said, number: int) -> Iterator[str]:
    def chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> str:
        choices = [{"index": 0, "delta": delta, "finish_reason": finish}]
        body = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m-2026", "choices": choices}
        return f"data: {json.dumps({**body, **more}, ensure_ascii=False)}\n\n"

    yield chunk({"role": "assistant"})
    for piece in pieces(answer.reasoning, answer.piece):
        yield chunk({answer.reasoning_field: piece})
    for piece in pieces(answer.text, answer.piece):
        yield chunk({"content": piece})
    # The deltas of several calls are interleaved; id and name come in the first only.
    parts = [pieces(call.raw, answer.piece) or [""] for call in answer.calls]
    for index, call in enumerate(answer.calls):
        function = {"name": call.name, "arguments": ""}
        head = {"index": index, "id": call.id or f"call-{number}-{index}", "type": "function", "function": function}
        yield chunk({"tool_calls": [head]})
    for position in range(max(map(len, parts), default=0)):
        for index, part in enumerate(parts):
            if position < len(part):
                yield chunk({"tool_calls": [{"index": index, "function": {"arguments": part[position]}}]})
    yield chunk({}, answer.finish or ("tool_calls" if answer.calls else "stop"))
    yield chunk({}, choices=[], usage=answer.usage or {"prompt_tokens": 11, "completion_tokens": 5})
    yield "data: [DONE]\n\n"


def _responses(answer: Said, number: int) -> Iterator[str]:
    numbers = count()

    def event(kind: str, **fields: Any) -> str:
        body = {"type": kind, "sequence_number": next(numbers), **fields}
        return f"event: {kind}\ndata: {json.dumps(body, ensure_ascii=False)}\n\n"

    output: list[dict[str, Any]] = []
    yield event("response.created", response={"id": "r", "object": "response", "status": "in_progress", "output": []})
    if answer.reasoning:
        summary = [{"type": "summary_text", "text": answer.reasoning}]
        item = {"id": f"rs_{number}", "type": "reasoning", "summary": summary, "encrypted_content": f"gAAA{number}=="}
        yield event("response.output_item.added", output_index=0, item={**item, "summary": []})
        for piece in pieces(answer.reasoning, answer.piece):
            fields = {"item_id": item["id"], "output_index": 0, "summary_index": 0, "delta": piece}
            yield event("response.reasoning_summary_text.delta", **fields)
        output.append(item)
        yield event("response.output_item.done", output_index=0, item=item)
    if answer.text:
        index = len(output)
        content = [{"type": "output_text", "text": answer.text, "annotations": []}]
        item = {"id": f"msg_{number}", "type": "message", "role": "assistant", "status": "completed"}
        item |= {"content": content, "phase": "commentary"}
        yield event("response.output_item.added", output_index=index, item={**item, "content": []})
        for piece in pieces(answer.text, answer.piece):
            fields = {"item_id": item["id"], "output_index": index, "content_index": 0, "delta": piece, "logprobs": []}
            yield event("response.output_text.delta", **fields)
        output.append(item)
        yield event("response.output_item.done", output_index=index, item=item)
    for position, call in enumerate(answer.calls):
        index = len(output)
        item = {"id": f"fc_{number}_{position}", "type": "function_call", "status": "completed", "name": call.name}
        item |= {"call_id": call.id or f"call-{number}-{position}", "arguments": call.raw}
        yield event("response.output_item.added", output_index=index, item={**item, "arguments": ""})
        for piece in pieces(call.raw, answer.piece):
            fields = {"item_id": item["id"], "output_index": index, "delta": piece}
            yield event("response.function_call_arguments.delta", **fields)
        output.append(item)
        yield event("response.output_item.done", output_index=index, item=item)
    usage = answer.usage or {"input_tokens": 11, "output_tokens": 5, "total_tokens": 16}
    response = {"id": "r", "object": "response", "model": "m-2026", "output": output, "usage": usage}
    if answer.finish:
        response |= {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
        yield event("response.incomplete", response=response)
    else:
        yield event("response.completed", response={**response, "status": "completed"})


def _messages(answer: Said, number: int) -> Iterator[str]:
    def event(kind: str, **fields: Any) -> str:
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields}, ensure_ascii=False)}\n\n"

    usage = {"input_tokens": 11, "output_tokens": 1, **answer.usage}
    message = {"id": "1", "type": "message", "role": "assistant", "model": "m-2026", "content": [], "usage": usage}
    yield event("message_start", message={**message, "stop_reason": None, "stop_sequence": None})
    indexes = count()

    def block(start: dict[str, Any], deltas: list[dict[str, Any]]) -> Iterator[str]:
        index = next(indexes)
        yield event("content_block_start", index=index, content_block=start)
        for delta in deltas:
            yield event("content_block_delta", index=index, delta=delta)
        yield event("content_block_stop", index=index)

    if answer.reasoning:
        deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(answer.reasoning, answer.piece)]
        deltas.append({"type": "signature_delta", "signature": f"EqQB{number}+/=="})
        yield from block({"type": "thinking", "thinking": "", "signature": ""}, deltas)
        yield from block({"type": "redacted_thinking", "data": f"EmwK{number}"}, [])
    if answer.text:
        deltas = [{"type": "text_delta", "text": piece} for piece in pieces(answer.text, answer.piece)]
        yield from block({"type": "text", "text": ""}, deltas)
    for position, call in enumerate(answer.calls):
        start = {"type": "tool_use", "id": call.id or f"call-{number}-{position}", "name": call.name, "input": {}}
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces(call.raw, answer.piece)]
        yield from block(start, deltas)
    reason = "max_tokens" if answer.finish else "tool_use" if answer.calls else "end_turn"
    yield event("message_delta", delta={"stop_reason": reason}, usage={"output_tokens": 5})
    yield event("message_stop")
