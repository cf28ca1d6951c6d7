"""Step timeouts: one timer for all steps, paused while a person is asked."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from surefoot.engine.runtime.timeouts import StepTimeout, Timeouts


async def run_step(timeouts: Timeouts, step_id: str, seconds: float, work: Callable[[], Awaitable[None]]) -> str:
    """Use a timeout as the executor does."""
    task = asyncio.current_task()
    assert task is not None
    timeout = timeouts.start(step_id, task, seconds)
    try:
        await work()
    except asyncio.CancelledError:
        if not timeout.caused_cancellation:
            raise
        return "timed out"
    finally:
        timeouts.end(step_id)
    return "done"


async def work_long() -> None:
    await asyncio.sleep(60)


async def work_briefly() -> None:
    await asyncio.sleep(0.05)


async def test_timeout_ends_only_its_step() -> None:
    timeouts = Timeouts()
    assert await run_step(timeouts, "s1", 0.01, work_long) == "timed out"
    assert await run_step(timeouts, "s1", 60, work_briefly) == "done"
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0
    timeouts.close()


async def test_shortest_timeout_fires_first() -> None:
    timeouts = Timeouts()
    slow = asyncio.create_task(run_step(timeouts, "slow", 60, work_long))
    quick = asyncio.create_task(run_step(timeouts, "quick", 0.01, work_long))
    assert await quick == "timed out"
    assert not slow.done()
    slow.cancel()
    with pytest.raises(asyncio.CancelledError):
        await slow
    timeouts.close()


async def test_external_cancellation_is_not_a_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    timeouts = Timeouts()
    started: list[StepTimeout] = []
    start = timeouts.start

    def remember(step_id: str, task: asyncio.Task[None], seconds: float) -> StepTimeout:
        started.append(start(step_id, task, seconds))
        return started[-1]

    monkeypatch.setattr(timeouts, "start", remember)
    step = asyncio.create_task(run_step(timeouts, "s1", 60, work_long))
    await asyncio.sleep(0)
    started[0].expire()
    step.cancel()
    with pytest.raises(asyncio.CancelledError):
        await step
    timeouts.close()


async def test_timeout_is_paused_while_a_person_is_asked() -> None:
    timeouts = Timeouts()

    async def ask() -> None:
        with timeouts.paused("s1"):
            await asyncio.sleep(0.2)
        reached.append("answered")
        await asyncio.sleep(60)

    reached: list[str] = []
    assert await run_step(timeouts, "s1", 0.05, ask) == "timed out"
    assert reached == ["answered"]
    timeouts.close()
