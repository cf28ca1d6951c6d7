"""Questions that nobody answers in time count as no. The time is counted from when they were asked, by the journal, so
it passes also while no process runs."""

import asyncio
import time
from typing import Any

import pytest

from kit import Bench, act, fenced, steps, understanding
from surefoot import events as e
from surefoot.engine import resume_run
from surefoot.machine import Stage, StepStatus
from surefoot.outcome import Verdict
from surefoot.plan import ExecutionStep, FileCheck, StepType
from surefoot.state import Question, RunState

HOUR = 3600.0
STEP = ExecutionStep(
    id="s", name="make x.txt", description="make x.txt", step_type=StepType.COMMAND_EXECUTION,
    checks=(FileCheck(path="x.txt"),),
)  # fmt: skip
TOUCH = act("run_command", command="touch x.txt")
WRITE = [act("write_file", path="x.txt"), fenced("x", "text")]


class Silent:
    """Sits there and says nothing."""

    async def answer(self, question: Question) -> str | None:
        await asyncio.Event().wait()
        return None


async def later(bench: Bench, run_id: str, hours: float, answers: list[Any]) -> RunState:
    """Resumes it so many hours after what was asked was asked."""
    services = bench.services(answers)
    services.clock = lambda: time.time() + hours * HOUR
    return await resume_run(services, run_id)


def say(bench: Bench, state: RunState, answer: str, *, hours: float) -> None:
    (question,) = state.open_questions
    given = {"question_id": question.id, "answer": answer, "at": time.time() + hours * HOUR}
    bench.journal.send(state.run_id, {"type": "answer", **given})


async def asked(bench: Bench, **config: Any) -> RunState:
    state = await bench.run_plan(steps(STEP), [TOUCH], approve="auto-edit", question_timeout_seconds=2 * HOUR, **config)
    assert state.stage is Stage.WAITING
    return state


@pytest.mark.req("P12", "D6")
async def test_an_approval_that_nobody_gives_in_time_is_a_no(bench: Bench) -> None:
    state = await asked(bench)
    state = await later(bench, state.run_id, 3, WRITE)
    (answer,) = bench.events(e.QuestionAnswered)
    assert (answer.timed_out, answer.answer, answer.by) == (True, "timed out", "nobody")
    assert bench.events(e.ActionRefused)[0].reason == "nobody allowed this in time: timed out"
    assert "timed out" in bench.prompts()[0], "the model is told"
    assert state.steps["s"].status is StepStatus.SUCCEEDED, "it found another way"
    assert not [a for a in bench.events(e.ActionStarted) if a.tool == "run_command"]


@pytest.mark.req("P12")
async def test_until_then_it_waits_and_an_answer_counts(bench: Bench) -> None:
    state = await asked(bench)
    state = await later(bench, state.run_id, 1, [])
    assert state.stage is Stage.WAITING, "one of two hours is over"
    say(bench, state, "yes", hours=1.5)
    state = await later(bench, state.run_id, 1.6, [])
    assert state.steps["s"].status is StepStatus.SUCCEEDED
    assert bench.files() == {"x.txt": ""}


@pytest.mark.req("P12")
async def test_what_was_answered_in_time_counts_whenever_it_is_read(bench: Bench) -> None:
    state = await asked(bench)
    say(bench, state, "yes", hours=1)
    state = await later(bench, state.run_id, 100, [])
    assert state.steps["s"].status is StepStatus.SUCCEEDED


@pytest.mark.req("P12")
async def test_a_late_answer_is_none(bench: Bench) -> None:
    state = await asked(bench)
    say(bench, state, "yes", hours=3)
    await later(bench, state.run_id, 4, WRITE)
    (answer,) = bench.events(e.QuestionAnswered)
    assert answer.timed_out
    assert not [a for a in bench.events(e.ActionStarted) if a.tool == "run_command"]


@pytest.mark.req("P12")
async def test_a_second_answer_changes_nothing(bench: Bench) -> None:
    state = await asked(bench)
    say(bench, state, "no", hours=0)
    say(bench, state, "yes", hours=0)
    await later(bench, state.run_id, 0, WRITE)
    assert [answer.answer for answer in bench.events(e.QuestionAnswered)] == ["no"]
    assert not [a for a in bench.events(e.ActionStarted) if a.tool == "run_command"]


