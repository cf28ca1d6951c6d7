"""What the engine asks of a language model, and what it gets back."""

import hashlib
import json
from collections.abc import Callable
from typing import Any, Literal, Protocol

from pydantic import Field

from surefoot.values import Value

Role = Literal["system", "user", "assistant"]
OnText = Callable[[str], None]


class Message(Value):
    role: Role
    content: str


class Usage(Value):
    prompt_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    """Prompt tokens that the server took from its cache."""

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
        )

    @property
    def total(self) -> int:
        return self.prompt_tokens + self.output_tokens


class ModelRequest(Value):
    messages: tuple[Message, ...]
    output_schema: dict[str, Any] | None = None
    """A JSON schema the answer must satisfy; servers that can are made to, others are only asked."""
    temperature: float = 0.0
    max_tokens: int = 1024
    stop: tuple[str, ...] = ()
    seed: int | None = None
    begin: str = ""
    """How the answer begins, for models that can go on from there; the reply's text has it too."""

    def fingerprint(self) -> str:
        """The same question with the same settings has the same fingerprint."""
        fields = self.model_dump(mode="json", exclude=set() if self.begin else {"begin"})
        canonical = json.dumps(fields, sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(canonical.encode()).hexdigest()


class ModelReply(Value):
    text: str
    finish_reason: Literal["stop", "length", "other"] = "stop"
    usage: Usage = Field(default_factory=Usage)
    model: str = ""
    constrained: bool = False
    """True when the server enforced the schema while decoding."""


class ModelTraits(Value):
    """What the engine needs to know to ask this model well."""

    context_tokens: int = 32_768
    inline_bodies: bool = True
    """True: one answer may carry JSON and then file bodies in fences. False: bodies are asked for one by one."""
    small: bool = False
    """True for models that lose the thread in long prompts: they get shorter ones."""
    continues: bool = False
    """True where an answer can be begun for the model, and it goes on from there."""


class LanguageModel(Protocol):
    """Anything that answers. Implementations raise `ModelError`s and never retry by themselves:
    retries are the engine's, so that the journal sees each one."""

    @property
    def name(self) -> str: ...

    @property
    def traits(self) -> ModelTraits: ...

    async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelReply:
        """Answer `request`. `on_text` is called with pieces of the answer as they come, where the server streams."""
        ...

    async def aclose(self) -> None: ...
