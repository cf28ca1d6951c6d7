"""Questions that make a task impossible to start, at the default settings."""

from typing import Any

import pytest

from support.kit import SMALL, Bench, fenced, understanding
from support.talk import results, submit
from surefoot.core.outcome import Verdict
from surefoot.engine.loop import start_run
from surefoot.journal import events as e
from surefoot.journal.messages import AnswerMessage

ASKING = submit(questions=["Which format?"])
WRITE = [("write_file", {"path": "out.csv", "content": "a,b"}), ("finish_step", {"summary": "written"})]
TASK = "Write the export file."


class Answering:
    async def answer(self, question: Any) -> str:
        return "CSV"


@pytest.mark.req("P12")
async def test_person_who_is_there_is_asked_and_the_model_learns_the_answer(bench: Bench) -> None:
    bench.person = Answering()
    state = await bench.talk(TASK, [ASKING, submit(), WRITE])
    (question,) = state.questions.values()
    assert (question.text, question.answer) == ("Which format?", "CSV")
    outputs = results(bench.talker.requests[1])
    assert "the user has answered 'Which format?' with: CSV" in outputs[0]
    assert "out.csv" in bench.files()


@pytest.mark.req("P12", "A11")
async def test_question_is_recorded_and_answered_later_if_nobody_is_there(bench: Bench) -> None:
    state = await bench.talk(TASK, [ASKING])
    (question,) = state.open_questions
    assert question.text == "Which format?"
    assert not bench.events(e.StepStarted)
    bench.journal.send(state.run_id, AnswerMessage(question_id=question.id, answer="CSV", at=None))
    state = await bench.talk_on(state.run_id, [submit(questions=["Which format?"]), WRITE])
    assert state.outcome is not None
    assert "with: CSV" in results(bench.talker.requests[0])[0]
    assert "out.csv" in bench.files()


@pytest.mark.req("P12")
async def test_without_questions_the_run_goes_on_with_a_stated_assumption(bench: Bench) -> None:
    ask = [("ask_user", {"question": "Which separator?"})]
    state = await bench.talk(TASK, [ASKING, ask, WRITE], ask_questions=False)
    assert not state.questions
    assert "Nobody can be asked" in results(bench.talker.requests[-1])[0]
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.UNVERIFIED
    first, second = state.outcome.warnings
    assert first.startswith("the question 'Which format?' was not asked; the task is read in the most common way")
    assert second.startswith("the question 'Which separator?' was not asked")


@pytest.mark.req("P12", "X5")
async def test_question_of_a_small_model_is_asked_only_if_somebody_is_there(bench: Bench) -> None:
    asking = understanding("out.py", questions=["Which format?"])
    task = bench.task("Write a script for the export.", [])
    services = bench.services([asking, fenced("print(1)")], traits=SMALL)
    state = await start_run(services, task, bench.config())
    assert not state.questions
    assert state.outcome is not None
    assert any("was not asked" in warning for warning in state.outcome.warnings)
    (bench.root / "out.py").unlink()
    bench.person = Answering()
    services = bench.services([asking, fenced("print(2)")], traits=SMALL)
    state = await start_run(services, task, bench.config())
    assert [question.answer for question in state.questions.values()] == ["CSV"]
