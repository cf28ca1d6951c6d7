"""What becomes of a state by actions, and by undoing them outside the workspace."""

from collections.abc import Callable
from operator import itemgetter
from typing import Any

from surefoot import events as e
from surefoot.state import Action, Compensation, RunState


def _action_started(state: RunState, event: e.ActionStarted, at: float) -> None:
    state.tool_calls += 1
    state.looked_first = True
    action = Action(*_as_begun(vars(event)))
    state.open_actions[action.id] = action
    run = state.steps[action.step_id]
    run.actions.append(action)
    run.snapshot = run.snapshot or action.snapshot


def _action_finished(state: RunState, event: e.ActionFinished, at: float) -> None:
    action_id, step_id, changed, *result = _as_ended(vars(event))
    state.open_actions.pop(action_id, None)
    run = state.steps[step_id]
    if changed:
        run.touched = run.touched.union(changed)
    for action in reversed(run.actions):
        if action.id == action_id:
            action.ok, action.summary, action.output, action.command, action.data, action.temporary = result
            return


def _action_refused(state: RunState, event: e.ActionRefused, at: float) -> None:
    run = state.steps[event.step_id]
    run.refusals += 1
    run.refused = (*run.refused, f"{event.tool}: {event.reason}")


def _action_interrupted(state: RunState, event: e.ActionInterrupted, at: float) -> None:
    action = state.open_actions.pop(event.action_id, None)
    run = state.steps[event.step_id]
    if action is not None and action.tool == "ask_user":
        # It waited for its answer, and is gone on with: as it was decided, and counted once.
        state.tool_calls -= 1
    else:
        # Somebody or something stopped what was decided there: it may be decided differently now.
        state.answers.pop(state.last_question.pop(event.step_id, ""), None)
    # It is undone, so it does not count: neither as a try nor as something already done.
    run.actions = [action for action in run.actions if action.id != event.action_id]


def _compensation_started(state: RunState, event: e.CompensationStarted, at: float) -> None:
    state.tool_calls += 1
    run = state.steps[event.step_id]
    begun = Compensation(event.compensation_id, event.undoes, event.tool, event.arguments)
    for earlier in [c for c in run.compensations if c.undoes == event.undoes]:
        # It was cut off, and a person wants it done again.
        state.left_outside.pop(earlier.id, None)
    run.compensations = (*run.compensations, begun)
    # Until its end is known, it may or may not have been done.
    said = f"{event.undoes} was being undone by {event.tool} when that was cut off"
    state.left_outside[event.compensation_id] = said


def _compensation_finished(state: RunState, event: e.CompensationFinished, at: float) -> None:
    run = state.steps[event.step_id]
    mine = next(c for c in run.compensations if c.id == event.compensation_id)
    mine.ok = event.ok
    run.touched, run.after = run.touched.union(event.changed), event.after or run.after
    if event.ok:
        state.left_outside.pop(event.compensation_id, None)
    else:
        said = event.summary.strip().splitlines()
        state.left_outside[event.compensation_id] = f"{mine.undoes}: {mine.tool} failed ({said[0] if said else ''})"


def _left_outside(state: RunState, event: e.LeftOutside, at: float) -> None:
    run = state.steps[event.step_id]
    done = Compensation(f"{event.step_id}.{run.attempt}.{event.undoes}", event.undoes, "", {}, ok=False)
    run.compensations = (*run.compensations, done)
    state.left_outside[done.id] = event.what


# The fields are read at once: one by one, those of a value cost as much as the rest.
_as_begun = itemgetter("action_id", "step_id", "tool", "arguments", "fingerprint", "body", "snapshot", "external")
_as_ended = itemgetter(
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
