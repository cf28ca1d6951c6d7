"""Runs one step: runs its checks, acts until they pass, observes the changes, records the end."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from surefoot.core.outcome import CheckResult, CriterionResult, Failure, FailureKind, Verdict, decisive
from surefoot.core.phases import EXECUTION_STATUS, StepExecutionOutput
from surefoot.core.plan import Check, ExecutionStep, StepKind, StepType
from surefoot.core.questions import is_yes
from surefoot.core.transitions import SETTLED, Rung, StepStatus
from surefoot.core.values import unchecked
from surefoot.engine.executor.conversation import converse
from surefoot.engine.executor.idle import nothing_done
from surefoot.engine.executor.loop import AttemptFailed, act, all_green, call_once, red_failure
from surefoot.engine.executor.own_evidence import derived_checks, insisted, lack_of_evidence
from surefoot.engine.executor.step_criteria import failure_to_tell, judge_step, unmet
from surefoot.engine.reflector.restore import restore_step
from surefoot.engine.reflector.rollback import abandon
from surefoot.engine.runtime.run import Run
from surefoot.engine.runtime.stop import Stopped, sender
from surefoot.engine.verifier.suite.project_commands import task_checks
from surefoot.errors import MissingArtifact, ModelError, ToolError, UnreadableAnswer
from surefoot.journal import events as e
from surefoot.journal.state import StepRun, commands_of, logs_of, outputs_of
from surefoot.tools.tool import Writes
from surefoot.workspace.errors import as_text

_started, _finished, _output = unchecked(e.StepStarted), unchecked(e.StepFinished), unchecked(StepExecutionOutput)


REDO_NOTE = "Its result is no longer there, and another step needs it: produce it again."
_WAYS = {StepKind.CALL: call_once, StepKind.CONVERSATION: converse}
"""The function that carries out each kind of step. All other kinds are carried out by `act`."""


async def run_step(run: Run, step_id: str) -> None:
    """Run a step until it is settled or has failed. A step that was interrupted goes on where it stopped."""
    task = asyncio.current_task()
    assert task is not None
    run.active_steps.runs_in(step_id, task)
    step_run = run.state.steps[step_id]
    if step_run.status is not StepStatus.RUNNING and (missing := run.artifacts.missing_for(step_id)):
        await _redo_or_block(run, step_run, missing)
        return
    if step_run.step.requires_confirmation or step_run.step.step_type is StepType.DEPLOYMENT:
        await _confirm(run, step_run.step)
    checks = checks_of_step(run, step_run.step)
    await _begin(run, step_id, checks)
    started = time.perf_counter()
    failure: Failure | None = None
    criteria: tuple[CriterionResult, ...] = ()
    limit = run.config.step_timeout_seconds
    timeout = run.timeouts.start(step_id, task, limit)
    try:
        run.artifacts.needed_by(step_id)
        await _WAYS.get(run.step_kind(step_run), act)(run, step_run, checks)
        failure = nothing_done(run, step_run) or await _examine(run, step_run, checks)
        criteria = (*await judge_step(run, step_run), *insisted(step_run))
        failure = failure or failure_to_tell(run, step_run, criteria)
    except asyncio.CancelledError:
        if timeout.caused_cancellation:
            failure = _timed_out(limit)
        elif run.active_steps.is_interrupted(step_id):
            run.timeouts.end(step_id)
            await _end_for_control(run, step_id)
            return
        else:
            raise
    except AttemptFailed as failed:
        failure = failed.failure
    except TimeoutError:
        failure = _timed_out(limit)
    except MissingArtifact as error:
        failure = Failure(kind=FailureKind.MISSING_ARTIFACT, message=str(error), evidence=error.remedy)
    except UnreadableAnswer as error:
        failure = Failure(kind=FailureKind.UNREADABLE_ANSWER, message=error.problem, evidence=error.answer[:500])
    except ModelError as error:
        if not error.temporary and step_run.step.fallback is None:
            raise
        failure = Failure(
            kind=FailureKind.MODEL_ERROR,
            message=str(error),
            temporary=error.temporary,
            cause=error.cause,
            remedy=error.remedy,
        )
    finally:
        # A person may be asked later, while the step is undone. That time does not count.
        run.timeouts.end(step_id)
    await _record_end(run, step_id, failure, criteria, round((time.perf_counter() - started) * 1000))


async def _examine(run: Run, step_run: StepRun, checks: Sequence[Check]) -> Failure | None:
    """Judge a step whose checks pass, or that has none, by checks derived from its changes and by its own evidence.

    Returns None if the step has not failed.
    """
    if not checks and not step_run.results:
        results = await run.verifier.check(derived_checks(run, step_run), "after", step_run.step.id)
        if not all_green(results):
            return red_failure(results, "the files that it changed are not valid")
    return lack_of_evidence(run, step_run)


async def _redo_or_block(run: Run, step_run: StepRun, missing: Mapping[str, MissingArtifact]) -> None:
    """Reset the steps whose results are missing, or block the step that needs them.

    A step is redone once, and only if it has no effects outside the workspace.
    """
    producers = [run.state.steps[step_id] for step_id in missing]
    lost = [producer for producer in producers if REDO_NOTE in producer.notes or _reaches_out(run, producer)]
    if not lost:
        for producer in producers:
            reset = e.StepReset(step_id=producer.step.id, rung=Rung.RETRY_LATER, note=REDO_NOTE)
            await run.record(reset)
            run.recorder.warn(f"{missing[producer.step.id]}: '{producer.step.name}' is done again")
        return
    problem = missing[lost[0].step.id]
    reason = f"it needs the result of '{lost[0].step.name}' ({lost[0].step.id}): {problem} ({problem.remedy})"
    run.recorder.warn(f"'{step_run.step.name}' is blocked: {reason}")
    await run.record(end_without_running(step_run, StepStatus.BLOCKED, reason))


def _reaches_out(run: Run, step_run: StepRun) -> bool:
    """Whether doing a step again would repeat an effect outside the workspace."""
    names = {step_run.tool or step_run.step.tool, *(action.tool for action in step_run.actions)}
    return any(run.toolbox.get(name).external for name in names if name in run.toolbox)


def _timed_out(limit: float) -> Failure:
    return Failure(kind=FailureKind.TIMEOUT, message=f"the step took longer than {limit:g} seconds", temporary=True)


async def _begin(run: Run, step_id: str, checks: Sequence[Check]) -> None:
    step_run = run.state.steps[step_id]
    if step_run.status is not StepStatus.RUNNING:
        start = _started(step_id=step_id, attempt=step_run.attempt + 1, kind=run.decide_kind(step_run.step))
        if step_run.step.tool and not checks:
            # No check runs before the action, so the record of its intent makes both durable.
            run.note(start)
        else:
            await run.record(start)
    if checks and not step_run.results_before and not step_run.actions:
        # Also if an earlier process ended between the start of the step and these checks.
        await run.verifier.check(checks, "before", step_id)


async def _end_for_control(run: Run, step_id: str) -> None:
    """Undo a running step that a person skips or retries, so that the run can continue.

    Ctrl-C is not handled here: it ends the process, and `engine/resume.py` cleans up when the run is resumed.
    """
    task = asyncio.current_task()
    assert task is not None
    task.uncancel()
    control = run.active_steps.interruption_of(step_id)
    step_run = run.state.steps[step_id]
    await abandon(run, step_run)
    if step_run.snapshot:
        await restore_step(run, step_id, step_run.snapshot, keep_mixed=True)
    if control.command == "retry":
        await run.record(e.StepReset(step_id=step_id, rung=Rung.ADJUST_PARAMETERS, by="user", note=control.why))
    else:
        await run.record(end_without_running(step_run, StepStatus.SKIPPED, f"skipped {sender(control)}"))
    run.active_steps.end_interruption(step_id)


def end_without_running(step_run: StepRun, status: StepStatus, reason: str) -> e.StepFinished:
    """Return the event that ends a skipped or blocked step, with the reason."""
    step_id = step_run.step.id
    output = StepExecutionOutput(step_id=step_id, status=EXECUTION_STATUS[status], logs=(reason,))
    return e.StepFinished(step_id=step_id, status=status, attempt=step_run.attempt, output=output)


async def _confirm(run: Run, step: ExecutionStep) -> None:
    answer = await run.human.ask(
        "confirmation", f"Run the step '{step.name}'?\n{step.description}", options=("yes", "no"), step_id=step.id
    )
    if not is_yes(answer):
        raise Stopped(Verdict.CANCELLED, f"the step '{step.name}' was not confirmed: {answer}")


def checks_of_step(run: Run, step: ExecutionStep) -> tuple[Check, ...]:
    """Return the step's own checks; for the last step and for tests, also the checks of the whole task."""
    checks = tuple([check for check in step.checks if run.verifier.may_run(check)]) if step.checks else ()
    others_unsettled = run.state.unsettled - (run.state.steps[step.id].status not in SETTLED)
    if not others_unsettled or step.step_type is StepType.TESTING:
        checks = (*checks, *task_checks(run.task, run.state.protected))
    return tuple({check.key: check for check in checks}.values()) if checks else ()