@pytest.mark.req("P12")
async def test_somebody_who_sits_there_and_says_nothing_is_not_waited_for(bench: Bench) -> None:
    bench.person = Silent()
    await bench.run_plan(steps(STEP), [TOUCH, *WRITE], approve="auto-edit", question_timeout_seconds=0.01)
    (answer,) = bench.events(e.QuestionAnswered)
    assert answer.timed_out


@pytest.mark.req("P12")
async def test_an_answer_from_elsewhere_is_taken_while_somebody_here_is_asked(bench: Bench) -> None:
    class Elsewhere(Silent):
        async def answer(self, question: Question) -> str | None:
            run_id = bench.records[0].event.run_id  # type: ignore[union-attr]
            bench.journal.send(run_id, {"type": "answer", "question_id": question.id, "answer": "yes", "by": "ann"})
            return await super().answer(question)

    bench.person = Elsewhere()
    state = await bench.run_plan(steps(STEP), [TOUCH], approve="ask")
    assert state.steps["s"].status is StepStatus.SUCCEEDED
    assert [answer.by for answer in bench.events(e.QuestionAnswered)] == ["ann"]


@pytest.mark.req("P12", "A8")
async def test_a_phase_that_nobody_confirms_ends_the_run_and_is_asked_about_again_when_resumed(bench: Bench) -> None:
    config: dict[str, Any] = {"require_confirmation": True, "question_timeout_seconds": 2 * HOUR}
    state = await bench.run("Write x.py", [understanding("x.py")], **config)
    assert state.stage is Stage.WAITING
    state = await later(bench, state.run_id, 3, [])
    assert state.stage is Stage.FAILED
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.CANCELLED
    assert "not confirmed after understanding: timed out" in state.outcome.summary
    assert not bench.prompts(), "silence is no wish for something else"
    state = await bench.resume(state.run_id, [])
    assert state.stage is Stage.WAITING
    (question,) = state.open_questions
    assert question.answer is None


@pytest.mark.req("P12", "A8")
async def test_an_unclear_task_is_not_begun_when_nobody_says_what_is_meant(bench: Bench) -> None:
    unclear = understanding("x.py", questions=["Which format?"])
    state = await bench.run("Write x.py", [unclear], require_confirmation=True, question_timeout_seconds=2 * HOUR)
    assert [q.kind for q in state.open_questions] == ["clarification"]
    state = await later(bench, state.run_id, 3, [])
    assert state.outcome is not None
    assert "nobody answered 'Which format?': timed out" in state.outcome.summary


@pytest.mark.req("P12")
async def test_a_step_that_needs_a_word_is_not_run_without_it(bench: Bench) -> None:
    careful = STEP.with_(requires_confirmation=True)
    state = await bench.run_plan(steps(careful), [], question_timeout_seconds=2 * HOUR)
    assert state.stage is Stage.WAITING
    state = await later(bench, state.run_id, 3, [])
    assert state.outcome is not None
    assert "was not confirmed: timed out" in state.outcome.summary
    assert not bench.files()


@pytest.mark.req("P12")
async def test_a_model_that_asks_is_told_that_nobody_answered(bench: Bench) -> None:
    ask = act("ask_user", question="Which colour?")
    state = await bench.run_plan(steps(STEP), [ask], question_timeout_seconds=2 * HOUR)
    assert state.stage is Stage.WAITING
    state = await later(bench, state.run_id, 3, [TOUCH])
    assert state.steps["s"].status is StepStatus.SUCCEEDED
    assert "nobody answered in time: timed out" in bench.prompts()[-1]


async def test_what_a_person_takes_is_not_the_step_s_time_nor_the_run_s(bench: Bench) -> None:
    class Slow:
        async def answer(self, question: Question) -> str | None:
            loop = asyncio.get_running_loop()
            now = loop.time
            loop.time = lambda: now() + 10 * HOUR  # type: ignore[method-assign]
            await asyncio.sleep(0)
            return "yes"

    bench.person = Slow()
    budget = {"max_seconds": HOUR}
    state = await bench.run_plan(steps(STEP), [TOUCH], approve="ask", step_timeout_seconds=HOUR, budget=budget)
    assert state.steps["s"].status is StepStatus.SUCCEEDED
    assert len(bench.events(e.StepStarted)) == 1


async def test_without_a_limit_questions_wait_for_ever(bench: Bench) -> None:
    state = await bench.run_plan(steps(STEP), [TOUCH], approve="ask")
    state = await later(bench, state.run_id, 100_000, [])
    assert state.stage is Stage.WAITING
