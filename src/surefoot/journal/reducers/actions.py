"""Reducers for actions, and for compensations outside the workspace."""

from collections.abc import Callable
from operator import itemgetter
from typing import Any

from surefoot.journal import events as e
from surefoot.journal.reducers.conversation import interrupted_call
from surefoot.journal.state import Action, Compensation, RunState


def _action_started(state: RunState, event: e.ActionStarted, at: float) -> None:
    state.tool_calls += 1
    state.checked_before = True
    action = Action(*_started_fields(vars(event)))
    action.call_id = event.call_id
    state.open_actions[action.id] = action
    step_run = state.steps[action.step_id]
    step_run.actions.append(action)
    step_run.begun_actions += 1
    step_run.proposed = ""
    step_run.snapshot = step_run.snapshot or action.snapshot


def _action_finished(state: RunState, event: e.ActionFinished, at: float) -> None:
    action_id, step_id, changed, *result = _finished_fields(vars(event))
    state.open_actions.pop(action_id, None)
    step_run = state.steps[step_id]
    if changed:
        step_run.touched = step_run.touched.union(changed)
        state.touched.update(changed)
        state.undone_files.difference_update(changed)
    for action in reversed(step_run.actions):
        if action.id == action_id:
            action.ok, action.summary, action.output, action.command, action.data, action.temporary = result
            action.changed = bool(changed)
            return


def _action_refused(state: RunState, event: e.ActionRefused, at: float) -> None:
    step_run = state.steps[event.step_id]
    step_run.refused = (*step_run.refused, f"{event.tool}: {event.reason}")
    step_run.proposed = ""


def _action_interrupted(state: RunState, event: e.ActionInterrupted, at: float) -> None:
    action = state.open_actions.pop(event.action_id, None)
    step_run = state.steps[event.step_id]
    if action is not None and action.tool == "ask_user":
        # The action was waiting for an answer. It will continue with the same decision, and counts once.
        state.tool_calls -= 1
        step_run.proposed = event.proposed
    else:
        # The action was stopped, so the model may decide differently now.
        state.answers.pop(state.last_answer_key.pop(event.step_id, ""), None)
        if action is not None and action.call_id:
            interrupted_call(state, event.step_id, action.call_id)
    # The action is undone, so it counts neither as an attempt nor as done.
    step_run.actions = [action for action in step_run.actions if action.id != event.action_id]


def _compensation_started(state: RunState, event: e.CompensationStarted, at: float) -> None:
    state.tool_calls += 1
    step_run = state.steps[event.step_id]
    compensation = Compensation(event.compensation_id, event.undoes, event.tool, event.arguments)
    for earlier in [c for c in step_run.compensations if c.undoes == event.undoes]:
        # The earlier compensation was interrupted, and a person wants it repeated.
        state.left_outside.pop(earlier.id, None)
    step_run.compensations = (*step_run.compensations, compensation)
    # Replaced when the compensation finishes. Until then it may or may not have had its effect.
    state.left_outside[event.compensation_id] = f"{event.undoes} was being undone by {event.tool} when that was cut off"


def _compensation_finished(state: RunState, event: e.CompensationFinished, at: float) -> None:
    step_run = state.steps[event.step_id]
    compensation = next(c for c in step_run.compensations if c.id == event.compensation_id)
    compensation.ok = event.ok
    state.touched.update(event.changed)
    step_run.touched, step_run.after = step_run.touched.union(event.changed), event.after or step_run.after
    if event.ok:
        state.left_outside.pop(event.compensation_id, None)
    else:
        reason = next(iter(event.summary.strip().splitlines()), "")
        state.left_outside[event.compensation_id] = f"{compensation.undoes}: {compensation.tool} failed ({reason})"


def _left_outside(state: RunState, event: e.LeftOutside, at: float) -> None:
    step_run = state.steps[event.step_id]
    missing = Compensation(f"{event.step_id}.{step_run.attempt}.{event.undoes}", event.undoes, "", {}, ok=False)
    step_run.compensations = (*step_run.compensations, missing)
    state.left_outside[missing.id] = event.what


# Reading the fields of a value one by one would cost as much as the rest of the reducer.
_started_fields = itemgetter("action_id", "step_id", "tool", "arguments", "fingerprint", "body", "snapshot", "external")
_finished_fields = itemgetter(
    *("action_id", "step_id", "changed"), *("ok", "summary", "output", "command", "data", "temporary")
)
HANDLERS: dict[type[Any], Callable[[RunState, Any, float], None]] = {
    e.ActionStarted: _action_started,
    e.ActionFinished: _action_finished,
    e.ActionRefused: _action_refused,
    e.ActionInterrupted: _action_interrupted,
    e.CompensationStarted: _compensation_started,
    e.CompensationFinished: _compensation_finished,
    e.LeftOutside: _left_outside,
}
