"""Approvals that are given after the process has ended: what was approved is done, and the model is not asked again."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from support.kit import SMALL, Bench, PreparedPerson, act, fenced, steps
from surefoot.core.plan import DetailedPlan, ExecutionStep, FileCheck, StepType
from surefoot.core.transitions import Stage
from surefoot.engine.executor import approval
from surefoot.engine.loop import resume_run
from surefoot.history.replay.replay import verify
from surefoot.journal import events as e
from surefoot.journal.messages import AnswerMessage
from surefoot.journal.state import RunState
from surefoot.models.base import ModelTraits

CHECK = "python3 -c 'import adder; assert adder.add(1, 2) == 3'"
JSON = ModelTraits()
FILE = ExecutionStep(
    id="s", name="write adder.py", description="write adder.py with add(a, b)", step_type=StepType.CODE_GENERATION,
    writes=("adder.py",),
)  # fmt: skip
FREE = ExecutionStep(
    id="s", name="make x.txt and y.txt", description="make x.txt and y.txt", step_type=StepType.COMMAND_EXECUTION,
    checks=(FileCheck(path="x.txt"), FileCheck(path="y.txt")),
)  # fmt: skip


def adder(result: str) -> str:
    return fenced(f"def add(a, b):\n    return {result}")


def sh(command: str) -> str:
    return fenced(command, "sh")


async def answered_later(
    bench: Bench,
    plan: DetailedPlan,
    script: Sequence[Any],
    words: Sequence[str],
    *,
    traits: ModelTraits = JSON,
    killed: bool = False,
    **more: Any,
) -> tuple[RunState, int]:
    """Run without a person, and answer each question when the process has ended; returns how often the model was asked.
    `killed`: the process that received the answer ended before it did anything."""
    state = await bench.run_plan(plan, script, traits=traits, approve="ask", **more)
    calls, left = len(bench.model.requests), list(words)
    while state.stage is Stage.WAITING and left:
        (question,) = state.open_questions
        word = left.pop(0)
        if killed:
            await bench.journal.append(state.run_id, [e.QuestionAnswered(question_id=question.id, answer=word)])
        else:
            bench.journal.send(state.run_id, AnswerMessage(question_id=question.id, answer=word))
        state = await resume_run(bench.services(script[calls:], traits=traits), state.run_id)
        calls += len(bench.model.requests)
    return state, calls


def done_and_refused(bench: Bench) -> list[tuple[Any, ...]]:
    """What was done, refused and found, in order."""
    found: list[tuple[Any, ...]] = []
    for record in bench.records:
        match record.event:
            case e.ActionStarted() as started:
                found.append((started.tool, started.arguments, started.body))
            case e.ActionRefused() as refused:
                found.append((refused.tool, refused.reason))
            case e.ChecksRan() as ran if ran.step_id:
                found.append(("checks", ran.when, [result.passed for result in ran.results]))
            case e.StepFinished() as end:
                found.append((end.status, end.failure.message if end.failure else ""))
    return found


SCRIPTS: dict[str, tuple[ExecutionStep, ModelTraits, list[Any], tuple[str, ...]]] = {
    "correction of a file": (FILE, JSON, [adder("a - b"), adder("a + b"), adder("b + a")], (CHECK,)),
    "small, a later attempt": (FILE, SMALL, [adder("a - b"), adder("a + b"), adder("b + a")], (CHECK,)),
    "third action": (
        FREE, JSON,
        [act("run_command", command=f"touch {name}") for name in ("z.txt", "x.txt", "y.txt", "other.txt")], (),
    ),
    "the content is asked for next": (
        FREE, ModelTraits(inline_bodies=False),
        [act("write_file", path="x.txt"), fenced("x", "text"), act("write_file", path="y.txt"), fenced("y", "text")],
        (),
    ),
    "small, several parts": (FREE, SMALL, [f"{sh('touch x.txt')}\n\n{sh('touch y.txt')}", sh("touch other.txt")], ()),
    "small, after an error": (
        FREE, SMALL, [sh("touch x.txt; false"), sh("touch x.txt y.txt"), sh("touch other.txt")], (),
    ),
    "small, a later file": (
        FREE, SMALL,
        [sh("touch z.txt"), f"{sh('touch x.txt')}\n\n{sh('touch y.txt')}", sh("touch other.txt")], (),
    ),
}  # fmt: skip


@pytest.mark.req("P12", "D6")
@pytest.mark.parametrize("killed", [False, True])
@pytest.mark.parametrize("name", SCRIPTS)
async def test_approved_later_is_as_approved_at_once(bench: Bench, tmp_path: Path, name: str, killed: bool) -> None:
    step, traits, script, checks = SCRIPTS[name]
    there = Bench(tmp_path / "there", tmp_path / "home2", person=PreparedPerson(*["yes"] * 9))
    there.root.mkdir()
    there.home.mkdir()
    expected = await there.run_plan(steps(step), script, traits=traits, checks=checks, approve="ask")
    assert expected.stage is Stage.COMPLETED, "or the script is wrong"
    state, calls = await answered_later(
        bench, steps(step), script, ["yes"] * 9, traits=traits, checks=checks, killed=killed
    )
    assert state.stage is Stage.COMPLETED
    assert calls == len(there.model.requests), "the model is not asked again"
    assert done_and_refused(bench) == done_and_refused(there)
    assert bench.files() == there.files()
    assert len(bench.events(e.QuestionAsked)) == len(bench.events(e.ActionStarted)), "each action is asked about once"


@pytest.mark.req("P12")
@pytest.mark.parametrize("name", SCRIPTS)
async def test_no_that_comes_later_is_as_a_no_at_once(bench: Bench, tmp_path: Path, name: str) -> None:
    """The model is told, and asked what to do instead."""
    step, traits, script, checks = SCRIPTS[name]
    script, words = [*script, *script[::-1]], ["yes", "no, use sum", *["yes"] * 20]
    there = Bench(tmp_path / "there", tmp_path / "home2", person=PreparedPerson(*words))
    there.root.mkdir()
    there.home.mkdir()
    expected = await there.run_plan(steps(step), script, traits=traits, checks=checks, approve="ask")
    state, calls = await answered_later(bench, steps(step), script, words, traits=traits, checks=checks)
    assert state.stage is expected.stage
    assert calls == len(there.model.requests)
    assert done_and_refused(bench) == done_and_refused(there)
    assert any("no, use sum" in refused.reason for refused in bench.events(e.ActionRefused))


@pytest.mark.req("P12")
async def test_edit_that_comes_later_is_carried_out(bench: Bench) -> None:
    script = [adder("a - b"), adder("a * b"), adder("b + a")]
    words = ["yes", "edit: def add(a, b):\n    return sum((a, b))\n"]
    state, calls = await answered_later(bench, steps(FILE), script, words, checks=(CHECK,))
    assert state.stage is Stage.COMPLETED
    assert calls == 2
    assert bench.files() == {"adder.py": "def add(a, b):\n    return sum((a, b))\n"}


@pytest.mark.req("P12")
async def test_same_proposal_is_asked_about_again_when_the_file_has_changed(bench: Bench) -> None:
    script = [adder("a - b"), adder("a + b"), adder("b + a")]
    state, calls = await answered_later(bench, steps(FILE), script, ["yes"], checks=(CHECK,))
    (question,) = state.open_questions
    bench.write(adder__py="def add(a, b):\n    return 4\n")
    bench.journal.send(state.run_id, AnswerMessage(question_id=question.id, answer="yes"))
    state = await bench.resume(state.run_id, script[calls:])
    (question,) = state.open_questions
    assert "-    return 4\n+    return a + b" in question.text
    assert not bench.model.requests
    bench.journal.send(state.run_id, AnswerMessage(question_id=question.id, answer="yes"))
    state = await bench.resume(state.run_id, script[calls:])
    assert state.stage is Stage.COMPLETED
    assert not bench.model.requests


@pytest.mark.req("P12")
async def test_proposal_with_a_secret_is_not_stored(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is asked for again, and is carried out only if it is the same."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-live-0123456789abcdef0123")
    command = act("run_command", command="touch x.txt y.txt # sk-live-0123456789abcdef0123")
    state, calls = await answered_later(bench, steps(FREE), [command, command], ["yes"])
    assert not [asked.proposed for asked in bench.events(e.QuestionAsked) if asked.proposed]
    assert (state.stage, calls) == (Stage.COMPLETED, 2)


@pytest.mark.req("O8")
@pytest.mark.parametrize("older", [False, True])
async def test_replay_of_a_run_that_was_approved_later(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, older: bool
) -> None:
    """Also of a journal by a version that did not keep what was proposed, and asked the model again."""
    with monkeypatch.context() as patched:
        if older:
            patched.setattr(approval, "store", lambda run, proposed: "")
        script = [adder("a - b"), adder("a + b"), adder("a + b")]
        state, calls = await answered_later(bench, steps(FILE), script, ["yes", "yes"], checks=(CHECK,))
    assert calls == (3 if older else 2)
    verification = await verify(bench.journal, bench.home, state.run_id)
    assert verification.divergence is None
    assert verification.compared > 10


@pytest.mark.req("P12", "D6")
@pytest.mark.parametrize("killed", [False, True])
async def test_answer_to_a_later_question_of_the_model_reaches_it(bench: Bench, killed: bool) -> None:
    touch = [act("run_command", command=f"touch {name}.txt") for name in "xy"]
    script = [touch[0], act("ask_user", question="Which colour?"), touch[1]]
    state, calls = await answered_later(bench, steps(FREE), script, ["yes", "blue", "yes"], killed=killed)
    assert (state.stage, calls) == (Stage.COMPLETED, 3)
    assert [asked.kind for asked in bench.events(e.QuestionAsked)] == ["approval", "clarification", "approval"]
    asked, answered = [event for event in bench.events(e.ActionStarted) if event.tool == "ask_user"]
    assert asked.arguments == answered.arguments
    (finished,) = [event for event in bench.events(e.ActionFinished) if event.action_id == answered.action_id]
    assert finished.summary == "the user answered: blue"


@pytest.mark.req("P12")
async def test_failure_of_a_refused_correction_says_what_the_person_said(bench: Bench) -> None:
    script = [adder("a - b"), adder("a * b"), adder("a + b")]
    await answered_later(bench, steps(FILE), script, ["yes", "no, it has to add"], checks=(CHECK,))
    (end, *_) = bench.events(e.StepFinished)
    assert end.failure.message.startswith("the correction was refused (the user said no: no, it has to add)")
