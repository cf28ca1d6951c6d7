"""Any server that speaks OpenAI's chat completions: OpenAI, Ollama, llama.cpp, vLLM, DeepSeek, OpenRouter and others.

Answers are always streamed: the live view shows them as they come, and a silent server is told from a slow one.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from surefoot.errors import ModelError, UsageError
from surefoot.models import faults
from surefoot.models.base import ModelReply, ModelRequest, ModelTraits, OnText, Usage
from surefoot.models.dialect import dialect_of
from surefoot.models.faults import Place

if TYPE_CHECKING:
    from openai import AsyncOpenAI

MOST_PHRASINGS = 10
"""A server that finds fault with a question put in so many ways would find fault for ever."""
CONNECT_SECONDS = 10.0
LISTING_SECONDS = 5.0


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
    ) -> None:
        """`timeout` is how long the server may be silent; `key_variable` says in remedies where the key came from."""
        if urlsplit(base_url).scheme not in ("http", "https") or not urlsplit(base_url).hostname:
            raise UsageError(
                f"{base_url!r} is not the address of a server", remedy="write it as http://127.0.0.1:8080/v1"
            )
        self._place = Place(base_url=base_url, model=model, api_key=api_key, key_variable=key_variable)
        self._dialect = dialect_of(base_url, model)
        self._timeout = timeout
        self._sdk: AsyncOpenAI | None = None
        self.name = name or model
        self.traits = traits or ModelTraits()

    async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelReply:
        import openai

        for _ in range(MOST_PHRASINGS):
            sent = self._dialect.phrase(request)
            try:
                return await self._ask(request, sent, on_text)
            except openai.APIStatusError as error:
                complaint = faults.complaint_of(error.body)
                if not self._dialect.learn(error.status_code, complaint, request, sent):
                    raise await self._refused(error.status_code, error.body, error.response.headers) from error
            except openai.APITimeoutError as error:
                raise faults.timed_out(self._place, self._timeout) from error
            except openai.APIConnectionError as error:
                raise faults.unreachable(self._place, error) from error
            except openai.APIError as error:  # inside the stream
                status = faults.status_told_in(error.body)
                raise await self._refused(status, error.body or error.message) from error
        raise faults.refusal(self._place, 400, "it refuses the question however it is put")

    async def models(self) -> list[dict[str, Any]]:
        """What the server offers, as it describes it; nothing where it does not say."""
        import openai

        options: Any = {"timeout": LISTING_SECONDS, "headers": self._headers()}
        try:
            # Not through `models.list`, which trusts what it gets: servers have all kinds of pages there.
            told: Any = await self._client().get("/models", cast_to=object, options=options)
        except (openai.OpenAIError, ValueError):
            return []
        entries = told.get("data") if isinstance(told, dict) else None
        return [entry for entry in entries or () if isinstance(entry, dict) and isinstance(entry.get("id"), str)]

    async def aclose(self) -> None:
        client, self._sdk = self._sdk, None
        if client is not None:
            await client.close()

    async def _ask(self, request: ModelRequest, sent: dict[str, Any], on_text: OnText | None) -> ModelReply:
        import openai

        hearing = _Hearing(on_text)
        stream = await self._client().chat.completions.create(
            model=self._place.model, stream=True, extra_headers=self._headers(), **sent
        )
        async with stream:
            content_type = stream.response.headers.get("content-type", "")
            try:
                async for chunk in stream:
                    hearing.take(chunk)
            except openai.APIConnectionError:
                if not hearing.finish:  # with it the answer is whole, and only its bookkeeping was lost
                    raise
            except ValueError as error:
                raise faults.cut_off(self._place, str(error)) from error
        if not hearing.heard and "event-stream" not in content_type:
            raise faults.no_stream(self._place, content_type)
        if not hearing.finish:
            raise faults.cut_off(self._place)
        return self._reply(request, sent, hearing)

    def _reply(self, request: ModelRequest, sent: dict[str, Any], hearing: "_Hearing") -> ModelReply:
        text, finish = "".join(hearing.pieces), _finish_reason(hearing.finish)
        if hearing.refusal:
            text, finish = text or hearing.refusal, "other"
        if not text.startswith(request.begin):  # llama.cpp repeated it or left it out, in one version or another
            text = request.begin + text
        if "stop" not in sent:
            text = request.begin + _up_to(text.removeprefix(request.begin), request.stop)
        constrained = sent.get("response_format", {}).get("type") == "json_schema"
        if request.output_schema is not None and constrained and text and finish == "stop":
            constrained = not self._dialect.doubt(request.output_schema, text)
        return ModelReply(
            text=text,
            finish_reason=finish,
            usage=hearing.usage,
            model=hearing.model or self._place.model,
            constrained=constrained,
        )

    async def _refused(self, status: int, body: object, headers: Any = None) -> ModelError:
        if faults.names_unknown_model(status, body):
            served = [str(entry["id"]) for entry in await self.models()]
            if self._place.model not in served:
                return faults.unknown_model(self._place, body, served)
        return faults.refusal(self._place, status, body, headers)

    def _client(self) -> "AsyncOpenAI":
        if self._sdk is None:
            import openai

            address = self._place.base_url
            self._sdk = openai.AsyncOpenAI(
                base_url=address,
                # Without a key of its own the SDK would take OPENAI_API_KEY and send it to whatever server this is.
                api_key=self._place.api_key or "none",
                timeout=openai.Timeout(self._timeout, connect=min(self._timeout, CONNECT_SECONDS)),
                max_retries=0,
                # A proxy that leads to the world does not lead back to this machine.
                http_client=openai.DefaultAsyncHttpxClient(trust_env=not faults.is_loopback(address)),
            )
        return self._sdk

    def _headers(self) -> dict[str, Any]:
        import openai

        key = self._place.api_key
        return {"Authorization": f"Bearer {key}" if key else openai.Omit()}


class _Hearing:
    """What was heard of an answer so far. Servers leave fields out, send null, or invent their own."""

    def __init__(self, on_text: OnText | None) -> None:
        self.on_text = on_text
        self.heard = False
        self.pieces: list[str] = []
        self.refusal = ""
        self.finish = ""
        self.model = ""
        self.usage = Usage()

    def take(self, chunk: Any) -> None:
        self.heard = True
        self.model = chunk.model or self.model
        for choice in (chunk.choices or ())[:1]:
            self.finish = choice.finish_reason or self.finish
            if choice.delta is None:
                continue
            self.refusal += getattr(choice.delta, "refusal", None) or ""
            if piece := choice.delta.content:
                self.pieces.append(piece)
                if self.on_text is not None:
                    self.on_text(piece)
        fields = chunk.to_dict()
        if found := usage_of(fields.get("usage") or {}, fields.get("timings") or {}):
            self.usage = found


def usage_of(usage: dict[str, Any], timings: dict[str, Any]) -> Usage | None:
    """`timings` is what llama.cpp says of its own accord; DeepSeek counts its cache under a name of its own."""
    cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens") or usage.get("prompt_cache_hit_tokens")
    prompt = usage.get("prompt_tokens") or (timings.get("prompt_n") or 0) + (timings.get("cache_n") or 0)
    output = usage.get("completion_tokens") or timings.get("predicted_n") or 0
    if not prompt and not output:
        return None
    return Usage(prompt_tokens=prompt, output_tokens=output, cached_tokens=cached or timings.get("cache_n") or 0)


def _finish_reason(said: str) -> Literal["stop", "length", "other"]:
    return "stop" if said == "stop" else "length" if said == "length" else "other"


def _up_to(text: str, stops: Sequence[str]) -> str:
    """For servers that cannot stop by themselves."""
    return text[: min((at for stop in stops if (at := text.find(stop)) >= 0), default=len(text))]
