"""Interrupting running steps."""

import asyncio

from surefoot.engine.runtime.active_steps import ActiveSteps
from surefoot.journal import events as e

SKIP = e.ControlReceived(command="skip", step_id="s1")


async def test_a_step_is_interrupted_once_until_it_has_ended() -> None:
    """The control stays in the state until the step is undone, and the inbox looks at it again meanwhile."""
    steps, interruptions, asked_again = ActiveSteps(), 0, asyncio.Event()

    async def run_step() -> str:
        nonlocal interruptions
        task = asyncio.current_task()
        assert task is not None
        steps.runs_in("s1", task)
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            task.uncancel()
            interruptions += 1
            assert steps.interruption_of("s1") is SKIP
            await asked_again.wait()  # undoing the step takes a while
            steps.end_interruption("s1")
        return "undone"

    running = asyncio.create_task(run_step())
    await asyncio.sleep(0)
    for _ in range(3):
        steps.interrupt(SKIP)
        await asyncio.sleep(0.01)
    asked_again.set()
    assert await running == "undone"
    assert interruptions == 1
    assert not steps.is_interrupted("s1")
