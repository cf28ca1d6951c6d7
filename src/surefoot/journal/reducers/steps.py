"""Reducers for the attempts of steps, their results, and recovery."""

from collections.abc import Callable
from operator import itemgetter
from typing import Any

from surefoot.core.outcome import FailureKind
from surefoot.core.phases import ExecutionStatus, StepExecutionOutput
from surefoot.core.transitions import (
    RETRY_RUNGS,
    RUNG_COUNTERS,
    SETTLED,
    STEP_TRANSITIONS,
    Rung,
    StepStatus,
    check_transition,
)
from surefoot.journal import events as e
from surefoot.journal.state import FailedAnswer, FinishedAttempt, RunState, StepRun


def _step_started(state: RunState, event: e.StepStarted, at: float) -> None:
    step_id = event.step_id
    step_run = state.steps[step_id]
    _set_status(state, step_run, StepStatus.RUNNING)
    if step_run.attempt or step_run.ended:
        _start_again(step_run)
    state.started_steps += step_run.attempt == 0
    step_run.attempt, step_run.kind, step_run.started_at = event.attempt, event.kind, at
    step_run.shared = bool(state.running)
    if len(state.running) == 1:
        # If more are running, they are marked already.
        (other,) = state.running
        state.steps[other].shared = True
    state.running.add(step_id)


def _start_again(step_run: StepRun) -> None:
    """Reset what belongs to the previous attempt, except for work that was kept."""
    if step_run.ended:
        # Its output and artifact may be derived from its actions, which are dropped below.
        step_run.recorded_output, step_run.recorded_artifact = step_run.output, step_run.artifact
    if not step_run.work_kept:
        step_run.snapshot, step_run.touched, step_run.by_others = "", _NO_PATHS, _NO_PATHS
    step_run.actions, step_run.results_before, step_run.results, step_run.failed_checks = [], (), (), ()
    step_run.refused, step_run.compensations, step_run.proposed = (), (), ""


def _set_status(state: RunState, step_run: StepRun, status: StepStatus) -> None:
    check_transition(STEP_TRANSITIONS, step_run.status, status)
    state.unsettled += (status not in SETTLED) - (step_run.status not in SETTLED)
    step_run.status = status


def _checks_ran(state: RunState, event: e.ChecksRan, at: float) -> None:
    step_run = state.steps.get(event.step_id)
    state.touched.update(event.changed)
    if step_run is None:
        if event.when == "before":
            state.checked_before = state.checked_before or not event.step_id
            state.results_before = event.results
            state.red_at_start.update(result.check.key for result in event.results if not result.passed)
            state.counts_at_start |= {r.check.key: r.counts for r in event.results if r.counts is not None}
        return
    step_run.touched = step_run.touched.union(event.changed if event.when != "before" else ())
    if event.when == "before":
        step_run.results_before = event.results
    elif event.when != "criteria":
        step_run.results = event.results
        if event.when == "after" and not all(result.passed for result in event.results):
            earlier, number = step_run.failed_checks, len(step_run.actions)
            if earlier and earlier[-1][0] == number and step_run.red_at_call == state.model_calls:
                # A process ended before the model saw the results, and the next one ran the checks again.
                earlier = earlier[:-1]
            step_run.failed_checks = (*earlier, (number, event.results))
            step_run.red_at_call = state.model_calls


def _candidate_tried(state: RunState, event: e.CandidateTried, at: float) -> None:
    step_run = state.steps[event.step_id]
    step_run.candidates = (*step_run.candidates, event)


def _step_finished(state: RunState, event: e.StepFinished, at: float) -> None:
    fields = _finished_fields(vars(event))
    step_id, status, attempt, output, artifact, expires_at, failure, checks, snapshot, duration_ms = fields
    step_run = state.steps[step_id]
    _set_status(state, step_run, status)
    state.running.discard(step_id)
    if state.controls:
        state.controls = [c for c in state.controls if c.step_id != step_id or c.command != "skip"]
    step_run.ended, step_run.after = True, snapshot
    step_run.recorded_output, step_run.recorded_artifact = output, artifact
    step_run.expires_at = expires_at if artifact is None else artifact.expires_at
    step_run.results, step_run.failed_checks = checks or step_run.results, ()
    step_run.work_kept, step_run.restored = False, ()
    if failure is not None:
        step_run.failures = (*step_run.failures, failure)
        if step_run.step.tool or not failure.temporary:
            # If only the model was unavailable, the actions before are not at fault.
            actions = (action.fingerprint for action in step_run.actions)
            candidates = (candidate.fingerprint for candidate in step_run.candidates)
            step_run.failed_fingerprints = step_run.failed_fingerprints.union(actions, candidates) - {""}
            _remember_answers(state, step_run)
        if status is StepStatus.FAILED:
            state.failed.append(step_id)
            state.recovering = step_id
            state.consecutive_failures += step_run.rungs[-1:] not in _RETRIED
    elif status is StepStatus.SUCCEEDED:
        state.consecutive_failures = 0
    state.history.add(
        FinishedAttempt(
            step_id,
            status,
            output,
            artifact,
            step_run.actions,
            duration_ms,
            checks,
            step_run.started_at or at,
            failure.message if failure else None,
            max(attempt - 1, 0),
            state.started_steps,
            len(state.steps),
        )
    )


