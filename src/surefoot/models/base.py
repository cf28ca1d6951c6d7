"""The interface of a language model: requests, replies, traits and the `LanguageModel` protocol."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from pydantic import Field, field_validator

from surefoot.core.values import Value
from surefoot.models.items import AssistantTurn, Item, TextPart, ToolCall, ToolSpec, WireProtocol, without_surrogates
from surefoot.models.items import Message as Message
from surefoot.models.items import Role as Role

OnText = Callable[[str], None]
OnCall = Callable[[int, str, str], None]
"""Called with the position of a call in the answer, its name as far as received, and a piece of its arguments."""

Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
"""How much a model reasons, in ascending order. A provider uses the nearest level that the model has."""
FinishReason = Literal["stop", "length", "tool_calls", "other"]

MAX_OUTPUT_TOKENS = 32_000
"""No answer may be longer than this, whatever the model allows."""

MIN_CONVERSATION_TOKENS = 12_000
"""A conversation with tools needs a context of at least this size."""


def _ignore(*_: object) -> None:
    pass


@dataclass(frozen=True)
class Live:
    """Receives the parts of an answer while it is written.

    It can be called like a plain function for text, so it is passed as `on_text` to any model. Models that stream
    reasoning and calls use its other functions.
    """

    text: OnText = _ignore
    reasoning: OnText = _ignore
    call: OnCall = _ignore

    def __call__(self, piece: str) -> None:
        self.text(piece)

    @staticmethod
    def of(on_text: OnText | None) -> "Live":
        """`on_text` itself if it is a `Live`, else one that passes on the text alone."""
        if isinstance(on_text, Live):
            return on_text
        return Live() if on_text is None else Live(text=on_text)


class Usage(Value):
    prompt_tokens: int = 0
    """All prompt tokens, including those read from the cache and written to it."""
    output_tokens: int = 0
    """All tokens of the answer, including its reasoning."""
    cached_tokens: int = 0
    """Prompt tokens that the server read from its cache."""
    cache_write_tokens: int = 0
    """Prompt tokens that the server wrote to its cache, if it reports them."""
    reasoning_tokens: int = 0
    """Output tokens that the model spent on reasoning, if the server reports them. For programs that call a model
    themselves: a run records only `output_tokens`, which include these."""

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(**{name: getattr(self, name) + getattr(other, name) for name in Usage.model_fields})

    @property
    def total(self) -> int:
        return self.prompt_tokens + self.output_tokens


class ModelRequest(Value):
    messages: tuple[Item, ...]
    output_schema: dict[str, Any] | None = None
    """A JSON schema for the answer. Enforced where the server supports that, else only stated in the prompt."""
    temperature: float | None = 0.0
    """None: the model's own default."""
    max_tokens: int = 1024
    stop: tuple[str, ...] = ()
    seed: int | None = None
    begin: str = ""
    """The beginning of the answer, for models that can continue it. The text of the reply includes it."""
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: Literal["auto", "required", "none"] = "auto"
    """Whether the model may, must or must not call a tool. Where a server refuses "required", "auto" is sent."""
    effort: Effort | None = None
    """How much the model should reason. None: the model's own default."""
    cache_key: str = ""
    """Equal for requests that share a prefix, for servers that route requests to their cache by such a key."""

    def fingerprint(self) -> str:
        """A hash of the messages and settings; equal requests have equal fingerprints.

        Fields that were added later count only if they are set, so that older recordings stay valid. The cache key
        does not count: it differs in every run and has no effect on the answer.
        """
        defaults = {name: ModelRequest.model_fields[name].default for name in _LATER_FIELDS}
        unset = {"cache_key", *(name for name, default in defaults.items() if getattr(self, name) == default)}
        fields = self.model_dump(mode="json", exclude=unset)
        canonical = json.dumps(fields, sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(canonical.encode()).hexdigest()


_LATER_FIELDS = ("begin", "tools", "tool_choice", "effort")


class ModelReply(Value):
    text: str
    """The visible text, without reasoning and calls."""
    finish_reason: FinishReason = "stop"
    """"tool_calls" if and only if there are calls and the answer is complete."""
    usage: Usage = Field(default_factory=Usage)
    model: str = ""
    constrained: bool = False
    """True if the server enforced the schema while decoding. For programs that call a model themselves: a run reads
    every answer as if it had not."""
    turn: AssistantTurn | None = None
    """The answer as an item for the next request. Set if the request had tools or was a conversation."""

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        return self.turn.calls if self.turn else ()

    def as_turn(self) -> AssistantTurn:
        """The answer as an item for the next request, even if the model does not support tools."""
        return self.turn or AssistantTurn(parts=(TextPart(text=self.text),) if self.text else (), model=self.model)

    _valid_text = field_validator("text", "model", mode="before")(without_surrogates)


class ModelTraits(Value):
    """The properties of a model that determine how it is prompted."""

    context_tokens: int = 32_768
    context_assumed: bool = Field(default=False, exclude=True)
    """True if `context_tokens` is a default, because neither settings, server nor the model's name give the size."""
    inline_bodies: bool = True
    """True: an answer may contain JSON followed by file bodies in fences. False: each body is requested separately."""
    small: bool = False
    """True for models that need short prompts."""
    continues: bool = False
    """True if the model can continue an answer that was begun for it."""
    tools: Literal["native", "text", "none"] = "none"
    """How tools are called: by the server's own protocol, by blocks in the text, or not at all. A client with "native"
    or "text" accepts requests with tools and returns turns."""
    max_output_tokens: int | None = None
    """The longest answer that the model can write. None: unknown."""
    efforts: tuple[Effort, ...] = ()
    """The levels of reasoning that the model accepts. Empty: the effort is not sent."""
    effort: Effort | None = None
    """The level that the user configured. None: the strategy decides."""
    edit_format: Literal["edit_file", "apply_patch"] = "edit_file"
    """The edit format that the model was trained on."""
    protocol: WireProtocol = ""
    """The wire protocol of the client."""

    @property
    def is_narrow(self) -> bool:
        """Whether the context is too small for a conversation: the list of tools alone would take a third of it."""
        return self.context_tokens < MIN_CONVERSATION_TOKENS

    @property
    def output_limit(self) -> int:
        """The longest answer in a conversation, in tokens. Without a known limit, a quarter of the context."""
        return min(self.max_output_tokens or max(self.context_tokens // 4, 1024), MAX_OUTPUT_TOKENS)


def secrets_of(model: object) -> dict[str, str]:
    """The secrets of a model's client, by name: its API key, wherever it came from, and the password of its address."""
    inner = getattr(model, "inner", None)
    secrets: dict[str, str] = getattr(model, "secrets", {}) if inner is None else secrets_of(inner)
    return secrets


class LanguageModel(Protocol):
    """A language model.

    Implementations raise `ModelError`s and never retry: the engine does, so that every retry is in the journal.
    """

    @property
    def name(self) -> str: ...

    @property
    def traits(self) -> ModelTraits: ...

    async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelReply:
        """Answer `request`. `on_text` is called with each piece of the text as it is streamed. If it is a `Live`, a
        model that streams reasoning and calls reports these too."""
        ...

    async def aclose(self) -> None: ...
