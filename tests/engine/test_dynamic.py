"""The seeds' scenarios: the plan is a starting point, and what an action shows may change it."""

from typing import Any

import pytest

from kit import Bench, act, done, fenced, steps
from surefoot import events as e
from surefoot.machine import StepStatus
from surefoot.models.scripted import Rule
from surefoot.plan import CommandCheck, ExecutionStep, FileCheck, StepType


def wish(name: str, file: str = "", check: str = "", **more: Any) -> dict[str, Any]:
    kind = {"kind": "command", "value": check} if check else {"kind": "none", "value": ""}
    return {"name": name, "description": name, "type": "code_generation" if file else "command_execution",
            "file": file, "after": [], "check": kind, **more}  # fmt: skip


def command(step_id: str, name: str, check: str) -> ExecutionStep:
    return ExecutionStep(id=step_id, name=name, description=name, step_type=StepType.COMMAND_EXECUTION,
                         checks=(CommandCheck(command=check),))  # fmt: skip


@pytest.mark.req("D1", "D2", "D3", "D8")
async def test_reading_a_spec_adds_steps_for_the_files_it_asks_for(bench: Bench) -> None:
    bench.write(psm__md="A greeter in main.py, its settings in config.json, its guide in GUIDE.md.\n")
    first = command("s1", "read psm.md and write main.py", "python3 main.py")
    answers = [
        act("read_file", path="psm.md"),
        {**act("write_file", path="main.py"), "reason": "the spec asks for more files",
         "add_steps": [wish("write the settings", "config.json"), wish("write the guide", "GUIDE.md")]},
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
async def test_a_problem_in_the_data_adds_a_cleaning_step_before_the_transformation(bench: Bench) -> None:
    bench.write(data__csv="n\n1\nbroken\n2\n")
    plan = steps(
        command("load", "look at data.csv", "test -s data.csv"),
        command("transform", "write sum.txt from data.csv", 'test "$(cat sum.txt)" = 3'),
        after=[("transform", "load")],
    )
    clean = wish("clean data.csv", check="! grep -q broken data.csv")
    answers = [
        Rule("# Step\nlook at", act("run_command", command="cat data.csv"), times=1),
        Rule("# Step\nlook at", {**done("a row is no number"), "add_steps": [clean]}),
        Rule("# Step\nclean", act("run_command", command="sed -i /broken/d data.csv")),
        Rule("# Step\nwrite sum", act("run_command", command="awk 'NR > 1 {s+=$1} END {print s}' data.csv > sum.txt")),
    ]  # fmt: skip
    state = await bench.run_plan(plan, answers)
    order = [event.step_id for event in bench.events(e.StepStarted)]
    assert order == ["load", "s3", "transform"], "what waited for the load waits for the cleaning too"
    assert state.steps["transform"].status is StepStatus.SUCCEEDED
    assert bench.files()["sum.txt"].strip() == "3"


@pytest.mark.req("D3", "D8")
async def test_a_failure_adds_a_step_that_mends_it(bench: Bench) -> None:
    bench.write(tool__sh="exit 1\n")
    plan = steps(command("use", "run tool.sh into out.txt", "test -s out.txt"))
    mend = wish("mend tool.sh", "tool.sh")
    repair = wish("run tool.sh into out.txt", check="test -s out.txt")
    answers = [
        Rule("# Step\nmend", fenced("echo fine", "sh")),
        Rule("Write the complete new content of `tool.sh`", fenced("echo fine", "sh")),
        Rule("Plan this one step again", repair),
        Rule("Make a plan of at most", {"steps": [mend, {**repair, "after": [1]}], "success_criteria": []}),
        Rule("Choose the one next action", act("run_command", command="sh tool.sh > out.txt")),
    ]
    state = await bench.run_plan(plan, answers)
    assert bench.files()["out.txt"] == "fine\n"
    assert all(r.status is StepStatus.SUCCEEDED for r in state.steps.values())


@pytest.mark.req("D3")
async def test_steps_that_have_not_begun_can_be_removed(bench: Bench) -> None:
    plan = steps(
        command("a", "a", "test -e a.txt"),
        command("b", "not needed after all", "test -e b.txt"),
        command("c", "c", "test -e c.txt"),
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
async def test_revisions_are_capped_and_said(bench: Bench) -> None:
    plan = steps(command("a", "a", "test -e a.txt"))
    answers = [
        {**act("run_command", command="true"), "add_steps": [wish("one", "one.txt")]},
        {**act("run_command", command="touch a.txt"), "add_steps": [wish("two", "two.txt")]},
        fenced("1", "text"),
    ]
    state = await bench.run_plan(plan, answers, max_plan_revisions=1)
    assert list(state.steps) == ["a", "s2"]
    assert any("max_plan_revisions" in warning for warning in state.warnings)


@pytest.mark.req("O3")
@pytest.mark.parametrize("said", ['{"control": "step_done"}', "STEP_DONE", "<control>step_done</control>"])
async def test_the_control_envelopes_of_models_are_understood(bench: Bench, said: str) -> None:
    bench.write(x__txt="here")
    step = ExecutionStep(id="a", name="a", description="a", step_type=StepType.PREPARATION,
                         checks=(FileCheck(path="x.txt"),))  # fmt: skip
    state = await bench.run_plan(steps(step), [said])
    assert state.steps["a"].status is StepStatus.SUCCEEDED


@pytest.mark.req("O3")
async def test_a_replan_envelope_leads_to_a_new_plan(bench: Bench) -> None:
    step = command("a", "a", "test -e a.txt")
    answers = [
        Rule("Plan this one step again", wish("a", check="test -e a.txt")),
        Rule("Make a plan of at most", {"steps": [wish("b", "b.txt")], "success_criteria": []}),
        Rule("Choose the one next action", '{"control": "replan"}'),
        fenced("b", "text"),
    ]
    state = await bench.run_plan(steps(step), answers)
    assert list(state.steps) == ["s1r1"]
    assert bench.files() == {"b.txt": "b\n"}
