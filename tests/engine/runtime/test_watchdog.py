"""The watchdog of a run that is driven in parts."""

import asyncio
import time

import pytest

from surefoot.engine.runtime import watchdog
from surefoot.engine.runtime.watchdog import Watchdog


async def test_it_watches_every_part_of_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watchdog, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(watchdog, "STOP_SECONDS", 0.0)
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    due = [None, time.monotonic() - 1.0]

    def end(run_id: str, reason: str) -> None:
        loop.call_soon_threadsafe(ended.set)

    watching = Watchdog("run", lambda: due[0], end)
    with watching.watching():
        await asyncio.sleep(0.05)
    assert not ended.is_set()
    due.pop(0)
    with watching.watching():
        await ended.wait()
