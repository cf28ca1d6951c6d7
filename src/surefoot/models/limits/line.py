"""The queue of this process's calls that wait for a place. Only the first one polls, less often the longer it waits."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress

from surefoot.models.limits.base import LOOK_SECONDS

LONGEST_PAUSE = 2.0
IMPATIENT_SECONDS = 20.0


class Line:
    """A first-in, first-out queue. It belongs to one event loop, and to one provider with its limits."""

    def __init__(self) -> None:
        self._first = asyncio.Lock()
        self._left = asyncio.Event()

    async def wait(self, ask: Callable[[], Awaitable[float]]) -> None:
        """Wait until this call is first and `ask` returns 0. Else `ask` returns in how many seconds to ask again."""
        async with self._first:
            refusals, since = 0, time.monotonic()
            while True:
                # Cleared before asking, so that a call that ends in the meantime is noticed.
                self._left.clear()
                seconds = await ask()
                if not seconds:
                    return
                refusals += 1
                await self._pause(max(seconds, pause_after(refusals, time.monotonic() - since)))

    def leave(self) -> None:
        """Signal that a call of this process has ended, so a place may be free."""
        self._left.set()

    async def _pause(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds * random.uniform(0.8, 1.2)):
                await self._left.wait()
                # Not at once: another process may have waited longer for this place.
                await asyncio.sleep(LOOK_SECONDS * random.uniform(0.2, 1.0))


def pause_after(refusals: int, waited: float) -> float:
    """The seconds to wait after `refusals` refusals within `waited` seconds.

    A process that has waited long polls as often as at the start. Otherwise a process whose own calls end, and which
    therefore knows when to ask, could always get ahead of it.
    """
    if waited >= IMPATIENT_SECONDS:
        return LOOK_SECONDS
    return min(LOOK_SECONDS * 2.0 ** (min(refusals, 10) - 1), LONGEST_PAUSE)
