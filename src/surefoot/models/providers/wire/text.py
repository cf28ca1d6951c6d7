"""The text protocol, for servers without tools: calls are blocks in the answer, results are user messages.

Values are written between tags instead of in JSON, so that code needs no escapes. `as_plain` turns a conversation into
plain messages that alternate strictly; `read_turn` finds the calls in the answer.
"""

import json
from typing import Any

from surefoot.models.base import ModelRequest
from surefoot.models.items import AssistantTurn, Item, Message, ReasoningPart, TextPart, ToolCall, ToolResultMessage
from surefoot.models.parsing.call_text import find_calls
from surefoot.models.parsing.thinking import without_thinking
from surefoot.models.providers.messages import alternate
from surefoot.models.providers.wire.turns import (
    NO_OUTPUT,
    Piece,
    RawCall,
    argument_object,
    build_turn,
    visible,
)

STOP = "<tool_result"
"""Where an answer is stopped: the caller writes the results, and a model that continued would make them up."""

_INSTRUCTION = """\
# Tools

You can call tools. Write a call exactly in this form, with one block for each parameter:

<tool_call>
<function=name_of_the_tool>
<parameter=name_of_the_parameter>
value
</parameter>
</function>
</tool_call>

Text values are written as they are, over several lines if needed, without quotes and without escapes. Numbers,
booleans, lists and objects are written as JSON. Several calls may follow each other. After the last call, stop: the
results come in the next message, in <tool_result> blocks. Never write a <tool_result> yourself.

The tools, with their parameters as JSON schemas:
"""


def as_plain(request: ModelRequest) -> ModelRequest:
    """The same conversation without tools, as messages of text."""
    system = _INSTRUCTION + "\n".join(_describe(request)) if request.tools and request.tool_choice != "none" else ""
    visible_items = [item for item in request.messages if visible(item)]
    names = {call.id: call.name for item in visible_items if isinstance(item, AssistantTurn) for call in item.calls}
    leading = [item for item in visible_items if item.role == "system"]
    first = len(leading) if visible_items[: len(leading)] == leading else 0
    messages = [
        *visible_items[:first],
        *([Message(role="system", content=system)] if system else []),
        *visible_items[first:],
    ]
    plain = alternate(_message(item, names) for item in messages)
    stop = (*request.stop, STOP) if system and STOP not in request.stop else request.stop
    return request.with_(messages=plain, tools=(), tool_choice="auto", stop=stop)


def read_turn(request: ModelRequest, text: str, reasoning: str, *, model: str, truncated: bool) -> AssistantTurn:
    """The turn in an answer to `as_plain(request)`."""
    answer = without_thinking(text)
    calls, rest = find_calls(answer, request.tools, fences=True) if request.tools else ((), answer)
    thought = reasoning or text[: len(text) - len(answer)]
    pieces: list[Piece] = [ReasoningPart(data={}, text=thought)] if thought.strip() else []
    pieces.append(TextPart(text=rest if calls else answer))
    for call in calls:
        arguments = (
            call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments, ensure_ascii=False)
        )
        pieces.append(RawCall(name=call.name, arguments=arguments))
    return build_turn(request, pieces, protocol="text", model=model, truncated=truncated)


def _describe(request: ModelRequest) -> list[str]:
    return [
        f"\n## {tool.name}\n{tool.description}\n{json.dumps(tool.parameters, ensure_ascii=False)}"
        for tool in request.tools
    ]


def _message(item: Item, names: dict[str, str]) -> Message:
    if isinstance(item, AssistantTurn):
        parts = [item.content.strip(), *map(_written, item.calls)]
        return Message(role="assistant", content="\n\n".join(part for part in parts if part))
    if isinstance(item, ToolResultMessage):
        name, state = names.get(item.call_id, "tool"), "" if item.ok else ' failed="true"'
        text = item.text if item.text.strip() else NO_OUTPUT
        return Message(role="user", content=f"{STOP} name={json.dumps(name)}{state}>\n{text}\n</tool_result>")
    return item


def _written(call: ToolCall) -> str:
    values = "".join(
        f"<parameter={name}>\n{_value(value)}\n</parameter>\n" for name, value in argument_object(call).items()
    )
    return f"<tool_call>\n<function={call.name}>\n{values}</function>\n</tool_call>"


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
