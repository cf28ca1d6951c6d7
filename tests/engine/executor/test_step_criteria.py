"""The criteria of a step are judged when it ends, by what can be seen. An unmet one is told once, then shown."""

import io
from typing import Any

import pytest

from support.kit import NO_RETRIES, Bench, act, done, fenced, steps
from support.talk import results, submit
from surefoot.cli.report.details import details
from surefoot.cli.report.symbols import ASCII
from surefoot.cli.views.plain import PlainLines
from surefoot.core.outcome import CriterionResult
from surefoot.core.plan import ExecutionStep, StepType
from surefoot.core.transitions import StepStatus
from surefoot.engine.executor.step_criteria import UNMET
from surefoot.journal import events as e
from surefoot.journal.state import RunState

FINISH = ("finish_step", {"summary": "done"})
NOT_THERE = "b.txt exists"


def write(path: str, text: str = "x\n") -> tuple[str, dict[str, Any]]:
    return "write_file", {"path": path, "content": text}


def command(text: str) -> tuple[str, dict[str, Any]]:
    return "run_command", {"command": text}


def plan_of(**fields: Any) -> list[Any]:
    return submit({"name": "Write a.txt", "description": "Write a.txt, as planned.", **fields})


def criteria(state: RunState, step_id: str = "s1") -> dict[str, CriterionResult]:
    output = state.steps[step_id].output
    assert output is not None
    return {result.criterion: result for result in output.criteria}


@pytest.mark.req("P21", "P8")
async def test_criteria_are_judged_by_checks_files_and_output_when_the_step_ends(bench: Bench) -> None:
    asked = ["a.txt exists", "`grep -q x a.txt`", "the command prints `hello world`", "the text reads well"]
    plan = plan_of(validation_criteria=asked)
    state = await bench.talk("Write a.txt.", [plan, [write("a.txt"), command("echo hello world"), FINISH]])
    judged = criteria(state)
    assert {text: judged[text].met for text in asked} == dict(zip(asked, [True, True, True, None], strict=True))
    assert judged[asked[2]].because == "printed by: echo hello world"
    assert len(bench.talker.requests) == 2, "no question to the model is about criteria"
    assert state.validation is not None
    assert state.validation.output is not None
    assert {c.criterion: c.met for c in state.validation.output.criteria} == {text: judged[text].met for text in asked}


@pytest.mark.req("P21", "X1")
async def test_an_unmet_criterion_is_told_to_a_conversation_once_and_then_mended(bench: Bench) -> None:
    plan = plan_of(validation_criteria=[NOT_THERE])
    state = await bench.talk("Write a.txt.", [plan, [write("a.txt"), FINISH], [write("b.txt"), FINISH]])
    (refusal,) = [text for request in bench.talker.requests for text in results(request) if UNMET in text]
    assert refusal.startswith(f"Refused: {UNMET}: {NOT_THERE} (failed: b.txt exists)")
    assert criteria(state)[NOT_THERE].met is True
    assert state.steps["s1"].attempt == 1


@pytest.mark.req("P21", "X1")
async def test_a_strong_model_may_insist_and_the_step_is_done_unproven(bench: Bench) -> None:
    plan = plan_of(validation_criteria=[NOT_THERE], checks=[{"kind": "file_exists", "value": "a.txt"}])
    state = await bench.talk("Write a.txt.", [plan, [write("a.txt"), FINISH], [FINISH]])
    step_run = state.steps["s1"]
    assert (step_run.status, step_run.attempt) == (StepStatus.SUCCEEDED, 1)
    assert step_run.output is not None
    assert (step_run.output.unproven, step_run.output.proven) == (True, False)
    assert state.outcome is not None
    assert state.outcome.unproven_steps == ("s1",)
    assert f"not met: {NOT_THERE} (failed: b.txt exists)" in state.outcome.warnings
    assert state.validation is not None
    assert state.validation.validation is not None
    assert any(NOT_THERE in message for message in state.validation.validation.messages)
    shown = f"criterion: {NOT_THERE}: not met (failed: b.txt exists)"
    assert shown in "\n".join(map(str, details(state, ASCII)))
    stream = io.StringIO()
    lines = PlainLines(stream, ASCII)
    for record in bench.records:
        lines.on_record(record)
    assert shown in stream.getvalue()
    assert "done, unproven" in stream.getvalue()


