"""The calls of this process that wait for a place. Only the first of them asks, less often the longer it takes."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress

from surefoot.models.limits.base import LOOK_SECONDS

LONGEST_PAUSE = 2.0
IMPATIENT_SECONDS = 20.0


class Line:
    """Calls begin in the order in which they came. Belongs to one event loop, and to one provider and its limits."""

    def __init__(self) -> None:
        self._first = asyncio.Lock()
        self._left = asyncio.Event()

    async def wait(self, ask: Callable[[], Awaitable[float]]) -> None:
        """Wait until it is this call's turn, and `ask` returns 0; else it returns in how many seconds to ask again."""
        async with self._first:
            asked, since = 0, time.monotonic()
            while True:
                # Before asking, so that a call which ends meanwhile is noticed.
                self._left.clear()
                seconds = await ask()
                if not seconds:
                    return
                asked += 1
                await self._pause(max(seconds, pause_after(asked, time.monotonic() - since)))

    def leave(self) -> None:
        """A call of this process has ended, so there may be a place."""
        self._left.set()

    async def _pause(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds * random.uniform(0.8, 1.2)):
                await self._left.wait()
                # Not at once: another process may have waited longer for this place.
                await asyncio.sleep(LOOK_SECONDS * random.uniform(0.2, 1.0))


def pause_after(asked: int, waited: float) -> float:
    """How long to wait after this many refusals within this time.

    A process that got no place for long asks as often as at first. Otherwise one whose own calls end, and which
    therefore knows when to ask, could always come before it.
    """
    if waited >= IMPATIENT_SECONDS:
        return LOOK_SECONDS
    return min(LOOK_SECONDS * 2.0 ** (min(asked, 10) - 1), LONGEST_PAUSE)
