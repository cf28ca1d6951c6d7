"""What becomes of a state by the tries of a step, their ends, and what recovery does about them."""

from collections.abc import Callable
from operator import itemgetter
from typing import Any

from surefoot import events as e
from surefoot.machine import SETTLED, STEP_TRANSITIONS, Rung, StepStatus, check_transition
from surefoot.outcome import ExecutionStatus, StepExecutionOutput
from surefoot.state import RunState, Settled, StepRun


def _step_started(state: RunState, event: e.StepStarted, at: float) -> None:
    step_id = event.step_id
    run = state.steps[step_id]
    _set_status(state, run, StepStatus.RUNNING)
    if run.attempt or run.ended:
        _afresh(run)
    state.begun += run.attempt == 0
    run.attempt, run.started_at = event.attempt, at
    run.shared = bool(state.running)
    if len(state.running) == 1:
        # Where more are running, they share already.
        (other,) = state.running
        state.steps[other].shared = True
    state.running.add(step_id)


def _afresh(run: StepRun) -> None:
    """Another try begins: what belongs to the one before goes, but for work that was kept."""
    if run.ended:
        # What its actions said of its end goes with them.
        run.written, run.filed = run.output, run.artifact
    if not run.kept:
        run.snapshot, run.touched = "", _NOTHING
    run.actions, run.baseline, run.checks, run.red_looks = [], (), (), ()
    run.refusals, run.refused, run.compensations = 0, (), ()


def _set_status(state: RunState, run: StepRun, status: StepStatus) -> None:
    check_transition(STEP_TRANSITIONS, run.status, status)
    state.unsettled += (status not in SETTLED) - (run.status not in SETTLED)
    run.status = status


def _checks_ran(state: RunState, event: e.ChecksRan, at: float) -> None:
    run = state.steps.get(event.step_id)
    if run is None:
        if event.when == "before":
            state.looked_first = state.looked_first or not event.step_id
            state.red_at_start.update(result.check.key for result in event.results if not result.passed)
        return
    run.touched = run.touched.union(event.changed if event.when != "before" else ())
    if event.when == "before":
        run.baseline = event.results
    else:
        run.checks = event.results
        if event.when == "after" and not all(result.passed for result in event.results):
            run.red_looks = (*run.red_looks, (len(run.actions), event.results))


def _candidate_tried(state: RunState, event: e.CandidateTried, at: float) -> None:
    run = state.steps[event.step_id]
    run.candidates = (*run.candidates, event)


def _step_finished(state: RunState, event: e.StepFinished, at: float) -> None:
    step_id, status, attempt, output, artifact, expires_at, failure, checks, snapshot, took = _as_settled(vars(event))
    run = state.steps[step_id]
    _set_status(state, run, status)
    state.running.discard(step_id)
    if state.controls:
        state.controls = [c for c in state.controls if c.step_id != step_id or c.command != "skip"]
    run.ended, run.written, run.filed, run.after = True, output, artifact, snapshot
    run.expires_at = expires_at if artifact is None else artifact.expires_at
    run.checks, run.red_looks = checks or run.checks, ()
    run.kept = False
    if failure is not None:
        run.failures = (*run.failures, failure)
        if run.step.tool or not failure.temporary:
            # A model that was away says nothing against what was done before it went.
            done, judged = (a.fingerprint for a in run.actions), (c.fingerprint for c in run.candidates)
            run.failed_fingerprints = run.failed_fingerprints.union(done, judged) - {""}
        if status is StepStatus.FAILED:
            state.failed.append(step_id)
            state.recovering = step_id
    else:
        state.consecutive_failures = 0
    state.history.add(
        Settled(
            step_id,
            status,
            output,
            artifact,
            run.actions,
            took,
            checks,
            run.started_at or at,
            failure.message if failure else None,
            max(attempt - 1, 0),
            state.begun,
            len(state.steps),
        )
    )


def _step_reset(state: RunState, event: e.StepReset, at: float) -> None:
    state.resets += 1
    run = state.steps[event.step_id]
    _set_status(state, run, StepStatus.PENDING)
    state.running.discard(event.step_id)
    state.controls = [c for c in state.controls if c.step_id != event.step_id or c.command != "retry"]
    if event.by == "user":
        run.retries = run.repairs = run.temporary_retries = 0
        state.replans = state.consecutive_failures = 0
    if event.note:
        run.notes = (*run.notes, event.note)
    run.parameters = {**run.parameters, **event.parameters}
    run.tool = event.tool or run.tool


def _reflected(state: RunState, event: e.Reflected, at: float) -> None:
    run = state.steps[event.step_id]
    run.reflections = (*run.reflections, event.reflection)


def _rung_chosen(state: RunState, event: e.RungChosen, at: float) -> None:
    run = state.steps.get(event.step_id)
    if run is None:
        return
    run.rungs.append(event.rung)
    state.failed = [step_id for step_id in state.failed if step_id != event.step_id]
    state.recovering = event.step_id
    failed = run.failures[-1].message[:160] if run.failures else ""
    cause = run.reflections[-1].root_cause[:160] if run.reflections else ""
    failed += f" ({cause})" if cause and cause not in failed else ""
    state.tried.append(f"{event.step_id} try {run.attempt}: {failed} -> {event.rung.replace('_', ' ')}")
    match event.rung:
        case Rung.RETRY_LATER:
            run.temporary_retries += 1
        case Rung.ADJUST_PARAMETERS | Rung.ALTERNATIVE_TOOL | Rung.CANDIDATES:
            run.retries += 1
        case Rung.REPAIR_STEP:
            run.repairs += 1
            state.consecutive_failures += 1
        case Rung.REPLAN_TASK:
            state.replans += 1
            state.consecutive_failures += 1
        case Rung.NEXT_APPROACH:
            state.approach_index += 1
            state.consecutive_failures += 1


def _rolled_back(state: RunState, event: e.RolledBack, at: float) -> None:
    run = state.steps.get(event.step_id)
    if run is None:
        return
    run.kept = False
    if run.output is not None and run.output.status is ExecutionStatus.FAILED:
        _revise_output(state, run, run.output.with_(status=ExecutionStatus.ROLLED_BACK))


def _revise_output(state: RunState, run: StepRun, output: StepExecutionOutput) -> None:
    run.written = output
    state.history.revise(output)


def _work_kept(state: RunState, event: e.WorkKept, at: float) -> None:
    run = state.steps[event.step_id]
    assert run.output is not None
    run.kept = True
    logs = (*run.output.logs, f"kept: {event.why}")
    _revise_output(state, run, run.output.with_(status=ExecutionStatus.PARTIAL_SUCCESS, logs=logs))


# The fields are read at once: one by one, those of a value cost as much as the rest.
_as_settled = itemgetter(
    *("step_id", "status", "attempt", "output", "artifact", "expires_at"),
    *("failure", "checks", "snapshot", "duration_ms"),
)
_NOTHING: frozenset[str] = frozenset()
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
