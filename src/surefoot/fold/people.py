"""What becomes of a state by what people are asked, and by what they want."""

from collections.abc import Callable
from typing import Any

from surefoot import events as e
from surefoot.state import Question, RunState


def _asked(state: RunState, event: e.QuestionAsked, at: float) -> None:
    state.questions[event.question_id] = Question(
        event.question_id, event.kind, event.text, event.options, event.step_id, event.subject, at
    )


def _answered(state: RunState, event: e.QuestionAnswered, at: float) -> None:
    question = state.questions[event.question_id]
    question.answer, question.by, question.timed_out = event.answer, event.by, event.timed_out
    if question.kind == "approval" and event.answer.startswith("always "):
        state.allowed.append(event.answer.removeprefix("always ").strip())


def _control(state: RunState, event: e.ControlReceived, at: float) -> None:
    if event.command != "resume":
        state.controls.append(event)


def _control_refused(state: RunState, event: e.ControlRefused, at: float) -> None:
    heeded(state, event.command, event.step_id)


def heeded(state: RunState, command: str, step_id: str = "") -> None:
    """The first of them: they are heeded in the order in which they came."""
    asked = next((c for c in state.controls if c.command == command and c.step_id == step_id), None)
    state.controls = [control for control in state.controls if control is not asked]


HANDLERS: dict[type[Any], Callable[[RunState, Any, float], None]] = {
    e.QuestionAsked: _asked,
    e.QuestionAnswered: _answered,
    e.ControlReceived: _control,
    e.ControlRefused: _control_refused,
}
