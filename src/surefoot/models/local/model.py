"""The embedded model: llama.cpp in a child process, reached over loopback. It needs no key and no network."""

import asyncio
import secrets
from pathlib import Path

from surefoot.errors import ModelUnavailable
from surefoot.models.base import ModelReply, ModelRequest, ModelTraits, OnText
from surefoot.models.local.process import CONTEXT_TOKENS, LocalServer
from surefoot.models.local.weights import DEFAULT, get_weights
from surefoot.models.providers.openai_compatible import OpenAICompatible

SILENCE_SECONDS = 3600.0
"""The longest wait for data. A long prompt takes minutes until the first token, and much longer on a busy machine."""


class LocalModel:
    """The embedded model. Its server starts with the first request and ends with `aclose`."""

    def __init__(
        self, name: str = DEFAULT, *, weights: Path | None = None, threads: int | None = None, parallel: int = 1
    ) -> None:
        get_weights(name)  # refuse unknown names at once
        self._name = name
        self._weights = weights
        self._threads = threads
        self._parallel = parallel
        self._start_lock = asyncio.Lock()
        self._client: OpenAICompatible | None = None
        self.server: LocalServer | None = None

    @property
    def name(self) -> str:
        return f"local/{self._name}"

    @property
    def traits(self) -> ModelTraits:
        return ModelTraits(context_tokens=CONTEXT_TOKENS, inline_bodies=False, small=True, continues=True)

    async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelReply:
        client, server = await self._ensure_started()
        try:
            return await client.complete(request, on_text)
        except ModelUnavailable as error:
            if await asyncio.to_thread(server.has_exited):
                raise server.exit_error() from error
            raise

    async def count_tokens(self, text: str) -> int | None:
        client, _ = await self._ensure_started()
        return await client.count_tokens(text)

    async def aclose(self) -> None:
        client, self._client = self._client, None
        server, self.server = self.server, None
        if client is not None:
            await client.aclose()
        if server is not None:
            await asyncio.to_thread(server.stop)

    async def _ensure_started(self) -> tuple[OpenAICompatible, LocalServer]:
        async with self._start_lock:
            if self._client is not None and self.server is not None and self.server.running:
                return self._client, self.server
            await self.aclose()
            return await self._start()

    async def _start(self) -> tuple[OpenAICompatible, LocalServer]:
        # A key for this process alone: other users of the machine cannot use the open port.
        key = secrets.token_urlsafe(32)
        server = self.server = LocalServer(
            self._name, weights=self._weights, api_key=key, threads=self._threads, parallel=self._parallel
        )
        try:
            await asyncio.to_thread(server.start)
        except BaseException:
            server.stop()  # if cancelled, the thread is still waiting for the model to load
            raise
        self._client = OpenAICompatible(
            f"{server.address}/v1",
            self._name,
            key,
            traits=self.traits,
            name=self.name,
            timeout=SILENCE_SECONDS,
            provider="llamacpp",
        )
        return self._client, server
