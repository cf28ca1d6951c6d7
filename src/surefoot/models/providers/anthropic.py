"""Client for Anthropic's Messages API. The SDK comes with the extra `anthropic` and is imported on first use.

A schema is requested as structured output, which is enforced while decoding. A model without it is made to call a tool
whose arguments are the answer. Features that a model refuses are remembered for the life of the process.
"""

import os
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from surefoot.config.extras import install_remedy
from surefoot.errors import KeyRequired, ModelError, ModelRuntimeMissing
from surefoot.models.base import Live, ModelReply, ModelRequest, ModelTraits, OnText
from surefoot.models.items import Message
from surefoot.models.providers import connection_errors, errors
from surefoot.models.providers.errors import Endpoint
from surefoot.models.providers.families import family_of
from surefoot.models.providers.messages import alternate
from surefoot.models.providers.wire.blocks import CACHE_MARK, BlockBuilder, finish_reason
from surefoot.models.providers.wire.features import Features
from surefoot.models.providers.wire.turns import build_turn, is_conversation, with_turn

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

BASE_URL = "https://api.anthropic.com"
BASE_URL_VARIABLE = "ANTHROPIC_BASE_URL"
KEY_VARIABLE = "ANTHROPIC_API_KEY"
CONNECT_SECONDS = 10.0
MAX_FORMS = 6
MIN_CACHED_CHARS = 4096
"""The service caches nothing shorter than about a thousand tokens."""


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
        address_from: str = "",
    ) -> None:
        """The key and address default to ANTHROPIC_API_KEY and ANTHROPIC_BASE_URL."""
        configured = base_url or os.environ.get(BASE_URL_VARIABLE) or BASE_URL
        source = "" if configured == BASE_URL else "the program" if base_url else BASE_URL_VARIABLE
        self._endpoint = Endpoint(
            base_url=configured,
            model=model,
            api_key=api_key or os.environ.get(key_variable) or None,
            key_variable=key_variable,
            provider="anthropic",
            address_from=address_from or source,
        )
        features = Features(model=model, family=family_of(model))
        self._features = _features_of.setdefault((self._endpoint.base_url, model), features)
        self._prefix = _StablePrefix()
        self._timeout = timeout
        self._sdk: AsyncAnthropic | None = None
        self.name = name or f"anthropic/{model}"
        self.traits = traits or ModelTraits(context_tokens=200_000, tools="native", protocol="messages")

    @property
    def secrets(self) -> dict[str, str]:
        return self._endpoint.secrets

    async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelReply:
        client = self._client()
        import anthropic
        import httpx2

        live = Live.of(on_text)
        plain = {} if is_conversation(request) else self._plain_messages(request)
        for _ in range(MAX_FORMS):
            fields = {**self._features.request_fields(request), **plain}
            try:
                return await self._stream(client, request, fields, live)
            except anthropic.APIStatusError as error:
                status = error.status_code if error.status_code >= 400 else errors.status_in_body(error.body)
                if not self._features.learn(status, errors.error_text(error.body), request, fields):
                    raise self._status_error(status, error.body, error.response.headers) from error
            # The SDK wraps errors before the stream, but not those within it.
            except (anthropic.APITimeoutError, httpx2.TimeoutException) as error:
                raise connection_errors.timed_out(self._endpoint, self._timeout, error, CONNECT_SECONDS) from error
            except (anthropic.APIConnectionError, httpx2.RequestError) as error:
                raise connection_errors.unreachable(self._endpoint, error) from error
        raise errors.status_error(self._endpoint, 400, "it refuses every form of the request")

    async def aclose(self) -> None:
        client, self._sdk = self._sdk, None
        if client is not None:
            await client.close()

    def _plain_messages(self, request: ModelRequest) -> dict[str, Any]:
        """The system blocks and the other messages, with cache breakpoints."""
        messages = alternate(request.messages)
        system = [
            {"type": "text", "text": message.content, **CACHE_MARK} for message in messages[:1] if _is_system(message)
        ]
        first, *rest = messages[len(system) :]
        turns: list[dict[str, Any]] = [{"role": first.role, "content": self._prefix.blocks(first.content)}]
        turns += [{"role": message.role, "content": message.content} for message in rest]
        return {"messages": turns, **({"system": system} if system else {})}

    async def _stream(
        self, client: "AsyncAnthropic", request: ModelRequest, fields: dict[str, Any], live: Live
    ) -> ModelReply:
        conversation = is_conversation(request)
        # The arguments of the answer tool are the text of a plain answer.
        builder = BlockBuilder(
            live if conversation else Live(live.text, live.reasoning, lambda *call: live.text(call[2]))
        )
        stream = await client.messages.create(model=self._endpoint.model, stream=True, **fields)
        async with stream:
            content_type = stream.response.headers.get("content-type", "")
            try:
                async for event in stream:
                    builder.add(event)
            except ValueError as error:
                raise connection_errors.ended_early(self._endpoint, str(error)) from error
        if not builder.started and "event-stream" not in content_type:
            raise connection_errors.not_a_stream(self._endpoint, content_type)
        if not builder.stop_reason:
            raise connection_errors.ended_early(self._endpoint)
        reply = ModelReply(
            text="".join(builder.pieces),
            finish_reason=finish_reason(builder.stop_reason),
            usage=builder.usage,
            model=builder.model or self._endpoint.model,
            constrained="format" in fields.get("output_config", {}),
        )
        if not conversation:
            return reply
        truncated = reply.finish_reason == "length"
        return with_turn(
            reply,
            build_turn(request, builder.parts(), protocol="messages", model=self._endpoint.model, truncated=truncated),
        )

    def _status_error(self, status: int, body: object, headers: Any) -> ModelError:
        if errors.names_unknown_model(status, body):
            return errors.unknown_model(self._endpoint, body, ())
        return errors.status_error(self._endpoint, status, body, headers)

    def _client(self) -> "AsyncAnthropic":
        if self._sdk is None:
            try:
                import anthropic
            except ImportError as error:
                raise sdk_missing() from error
            if not self._endpoint.api_key:
                raise KeyRequired(
                    f"{self._endpoint.url} requires an API key", remedy=f"export {self._endpoint.key_variable}=..."
                )
            self._sdk = anthropic.AsyncAnthropic(
                api_key=self._endpoint.api_key,
                base_url=self._endpoint.base_url,
                timeout=anthropic.Timeout(self._timeout, connect=min(self._timeout, CONNECT_SECONDS)),
                max_retries=0,
                http_client=anthropic.DefaultAsyncHttpxClient(
                    trust_env=not errors.is_loopback(self._endpoint.base_url),
                    verify=connection_errors.trusted(self._endpoint.base_url),
                ),
            )
        return self._sdk


def sdk_missing() -> ModelRuntimeMissing:
    return ModelRuntimeMissing(
        "models of Anthropic need its SDK, which is not installed", remedy=install_remedy("anthropic")
    )


_features_of: dict[tuple[str, str], Features] = {}


class _StablePrefix:
    """Detects the common prefix of a run's prompts and makes it a block of its own, because whole blocks are cached."""

    def __init__(self) -> None:
        self._stable = ""
        self._last = ""

    def blocks(self, text: str) -> list[dict[str, Any]]:
        if not self._stable or not text.startswith(self._stable):
            pairs = zip(self._last.splitlines(keepends=True), text.splitlines(keepends=True), strict=False)
            stable = "".join(line for line, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
            self._stable = stable if len(stable) >= MIN_CACHED_CHARS else ""
        self._last = text
        rest = text[len(self._stable) :]
        if not self._stable or not rest.strip():
            return [{"type": "text", "text": text}]
        return [{"type": "text", "text": self._stable, **CACHE_MARK}, {"type": "text", "text": rest}]


def _is_system(message: Message) -> bool:
    return message.role == "system"