def writes_of(run: Run, step_run: StepRun) -> frozenset[str] | None:
    """Return the files that a step will write: an empty set if it only reads, None if they are not known beforehand."""
    if name := step_run.tool or step_run.step.tool:
        tool = run.toolbox.get(name)
        if tool.writes is Writes.NONE:
            return frozenset()
        arguments = {**step_run.step.parameters, **step_run.parameters}
        with suppress(ToolError):
            paths = frozenset(tool.written_paths(arguments))
            return paths if tool.writes is Writes.DECLARED and paths else None
        return None
    # Only a step that is one file keeps to its declared `writes`; a conversation, a program or a free answer may write
    # anywhere.
    return frozenset(step_run.step.writes) if run.step_kind(step_run) is StepKind.FILE else None


async def _record_end(
    run: Run, step_id: str, failure: Failure | None, criteria: tuple[CriterionResult, ...], duration_ms: int
) -> None:
    step_run = run.state.steps[step_id]
    outputs = outputs_of(step_run.actions)
    status = StepStatus.SUCCEEDED
    if failure is not None:
        status = StepStatus.PARTIAL if step_run.step.allow_failure else StepStatus.FAILED
    elif (
        step_run.step.tool
        and not (step_run.snapshot or step_run.results or criteria)
        and run.artifacts.is_inline(outputs)
    ):
        expires_at = run.artifacts.expiry(step_run.step)
        end = _finished(
            step_id=step_id,
            status=status,
            attempt=step_run.attempt,
            duration_ms=duration_ms,
            expires_at=expires_at,
        )
        await run.record(end)
        return
    after = await run.snapshot() if step_run.snapshot else ""
    artifact = None
    if status is not StepStatus.FAILED:
        artifact, outputs = run.artifacts.keep(step_run, outputs)
    await run.record(
        _finished(
            step_id=step_id,
            status=status,
            attempt=step_run.attempt,
            output=_observe(run, step_run, status, after, outputs, criteria),
            duration_ms=duration_ms,
            failure=failure,
            checks=step_run.results,
            snapshot=after,
            artifact=artifact,
        )
    )


