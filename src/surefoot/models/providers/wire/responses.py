"""OpenAI's Responses API: conversations as input items, and streamed answers as turns.

Nothing is stored at the service. Reasoning comes encrypted and is sent back, so that the model keeps its train of
thought over tool calls; chat completions would lose it.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from surefoot.models.base import Effort, FinishReason, Live, ModelRequest, Usage
from surefoot.models.items import AssistantTurn, Item, ReasoningPart, TextPart, ToolCall, ToolResultMessage
from surefoot.models.providers.families import LEVELS, nearest_effort
from surefoot.models.providers.messages import CONTINUE, SEPARATOR
from surefoot.models.providers.wire.turns import NO_OUTPUT, Piece, RawCall, visible, wire_arguments, wire_id

ENCRYPTED = "reasoning.encrypted_content"
_DROPPED = ("id", "status")
"""Fields of output items that refer to stored answers."""
_NO_ENDPOINT = re.compile(r"not found|unknown (?:url|path|endpoint|request url)|invalid url|no route|cannot post", re.I)


@dataclass
class ResponsesDialect:
    """The request fields that the service accepts for one model, learnt from its errors."""

    model: str
    efforts: tuple[Effort, ...] = ()
    supported: bool = True
    """False once the server is known to lack the endpoint. Chat completions are used then."""
    unsupported: set[str] = field(default_factory=set)
    max_output: int | None = None

    def request_fields(self, request: ModelRequest) -> dict[str, Any]:
        instructions, items = input_items(request.messages, self.model)
        reasoning = {"effort": nearest_effort(request.effort, self.efforts), "summary": "auto"}
        supported = {key: value for key, value in reasoning.items() if value and key not in self.unsupported}
        fields: dict[str, Any] = {
            "input": items,
            "store": False,
            "include": [ENCRYPTED],
            "max_output_tokens": min(request.max_tokens, self.max_output or request.max_tokens),
            "reasoning": supported if self.efforts else {},
            "prompt_cache_key": request.cache_key,
            "instructions": instructions,
        }
        if request.tools:
            fields["tools"] = [
                # If `strict` were omitted, the service would enforce the schema, and change it to do so.
                {
                    "type": "function",
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.parameters,
                    "strict": False,
                }
                for tool in request.tools
            ]
            fields |= {"tool_choice": request.tool_choice, "parallel_tool_calls": True}
        if request.output_schema is not None:
            schema = {"type": "json_schema", "name": "answer", "schema": request.output_schema, "strict": False}
            fields["text"] = {"format": schema}
        if request.temperature is not None and not self.efforts:
            fields["temperature"] = request.temperature
        return {
            key: value
            for key, value in fields.items()
            if key not in self.unsupported and (value or value is False or key == "temperature")
        }

    def learn(self, status: int, error: str, request: ModelRequest, fields: dict[str, Any]) -> bool:
        """Adapt to the error that the server answered to `fields`. True if another form of the request may succeed."""
        if status in (404, 405, 501) and "model" not in error and (status != 404 or _NO_ENDPOINT.search(error)):
            self.supported = False
            return True
        if status not in (400, 403):
            return False
        if "summary" in fields.get("reasoning", {}) and re.search(r"reasoning.?summar|'summary'", error, re.I):
            self.unsupported.add("summary")
            return True
        if "include" in fields and re.search(r"encrypted.?content", error, re.I) and "verif" not in error:
            self.unsupported.add("include")
            return True
        if fields.get("reasoning", {}).get("effort") and "reasoning" in error:
            words = re.findall(r"\b(none|minimal|low|medium|high|xhigh|max)\b", error.partition("upported values")[2])
            levels = tuple(level for level in LEVELS if level in words)
            self.unsupported |= set() if levels and levels != self.efforts else {"effort"}
            self.efforts = levels or self.efforts
            return True
        names = ("temperature", "prompt_cache_key", "parallel_tool_calls", "tool_choice")
        rejected = {name for name in names if name in fields and re.search(rf"\b{name}\b", error)}
        self.unsupported |= rejected
        return bool(rejected)


def input_items(items: Iterable[Item], model: str) -> tuple[str, list[dict[str, Any]]]:
    """The instructions, from the leading system messages, and the items after them."""
    visible_items = [item for item in items if visible(item)]
    leading = 0
    while leading < len(visible_items) and visible_items[leading].role == "system":
        leading += 1
    rendered: list[dict[str, Any]] = []
    for item in visible_items[leading:]:
        if isinstance(item, AssistantTurn):
            own = item.protocol == "responses" and item.model == model
            rendered += [entry for part in item.parts if (entry := _part(part, own=own))]
        elif isinstance(item, ToolResultMessage):
            output = item.text if item.text.strip() else NO_OUTPUT
            rendered.append({"type": "function_call_output", "call_id": _id(item.call_id), "output": output})
        elif item.role == "assistant":
            rendered.append(_assistant_message(item.content, {}))
        else:
            role = "developer" if item.role == "system" else "user"
            content = [{"type": "input_text", "text": item.content}]
            rendered.append({"type": "message", "role": role, "content": content})
    if not rendered:
        rendered.append({"type": "message", "role": "user", "content": [{"type": "input_text", "text": CONTINUE}]})
    return SEPARATOR.join(item.content for item in visible_items[:leading]), rendered


def _part(part: TextPart | ReasoningPart | ToolCall, *, own: bool) -> dict[str, Any]:
    if isinstance(part, ReasoningPart):
        return part.data if own else {}
    if isinstance(part, TextPart):
        return _assistant_message(part.text, part.extra if own else {}) if part.text.strip() else {}
    arguments = wire_arguments(part)
    return {"type": "function_call", "call_id": _id(part.id), "name": part.name, "arguments": arguments}


def _assistant_message(text: str, extra: dict[str, Any]) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}], **extra}


def _id(call_id: str) -> str:
    return wire_id(call_id, r".{1,64}", 24)


class ResponsesBuilder:
    """Collects the events of a streamed answer. Items are sent whole when they end; deltas are for the live view."""

    def __init__(self, live: Live) -> None:
        self.live = live
        self.started = False
        self.model = ""
        self.usage = Usage()
        self.finish: FinishReason | None = None
        self.error: dict[str, Any] | None = None
        self._items: dict[int, dict[str, Any]] = {}
        self._names: dict[int, str] = {}

    def add(self, event: Any) -> None:
        self.started = True
        kind = event.type
        if kind == "response.output_text.delta":
            self.live.text(event.delta)
        elif kind in ("response.reasoning_summary_text.delta", "response.reasoning_text.delta"):
            self.live.reasoning(event.delta)
        elif kind == "response.output_item.added":
            self._names[event.output_index] = getattr(event.item, "name", "") or ""
        elif kind == "response.function_call_arguments.delta":
            self.live.call(event.output_index, self._names.get(event.output_index, ""), event.delta)
        elif kind == "response.output_item.done":
            self._items[event.output_index] = event.item.to_dict()
        elif kind == "error":
            self.error = event.to_dict()
        elif kind in ("response.completed", "response.incomplete", "response.failed"):
            self._end(event.response.to_dict())

    @property
    def ended(self) -> bool:
        return self.finish is not None or self.error is not None

    def parts(self) -> list[Piece]:
        return [piece for _, item in sorted(self._items.items()) if (piece := _piece(item)) is not None]

    def _end(self, response: dict[str, Any]) -> None:
        self.model = response.get("model") or self.model
        self.usage = _usage(response.get("usage") or {})
        if response.get("status") == "failed":
            self.error = response.get("error") or {"message": "the answer failed"}
            return
        reason = (response.get("incomplete_details") or {}).get("reason")
        self.finish = "stop" if not reason else "length" if reason == "max_output_tokens" else "other"
        if not self._items:
            self._items = dict(enumerate(response.get("output") or ()))


def _piece(item: dict[str, Any]) -> Piece | None:
    kind = item.get("type")
    if kind == "reasoning":
        texts = [part.get("text", "") for key in ("summary", "content") for part in item.get(key) or ()]
        data = {key: value for key, value in item.items() if key not in _DROPPED and value is not None}
        # The service knows an item only by its encrypted content.
        return ReasoningPart(data=data if data.get("encrypted_content") else {}, text="\n\n".join(texts))
    if kind == "message":
        texts = [part.get("text") or part.get("refusal") or "" for part in item.get("content") or ()]
        phase = item.get("phase")
        return TextPart(text="".join(texts), extra={"phase": phase} if phase else {})
    if kind == "function_call":
        return RawCall(id=item.get("call_id") or "", name=item.get("name") or "", arguments=item.get("arguments") or "")
    return None


def _usage(usage: dict[str, Any]) -> Usage:
    read = usage.get("input_tokens_details") or {}
    written = usage.get("output_tokens_details") or {}
    return Usage(
        prompt_tokens=usage.get("input_tokens") or 0,
        output_tokens=usage.get("output_tokens") or 0,
        cached_tokens=read.get("cached_tokens") or 0,
        cache_write_tokens=read.get("cache_write_tokens") or 0,
        reasoning_tokens=written.get("reasoning_tokens") or 0,
    )
