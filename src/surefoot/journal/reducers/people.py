"""Reducers for questions, answers and controls."""

from collections.abc import Callable
from typing import Any

from surefoot.core.questions import ALWAYS, Question
from surefoot.journal import events as e
from surefoot.journal.state import RunState


def _asked(state: RunState, event: e.QuestionAsked, at: float) -> None:
    state.questions[event.question_id] = Question(
        event.question_id, event.kind, event.text, event.options, event.step_id, event.subject, at
    )
    state.questions[event.question_id].draft_key = event.draft
    if event.proposed:
        state.steps[event.step_id].proposed = event.proposed


def _answered(state: RunState, event: e.QuestionAnswered, at: float) -> None:
    question = state.questions[event.question_id]
    question.answer, question.by, question.timed_out = event.answer, event.by, event.timed_out
    question.answered_at = at
    if question.kind == "approval" and question.rule and event.answer == ALWAYS + question.rule:
        state.allowed.append(question.rule)


def _control(state: RunState, event: e.ControlReceived, at: float) -> None:
    if event.command != "resume":
        state.controls.append(event)


def _control_refused(state: RunState, event: e.ControlRefused, at: float) -> None:
    remove_control(state, event.command, event.step_id)


def remove_control(state: RunState, command: str, step_id: str = "") -> None:
    """Remove the oldest such control. Controls are handled in the order in which they arrived."""
    oldest = next((c for c in state.controls if c.command == command and c.step_id == step_id), None)
    state.controls = [control for control in state.controls if control is not oldest]


HANDLERS: dict[type[Any], Callable[[RunState, Any, float], None]] = {
    e.QuestionAsked: _asked,
    e.QuestionAnswered: _answered,
    e.ControlReceived: _control,
    e.ControlRefused: _control_refused,
}
