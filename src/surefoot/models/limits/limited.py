"""A model whose calls wait until the shared limits of its provider allow them."""

import asyncio
import math
import uuid
from contextlib import suppress
from typing import Any

from surefoot.errors import JournalError, ModelUnavailable
from surefoot.models.base import LanguageModel, ModelReply, ModelRequest, ModelTraits, OnText
from surefoot.models.limits.base import LEASE_SECONDS, CallTable, Limits
from surefoot.models.limits.line import Line
from surefoot.models.tokens import count_tokens, weigh_item, weigh_tools


class LimitedModel:
    """Waits for the limits before each call of `inner`.

    `line` is shared by all calls of this process to the provider; without it, the model has a line of its own.
    """

    def __init__(
        self,
        inner: LanguageModel,
        limits: Limits,
        calls: CallTable,
        lease_seconds: float = LEASE_SECONDS,
        line: Line | None = None,
    ) -> None:
        self.inner = inner
        self._limits, self._calls, self._lease_seconds = limits, calls, lease_seconds
        self._line = line or Line()

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def traits(self) -> ModelTraits:
        return self.inner.traits

    async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelReply:
        call_id = uuid.uuid4().hex
        await self._begin(call_id, self._reserved(request))
        used: int | None = None
        try:
            reply = await self._renewed(call_id, self.inner.complete(request, on_text))
            used = reply.usage.total or None
            return reply
        finally:
            with suppress(JournalError):
                # On failure, the row expires.
                await asyncio.shield(asyncio.to_thread(self._calls.end, call_id, used))
            self._line.leave()

    async def count_tokens(self, text: str) -> int | None:
        return await count_tokens(self.inner, text)

    async def aclose(self) -> None:
        await asyncio.to_thread(self._calls.close)
        await self.inner.aclose()

    def _reserved(self, request: ModelRequest) -> int:
        """The most tokens that a call may use. A call larger than the limit per minute reserves the whole minute."""
        prompt = sum(map(weigh_item, request.messages)) + weigh_tools(request.tools)
        most = math.ceil(prompt) + request.max_tokens
        limit = self._limits.tokens_per_minute
        return most if limit is None else min(most, limit)

    async def _begin(self, call_id: str, tokens: int) -> None:
        beginning = asyncio.create_task(self._wait_in_line(call_id, tokens))
        try:
            await asyncio.shield(beginning)
        except asyncio.CancelledError:
            # The row may already have been inserted.
            beginning.cancel()
            with suppress(asyncio.CancelledError):
                await beginning
            await asyncio.to_thread(self._calls.end, call_id, 0)
            self._line.leave()
            raise

    async def _wait_in_line(self, call_id: str, tokens: int) -> None:
        async def ask() -> float:
            seconds = await asyncio.to_thread(self._calls.begin, self._limits, call_id, tokens, self._lease_seconds)
            return min(seconds, self._lease_seconds)

        await self._line.wait(ask)

    async def _renewed(self, call_id: str, answering: Any) -> ModelReply:
        """Await an answer while renewing the call's row. Raises `ModelUnavailable` if the call has lost its place."""
        call: asyncio.Task[ModelReply] = asyncio.ensure_future(answering)
        try:
            while True:
                done, _ = await asyncio.wait([call], timeout=self._lease_seconds / 3)
                if done:
                    return call.result()
                with suppress(JournalError):
                    if not await asyncio.to_thread(self._calls.renew, call_id, self._lease_seconds):
                        raise ModelUnavailable(
                            "this process was suspended for too long, and another call may have taken its place",
                            remedy="the call is repeated",
                        )
        finally:
            if not call.done():
                call.cancel()
                with suppress(asyncio.CancelledError, Exception):
                    await call
