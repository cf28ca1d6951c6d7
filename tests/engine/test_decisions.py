"""What was decided can be listed, and gone back to."""

from pathlib import Path

import pytest

from kit import Bench, act, done, steps
from surefoot.decisions import decisions
from surefoot.drafts import StepDecision
from surefoot.engine import resume_run
from surefoot.errors import UsageError
from surefoot.executor import SequentialExecutor
from surefoot.fold import fold
from surefoot.fork import fork
from surefoot.machine import Rung, StepStatus
from surefoot.models.scripted import ScriptedModel
from surefoot.plan import CommandCheck, ExecutionStep, StepType
from surefoot.run import Services

NO_RETRIES = {"max_step_retries": 0, "max_single_step_repairs": 0, "max_task_replanning_attempts": 0}


def command(step_id: str, check: str) -> ExecutionStep:
    return ExecutionStep(id=step_id, name=step_id, description=step_id, step_type=StepType.COMMAND_EXECUTION,
                         checks=(CommandCheck(command=check),))  # fmt: skip


@pytest.mark.req("D9", "D2")
async def test_the_history_tells_thought_choice_and_result(bench: Bench) -> None:
    plan = steps(command("a", "test -e a.txt"), command("b", "test -e b.txt"), after=[("b", "a")])
    more = {"name": "c", "description": "c", "type": "command_execution", "file": "", "after": [],
            "check": {"kind": "none", "value": ""}}  # fmt: skip
    answers = [
        act("list_files"),
        {**act("run_command", command="touch a.txt"), "thought": "nothing is there", "add_steps": [more]},
        done("c has nothing to do"),
        {"decision": "replan", "reason": "b cannot be", "thought": ""},
    ]
    state = await bench.run_plan(plan, answers, reflection=NO_RETRIES)
    found = decisions(bench.journal.read(state.run_id))
    assert [(d.number, d.step_id, d.kind, d.tool, d.ok) for d in found] == [
        (1, "a", "act", "list_files", True),
        (2, "a", "act", "run_command", True),
        (3, "s3", "done", "", None),
        (4, "b", "replan", "", None),
        (5, "b", "recover", "", None),
    ]
    assert found[1].thought == "nothing is there"
    assert found[1].plan_changes == ("+ s3",)
    assert "exit code 0" in found[1].result
    assert found[3].thought == "b cannot be"
    assert found[4].rung is Rung.GIVE_UP
    assert all(d.asked for d in found[:4])
    executor = SequentialExecutor(ScriptedModel([]), state_store=bench.journal, workspace=bench.root, home=bench.home)
    assert executor.decisions(state.run_id) == found


@pytest.mark.req("D9", "X3")
async def test_a_decision_can_be_gone_back_to_and_made_differently(bench: Bench, tmp_path: Path) -> None:
    answers = [
        act("run_command", command="echo 1 > kept.txt"),
        act("read_file", path="kept.txt"),
        act("run_command", command="echo 2 >> kept.txt; touch first.txt end.txt"),
    ]
    state = await bench.run_plan(steps(command("a", "test -e end.txt")), answers)
    for number, files in ((2, {"kept.txt"}), (3, {"kept.txt"}), (1, set())):
        target = tmp_path / f"at{number}"
        new = await fork(bench.journal, bench.home, state.run_id, "", target, decision=number)
        assert {path.name for path in target.iterdir()} == files
        forked = fold(bench.journal.read(new))
        assert len(forked.steps["a"].actions) == number - 1
        assert forked.steps["a"].status is StepStatus.RUNNING
        model = ScriptedModel([act("run_command", command="touch second.txt end.txt")])
        went_on = await resume_run(Services(bench.journal, model, bench.home), new)
        assert went_on.steps["a"].status is StepStatus.SUCCEEDED
        assert {path.name for path in target.iterdir()} == {*files, "second.txt", "end.txt"}
    assert bench.files().keys() == {"kept.txt", "first.txt", "end.txt"}, "the old run's folder is as it was"
    with pytest.raises(UsageError, match="no decision 4"):
        await fork(bench.journal, bench.home, state.run_id, "", tmp_path / "no", decision=4)


@pytest.mark.req("D9")
async def test_the_prompt_for_a_decision_carries_an_example_that_is_one(bench: Bench) -> None:
    await bench.run_plan(steps(command("a", "test -e a.txt")), [act("run_command", command="touch a.txt")])
    (example,) = [line for line in bench.prompts()[0].splitlines() if line.startswith("For example: ")]
    shown = StepDecision.model_validate_json(example.removeprefix("For example: "))
    assert shown.tool == "read_file"
    assert not shown.is_complete


@pytest.mark.req("D3")
async def test_steps_that_have_not_begun_can_be_changed(bench: Bench) -> None:
    plan = steps(command("a", "test -e a.txt"), command("b", "test -e b.txt"), after=[("b", "a")])
    other = {"step": "b", "name": "b", "description": "make it c.txt", "file": "",
             "check": {"kind": "command", "value": "test -e c.txt"}}  # fmt: skip
    answers = [
        {**act("run_command", command="touch a.txt"), "reason": "b is taken", "change_steps": [other, {"step": "a"}]},
        act("run_command", command="touch c.txt"),
    ]
    state = await bench.run_plan(plan, answers)
    assert state.step("b").description == "make it c.txt"
    assert state.steps["b"].status is StepStatus.SUCCEEDED
    assert set(bench.files()) == {"a.txt", "c.txt"}
    assert decisions(bench.journal.read(state.run_id))[0].plan_changes == ("~ b",)
