"""A static plan: one action a step, and nothing changes the plan."""

import pytest

from support.kit import Bench, act, done, steps
from support.talk import results, submit
from surefoot.core.outcome import Verdict
from surefoot.core.plan import ExecutionStep, StepType
from surefoot.core.transitions import StepStatus
from surefoot.journal import events as e

ONE = ("write_file", {"path": "one.txt", "content": "1"})
TWO = ("write_file", {"path": "two.txt", "content": "2"})
ADD = ("add_steps", {"steps": [{"name": "More", "description": "more"}], "reason": "more is needed"})
REMOVE = ("remove_steps", {"steps": ["s2"], "reason": "not needed"})
PLAN = submit(
    {"name": "First", "description": "write one.txt"}, {"name": "Second", "description": "write two.txt", "after": [1]}
)


@pytest.mark.req("D7")
async def test_conversation_has_one_action_a_step_and_changes_no_plan(bench: Bench) -> None:
    script = [PLAN, [("list_files", {}), ADD, REMOVE, ONE, TWO], [TWO]]
    state = await bench.talk("Write one.txt, then two.txt.", script, dynamic=False)
    assert list(state.steps) == ["s1", "s2"]
    assert [r.status for r in state.steps.values()] == [StepStatus.SUCCEEDED] * 2
    written = [(a.step_id, a.arguments["path"]) for a in bench.events(e.ActionStarted) if a.tool == "write_file"]
    assert written == [("s1", "one.txt"), ("s2", "two.txt")], "the second write of the first step was not carried out"
    assert not bench.events(e.PlanRevised)
    answers = results(bench.talker.requests[-1])
    assert "the plan was not changed: it is static (dynamic = false)" in answers[1]
    assert "has had its one action" in answers[-1]


@pytest.mark.req("D7")
async def test_step_without_checks_is_done_after_its_one_action(bench: Bench) -> None:
    step = ExecutionStep(id="s", name="s", description="x", step_type=StepType.COMMAND_EXECUTION)
    more = {"add_steps": [{"name": "more", "description": "y"}]}
    answers = [{**act("run_command", command="touch x.txt"), **more}, done()]
    state = await bench.run_plan(steps(step), answers, dynamic=False)
    assert state.steps["s"].status is StepStatus.SUCCEEDED
    assert list(state.steps) == ["s"]
    assert len(bench.events(e.ActionStarted)) == 1
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.UNVERIFIED