def _remember_answers(state: RunState, step_run: StepRun) -> None:
    """Keep the whole answers of a failed attempt, with the checks that they failed, for the steps of later plans."""
    if not step_run.results_before or step_run.kind is None or not step_run.kind.is_one_answer:
        return
    tree = step_run.results_before[0].tree
    candidates = [c for c in step_run.candidates if c.attempt == step_run.attempt]
    checked = [(action.fingerprint, step_run.results) for action in step_run.actions]
    checked += [(candidate.fingerprint, candidate.results) for candidate in candidates]
    for fingerprint, results in checked:
        if red := frozenset(result.check.key for result in results if not result.passed):
            state.failed_answers.append(FailedAnswer(tree, fingerprint, red))


def _step_reset(state: RunState, event: e.StepReset, at: float) -> None:
    state.resets += 1
    step_run = state.steps[event.step_id]
    _set_status(state, step_run, StepStatus.PENDING)
    state.running.discard(event.step_id)
    state.controls = [c for c in state.controls if c.step_id != event.step_id or c.command != "retry"]
    if event.by == "user":
        step_run.step_retry_count = step_run.single_step_repair_count = step_run.temporary_retries = 0
        state.task_replan_count = state.consecutive_failures = 0
        state.had_candidates = False
        if step_run.failures and step_run.failures[-1].kind is FailureKind.OUT_OF_REACH:
            # Something was missing, which may be there now. The same action may be right.
            step_run.failed_fingerprints = frozenset()
    if event.note:
        step_run.notes = (*step_run.notes, event.note)
    step_run.parameters = {**step_run.parameters, **event.parameters}
    step_run.tool = event.tool or step_run.tool


def _reflected(state: RunState, event: e.Reflected, at: float) -> None:
    step_run = state.steps[event.step_id]
    # A failure that is reflected on again, because a person asks for it, still has one reflection.
    others = step_run.reflections[: max(len(step_run.failures) - 1, 0)]
    step_run.reflections = (*others, event.reflection)


def _rung_chosen(state: RunState, event: e.RungChosen, at: float) -> None:
    step_run = state.steps.get(event.step_id)
    if step_run is None:
        return
    step_run.rungs.append(event.rung)
    state.failed = [step_id for step_id in state.failed if step_id != event.step_id]
    state.recovering = event.step_id
    failure = step_run.failures[-1].message[:160] if step_run.failures else ""
    cause = step_run.reflections[-1].root_cause[:160] if step_run.reflections else ""
    failure += f" ({cause})" if cause and cause not in failure else ""
    state.tried.append(f"{event.step_id} try {step_run.attempt}: {failure} -> {event.rung.replace('_', ' ')}")
    state.had_candidates = state.had_candidates or event.rung is Rung.CANDIDATES
    if counter := RUNG_COUNTERS.get(event.rung):
        counted = step_run if hasattr(step_run, counter) else state
        setattr(counted, counter, getattr(counted, counter) + 1)


def _rolled_back(state: RunState, event: e.RolledBack, at: float) -> None:
    step_run = state.steps.get(event.step_id)
    if step_run is None:
        state.undo_history.apply(event, at)
        if not event.step_id:
            state.left = state.left and event.snapshot
            state.undone_files = state.undone_files.difference(event.paths).union(event.undone)
        return
    step_run.work_kept, step_run.restored = False, tuple(dict.fromkeys((*step_run.restored, *event.paths)))
    if step_run.output is not None and step_run.output.status is ExecutionStatus.FAILED:
        _replace_output(state, step_run, step_run.output.with_(status=ExecutionStatus.ROLLED_BACK))


def _replace_output(state: RunState, step_run: StepRun, output: StepExecutionOutput) -> None:
    step_run.recorded_output = output
    state.history.replace_output(output)


def _work_kept(state: RunState, event: e.WorkKept, at: float) -> None:
    step_run = state.steps[event.step_id]
    assert step_run.output is not None
    step_run.work_kept = True
    logs = (*step_run.output.logs, f"kept: {event.why}")
    _replace_output(state, step_run, step_run.output.with_(status=ExecutionStatus.PARTIAL_SUCCESS, logs=logs))


# Reading the fields of a value one by one would cost as much as the rest of the reducer.
_finished_fields = itemgetter(
    *("step_id", "status", "attempt", "output", "artifact", "expires_at"),
    *("failure", "checks", "snapshot", "duration_ms"),
)
_RETRIED = [[rung] for rung in RETRY_RUNGS]
_NO_PATHS: frozenset[str] = frozenset()
HANDLERS: dict[type[Any], Callable[[RunState, Any, float], None]] = {
    e.StepStarted: _step_started,
    e.ChecksRan: _checks_ran,
    e.CandidateTried: _candidate_tried,
    e.StepFinished: _step_finished,
    e.StepReset: _step_reset,
    e.Reflected: _reflected,
    e.RungChosen: _rung_chosen,
    e.RolledBack: _rolled_back,
    e.WorkKept: _work_kept,
}
