"""Anthropic's messages with tools: conversations as content blocks, and streamed answers as turns."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from surefoot.models.base import FinishReason, Live, Usage
from surefoot.models.items import AssistantTurn, Item, ReasoningPart, TextPart, ToolCall, ToolResultMessage, ToolSpec
from surefoot.models.providers.messages import CONTINUE, SEPARATOR
from surefoot.models.providers.wire.turns import NO_OUTPUT, Piece, RawCall, argument_object, visible, wire_id

CACHE_MARK = {"cache_control": {"type": "ephemeral"}}
_MARKED_MESSAGES = 2
"""How many user messages at the end get a cache breakpoint: those that end this request and the one before it. The next
request reads the newer cache entry, or the older one if that is lost. With the breakpoints of the tools and the system
message, these are the four that the service allows."""


def block_messages(
    items: Iterable[Item], is_own: Callable[[AssistantTurn], bool]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The system blocks and the messages of a conversation, with cache breakpoints.

    `is_own`: whether the reasoning of a turn is sent back.
    """
    visible_items = [item for item in items if visible(item)]
    leading = 0
    while leading < len(visible_items) and visible_items[leading].role == "system":
        leading += 1
    text = SEPARATOR.join(item.content for item in visible_items[:leading])
    system = [{"type": "text", "text": text, **CACHE_MARK}] if text else []
    messages: list[dict[str, Any]] = []
    for item in visible_items[leading:]:
        if isinstance(item, AssistantTurn):
            own = is_own(item)
            _add(messages, "assistant", [block for part in item.parts if (block := _block(part, own=own))])
        elif isinstance(item, ToolResultMessage):
            _add(messages, "user", [_result(item)])
        else:
            role = "assistant" if item.role == "assistant" else "user"
            _add(messages, role, [{"type": "text", "text": item.content}])
    if not messages or messages[0]["role"] != "user":
        messages.insert(0, {"role": "user", "content": [{"type": "text", "text": CONTINUE}]})
    if messages[-1]["role"] != "user":
        messages.append({"role": "user", "content": [{"type": "text", "text": CONTINUE}]})
    for message in [message for message in messages if message["role"] == "user"][-_MARKED_MESSAGES:]:
        message["content"][-1] = {**message["content"][-1], **CACHE_MARK}
    return system, messages


def block_tools(tools: Sequence[ToolSpec]) -> list[dict[str, Any]]:
    described: list[dict[str, Any]] = [
        {"name": tool.name, "description": tool.description, "input_schema": tool.parameters} for tool in tools
    ]
    if described:
        described[-1] |= CACHE_MARK
    return described


def _add(messages: list[dict[str, Any]], role: str, blocks: list[dict[str, Any]]) -> None:
    if messages and messages[-1]["role"] == role:
        messages[-1]["content"] += blocks
    else:
        messages.append({"role": role, "content": blocks})


def _block(part: TextPart | ReasoningPart | ToolCall, *, own: bool) -> dict[str, Any]:
    if isinstance(part, ReasoningPart):
        return part.data if own else {}
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text} if part.text.strip() else {}
    return {"type": "tool_use", "id": _id(part.id), "name": part.name, "input": argument_object(part)}


def _result(item: ToolResultMessage) -> dict[str, Any]:
    text = item.text if item.text.strip() else NO_OUTPUT
    block = {"type": "tool_result", "tool_use_id": _id(item.call_id), "content": [{"type": "text", "text": text}]}
    return block if item.ok else {**block, "is_error": True}


def _id(call_id: str) -> str:
    return wire_id(call_id, r"[A-Za-z0-9_-]{1,64}", 24)


class BlockBuilder:
    """Collects the events of a streamed answer."""

    def __init__(self, live: Live) -> None:
        self.live = live
        self.started = False
        self.pieces: list[str] = []
        """The text, or the arguments of the answer tool of a plain request."""
        self.stop_reason = ""
        self.model = ""
        self.counts: dict[str, int] = {}
        self._blocks: dict[int, dict[str, Any]] = {}

    def add(self, event: Any) -> None:
        self.started = True
        if event.type == "message_start":
            self.model = event.message.model
            self._count(event.message.usage)
        elif event.type == "content_block_start":
            self._blocks[event.index] = {**event.content_block.to_dict(), "arguments": ""}
        elif event.type == "content_block_delta":
            self._add_delta(event.index, event.delta.to_dict())
        elif event.type == "message_delta":
            self.stop_reason = event.delta.stop_reason or self.stop_reason
            self._count(event.usage)

    def parts(self) -> list[Piece]:
        return [piece for _, block in sorted(self._blocks.items()) if (piece := _piece(block)) is not None]

    @property
    def usage(self) -> Usage:
        """The tokens of the answer. The service counts cached prompt tokens separately."""
        cached = self.counts.get("cache_read_input_tokens", 0)
        written = self.counts.get("cache_creation_input_tokens", 0)
        return Usage(
            prompt_tokens=self.counts.get("input_tokens", 0) + cached + written,
            output_tokens=self.counts.get("output_tokens", 0),
            cached_tokens=cached,
            cache_write_tokens=written,
        )

    def _add_delta(self, index: int, delta: dict[str, Any]) -> None:
        block = self._blocks.setdefault(index, {"type": "text", "text": "", "arguments": ""})
        kind = delta.get("type")
        if kind == "text_delta":
            block["text"] = block.get("text", "") + delta["text"]
            self.pieces.append(delta["text"])
            self.live.text(delta["text"])
        elif kind == "input_json_delta":
            block["arguments"] += delta["partial_json"]
            self.pieces.append(delta["partial_json"])
            self.live.call(index, block.get("name", ""), delta["partial_json"])
        elif kind == "thinking_delta":
            block["thinking"] = block.get("thinking", "") + delta["thinking"]
            self.live.reasoning(delta["thinking"])
        elif kind == "signature_delta":
            block["signature"] = block.get("signature", "") + delta["signature"]

    def _count(self, usage: Any) -> None:
        """Later counts are totals, so they replace earlier ones."""
        fields = usage.to_dict() if usage is not None else {}
        self.counts |= {name: value for name, value in fields.items() if isinstance(value, int)}


def _piece(block: dict[str, Any]) -> Piece | None:
    kind = block.get("type")
    if kind == "text":
        return TextPart(text=block.get("text", ""))
    if kind in ("thinking", "redacted_thinking"):
        data = {key: value for key, value in block.items() if key != "arguments"}
        return ReasoningPart(data=data, text=block.get("thinking", ""))
    if kind == "tool_use":
        import json

        # If there were no deltas, the first event has all arguments.
        arguments = block["arguments"] or (json.dumps(block["input"], ensure_ascii=False) if block.get("input") else "")
        return RawCall(id=block.get("id", ""), name=block.get("name", ""), arguments=arguments)
    return None


def finish_reason(reason: str) -> FinishReason:
    if reason in ("end_turn", "stop_sequence", "tool_use"):
        return "stop"
    return "length" if reason in ("max_tokens", "model_context_window_exceeded") else "other"
