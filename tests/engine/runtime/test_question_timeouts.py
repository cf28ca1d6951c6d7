"""Question timeouts: a question without an answer in time counts as refused. The time runs from the question in the
journal, also while no process runs."""

import asyncio
import time
from typing import Any

import pytest

from support.kit import Bench, act, fenced, steps, understanding
from surefoot.core.outcome import Verdict
from surefoot.core.plan import ExecutionStep, FileCheck, StepType
from surefoot.core.questions import Question
from surefoot.core.transitions import Stage, StepStatus
from surefoot.engine.loop import resume_run
from surefoot.engine.runtime.active_steps import ActiveSteps
from surefoot.engine.runtime.inbox import Inbox
from surefoot.engine.runtime.recorder import Recorder
from surefoot.journal import events as e
from surefoot.journal.bus import Bus
from surefoot.journal.messages import AnswerMessage
from surefoot.journal.redact import Redactor
from surefoot.journal.state import RunState

HOUR = 3600.0
STEP = ExecutionStep(
    id="s", name="make x.txt", description="make x.txt", step_type=StepType.COMMAND_EXECUTION,
    checks=(FileCheck(path="x.txt"),),
)  # fmt: skip
TOUCH = act("run_command", command="touch x.txt")
WRITE = [act("write_file", path="x.txt"), fenced("x", "text")]


class SilentPerson:
    """A person who never answers."""

    async def answer(self, question: Question) -> str | None:
        await asyncio.Event().wait()
        return None


async def resume_after(bench: Bench, run_id: str, hours: float, answers: list[Any]) -> RunState:
    """Resume the run that many hours from now."""
    services = bench.services(answers)
    services.clock = lambda: time.time() + hours * HOUR
    return await resume_run(services, run_id)


def send_answer(bench: Bench, state: RunState, answer: str, *, hours: float) -> None:
    (question,) = state.open_questions
    at = time.time() + hours * HOUR
    bench.journal.send(state.run_id, AnswerMessage(question_id=question.id, answer=answer, at=at))


async def waiting_run(bench: Bench, **config: Any) -> RunState:
    state = await bench.run_plan(steps(STEP), [TOUCH], approve="auto-edit", question_timeout_seconds=2 * HOUR, **config)
    assert state.stage is Stage.WAITING
    return state


@pytest.mark.req("P12")
async def test_approval_without_an_answer_in_time_is_refused(bench: Bench) -> None:
    state = await waiting_run(bench)
    state = await resume_after(bench, state.run_id, 3, WRITE)
    (answer,) = bench.events(e.QuestionAnswered)
    assert (answer.timed_out, answer.answer, answer.by) == (True, "timed out", "nobody")
    assert bench.events(e.ActionRefused)[0].reason == "nobody answered in time, so it is not allowed"
    assert "nobody answered in time" in bench.prompts()[0], "the model is shown the refusal"
    assert state.steps["s"].status is StepStatus.SUCCEEDED, "the model chose another action"
    assert not [a for a in bench.events(e.ActionStarted) if a.tool == "run_command"]


@pytest.mark.req("P12")
async def test_question_waits_until_its_timeout(bench: Bench) -> None:
    state = await waiting_run(bench)
    state = await resume_after(bench, state.run_id, 1, [])
    assert state.stage is Stage.WAITING, "one of two hours has passed"
    send_answer(bench, state, "yes", hours=1.5)
    state = await resume_after(bench, state.run_id, 1.6, [])
    assert state.steps["s"].status is StepStatus.SUCCEEDED
    assert bench.files() == {"x.txt": ""}


@pytest.mark.req("P12")
async def test_answer_in_time_counts_even_if_read_later(bench: Bench) -> None:
    state = await waiting_run(bench)
    send_answer(bench, state, "yes", hours=1)
    state = await resume_after(bench, state.run_id, 100, [])
    assert state.steps["s"].status is StepStatus.SUCCEEDED


@pytest.mark.req("P12")
async def test_late_answer_is_ignored(bench: Bench) -> None:
    state = await waiting_run(bench)
    send_answer(bench, state, "yes", hours=3)
    await resume_after(bench, state.run_id, 4, WRITE)
    (answer,) = bench.events(e.QuestionAnswered)
    assert answer.timed_out
    assert not [a for a in bench.events(e.ActionStarted) if a.tool == "run_command"]


@pytest.mark.req("P12")
async def test_second_answer_has_no_effect(bench: Bench) -> None:
    state = await waiting_run(bench)
    send_answer(bench, state, "no", hours=0)
    send_answer(bench, state, "yes", hours=0)
    await resume_after(bench, state.run_id, 0, WRITE)
    assert [answer.answer for answer in bench.events(e.QuestionAnswered)] == ["no"]
    assert not [a for a in bench.events(e.ActionStarted) if a.tool == "run_command"]


