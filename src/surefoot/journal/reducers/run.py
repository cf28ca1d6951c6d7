"""Reducers for the run as a whole: start and end, phases, model calls."""

from collections.abc import Callable
from typing import Any

from surefoot.core.phases import PhaseResult, PhaseStatus
from surefoot.core.questions import asked_again_on_resume
from surefoot.core.transitions import RUN_TRANSITIONS, Stage, StepStatus, check_transition
from surefoot.journal import events as e
from surefoot.journal.reducers.conversation import model_turn, resumed
from surefoot.journal.state import RunState


def _created(state: RunState, event: e.RunCreated, at: float) -> None:
    state.run_id, state.task, state.config, state.model = event.run_id, event.task, event.config, event.model
    state.snapshot, state.protected, state.stage = event.snapshot, event.protected, event.starts_at
    state.started_at, state.model_address, state.remote = at, event.model_address, event.remote
    state.based_on = event.based_on
    state.branch, state.branched_from, state.cloned = event.branch, event.branched_from, event.cloned
    state.newest_changes = event.newest_changes
    state.undo_history.apply(event, at)


def _resumed(state: RunState, event: e.RunResumed, at: float) -> None:
    state.undo_history.apply(event, at)
    state.interruption, state.left = None, ""
    resumed(state, event.changed)
    if event.changed:
        state.by_others.update(event.changed)
        for step_run in state.steps.values():
            if step_run.work_kept or step_run.status in (StepStatus.RUNNING, StepStatus.FAILED):
                step_run.by_others = step_run.by_others.union(event.changed)
    state.model, state.model_address = event.model, event.model_address
    state.config = event.config or state.config
    state.controls = [control for control in state.controls if control.command not in ("pause", "cancel")]
    if state.outcome is not None:
        # Resuming an ended run gives phases all their attempts back. For steps, `_step_reset` does that.
        state.outcome = None
        state.questions = {key: q for key, q in state.questions.items() if not asked_again_on_resume(q)}
        state.refusals.clear()
        state.phase_attempts.clear()


def _interrupted(state: RunState, event: e.RunInterrupted, at: float) -> None:
    state.interruption, state.left = event, event.snapshot


def _stage_entered(state: RunState, event: e.StageEntered, at: float) -> None:
    check_transition(RUN_TRANSITIONS, state.stage, event.stage)
    if event.stage is Stage.WAITING:
        state.before_waiting, state.left = state.stage, event.snapshot
    if event.stage is Stage.FAILED:
        state.failed_at = state.before_waiting if state.stage is Stage.WAITING else state.stage
    if event.stage is Stage.VALIDATION and state.stage in (Stage.COMPLETED, Stage.FAILED):
        state.validation = None  # It describes another tree.
    state.stage, state.stage_reason = event.stage, event.reason


def _phase_started(state: RunState, event: e.PhaseStarted, at: float) -> None:
    state.phase_attempts[event.phase] = event.attempt
    if not event.attempt:
        state.phase_started_at[event.phase] = at


def _gate_refused(state: RunState, event: e.GateRefused, at: float) -> None:
    state.refusals[event.phase] = list(event.messages)


def has_failed(state: RunState, phase: str, result: PhaseResult[Any]) -> bool:
    """Whether the phase failed its gate. If so, its result is kept apart, so that nothing builds on it."""
    state.failed_phases.pop(phase, None)
    if result.status is PhaseStatus.FAILED:
        state.failed_phases[phase] = result
        return True
    return False


def _understood(state: RunState, event: e.Understood, at: float) -> None:
    if has_failed(state, "understanding", event.result):
        return
    state.understanding = event.result
    state.refusals.pop("understanding", None)


def _approach_chosen(state: RunState, event: e.ApproachChosen, at: float) -> None:
    if has_failed(state, "approach", event.result):
        return
    state.approach = event.result
    state.refusals.pop("approach", None)


def _validated(state: RunState, event: e.Validated, at: float) -> None:
    state.validation = event.result


def _model_answered(state: RunState, event: e.ModelAnswered, at: float) -> None:
    state.model_calls += 1
    state.prompt_tokens += event.prompt_tokens
    state.output_tokens += event.output_tokens
    state.cached_tokens += event.cached_tokens
    cost = state.cost_of(event)
    if cost is None:
        state.unpriced_calls += 1
    else:
        state.cost_usd += cost
    if event.conversation:
        model_turn(state, event)
    if event.key and not event.unreadable and event.finish_reason != "length":
        state.answers[event.key] = event.answer
        state.last_answer_key[event.step_id] = event.key


def _applied(state: RunState, event: e.Applied, at: float) -> None:
    state.undo_history.apply(event, at)
    state.applied = [] if event.reverts else [*state.applied, event]


def _committed(state: RunState, event: e.Committed, at: float) -> None:
    state.commits.append(event)


def _pushed(state: RunState, event: e.Pushed, at: float) -> None:
    state.pushes.append(event)


def _undo_incomplete(state: RunState, event: e.UndoIncomplete, at: float) -> None:
    state.left = ""
    state.undo_history.apply(event, at)


def _warned(state: RunState, event: e.Warned, at: float) -> None:
    state.warnings.append(event.message)


def _alert_started(state: RunState, event: e.AlertStarted, at: float) -> None:
    state.alerts[event.alert_id] = event


def _alert_finished(state: RunState, event: e.AlertFinished, at: float) -> None:
    state.alerts.pop(event.alert_id, None)
    if not event.ok:
        state.warnings.append(event.warning)


def _ended(state: RunState, event: e.RunEnded, at: float) -> None:
    state.outcome = event.outcome
    state.left = event.snapshot or state.left


HANDLERS: dict[type[Any], Callable[[RunState, Any, float], None]] = {
    e.RunCreated: _created,
    e.RunResumed: _resumed,
    e.RunInterrupted: _interrupted,
    e.StageEntered: _stage_entered,
    e.PhaseStarted: _phase_started,
    e.GateRefused: _gate_refused,
    e.Understood: _understood,
    e.ApproachChosen: _approach_chosen,
    e.Validated: _validated,
    e.ModelAnswered: _model_answered,
    e.Applied: _applied,
    e.Committed: _committed,
    e.Pushed: _pushed,
    e.UndoIncomplete: _undo_incomplete,
    e.Warned: _warned,
    e.AlertStarted: _alert_started,
    e.AlertFinished: _alert_finished,
    e.RunEnded: _ended,
}
