"""The decisions of a run can be listed and forked."""

from pathlib import Path

import pytest

from support.kit import Bench, act, done, steps
from surefoot.api import SequentialExecutor
from surefoot.core.plan import CommandCheck, ExecutionStep, StepType
from surefoot.core.transitions import Rung, StepStatus
from surefoot.engine.loop import resume_run
from surefoot.engine.runtime.services import Services
from surefoot.errors import UsageError
from surefoot.history.decisions import decisions
from surefoot.history.fork import Point, fork
from surefoot.journal.reducers import fold
from surefoot.models.base import ModelTraits
from surefoot.models.testing.scripted import ScriptedModel
from surefoot.prompting.drafts.short import StepDecision

NO_RETRIES = {"max_step_retries": 0, "max_single_step_repairs": 0, "max_task_replanning_attempts": 0}


def command(step_id: str, check: str) -> ExecutionStep:
    return ExecutionStep(id=step_id, name=step_id, description=step_id, step_type=StepType.COMMAND_EXECUTION,
                         checks=(CommandCheck(command=check),))  # fmt: skip


@pytest.mark.req("D9", "D2")
async def test_decisions_have_thought_choice_and_result(bench: Bench) -> None:
    plan = steps(command("a", "test -e a.txt"), command("b", "test -e b.txt"), after=[("b", "a")])
    more = {"name": "c", "description": "c", "type": "command_execution", "file": "", "after": [],
            "check": {"kind": "none", "value": ""}}  # fmt: skip
    answers = [
        act("list_files"),
        {**act("run_command", command="touch a.txt"), "thought": "nothing is there", "add_steps": [more]},
        act("list_files", path="."),
        done("c has nothing more to do"),
        {"decision": "replan", "reason": "b cannot be", "thought": ""},
    ]
    state = await bench.run_plan(plan, answers, reflection=NO_RETRIES)
    found = decisions(bench.journal.read(state.run_id))
    assert [(d.number, d.step_id, d.kind, d.tool, d.ok) for d in found] == [
        (1, "a", "act", "list_files", True),
        (2, "a", "act", "run_command", True),
        (3, "s3", "act", "list_files", True),
        (4, "s3", "done", "", None),
        (5, "b", "replan", "", None),
        (6, "b", "recover", "", None),
    ]
    assert found[1].thought == "nothing is there"
    assert found[1].plan_changes == ("+ s3",)
    assert "exit code 0" in found[1].result
    assert found[4].thought == "b cannot be"
    assert found[5].rung is Rung.GIVE_UP
    assert all(d.asked for d in found[:5])
    executor = SequentialExecutor(ScriptedModel([]), state_store=bench.journal, workspace=bench.root, home=bench.home)
    assert executor.decisions(state.run_id) == found


@pytest.mark.req("D9")
async def test_free_answers_of_a_small_model_count_as_asked(bench: Bench) -> None:
    answer = "`a.txt`\n```\nA\n```\n\n```bash\ntouch b.txt\n```\n"
    plan = steps(command("a", "test -e b.txt"))
    state = await bench.run_plan(plan, [answer], traits=ModelTraits(small=True, inline_bodies=False))
    found = decisions(bench.journal.read(state.run_id))
    assert [(d.tool, d.asked) for d in found] == [("write_file", True), ("run_command", False)], (
        "one answer, two actions"
    )


@pytest.mark.req("D9", "X3")
async def test_a_fork_before_a_decision_can_decide_differently(bench: Bench, tmp_path: Path) -> None:
    answers = [
        act("run_command", command="echo 1 > kept.txt"),
        act("read_file", path="kept.txt"),
        act("run_command", command="echo 2 >> kept.txt; touch first.txt end.txt"),
    ]
    state = await bench.run_plan(steps(command("a", "test -e end.txt")), answers)
    for number, files in ((2, {"kept.txt"}), (3, {"kept.txt"}), (1, set())):
        target = tmp_path / f"at{number}"
        new = await fork(bench.journal, bench.home, state.run_id, Point(decision=number), target)
        assert {path.name for path in target.iterdir()} == files
        forked = fold(bench.journal.read(new))
        assert len(forked.steps["a"].actions) == number - 1
        assert forked.steps["a"].status is StepStatus.RUNNING
        model = ScriptedModel([act("run_command", command="touch second.txt end.txt")])
        resumed = await resume_run(Services(bench.journal, model, bench.home), new)
        assert resumed.steps["a"].status is StepStatus.SUCCEEDED
        assert {path.name for path in target.iterdir()} == {*files, "second.txt", "end.txt"}
    assert bench.files().keys() == {"kept.txt", "first.txt", "end.txt"}, "the folder of the old run is unchanged"
    with pytest.raises(UsageError, match="no decision 4"):
        await fork(bench.journal, bench.home, state.run_id, Point(decision=4), tmp_path / "no")


@pytest.mark.req("D9")
async def test_the_example_in_the_prompt_for_a_decision_is_valid(bench: Bench) -> None:
    await bench.run_plan(steps(command("a", "test -e a.txt")), [act("run_command", command="touch a.txt")])
    (example,) = [line for line in bench.prompts()[0].splitlines() if line.startswith("For example: ")]
    shown = StepDecision.model_validate_json(example.removeprefix("For example: "))
    assert shown.tool == "read_file"
    assert not shown.is_complete


@pytest.mark.req("D3")
async def test_the_model_can_change_pending_steps(bench: Bench) -> None:
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
