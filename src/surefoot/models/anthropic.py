"""Anthropic's own protocol, for Claude. The SDK comes with the extra `anthropic` and is imported when it is used.

A schema is asked for as structured output, which is enforced while decoding; a model that has not got it is made to
call a tool whose arguments are the answer. What a model refuses is learnt once and kept for the life of the process.
"""

import hashlib
import json
import os
import re
from dataclasses import dataclass, field
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Literal

from surefoot.errors import ModelError, ModelRejected, ModelRuntimeMissing
from surefoot.models import faults
from surefoot.models.base import Message, ModelReply, ModelRequest, ModelTraits, OnText, Usage
from surefoot.models.faults import Place
from surefoot.models.messages import alternate

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

ADDRESS = "https://api.anthropic.com"
KEY_VARIABLE = "ANTHROPIC_API_KEY"
CONNECT_SECONDS = 10.0
MOST_PHRASINGS = 4
WORTH_CACHING = 4096
"""Characters; the service caches nothing that is shorter than about a thousand tokens."""
_CACHED = {"cache_control": {"type": "ephemeral"}}
_ANSWER = "answer"
_FORMAT = re.compile(r"output_config|output_format|structured.?output|schema|grammar", re.IGNORECASE)
_NOT_THERE = re.compile(r"not support|unsupported|not permitted|not available|unknown|unexpected", re.IGNORECASE)


class Anthropic:
    def __init__(
        self,
        model: str,
        api_key: str | None = None,
        base_url: str | None = None,
        *,
        traits: ModelTraits | None = None,
        name: str | None = None,
        timeout: float = 600,
        key_variable: str = KEY_VARIABLE,
    ) -> None:
        """Without a key or an address, those in ANTHROPIC_API_KEY and ANTHROPIC_BASE_URL are taken."""
        self._place = Place(
            base_url=base_url or os.environ.get("ANTHROPIC_BASE_URL") or ADDRESS,
            model=model,
            api_key=api_key or os.environ.get(key_variable) or None,
            key_variable=key_variable,
        )
        self._habits = _known.setdefault((self._place.base_url, model), _Habits())
        self._prefix = _StablePrefix()
        self._timeout = timeout
        self._sdk: AsyncAnthropic | None = None
        self.name = name or f"anthropic/{model}"
        self.traits = traits or ModelTraits(context_tokens=200_000)

    async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelReply:
        client = self._client()
        import anthropic
        import httpx2

        system, turns = self._said(request)
        for _ in range(MOST_PHRASINGS):
            sent = {**self._habits.phrase(request), "system": system or anthropic.omit, "messages": turns}
            try:
                return await self._ask(client, sent, on_text)
            except anthropic.APIStatusError as error:
                status = error.status_code if error.status_code >= 400 else faults.status_told_in(error.body)
                if not self._habits.learn(status, faults.complaint_of(error.body), request, sent):
                    raise self._refused(status, error.body, error.response.headers) from error
            # The SDK puts what happens before the stream into its own errors, and what happens in it not.
            except (anthropic.APITimeoutError, httpx2.TimeoutException) as error:
                raise faults.timed_out(self._place, self._timeout) from error
            except (anthropic.APIConnectionError, httpx2.RequestError) as error:
                raise faults.unreachable(self._place, error) from error
        raise faults.refusal(self._place, 400, "it refuses the question however it is put")

    async def aclose(self) -> None:
        client, self._sdk = self._sdk, None
        if client is not None:
            await client.close()

    def _said(self, request: ModelRequest) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """The system message apart from the others, as this protocol wants it, with marks for the cache."""
        messages = alternate(request.messages)
        system = [
            {"type": "text", "text": message.content, **_CACHED} for message in messages[:1] if _is_system(message)
        ]
        first, *rest = messages[len(system) :]
        turns: list[dict[str, Any]] = [{"role": first.role, "content": self._prefix.blocks(first.content)}]
        return system, turns + [{"role": message.role, "content": message.content} for message in rest]

    async def _ask(self, client: "AsyncAnthropic", sent: dict[str, Any], on_text: OnText | None) -> ModelReply:
        hearing = _Hearing(on_text)
        stream = await client.messages.create(model=self._place.model, stream=True, **sent)
        async with stream:
            content_type = stream.response.headers.get("content-type", "")
            try:
                async for event in stream:
                    hearing.take(event)
            except ValueError as error:
                raise faults.cut_off(self._place, str(error)) from error
        if not hearing.heard and "event-stream" not in content_type:
            raise faults.no_stream(self._place, content_type)
        if not hearing.stop_reason:
            raise faults.cut_off(self._place)
        return ModelReply(
            text="".join(hearing.pieces),
            finish_reason=_finish_reason(hearing.stop_reason),
            usage=_usage(hearing.counts),
            model=hearing.model or self._place.model,
            constrained="output_config" in sent,
        )

    def _refused(self, status: int, body: object, headers: Any) -> ModelError:
        if faults.names_unknown_model(status, body):
            return faults.unknown_model(self._place, body, ())
        return faults.refusal(self._place, status, body, headers)

    def _client(self) -> "AsyncAnthropic":
        if self._sdk is None:
            try:
                import anthropic
            except ImportError as error:
                raise ModelRuntimeMissing(
                    "Anthropic's SDK is not installed", remedy='pip install "surefoot[anthropic]"'
                ) from error
            if not self._place.api_key:
                raise ModelRejected(f"{self._place.shown} wants an API key", remedy=f"set {self._place.key_variable}")
            self._sdk = anthropic.AsyncAnthropic(
                api_key=self._place.api_key,
                base_url=self._place.base_url,
                timeout=anthropic.Timeout(self._timeout, connect=min(self._timeout, CONNECT_SECONDS)),
                max_retries=0,
                http_client=anthropic.DefaultAsyncHttpxClient(trust_env=not faults.is_loopback(self._place.base_url)),
            )
        return self._sdk


