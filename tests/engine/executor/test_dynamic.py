"""Dynamic plans: what an action shows may add, remove or replace steps."""

from typing import Any

import pytest

from support.kit import Bench, act, done, fenced, steps
from surefoot.core.plan import CommandCheck, ExecutionStep, FileCheck, StepType
from surefoot.core.transitions import StepStatus
from surefoot.journal import events as e
from surefoot.models.testing.scripted import Rule


def step_draft(name: str, file: str = "", check: str = "", **more: Any) -> dict[str, Any]:
    kind = {"kind": "command", "value": check} if check else {"kind": "none", "value": ""}
    return {"name": name, "description": name, "type": "code_generation" if file else "command_execution",
            "file": file, "after": [], "check": kind, **more}  # fmt: skip


def command_step(step_id: str, name: str, check: str) -> ExecutionStep:
    return ExecutionStep(id=step_id, name=name, description=name, step_type=StepType.COMMAND_EXECUTION,
                         checks=(CommandCheck(command=check),))  # fmt: skip


@pytest.mark.req("D1", "D2", "D3", "D8")
async def test_reading_a_spec_adds_steps_for_its_files(bench: Bench) -> None:
    bench.write(psm__md="A greeter in main.py, its settings in config.json, its guide in GUIDE.md.\n")
    first = command_step("s1", "read psm.md and write main.py", "python3 main.py")
    answers = [
        act("read_file", path="psm.md"),
        {**act("write_file", path="main.py"), "reason": "the spec asks for more files",
         "add_steps": [step_draft("write the settings", "config.json"), step_draft("write the guide", "GUIDE.md")]},
        fenced("print('hello')"),
        fenced('{"greeting": "hello"}', "json"),
        fenced("# Guide\nRun main.py.", "markdown"),
    ]  # fmt: skip
    state = await bench.run_plan(steps(first), answers)
    assert list(state.steps) == ["s1", "s2", "s3"]
    assert all(r.status is StepStatus.SUCCEEDED for r in state.steps.values())
    assert set(bench.files()) == {"psm.md", "main.py", "config.json", "GUIDE.md"}
    (revision,) = bench.events(e.PlanRevised)
    assert revision.reason == "the spec asks for more files"
    assert revision.by == "model"


@pytest.mark.req("D3", "D8")
async def test_bad_data_adds_a_cleaning_step_before_the_transformation(bench: Bench) -> None:
    bench.write(data__csv="n\n1\nbroken\n2\n")
    plan = steps(
        command_step("load", "look at data.csv", "test -s data.csv"),
        command_step("transform", "write sum.txt from data.csv", 'test "$(cat sum.txt)" = 3'),
        after=[("transform", "load")],
    )
    clean = step_draft("clean data.csv", check="! grep -q broken data.csv")
    answers = [
        Rule("# Step\nlook at", act("run_command", command="cat data.csv"), times=1),
        Rule("# Step\nlook at", {**done("a row is no number"), "add_steps": [clean]}),
        Rule("# Step\nclean", act("run_command", command="sed -i /broken/d data.csv")),
        Rule("# Step\nwrite sum", act("run_command", command="awk 'NR > 1 {s+=$1} END {print s}' data.csv > sum.txt")),
    ]  # fmt: skip
    state = await bench.run_plan(plan, answers)
    order = [event.step_id for event in bench.events(e.StepStarted)]
    assert order == ["load", "s3", "transform"], "steps after the load also wait for the cleaning"
    assert state.steps["transform"].status is StepStatus.SUCCEEDED
    assert bench.files()["sum.txt"].strip() == "3"


@pytest.mark.req("D3", "D8")
async def test_failure_adds_a_step_that_fixes_it(bench: Bench) -> None:
    bench.write(tool__sh="exit 1\n")
    plan = steps(command_step("use", "run tool.sh into out.txt", "test -s out.txt"))
    fix = step_draft("fix tool.sh", "tool.sh")
    repair = step_draft("run tool.sh into out.txt", check="test -s out.txt")
    answers = [
        Rule("# Step\nfix", fenced("echo fine", "sh")),
        Rule("Write the complete new content of `tool.sh`", fenced("echo fine", "sh")),
        Rule("Plan this one step again", repair),
        Rule("Make a plan of at most", {"steps": [fix, {**repair, "after": [1]}], "success_criteria": []}),
        Rule("Choose the one next action", act("run_command", command="sh tool.sh > out.txt")),
    ]
    state = await bench.run_plan(plan, answers)
    assert bench.files()["out.txt"] == "fine\n"
    assert all(r.status is StepStatus.SUCCEEDED for r in state.steps.values())


@pytest.mark.req("D3")
async def test_pending_steps_can_be_removed(bench: Bench) -> None:
    plan = steps(
        command_step("a", "a", "test -e a.txt"),
        command_step("b", "not needed after all", "test -e b.txt"),
        command_step("c", "c", "test -e c.txt"),
        after=[("b", "a"), ("c", "b")],
    )
    answers = [
        {**act("run_command", command="touch a.txt"), "remove_steps": ["not needed after all"]},
        act("run_command", command="touch c.txt"),
    ]
    state = await bench.run_plan(plan, answers)
    assert list(state.steps) == ["a", "c"]
    assert set(bench.files()) == {"a.txt", "c.txt"}


@pytest.mark.req("D3", "D4")
async def test_revisions_beyond_the_limit_are_dropped_with_a_warning(bench: Bench) -> None:
    plan = steps(command_step("a", "a", "test -e a.txt"))
    answers = [
        {**act("run_command", command="true"), "add_steps": [step_draft("one", "one.txt")]},
        {**act("run_command", command="touch a.txt"), "add_steps": [step_draft("two", "two.txt")]},
        fenced("1", "text"),
    ]
    state = await bench.run_plan(plan, answers, max_plan_revisions=1)
    assert list(state.steps) == ["a", "s2"]
    assert any("max_plan_revisions" in warning for warning in state.warnings)


@pytest.mark.req("O3")
@pytest.mark.parametrize("answer", ['{"control": "step_done"}', "STEP_DONE", "<control>step_done</control>"])
async def test_control_envelopes_in_answers_are_understood(bench: Bench, answer: str) -> None:
    bench.write(x__txt="x")
    step = ExecutionStep(id="a", name="a", description="a", step_type=StepType.PREPARATION,
                         checks=(FileCheck(path="x.txt"),))  # fmt: skip
    state = await bench.run_plan(steps(step), [act("list_files"), answer])
    assert state.steps["a"].status is StepStatus.SUCCEEDED


@pytest.mark.req("O3")
async def test_replan_envelope_leads_to_a_new_plan(bench: Bench) -> None:
    step = command_step("a", "a", "test -e a.txt")
    answers = [
        Rule("Plan this one step again", step_draft("a", check="test -e a.txt")),
        Rule("Make a plan of at most", {"steps": [step_draft("b", "b.txt")], "success_criteria": []}),
        Rule("Choose the one next action", '{"control": "replan"}'),
        fenced("b", "text"),
    ]
    state = await bench.run_plan(steps(step), answers)
    assert list(state.steps) == ["s1r1"]
    assert bench.files() == {"b.txt": "b\n"}
