"""Planning switched off for a small model: one step, the same checks."""

import pytest

from support.kit import SMALL, Bench, fenced
from surefoot.core.outcome import Verdict
from surefoot.core.phases import PhaseStatus
from surefoot.engine.loop import start_run


@pytest.mark.req("O11", "X5")
async def test_task_is_one_step_that_the_given_check_proves(bench: Bench) -> None:
    task = bench.task("Write adder.py with add(a, b).", ["python3 -c 'from adder import add; assert add(2, 3) == 5'"])
    answer = "`adder.py`\n" + fenced("def add(a, b):\n    return a + b")
    state = await start_run(bench.services([answer], traits=SMALL), task, bench.config(enable_planning=False))
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    assert len(state.steps) == 1
    phases = (state.understanding, state.approach, state.planning)
    assert [phase.status for phase in phases if phase] == [PhaseStatus.SKIPPED] * 3
    assert len(bench.model.requests) == 1