@pytest.mark.req("P12")
async def test_second_answer_later_has_no_effect(bench: Bench) -> None:
    """The run has taken the first one up, and goes on."""
    waiting = await waiting_run(bench)
    send_answer(bench, waiting, "no", hours=0)
    state = await resume_after(bench, waiting.run_id, 0, WRITE)
    send_answer(bench, waiting, "yes", hours=0)
    await Inbox(Recorder(bench.journal, Bus(), state, Redactor()), ActiveSteps(), time.time).receive()
    stored = [record.event for record in bench.journal.read(state.run_id)]
    assert [event.answer for event in stored if isinstance(event, e.QuestionAnswered)] == ["no"]


@pytest.mark.req("P12")
async def test_an_answer_after_words_that_are_none_counts(bench: Bench) -> None:
    """Both may have arrived before the run looks."""
    state = await waiting_run(bench)
    for answer in ("sure, why not", "yes", "no"):
        send_answer(bench, state, answer, hours=0)
    await resume_after(bench, state.run_id, 0, [])
    assert [answer.answer for answer in bench.events(e.QuestionAnswered)] == ["yes"]
    assert bench.files() == {"x.txt": ""}


@pytest.mark.req("P12")
async def test_silent_person_is_not_awaited_beyond_the_timeout(bench: Bench) -> None:
    bench.person = SilentPerson()
    await bench.run_plan(steps(STEP), [TOUCH, *WRITE], approve="auto-edit", question_timeout_seconds=0.01)
    (answer,) = bench.events(e.QuestionAnswered)
    assert answer.timed_out


@pytest.mark.req("P12")
async def test_answer_from_another_process_counts_while_a_person_is_asked(bench: Bench) -> None:
    class AnswersElsewhere(SilentPerson):
        async def answer(self, question: Question) -> str | None:
            run_id = bench.records[0].event.run_id  # type: ignore[union-attr]
            bench.journal.send(run_id, AnswerMessage(question_id=question.id, answer="yes", by="ann"))
            return await super().answer(question)

    bench.person = AnswersElsewhere()
    state = await bench.run_plan(steps(STEP), [TOUCH], approve="ask")
    assert state.steps["s"].status is StepStatus.SUCCEEDED
    assert [answer.by for answer in bench.events(e.QuestionAnswered)] == ["ann"]


@pytest.mark.req("P12")
async def test_unconfirmed_phase_ends_the_run_and_is_asked_again_on_resume(bench: Bench) -> None:
    config: dict[str, Any] = {"require_confirmation": True, "question_timeout_seconds": 2 * HOUR}
    state = await bench.run("Write x.py", [understanding("x.py")], **config)
    assert state.stage is Stage.WAITING
    state = await resume_after(bench, state.run_id, 3, [])
    assert state.stage is Stage.FAILED
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.CANCELLED
    assert "not confirmed after understanding: timed out" in state.outcome.summary
    assert not bench.prompts(), "the phase is not repeated"
    state = await bench.resume(state.run_id, [])
    assert state.stage is Stage.WAITING
    (question,) = state.open_questions
    assert question.answer is None


@pytest.mark.req("P12")
async def test_unclear_task_is_not_started_without_an_answer(bench: Bench) -> None:
    unclear = understanding("x.py", questions=["Which format?"])
    state = await bench.run("Write x.py", [unclear], require_confirmation=True, question_timeout_seconds=2 * HOUR)
    assert [q.kind for q in state.open_questions] == ["clarification"]
    state = await resume_after(bench, state.run_id, 3, [])
    assert state.outcome is not None
    assert "nobody answered 'Which format?' in time" in state.outcome.summary


@pytest.mark.req("P12")
async def test_unconfirmed_step_is_not_run(bench: Bench) -> None:
    step = STEP.with_(requires_confirmation=True)
    state = await bench.run_plan(steps(step), [], question_timeout_seconds=2 * HOUR)
    assert state.stage is Stage.WAITING
    state = await resume_after(bench, state.run_id, 3, [])
    assert state.outcome is not None
    assert "was not confirmed: timed out" in state.outcome.summary
    assert not bench.files()


@pytest.mark.req("P12")
async def test_model_is_shown_that_its_question_timed_out(bench: Bench) -> None:
    ask = act("ask_user", question="Which colour?")
    state = await bench.run_plan(steps(STEP), [ask], question_timeout_seconds=2 * HOUR)
    assert state.stage is Stage.WAITING
    state = await resume_after(bench, state.run_id, 3, [TOUCH])
    assert state.steps["s"].status is StepStatus.SUCCEEDED
    assert "nobody answered in time" in bench.prompts()[-1]


async def test_waiting_for_a_person_counts_against_no_time_limit(bench: Bench) -> None:
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


async def test_questions_wait_forever_without_a_timeout(bench: Bench) -> None:
    state = await bench.run_plan(steps(STEP), [TOUCH], approve="ask")
    state = await resume_after(bench, state.run_id, 100_000, [])
    assert state.stage is Stage.WAITING
