"""Client for OpenAI-compatible servers: OpenAI, Ollama, llama.cpp, vLLM, DeepSeek, OpenRouter and others.

Answers are always streamed, for the live view, and so that a hanging server can be distinguished from a slow one. A
conversation is sent over chat completions, over OpenAI's Responses API, or, to a server without tools, as plain text.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from surefoot.errors import ModelError, UsageError
from surefoot.models.base import Live, ModelReply, ModelRequest, ModelTraits, OnText
from surefoot.models.providers import connection_errors, errors
from surefoot.models.providers.catalog import PROVIDERS
from surefoot.models.providers.dialect import Dialect, dialect_of
from surefoot.models.providers.errors import Endpoint
from surefoot.models.providers.families import family_of
from surefoot.models.providers.wire import text as text_protocol
from surefoot.models.providers.wire.chat import ChatBuilder, finish_reason
from surefoot.models.providers.wire.responses import ResponsesBuilder, ResponsesDialect
from surefoot.models.providers.wire.turns import build_turn, is_conversation, with_turn

if TYPE_CHECKING:
    from openai import AsyncOpenAI

MAX_FORMS = 10
"""How many forms of a request are tried before giving up."""
CONNECT_SECONDS = 10.0
LISTING_SECONDS = 5.0
_OTHER_FIELDS = frozenset(("chat_template_kwargs",))
"""Fields that the SDK does not know."""


class OpenAICompatible:
    def __init__(
        self,
        base_url: str,
        model: str,
        api_key: str | None = None,
        *,
        traits: ModelTraits | None = None,
        name: str | None = None,
        timeout: float = 600,
        key_variable: str = "",
        provider: str = "",
        protocol: Literal["chat", "responses"] = "chat",
        address: str = "",
        address_from: str = "the program",
    ) -> None:
        """`timeout` is the longest time without data; `key_variable` and `address_from` name the sources of the key and
        of `base_url` in remedies.

        `provider` is a name in the catalogue. `protocol` applies to conversations: "responses" is tried first and chat
        completions are used if the server does not have it. `address` is the spec by which a later process finds the
        model again.
        """
        if urlsplit(base_url).scheme not in ("http", "https") or not urlsplit(base_url).hostname:
            raise UsageError(
                f"{base_url!r} is not the address of a server", remedy="write it as http://127.0.0.1:8080/v1"
            )
        self._endpoint = Endpoint(base_url, model, api_key, key_variable, provider, address_from)
        self._dialect = dialect_of(base_url, model, provider)
        self._responses = _responses_of(base_url, model) if protocol == "responses" else None
        self._timeout = timeout
        self._sdk: AsyncOpenAI | None = None
        self.name = name or model
        self.address = address
        self.traits = traits or ModelTraits(tools="native", protocol=protocol)
        if self.traits.tools == "text":
            self._dialect.tools = "text"

    @property
    def secrets(self) -> dict[str, str]:
        return self._endpoint.secrets

    async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelReply:
        import openai

        live = Live.of(on_text)
        for _ in range(MAX_FORMS):
            dialect, sent = self._form(request)
            fields = dialect.request_fields(sent)
            try:
                if isinstance(dialect, ResponsesDialect):
                    return await self._stream_responses(request, fields, live)
                return await self._stream_chat(request, sent, fields, live)
            except openai.APIStatusError as error:
                if not dialect.learn(error.status_code, errors.error_text(error.body), sent, fields):
                    raise await self._status_error(error.status_code, error.body, error.response.headers) from error
            except openai.APITimeoutError as error:
                raise connection_errors.timed_out(self._endpoint, self._timeout, error, CONNECT_SECONDS) from error
            except openai.APIConnectionError as error:
                raise connection_errors.unreachable(self._endpoint, error) from error
            except openai.APIError as error:  # inside the stream
                status = errors.status_in_body(error.body)
                raise await self._status_error(status, error.body or error.message) from error
        raise errors.status_error(self._endpoint, 400, "it refuses every form of the request")

    async def require_reachable(self) -> None:
        """Raise if a server on this machine is not running or does not accept the key. Other servers are not checked.

        A server on this machine answers in milliseconds, so the check can be made before a run begins.
        """
        if errors.is_loopback(self._endpoint.base_url):
            await self.models(required=True)

    async def models(self, *, required: bool = False) -> list[dict[str, Any]]:
        """The models that the server lists, as it describes them; empty if it does not list any.

        With `required`, a server that cannot be reached or does not accept the key is an error.
        """
        import openai

        try:
            body = await self._get_models()
        except openai.APIStatusError as error:
            if required and error.status_code in (401, 403):
                raise errors.status_error(self._endpoint, error.status_code, error.body) from error
            return []
        except openai.APIConnectionError as error:
            if required and not isinstance(error, openai.APITimeoutError):
                raise connection_errors.unreachable(self._endpoint, error) from error
            return []
        except (openai.OpenAIError, ValueError):
            return []
        entries = body.get("data") if isinstance(body, dict) else None
        return [entry for entry in entries or () if isinstance(entry, dict) and isinstance(entry.get("id"), str)]

    async def _get_models(self) -> Any:
        # Not `models.list`, which does not validate the response: some servers have another page there.
        options: Any = {"timeout": LISTING_SECONDS, "headers": self._headers()}
        return await self._client().get("/models", cast_to=object, options=options)

    async def count_tokens(self, text: str) -> int | None:
        """The number of tokens in a text, as the server counts them. None: the server does not count."""
        import openai

        known = PROVIDERS.get(self._dialect.provider)
        if known is None or not known.tokenizer_field or not self._dialect.tokenizer:
            return None
        address = urlsplit(self._endpoint.base_url)
        path = address.path.rstrip("/").removesuffix("/v1")
        url = address._replace(path=f"{path}/tokenize").geturl()
        options: Any = {"timeout": LISTING_SECONDS, "headers": self._headers()}
        try:
            body: Any = await self._client().post(
                url, cast_to=object, body={"model": self._endpoint.model, known.tokenizer_field: text}, options=options
            )
        except (openai.OpenAIError, ValueError):
            body = None
        tokens = body.get("tokens") if isinstance(body, dict) else None
        count = body.get("count") if isinstance(body, dict) else None
        counted = count if isinstance(count, int) else len(tokens) if isinstance(tokens, list) else None
        self._dialect.tokenizer = counted is not None
        return counted

    async def aclose(self) -> None:
        client, self._sdk = self._sdk, None
        if client is not None:
            await client.close()

    def _form(self, request: ModelRequest) -> tuple[Dialect | ResponsesDialect, ModelRequest]:
        """The dialect to use now, and the request in the form that it takes."""
        if not is_conversation(request):
            return self._dialect, request
        if self._responses is not None and self._responses.supported and self._dialect.tools == "native":
            return self._responses, request
        return self._dialect, text_protocol.as_plain(request) if self._dialect.tools == "text" else request

    async def _stream_chat(
        self, request: ModelRequest, sent: ModelRequest, fields: dict[str, Any], live: Live
    ) -> ModelReply:
        builder = ChatBuilder(live)
        known = {name: value for name, value in fields.items() if name not in _OTHER_FIELDS}
        stream = await self._client().chat.completions.create(
            model=self._endpoint.model,
            stream=True,
            extra_headers=self._headers(),
            extra_body={name: value for name, value in fields.items() if name in _OTHER_FIELDS} or None,
            **known,
        )
        await self._collect(stream, builder)
        reply = self._reply(sent, fields, builder)
        if not is_conversation(request):
            return reply
        truncated, model = reply.finish_reason == "length", self._endpoint.model
        if sent is request or builder.has_calls:
            # Some servers return native calls although they accept no list of tools.
            turn = build_turn(request, builder.parts(), protocol="chat", model=model, truncated=truncated)
        else:
            turn = text_protocol.read_turn(request, reply.text, builder.reasoning, model=model, truncated=truncated)
        return with_turn(reply, turn)

    async def _stream_responses(self, request: ModelRequest, fields: dict[str, Any], live: Live) -> ModelReply:
        builder = ResponsesBuilder(live)
        stream = await self._client().responses.create(
            model=self._endpoint.model, stream=True, extra_headers=self._headers(), **fields
        )
        await self._collect(stream, builder)
        if builder.error is not None:
            raise await self._status_error(errors.status_in_body(builder.error), builder.error)
        assert builder.finish
        reply = ModelReply(
            text="", finish_reason=builder.finish, usage=builder.usage, model=builder.model or self._endpoint.model
        )
        truncated = builder.finish == "length"
        pieces = builder.parts()
        return with_turn(
            reply,
            build_turn(request, pieces, protocol="responses", model=self._endpoint.model, truncated=truncated),
        )

    async def _collect(self, stream: Any, builder: ChatBuilder | ResponsesBuilder) -> None:
        """Read the stream to its end. Raises if it ends before the answer does."""
        import openai

        async with stream:
            content_type = stream.response.headers.get("content-type", "")
            try:
                async for event in stream:
                    builder.add(event)
            except openai.APIConnectionError:
                if not builder.ended:  # otherwise the answer is complete, and only the usage was lost
                    raise
            except ValueError as error:
                raise connection_errors.ended_early(self._endpoint, str(error)) from error
        if not builder.started and "event-stream" not in content_type:
            raise connection_errors.not_a_stream(self._endpoint, content_type)
        if not builder.ended:
            raise connection_errors.ended_early(self._endpoint)

    def _reply(self, request: ModelRequest, fields: dict[str, Any], builder: ChatBuilder) -> ModelReply:
        text, finish = "".join(builder.pieces), finish_reason(builder.finish)
        if builder.refusal:
            text, finish = text or builder.refusal, "other"
        if not text.startswith(request.begin):  # some versions of llama.cpp repeat it, others do not
            text = request.begin + text
        if "stop" not in fields:
            text = request.begin + _cut_at_stop(text.removeprefix(request.begin), request.stop)
        constrained = fields.get("response_format", {}).get("type") == "json_schema"
        if request.output_schema is not None and constrained and text and finish == "stop":
            constrained = not self._dialect.is_unenforced(request.output_schema, text)
        return ModelReply(
            text=text,
            finish_reason=finish,
            usage=builder.usage,
            model=builder.model or self._endpoint.model,
            constrained=constrained,
        )

    async def _status_error(self, status: int, body: object, headers: Any = None) -> ModelError:
        if errors.names_unknown_model(status, body):
            served = [str(entry["id"]) for entry in await self.models()]
            if self._endpoint.model not in served:
                return errors.unknown_model(self._endpoint, body, served)
        return errors.status_error(self._endpoint, status, body, headers)

    def _client(self) -> "AsyncOpenAI":
        if self._sdk is None:
            import openai

            address = self._endpoint.base_url
            self._sdk = openai.AsyncOpenAI(
                base_url=address,
                # Without a key the SDK would send OPENAI_API_KEY to any server.
                api_key=self._endpoint.api_key or "none",
                timeout=openai.Timeout(self._timeout, connect=min(self._timeout, CONNECT_SECONDS)),
                max_retries=0,
                # Proxies are not used for loopback.
                http_client=openai.DefaultAsyncHttpxClient(
                    trust_env=not errors.is_loopback(address), verify=connection_errors.trusted(address)
                ),
            )
        return self._sdk

    def _headers(self) -> dict[str, Any]:
        import openai

        key = self._endpoint.api_key
        return {"Authorization": f"Bearer {key}" if key else openai.Omit()}


def _cut_at_stop(text: str, stops: Sequence[str]) -> str:
    """Apply stop sequences for servers that do not support them."""
    return text[: min((position for stop in stops if (position := text.find(stop)) >= 0), default=len(text))]


_known: dict[tuple[str, str], ResponsesDialect] = {}


def _responses_of(base_url: str, model: str) -> ResponsesDialect:
    new = ResponsesDialect(model=model, efforts=family_of(model).efforts)
    return _known.setdefault((base_url, model), new)
