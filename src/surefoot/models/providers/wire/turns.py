"""Functions that all wire protocols share: reading calls into a turn, and writing calls, their ids and results."""

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from surefoot.models.base import FinishReason, ModelReply, ModelRequest
from surefoot.models.items import (
    AssistantTurn,
    Item,
    Message,
    ReasoningPart,
    TextPart,
    ToolCall,
    ToolSpec,
    WireProtocol,
)
from surefoot.models.parsing.call_text import find_calls
from surefoot.models.parsing.calls import find_tool, read_call

NO_OUTPUT = "(no output)"
"""The text of an empty result: some servers refuse empty messages."""
MAX_INVALID_CHARS = 2000
"""How much of unreadable arguments is sent back."""


@dataclass
class RawCall:
    """A call as it is collected from a stream."""

    id: str = ""
    name: str = ""
    arguments: str = ""
    extra: dict[str, Any] = field(default_factory=dict)


Piece = TextPart | ReasoningPart | RawCall


def is_conversation(request: ModelRequest) -> bool:
    """Whether the request needs turns and tools. All others are sent as plain messages."""
    return bool(request.tools) or any(not isinstance(item, Message) for item in request.messages)


def build_turn(
    request: ModelRequest, pieces: Iterable[Piece], *, protocol: WireProtocol, model: str, truncated: bool
) -> AssistantTurn:
    """Build the turn of an answer. If the server returned no call, calls are looked for in the text."""
    collected = [piece for piece in pieces if not isinstance(piece, TextPart) or piece.text]
    if request.tools and not any(isinstance(piece, RawCall) for piece in collected):
        collected = _with_written_calls(collected, request.tools)
    used = used_ids(request.messages)
    parts: list[TextPart | ReasoningPart | ToolCall] = []
    for piece in collected:
        if not isinstance(piece, RawCall):
            parts.append(piece)
            continue
        call_id = unique_id(piece.id, used)
        used.add(call_id)
        parts.append(
            read_call(
                piece.name,
                piece.arguments,
                request.tools,
                call_id=call_id,
                truncated=truncated,
                extra=piece.extra,
            )
        )
    return AssistantTurn(parts=tuple(parts), protocol=protocol, model=model)


def finish_of(turn: AssistantTurn, reason: FinishReason) -> FinishReason:
    """The finish reason of a turn. With calls it is "tool_calls", whatever the server says, unless it is "length"."""
    if turn.calls:
        return "length" if reason == "length" else "tool_calls"
    return reason


def with_turn(reply: ModelReply, turn: AssistantTurn) -> ModelReply:
    return reply.model_copy(
        update={"turn": turn, "text": turn.content, "finish_reason": finish_of(turn, reply.finish_reason)}
    )


def used_ids(items: Iterable[Item]) -> set[str]:
    return {call.id for item in items if isinstance(item, AssistantTurn) for call in item.calls}


def unique_id(call_id: str, used: set[str]) -> str:
    """The id of a new call. Some servers send none, or the same in every answer."""
    if call_id and call_id not in used:
        return call_id
    stem = f"{call_id}-" if call_id else "call_"
    number = len(used) + 1
    while f"{stem}{number}" in used:
        number += 1
    return f"{stem}{number}"


def wire_id(call_id: str, pattern: str, length: int) -> str:
    """The id in a form that a provider accepts: unchanged if it matches `pattern`, else a hash of it."""
    if re.fullmatch(pattern, call_id):
        return call_id
    return hashlib.sha256(call_id.encode()).hexdigest()[:length]


def wire_arguments(call: ToolCall) -> str:
    """The arguments for the next request: as the model wrote them if they needed no repair, else as they were read.

    Servers parse them again and refuse the whole conversation if they are not valid JSON.
    """
    if call.raw.strip() and not call.problem and not call.repaired:
        return call.raw
    return json.dumps(argument_object(call), ensure_ascii=False)


def argument_object(call: ToolCall) -> dict[str, Any]:
    return {"invalid": call.raw[:MAX_INVALID_CHARS]} if call.problem and call.raw.strip() else call.arguments


def visible(item: Item) -> bool:
    """Whether an item is sent. Servers refuse empty messages, and turns that have only reasoning."""
    if isinstance(item, AssistantTurn):
        return bool(item.calls or item.content.strip())
    return not isinstance(item, Message) or bool(item.content.strip())


def _with_written_calls(pieces: list[Piece], tools: Sequence[ToolSpec]) -> list[Piece]:
    """Extract calls that the server's parser left in the text or, if there is no text, in the reasoning."""
    result: list[Piece] = []
    for piece in pieces:
        if isinstance(piece, TextPart):
            calls, rest = find_calls(piece.text, tools)
            if calls and all(find_tool(call.name, tools) for call in calls):
                result += [TextPart(text=rest, extra=piece.extra)] if rest else []
                result += [_raw(call.name, call.arguments) for call in calls]
                continue
        result.append(piece)
    if any((isinstance(piece, TextPart) and piece.text.strip()) or isinstance(piece, RawCall) for piece in result):
        return result
    for piece in pieces:
        if isinstance(piece, ReasoningPart):
            calls, _ = find_calls(piece.text, tools)
            if calls and all(find_tool(call.name, tools) for call in calls):
                return [*result, *(_raw(call.name, call.arguments) for call in calls)]
    return result


def _raw(name: str, arguments: str | dict[str, Any]) -> RawCall:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return RawCall(name=name, arguments=text)
