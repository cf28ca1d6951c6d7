"""Asks people questions. An answer may come after this process has ended."""

import asyncio
import hashlib
from collections.abc import Callable
from typing import Protocol

from surefoot.core.outcome import Verdict
from surefoot.core.questions import TIMED_OUT, Question, expected, times_out_at, understood
from surefoot.engine.runtime.recorder import Recorder
from surefoot.engine.runtime.stop import Stopped
from surefoot.engine.runtime.timeouts import Timeouts
from surefoot.errors import ToolError
from surefoot.journal import events as e
from surefoot.journal.events.people import QuestionKind

LOOK_SECONDS = 0.25
"""How often to look for an answer from elsewhere."""
MAX_ASKED = 3
"""How many times a question is asked if the answers are none of its choices."""


NOBODY = "Nobody can be asked. Take the most usual reading, go on, and say what you assumed when you finish."


class Person(Protocol):
    """Somebody who can be asked now. The answer None means "not now": the run then waits, also after this process."""

    async def answer(self, question: Question) -> str | None: ...


class Human:
    """The channel from a run to people."""

    def __init__(
        self, recorder: Recorder, person: Person | None, timeouts: Timeouts, clock: Callable[[], float]
    ) -> None:
        self._recorder = recorder
        self._person = person
        self._timeouts = timeouts
        self._clock = clock

    @property
    def is_there(self) -> bool:
        """Whether somebody can answer now."""
        return self._person is not None and getattr(self._person, "is_there", True)

    async def ask_for_tool(self, question: str) -> str:
        """Return the answer to a question of the model. Raises ToolError if nobody answers in time."""
        if not self._recorder.state.config.ask_questions:
            self._recorder.warn(f"the question '{question}' was not asked; the model assumed an answer")
            return NOBODY
        answer = await self.ask("clarification", question)
        if answer == TIMED_OUT:
            raise ToolError("nobody answered in time", remedy="continue without the answer, or do something else")
        return answer

    async def ask(
        self,
        kind: QuestionKind,
        text: str,
        *,
        options: tuple[str, ...] = (),
        step_id: str = "",
        subject: str = "",
        draft: str = "",
        proposed: str = "",
    ) -> str:
        """Return the answer, which may have been given to an earlier process. Raises Stopped if nobody answers now.

        `draft` is the text that the answer `edit: TEXT` replaces, `proposed` the blob of the proposal asked about.
        """
        question_id = hashlib.sha256(f"{kind}\0{step_id}\0{subject or text}".encode()).hexdigest()[:10]
        questions = self._recorder.state.questions
        if question_id not in questions:
            asked = e.QuestionAsked(
                question_id=question_id,
                kind=kind,
                text=text,
                options=options,
                step_id=step_id,
                subject=subject,
                draft=self._recorder.journal.put_blob(draft.encode()) if draft else "",
                proposed=proposed,
            )
            await self._recorder.record(asked)
        question = questions[question_id]
        question.draft = draft
        if question.answer is None and (answer := await self._answer(question)):
            await self._recorder.record(answer)
        assert question.answer is not None
        return question.answer

    async def _answer(self, question: Question) -> e.QuestionAnswered | None:
        """Wait for an answer. Returns None if somebody has answered from elsewhere."""
        until = times_out_at(question, self._recorder.state.config.question_timeout_seconds)
        left = None if until is None else until - self._clock()
        if left is not None and left <= 0:
            return timed_out(question)
        if self._person is None:
            raise Stopped(Verdict.WAITING, question.text)
        try:
            with self._timeouts.paused(question.step_id):
                answer = await self._understandable_answer(self._person, question, until)
        except TimeoutError:
            return timed_out(question)
        if question.answer is not None:
            return None
        if answer is None:
            raise Stopped(Verdict.WAITING, question.text)
        if answer not in question.options:
            # An offered answer is compared later, so it stays as it is. Any other is free text.
            answer = self._recorder.redactor.redact_known(answer)
        return e.QuestionAnswered(question_id=question.id, answer=answer)

    async def _understandable_answer(self, person: Person, question: Question, until: float | None) -> str | None:
        """Ask until the answer is understood, at most `MAX_ASKED` times. Returns None if there is no such answer."""
        for _ in range(MAX_ASKED):
            left = None if until is None else max(until - self._clock(), 0.0)
            words = await first_answer(person, question, left)
            if words is None or question.answer is not None:
                return words
            if (answer := understood(question, words)) is not None:
                return answer
            self._recorder.note(not_understood(question, words))
        return None


async def first_answer(person: Person, question: Question, seconds: float | None) -> str | None:
    """Return the answer of this person, or one from elsewhere: the inbox records it, and its event sets it.

    Raises TimeoutError after `seconds`.
    """
    asking = asyncio.create_task(person.answer(question))
    try:
        async with asyncio.timeout(seconds):
            while question.answer is None and not asking.done():
                await asyncio.wait([asking], timeout=LOOK_SECONDS)
    finally:
        if not asking.done():
            asking.cancel()
            await asyncio.wait([asking])
    return question.answer if question.answer is not None else asking.result()


def not_understood(question: Question, words: str) -> e.Warned:
    return e.Warned(
        message=f"{words[:100]!r} is not a valid answer to a question; it is answered with: {expected(question)}"
    )


def answered(question: Question, answer: str, by: str, *, at: float, limit: float | None) -> e.QuestionAnswered:
    """Return the event for an answer that was given at the time `at`. A late answer counts as timed out."""
    until = times_out_at(question, limit)
    if until is not None and at >= until:
        return timed_out(question)
    return e.QuestionAnswered(question_id=question.id, answer=answer, by=by)


def timed_out(question: Question) -> e.QuestionAnswered:
    return e.QuestionAnswered(question_id=question.id, answer=TIMED_OUT, by="nobody", timed_out=True)
