"""Messages that other processes leave for a run: answers become events, controls interrupt running work."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

from surefoot.core.questions import understood
from surefoot.core.transitions import Stage
from surefoot.engine.runtime.active_steps import ActiveSteps
from surefoot.engine.runtime.heartbeat import Heartbeat
from surefoot.engine.runtime.human import answered, not_understood
from surefoot.engine.runtime.recorder import Recorder
from surefoot.engine.runtime.stop import Stopped, stop_for
from surefoot.errors import JournalError, LeaseLost
from surefoot.journal import events as e
from surefoot.journal.messages import AnswerMessage, ControlMessage, UnreadableMessage

WATCH_SECONDS = 0.25
"""How often a run looks for messages from other processes."""


class Inbox:
    def __init__(self, recorder: Recorder, active_steps: ActiveSteps, clock: Callable[[], float]) -> None:
        self._recorder = recorder
        self._active_steps = active_steps
        self._clock = clock
        self.stop: Stopped | None = None
        """Set if the task that drives the run was cancelled because a person wants the run to stop."""
        self.lost: LeaseLost | None = None
        """Set if that task was cancelled because another process has taken over the run."""

    async def watch(self, driver: asyncio.Task[Any], heartbeat: Heartbeat) -> None:
        """Receive messages while the run works, and cancel the run or the steps that a person wants to stop."""
        while True:
            heartbeat.beat()
            await asyncio.sleep(WATCH_SECONDS)
            with contextlib.suppress(JournalError):
                # Shows noted events to other processes. If it fails, they are written with the next append.
                await self._recorder.journal.flush()
            if self._recorder.state.stage is Stage.WAITING:
                # The run halts. An answer that comes now is left for the process that continues it.
                continue
            try:
                await self.receive()
            except LeaseLost as error:
                # Another process drives the run now. Commands of this process must not run beside its commands.
                self.lost = error
                driver.cancel()
                return
            for control in self._recorder.state.controls:
                if control.command in ("cancel", "pause") and self.stop is None:
                    self.stop = stop_for(control)
                    driver.cancel()
                elif control.command in ("skip", "retry") and control.step_id in self._recorder.state.running:
                    self._active_steps.interrupt(control)

    async def receive(self) -> None:
        """Turn the messages that have arrived into events."""
        journal, run_id = self._recorder.journal, self._recorder.state.run_id
        items = journal.receive(run_id)
        if not items:
            return
        events: list[e.Event] = []
        answered_now: set[str] = set()  # text that is not an answer leaves a question open for the next message
        for item in items:
            match item.body:
                case AnswerMessage() as message:
                    if message.question_id not in answered_now:
                        new = self._answer(message)
                        events += new
                        answered_now |= {event.question_id for event in new if isinstance(event, e.QuestionAnswered)}
                case ControlMessage() as message:
                    events.append(_control(message))
                case UnreadableMessage(reason):
                    events.append(e.Warned(message=f"a message to this run was left out, {reason}"))
        # The messages are removed in the transaction that appends the events, so a crash loses none.
        journal.acknowledge(run_id, [item.id for item in items])
        await self._recorder.record(*events)

    def _answer(self, message: AnswerMessage) -> list[e.Event]:
        """Return the events for an answer; none if the question is unknown or already answered.

        The time when the answer was given counts, not the time when it is read. Text that is none of the choices leaves
        the question open.
        """
        question = self._recorder.state.questions.get(message.question_id)
        if question is None or question.answer is not None:
            return []
        answer = understood(question, message.answer)
        if answer is None:
            return [not_understood(question, message.answer)]
        now = self._clock()
        answered_at = now if message.at is None else message.at
        limit = self._recorder.state.config.question_timeout_seconds
        return [answered(question, answer, message.by, at=min(answered_at, now), limit=limit)]


def _control(message: ControlMessage) -> e.ControlReceived:
    return e.ControlReceived(
        command=message.command,
        step_id=message.step_id,
        by=message.by,
        why=message.why,
        plan=message.plan,
        removes=message.removes,
        id=message.id,
    )