@dataclass
class _Habits:
    """What one model takes and what it refuses."""

    temperature: bool = True
    structured: bool = True
    unfit: set[str] = field(default_factory=set)
    """Schemas that cannot be enforced while decoding."""

    def phrase(self, request: ModelRequest) -> dict[str, Any]:
        fields: dict[str, Any] = {"max_tokens": request.max_tokens}
        if self.temperature:
            # The SDK knows no such field any more, because new models have none; older ones do.
            fields["extra_body"] = {"temperature": min(request.temperature, 1.0)}
        if request.stop:
            fields["stop_sequences"] = list(request.stop)
        if request.output_schema is None:
            return fields
        if self.structured and _key(request.output_schema) not in self.unfit:
            from anthropic import transform_schema

            schema = transform_schema(request.output_schema)
            return {**fields, "output_config": {"format": {"type": "json_schema", "schema": schema}}}
        tool = {"name": _ANSWER, "description": "Gives the answer.", "input_schema": request.output_schema}
        return {**fields, "tools": [tool], "tool_choice": {"type": "tool", "name": _ANSWER}}

    def learn(self, status: int, complaint: str, request: ModelRequest, sent: dict[str, Any]) -> bool:
        """Whether a refusal of `sent` taught something, so that putting the question differently may help."""
        if status != 400:
            return False
        if self.temperature and "temperature" in complaint:
            self.temperature = False
            return True
        if request.output_schema is not None and "output_config" in sent and _FORMAT.search(complaint):
            self.structured = not _NOT_THERE.search(complaint)
            self.unfit.add(_key(request.output_schema))
            return True
        return False


_known: dict[tuple[str, str], _Habits] = {}


class _StablePrefix:
    """Finds what the prompts of a run have in common: the cache takes whole blocks, so the stable part is one."""

    def __init__(self) -> None:
        self._stable = ""
        self._last = ""

    def blocks(self, text: str) -> list[dict[str, Any]]:
        if not self._stable or not text.startswith(self._stable):
            pairs = zip(self._last.splitlines(keepends=True), text.splitlines(keepends=True), strict=False)
            stable = "".join(line for line, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
            self._stable = stable if len(stable) >= WORTH_CACHING else ""
        self._last = text
        rest = text[len(self._stable) :]
        if not self._stable or not rest.strip():
            return [{"type": "text", "text": text}]
        return [{"type": "text", "text": self._stable, **_CACHED}, {"type": "text", "text": rest}]


class _Hearing:
    """What was heard of an answer so far."""

    def __init__(self, on_text: OnText | None) -> None:
        self.on_text = on_text
        self.heard = False
        self.pieces: list[str] = []
        self.stop_reason = ""
        self.model = ""
        self.counts: dict[str, int] = {}

    def take(self, event: Any) -> None:
        self.heard = True
        if event.type == "message_start":
            self.model = event.message.model
            self._count(event.message.usage)
        elif event.type == "content_block_delta":
            # Text, or the arguments of the tool whose call is the answer. Thoughts have other names.
            piece = getattr(event.delta, "text", None) or getattr(event.delta, "partial_json", None)
            if piece:
                self.pieces.append(piece)
                if self.on_text is not None:
                    self.on_text(piece)
        elif event.type == "message_delta":
            self.stop_reason = event.delta.stop_reason or self.stop_reason
            self._count(event.usage)

    def _count(self, usage: Any) -> None:
        """Later counts are totals and take the place of earlier ones."""
        told = usage.to_dict() if usage is not None else {}
        self.counts |= {name: value for name, value in told.items() if isinstance(value, int)}


def _usage(counts: dict[str, int]) -> Usage:
    """This service counts the cached part of a prompt apart from the rest."""
    cached = counts.get("cache_read_input_tokens", 0)
    written = counts.get("cache_creation_input_tokens", 0)
    return Usage(
        prompt_tokens=counts.get("input_tokens", 0) + cached + written,
        output_tokens=counts.get("output_tokens", 0),
        cached_tokens=cached,
    )


def _finish_reason(said: str) -> Literal["stop", "length", "other"]:
    if said in ("end_turn", "stop_sequence", "tool_use"):
        return "stop"
    return "length" if said in ("max_tokens", "model_context_window_exceeded") else "other"


def _is_system(message: Message) -> bool:
    return message.role == "system"


def _key(schema: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(schema, sort_keys=True).encode()).hexdigest()
