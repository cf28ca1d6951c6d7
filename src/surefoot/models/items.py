"""The items of a conversation: messages, the model's turns with tool calls, and the results of these calls.

`dump_item` stores an item as JSON and `load_item` reads it back. Equal items give equal bytes, so a stored conversation
renders to the same request after a restart.
"""

import json
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, TypeAdapter, model_validator

from surefoot.core.values import Value

Role = Literal["system", "user", "assistant"]
WireProtocol = Literal["chat", "responses", "messages", "text", ""]
"""The wire protocol in which a turn was received: OpenAI chat completions, OpenAI Responses, Anthropic messages, or
calls written in plain text. Empty: none, as for a scripted turn."""


def without_surrogates(value: Any) -> Any:
    """Replace lone surrogates in a text, or in every text of a JSON value.

    They cannot be written to a file, a journal or a terminal. A model may send them as `\\ud800` in JSON.
    """
    try:
        return _replaced(value)
    except RecursionError:
        # The value is nested too deeply to be serialised anyway.
        return type(value)()


def _replaced(value: Any) -> Any:
    match value:
        case str():
            return value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case list():
            return [_replaced(item) for item in value]
        case dict():
            return {_replaced(key): _replaced(item) for key, item in value.items()}
    return value


class Received(Value):
    """A part of an answer from a server. Lone surrogates in it are replaced."""

    @model_validator(mode="before")
    @classmethod
    def _sanitise(cls, values: Any) -> Any:
        return (
            {name: without_surrogates(value) for name, value in values.items()} if isinstance(values, dict) else values
        )


class Message(Value):
    """A message of the system, the user, or the assistant, without tool calls."""

    role: Role
    content: str


class TextPart(Received):
    kind: Literal["text"] = "text"
    text: str
    extra: dict[str, Any] = Field(default_factory=dict)
    """Provider-specific fields, sent back with the text to the same model over the same protocol."""


class ReasoningPart(Received):
    """Reasoning as the provider sent it. It is sent back unchanged to the same model, and dropped for any other."""

    kind: Literal["reasoning"] = "reasoning"
    data: dict[str, Any]
    """The part in the form of the turn's protocol: a block, an item, or the fields of the message."""
    text: str = ""
    """The readable reasoning or its summary, for the live view. Empty if it is encrypted."""


class ToolCall(Received):
    kind: Literal["call"] = "call"
    id: str
    name: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    """The arguments, repaired where that is safe. Empty if `problem` is set."""
    raw: str = ""
    """The arguments as the model wrote them. They are sent back only if they are valid JSON and were not repaired."""
    problem: str = ""
    """What is wrong with the call. It becomes the call's result; the call must not be executed."""
    repaired: bool = False
    """True if `arguments` or `name` differ from what the model wrote."""
    extra: dict[str, Any] = Field(default_factory=dict)
    """Provider-specific fields, sent back with the call to the same model over the same protocol."""


Part = Annotated[TextPart | ReasoningPart | ToolCall, Discriminator("kind")]


class AssistantTurn(Value):
    """One answer of the model, with its parts in the order in which they arrived."""

    role: Literal["assistant"] = "assistant"
    parts: tuple[Part, ...] = ()
    protocol: WireProtocol = ""
    model: str = ""
    """The name of the model in the request. Reasoning is sent back only if protocol and model match."""

    @property
    def content(self) -> str:
        """The visible text."""
        return "".join(part.text for part in self.parts if isinstance(part, TextPart))

    @property
    def reasoning(self) -> str:
        """The readable reasoning."""
        return "".join(part.text for part in self.parts if isinstance(part, ReasoningPart))

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        return tuple(part for part in self.parts if isinstance(part, ToolCall))


class ToolResultMessage(Value):
    """The result of one call. Every call has exactly one, after the turn that made it."""

    role: Literal["tool"] = "tool"
    call_id: str
    text: str
    ok: bool = True

    @property
    def content(self) -> str:
        return self.text


class ToolSpec(Value):
    """A tool as the model sees it."""

    name: str
    description: str
    parameters: dict[str, Any]
    """A JSON schema of type object."""


def _tag(value: Any) -> str:
    has = value.__contains__ if isinstance(value, dict) else lambda name: name in type(value).model_fields
    return "turn" if has("parts") else "result" if has("call_id") else "message"


Item = Annotated[
    Annotated[Message, Tag("message")]
    | Annotated[AssistantTurn, Tag("turn")]
    | Annotated[ToolResultMessage, Tag("result")],
    Discriminator(_tag),
]
"""One item of a request. All of them have `role` and `content`."""

_ITEM: TypeAdapter[Message | AssistantTurn | ToolResultMessage] = TypeAdapter(Item)


def dump_item(item: Item) -> bytes:
    """The canonical JSON of an item."""
    return json.dumps(item.model_dump(mode="json"), ensure_ascii=False, separators=(",", ":")).encode()


def load_item(data: bytes) -> Item:
    return _ITEM.validate_json(data)
