"""Rollback of failed steps: partial work that passes a check is kept for the next attempt."""

import pytest

from support.kit import NO_RETRIES, Bench, act, done, steps
from surefoot.core.phases import ExecutionStatus
from surefoot.core.plan import CommandCheck, ExecutionStep, StepType
from surefoot.core.transitions import Rung, StepStatus
from surefoot.journal import events as e
from surefoot.journal.reducers import fold
from surefoot.journal.state import RunState
from surefoot.models.testing.scripted import Rule

TWO = ExecutionStep(
    id="s", name="two", description="make both", step_type=StepType.COMMAND_EXECUTION,
    checks=(CommandCheck(command="test -e a.txt"), CommandCheck(command="test -e b.txt")),
)  # fmt: skip


@pytest.mark.req("P13", "P10")
async def test_work_that_passes_a_check_is_kept_for_the_next_attempt(bench: Bench) -> None:
    answers = [
        act("run_command", command="echo a > a.txt"),
        done(),
        act("run_command", command="echo b > b.txt"),
        done(),
    ]
    state = await bench.run_plan(steps(TWO), answers)
    assert state.steps["s"].status is StepStatus.SUCCEEDED
    assert bench.files() == {"a.txt": "a\n", "b.txt": "b\n"}
    assert not bench.events(e.RolledBack)
    (work_kept,) = bench.events(e.WorkKept)
    assert work_kept.why == "'test -e a.txt' failed before and passes now"
    statuses = [result.output.status for result in state.history if result.output]
    assert statuses == [ExecutionStatus.PARTIAL_SUCCESS, ExecutionStatus.SUCCESS]
    assert state.history[0].output is not None
    assert state.history[0].output.logs[-1] == f"kept: {work_kept.why}"
    assert state.steps["s"].output is not None
    assert state.steps["s"].output.generated_files == ("a.txt", "b.txt"), "the files of all attempts"
    assert recovery_state(fold(bench.journal.read(state.run_id))) == recovery_state(state)


def recovery_state(state: RunState) -> tuple[object, ...]:
    step_run = state.steps["s"]
    return step_run.work_kept, step_run.snapshot, step_run.touched, step_run.rungs, state.left_outside


@pytest.mark.req("P13")
async def test_kept_work_is_undone_when_the_step_is_given_up(bench: Bench) -> None:
    answers = [
        act("run_command", command="echo a > a.txt"),
        done(),
        act("run_command", command="echo c > c.txt"),
        done(),
    ]
    limits = {**NO_RETRIES, "max_step_retries": 1}
    state = await bench.run_plan(steps(TWO), answers, reflection=limits)
    assert [event.rung for event in bench.events(e.RungChosen)] == [Rung.ADJUST_PARAMETERS, Rung.GIVE_UP]
    assert len(bench.events(e.WorkKept)) == 1
    assert bench.files() == {}, "as before the step, not as before its last attempt"
    assert state.outcome is not None
    assert state.outcome.diagnosis is not None
    assert state.outcome.diagnosis.left_behind == ()


@pytest.mark.req("P13")
async def test_attempt_that_breaks_a_passing_check_is_not_kept(bench: Bench) -> None:
    bench.write(b__txt="b\n")
    answers = [act("run_command", command="echo a > a.txt; rm b.txt"), done()]
    retry = [act("run_command", command="echo a > a.txt"), done()]
    state = await bench.run_plan(steps(TWO), [*answers, *retry])
    assert not bench.events(e.WorkKept)
    assert bench.files() == {"a.txt": "a\n", "b.txt": "b\n"}
    assert state.steps["s"].status is StepStatus.SUCCEEDED


@pytest.mark.req("R8")
async def test_next_attempt_is_shown_the_failing_check(bench: Bench) -> None:
    step = ExecutionStep(
        id="s", name="two", description="make it", writes=("two.txt",),
        checks=(CommandCheck(command="grep -q 1 two.txt"), CommandCheck(command="grep -q 2 two.txt")),
    )  # fmt: skip
    answers = [Rule("Keep what works in it", "```\n1\n2\n```"), "```\n1\n```", "```\n1\n3\n```"]
    state = await bench.run_plan(steps(step), answers)
    prompt = bench.prompts()[-1]
    assert "two.txt as it is now" in prompt
    assert "# It fails now\ngrep -q 2 two.txt" in prompt
    assert state.steps["s"].status is StepStatus.SUCCEEDED