@pytest.mark.req("P21", "P8")
async def test_an_expected_file_that_is_missing_is_told_and_a_deleted_one_is_not(bench: Bench) -> None:
    bench.write(old__txt="old\n")
    plan = plan_of(files=["a.txt", "old.txt"], expected_outputs=["b.txt", "a good mood"])
    turns = [[write("a.txt"), command("rm old.txt"), FINISH], [write("b.txt"), FINISH]]
    state = await bench.talk("Write a.txt and b.txt, and remove old.txt.", [plan, *turns])
    (refusal,) = [text for request in bench.talker.requests for text in results(request) if UNMET in text]
    assert "b.txt exists (the plan expects it, and it is not there)" in refusal
    assert "old.txt" not in refusal
    assert state.steps["s1"].output is not None
    assert not criteria(state)


@pytest.mark.req("P21", "R8")
@pytest.mark.parametrize("kind", ["actions", "file"])
async def test_a_model_without_tool_calls_is_told_too(bench: Bench, kind: str) -> None:
    """An action loop is told inside the attempt, a step of one answer by the next attempt's question."""
    answers: list[Any]
    step = ExecutionStep(id="s", name="Write a.txt", description="Write it.", validation_criteria=("`grep y a.txt`",))
    if kind == "actions":
        step = step.with_(step_type=StepType.COMMAND_EXECUTION)
        answers = [act("run_command", command="echo x > a.txt"), done(), act("run_command", command="echo y > a.txt")]
        answers.append(done())
    else:
        step = step.with_(writes=("a.txt",), expected_outputs=("a.txt",))
        answers = [fenced("x", ""), fenced("y", "")]
    state = await bench.run_plan(steps(step), answers)
    assert "Criterion: `grep y a.txt`" in bench.prompts()[0]
    assert any(UNMET in prompt for prompt in bench.prompts()[1:])
    step_run = state.steps["s"]
    assert (step_run.status, step_run.attempt) == (StepStatus.SUCCEEDED, 1 if kind == "actions" else 2)
    assert criteria(state, "s")["`grep y a.txt`"].met is True
    assert len(bench.prompts()) == len(answers), "rules find the cause; the model is not asked for it"


@pytest.mark.req("P21", "X1")
async def test_where_nobody_can_be_told_the_step_is_done_unproven(bench: Bench) -> None:
    """A step that names its tool asks no model; without retries there is no next attempt."""
    call = ExecutionStep(id="c", name="List", tool="list_files", validation_criteria=(NOT_THERE,))
    file = ExecutionStep(id="f", name="Write a.txt", writes=("a.txt",), validation_criteria=(NOT_THERE,))
    state = await bench.run_plan(steps(call, file), [fenced("x", "")], reflection=NO_RETRIES)
    assert [r.status for r in state.steps.values()] == [StepStatus.SUCCEEDED] * 2
    assert [bool(r.output and r.output.unproven) for r in state.steps.values()] == [True, True]
    assert not bench.events(e.RungChosen)


@pytest.mark.req("P21")
async def test_a_criterion_can_speak_of_the_results_of_its_own_step(bench: Bench) -> None:
    bench.write(a__txt="x\n")
    call = ExecutionStep(id="c", name="List", tool="list_files", validation_criteria=('outputs["c"]["result"] != ""',))
    wrong = call.with_(id="d", validation_criteria=('outputs["c"]["result"] == "other"',))
    state = await bench.run_plan(steps(call, wrong, after=[("d", "c")]))
    assert [c.met for c in criteria(state, "c").values()] == [True]
    assert [c.met for c in criteria(state, "d").values()] == [False]