def _observe(
    run: Run,
    step_run: StepRun,
    status: StepStatus,
    after: str,
    outputs: dict[str, Any],
    criteria: tuple[CriterionResult, ...],
) -> StepExecutionOutput:
    """Describe what the step did: files from comparing the workspace before and after, commands as they ran."""
    files: dict[str, list[str]] = {"added": [], "removed": [], "changed": []}
    if step_run.snapshot and after:
        declared = writes_of(run, step_run) if step_run.shared else None
        for change in run.workspace.changes(step_run.snapshot, after):
            if declared is not None and change.path not in declared:
                continue
            files[change.kind if change.kind in files else "changed"].append(as_text(change.path))
    succeeded, not_met = status is StepStatus.SUCCEEDED, bool(unmet(criteria))
    unchecked_step = not step_run.step.tool and not (step_run.newest_results)
    return _output(
        step_id=step_run.step.id,
        status=EXECUTION_STATUS[status],
        outputs=outputs,
        logs=logs_of(step_run.actions),
        generated_files=tuple(files["added"]),
        modified_files=tuple(files["changed"]),
        deleted_files=tuple(files["removed"]),
        executed_commands=commands_of(step_run.actions),
        proven=succeeded and not not_met and _proven(step_run.results_before, step_run.results),
        unproven=succeeded and (not_met or unchecked_step),
        criteria=criteria,
    )


def _proven(before: tuple[CheckResult, ...], after: tuple[CheckResult, ...]) -> bool:
    """Whether all decisive checks pass and at least one of them failed before."""
    if not after:
        return False
    red_before = {r.check.key for r in before if not r.passed}
    deciding = decisive(after)
    return bool(deciding) and all(r.passed for r in deciding) and any(r.check.key in red_before for r in deciding)
