"""OpenAI's chat completions with tools: conversations as messages, and streamed answers as turns."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from surefoot.models.base import FinishReason, Live, Usage
from surefoot.models.items import AssistantTurn, Item, Message, ReasoningPart, TextPart, ToolResultMessage, ToolSpec
from surefoot.models.json_schema import without_references
from surefoot.models.parsing.thinking import without_thinking
from surefoot.models.providers.families import Family
from surefoot.models.providers.messages import CONTINUE, SEPARATOR
from surefoot.models.providers.wire.turns import NO_OUTPUT, Piece, RawCall, visible, wire_arguments, wire_id

REASONING_FIELDS = ("reasoning_content", "reasoning")
"""Fields in which servers send reasoning. vLLM sends both; templates read the first."""
_ACKNOWLEDGED = "Understood."


def chat_messages(
    items: Iterable[Item], *, model: str, family: Family, fold_system: bool = False, refused: Iterable[str] = ()
) -> list[dict[str, Any]]:
    """The messages of a conversation. `refused`: message fields that this server does not accept."""
    visible_items = [item for item in items if visible(item)]
    leading = 0
    while leading < len(visible_items) and visible_items[leading].role == "system":
        leading += 1
    system = SEPARATOR.join(item.content for item in visible_items[:leading])
    messages: list[dict[str, Any]] = []
    for item in visible_items[leading:]:
        if isinstance(item, AssistantTurn):
            messages.append(_turn(item, model, family, frozenset(refused)))
        elif isinstance(item, ToolResultMessage):
            content = item.text if item.text.strip() else NO_OUTPUT
            messages.append({"role": "tool", "tool_call_id": _id(item.call_id, family), "content": content})
        elif item.role == "assistant":
            messages.append({"role": "assistant", "content": item.content})
        else:
            _add_user(messages, item.content, family)
    if not messages or messages[0]["role"] != "user":
        messages.insert(0, {"role": "user", "content": CONTINUE})
    if messages[-1]["role"] == "assistant":
        messages.append({"role": "user", "content": CONTINUE})
    if system and fold_system:
        messages[0] = {"role": "user", "content": system + SEPARATOR + messages[0]["content"]}
    elif system:
        messages.insert(0, {"role": "system", "content": system})
    return messages


def chat_tools(tools: Sequence[ToolSpec], family: Family, *, strict: bool = False) -> list[dict[str, Any]]:
    described = []
    for tool in tools:
        parameters = without_references(tool.parameters) if family.inline_references else tool.parameters
        function = {"name": tool.name, "description": tool.description, "parameters": parameters}
        described.append({"type": "function", "function": {**function, "strict": True} if strict else function})
    return described


def _turn(turn: AssistantTurn, model: str, family: Family, refused: frozenset[str]) -> dict[str, Any]:
    """A turn as a message, with its reasoning if it came from this model over this protocol."""
    own = turn.protocol == "chat" and turn.model == model
    data: dict[str, Any] = {}
    for part in turn.parts:
        if own and isinstance(part, ReasoningPart):
            data |= part.data
    text = data.pop("content_prefix", "") + turn.content
    calls = [
        {
            "id": _id(call.id, family),
            "type": "function",
            "function": {"name": call.name, "arguments": wire_arguments(call)},
            **(call.extra if own else {}),
        }
        for call in turn.calls
    ]
    message: dict[str, Any] = {"role": "assistant", "content": text if text.strip() else None}
    message |= {name: value for name, value in data.items() if name not in refused}
    if family.reasoning_required:
        message.setdefault("reasoning_content", "")
    return {**message, "tool_calls": calls} if calls else message


def _add_user(messages: list[dict[str, Any]], text: str, family: Family) -> None:
    if messages and messages[-1]["role"] == "user":
        messages[-1]["content"] += SEPARATOR + text
        return
    if family.short_ids and messages and messages[-1]["role"] == "tool":
        messages.append({"role": "assistant", "content": _ACKNOWLEDGED})
    messages.append({"role": "user", "content": text})


def _id(call_id: str, family: Family) -> str:
    if family.short_ids:
        return wire_id(call_id, r"[A-Za-z0-9]{9}", 9)
    return wire_id(call_id, r".{1,40}", 24)


class ChatBuilder:
    """Collects the chunks of a streamed answer. Servers omit fields, send null, or add their own."""

    def __init__(self, live: Live) -> None:
        self.live = live
        self.started = False
        self.pieces: list[str] = []
        self.refusal = ""
        self.finish = ""
        self.model = ""
        self.usage = Usage()
        self._reasoning: dict[str, str] = {}
        self._details: list[dict[str, Any]] = []
        self._calls: dict[int, RawCall] = {}

    def add(self, chunk: Any) -> None:
        self.started = True
        self.model = chunk.model or self.model
        for choice in (chunk.choices or ())[:1]:
            self.finish = choice.finish_reason or self.finish
            if choice.delta is None:
                continue
            self.refusal += getattr(choice.delta, "refusal", None) or ""
            self._add_reasoning(choice.delta)
            if piece := choice.delta.content:
                self.pieces.append(piece)
                self.live.text(piece)
            for call in choice.delta.tool_calls or ():
                self._add_call(call)
        fields = chunk.to_dict()
        if usage := usage_of(fields.get("usage") or {}, fields.get("timings") or {}):
            self.usage = usage

    @property
    def ended(self) -> bool:
        return bool(self.finish)

    @property
    def has_calls(self) -> bool:
        return bool(self._calls)

    @property
    def reasoning(self) -> str:
        return next((self._reasoning[name] for name in REASONING_FIELDS if name in self._reasoning), "")

    def parts(self) -> list[Piece]:
        """The pieces of the turn, in the order of the protocol: reasoning, text, calls."""
        text = "".join(self.pieces)
        answer = without_thinking(text)
        prefix = text[: len(text) - len(answer)] if answer != text else ""
        data: dict[str, Any] = {"content_prefix": prefix} if prefix else {}
        if self._details:
            data["reasoning_details"] = self._details
        elif name := next((name for name in REASONING_FIELDS if name in self._reasoning), ""):
            data[name] = self._reasoning[name]
        parts: list[Piece] = [ReasoningPart(data=data, text=self.reasoning or prefix)] if data else []
        if answer or self.refusal:
            parts.append(TextPart(text=answer or self.refusal))
        return [*parts, *self._calls.values()]

    def _add_reasoning(self, delta: Any) -> None:
        pieces = {name: getattr(delta, name, None) for name in REASONING_FIELDS}
        for name, piece in pieces.items():
            if isinstance(piece, str):
                self._reasoning[name] = self._reasoning.get(name, "") + piece
        if text := next((piece for piece in pieces.values() if piece and isinstance(piece, str)), ""):
            self.live.reasoning(text)
        for detail in getattr(delta, "reasoning_details", None) or ():
            if isinstance(detail, dict):
                _add_detail(self._details, detail)

    def _add_call(self, delta: Any) -> None:
        """Add a piece to its call, by index. Some servers send no index, or the same one for all calls of an answer."""
        function = delta.function
        name = (getattr(function, "name", None) or "") if function else ""
        index = delta.index if isinstance(delta.index, int) else max(len(self._calls) - (0 if name else 1), 0)
        known = self._calls.get(index)
        if known and delta.id and known.id and delta.id != known.id and name:
            index = max(self._calls) + 1
        elif known is None and not name and not delta.id and self._calls:
            index = max(self._calls)
        call = self._calls.setdefault(index, RawCall())
        call.id = call.id or delta.id or ""
        call.name = call.name or name
        piece = getattr(function, "arguments", None) if function else None
        text = piece if isinstance(piece, str) else json.dumps(piece, ensure_ascii=False) if piece else ""
        call.arguments += text
        call.extra |= {key: value for key, value in (delta.model_extra or {}).items() if value is not None}
        self.live.call(index, call.name, text)


def _add_detail(details: list[dict[str, Any]], detail: dict[str, Any]) -> None:
    """Append a reasoning detail of OpenRouter, or join it to the block that it continues."""
    last = details[-1] if details else {}
    same = last.get("type") == detail.get("type") and last.get("index") == detail.get("index")
    if not same or "index" not in detail:
        details.append(dict(detail))
        return
    for key, value in detail.items():
        joined = key in ("text", "summary", "data") and isinstance(last.get(key), str) and isinstance(value, str)
        if value is not None:
            last[key] = last[key] + value if joined else value


def usage_of(usage: dict[str, Any], timings: dict[str, Any]) -> Usage | None:
    """Read token counts; None if there are none. llama.cpp sends `timings`; DeepSeek renames cached tokens."""
    details = usage.get("prompt_tokens_details") or {}
    cached = details.get("cached_tokens") or usage.get("prompt_cache_hit_tokens") or timings.get("cache_n")
    prompt = usage.get("prompt_tokens") or (timings.get("prompt_n") or 0) + (timings.get("cache_n") or 0)
    output = usage.get("completion_tokens") or timings.get("predicted_n") or 0
    if not prompt and not output:
        return None
    return Usage(
        prompt_tokens=prompt,
        output_tokens=output,
        cached_tokens=cached or 0,
        cache_write_tokens=details.get("cache_write_tokens") or usage.get("cache_creation_input_tokens") or 0,
        reasoning_tokens=(usage.get("completion_tokens_details") or {}).get("reasoning_tokens") or 0,
    )


def finish_reason(reason: str) -> FinishReason:
    return "stop" if reason == "stop" else "length" if reason == "length" else "other"


def plain_messages(messages: Iterable[Message]) -> list[dict[str, Any]]:
    return [{"role": message.role, "content": message.content} for message in messages]
