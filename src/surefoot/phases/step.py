"""One step: look at its checks, act until they pass, see what changed, settle."""

import asyncio
import time
from collections.abc import Sequence
from typing import Any

from surefoot import events as e
from surefoot.errors import MissingArtifact, ModelError, UnreadableAnswer
from surefoot.gates import decisive
from surefoot.machine import SETTLED, Rung, StepStatus
from surefoot.outcome import (
    CheckResult,
    ExecutionStatus,
    Failure,
    FailureKind,
    StepExecutionOutput,
    Verdict,
)
from surefoot.phases.acting import StepFailed, act_until_done
from surefoot.phases.computing import is_result
from surefoot.phases.rolling_back import abandon
from surefoot.phases.taking_back import take_back
from surefoot.plan import Check, ExecutionStep, StepType
from surefoot.project import list_files, project_checks
from surefoot.questions import is_yes
from surefoot.run import Run, Stopped
from surefoot.state import StepRun, commands_of, logs_of, outputs_of
from surefoot.tools.base import Writes
from surefoot.values import unchecked
from surefoot.verify import may_run
from surefoot.workspace.faults import as_text

_started, _finished, _output = unchecked(e.StepStarted), unchecked(e.StepFinished), unchecked(StepExecutionOutput)


async def run_step(run: Run, step_id: str) -> None:
    """Leaves the step settled or failed. A step that was interrupted goes on where it stopped."""
    task = asyncio.current_task()
    assert task is not None
    run.step_tasks[step_id] = task
    mine = run.state.steps[step_id]
    step = mine.step
    if step.requires_confirmation or step.step_type is StepType.DEPLOYMENT:
        await _confirmed(run, step)
    checks = checks_of(run, step)
    await _begin(run, step_id, checks)
    started = time.perf_counter()
    failure = None
    limit = run.config.step_timeout_seconds
    run.fuses[step_id] = fuse = run.fuse_box.light(task, limit)
    try:
        run.artifacts.needed_by(step_id)
        await act_until_done(run, mine, checks)
    except asyncio.CancelledError:
        if fuse.ended_it:
            failure = _too_long(limit)
        elif step_id in run.interrupting:
            fuse.put_out()
            await _interrupted(run, step_id)
            return
        else:
            raise
    except StepFailed as failed:
        failure = failed.failure
    except TimeoutError:
        failure = _too_long(limit)
    except MissingArtifact as error:
        failure = Failure(kind=FailureKind.MISSING_ARTIFACT, message=str(error), evidence=error.remedy)
    except UnreadableAnswer as error:
        failure = Failure(kind=FailureKind.UNREADABLE_ANSWER, message=error.problem, evidence=error.answer[:500])
    except ModelError as error:
        if not error.temporary:
            raise
        failure = Failure(kind=FailureKind.MODEL_ERROR, message=str(error), temporary=True)
    finally:
        # A person who is asked about the step later, while it is undone, has nothing to do with its time.
        run.fuses.pop(step_id, None)
        fuse.put_out()
    await _settle(run, step_id, failure, round((time.perf_counter() - started) * 1000))


def _too_long(limit: float) -> Failure:
    return Failure(kind=FailureKind.TIMEOUT, message=f"the step took longer than {limit:g} seconds", temporary=True)


async def _begin(run: Run, step_id: str, checks: Sequence[Check]) -> None:
    mine = run.state.steps[step_id]
    if mine.status is not StepStatus.RUNNING:
        begun = _started(step_id=step_id, attempt=mine.attempt + 1)
        if mine.step.tool and not checks:
            # Nothing is looked at or asked before its action: the intent of that makes both durable.
            run.note(begun)
        else:
            await run.record(begun)
    if checks and not mine.baseline and not mine.actions:
        # Also where a process ended between beginning the step and this look.
        await run.verifier.check(checks, "before", step_id)


async def _interrupted(run: Run, step_id: str) -> None:
    """A person does not want this step, or wants it anew: what it has done so far is undone, and the run goes on."""
    task = asyncio.current_task()
    assert task is not None
    task.uncancel()
    control = run.interrupting.pop(step_id)
    mine = run.state.steps[step_id]
    await abandon(run, mine)
    if mine.snapshot:
        await take_back(run, step_id, mine.snapshot)
    if control.command == "retry":
        note = control.why
        await run.record(e.StepReset(step_id=step_id, rung=Rung.ADJUST_PARAMETERS, by="user", note=note))
        return
    reason = f"skipped by {control.by}" + (f": {control.why}" if control.why else "")
    output = StepExecutionOutput(step_id=step_id, status=ExecutionStatus.SKIPPED, logs=(reason,))
    await run.record(e.StepFinished(step_id=step_id, status=StepStatus.SKIPPED, attempt=mine.attempt, output=output))


async def _confirmed(run: Run, step: ExecutionStep) -> None:
    answer = await run.ask_person(
        "confirmation", f"Run the step '{step.name}'?\n{step.description}", options=("yes", "no"), step_id=step.id
    )
    if not is_yes(answer):
        raise Stopped(Verdict.CANCELLED, f"the step '{step.name}' was not confirmed: {answer}")


def checks_of(run: Run, step: ExecutionStep) -> tuple[Check, ...]:
    """The step's own checks; for the last step, also everything that has to hold for the task as a whole."""
    own = tuple([check for check in step.checks if may_run(run, check)]) if step.checks else ()
    others_unsettled = run.state.unsettled - (run.state.steps[step.id].status not in SETTLED)
    if not others_unsettled or step.step_type is StepType.TESTING:
        own = (*own, *task_checks(run))
    return tuple({check.key: check for check in own}.values()) if own else ()


def task_checks(run: Run) -> tuple[Check, ...]:
    """What the user asked to be checked; with nothing asked, the project's own tests if there were some before."""
    if run.task.checks:
        return run.task.checks
    before = [path for path in list_files(run.root) if path in run.state.protected]
    return project_checks(run.root, before)


def claim(run: Run, mine: StepRun) -> frozenset[str] | None:
    """The files that a step will write, where that can be told beforehand; None is the whole workspace."""
    if name := mine.tool or mine.step.tool:
        tool = run.toolbox.get(name)
        if tool.writes is Writes.NONE:
            return frozenset()
        arguments = {**mine.step.parameters, **mine.parameters}
        paths = frozenset(str(arguments[a]) for a in tool.path_arguments if a in arguments)
        return paths if tool.writes is Writes.DECLARED and paths else None
    # What makes a result is a program, and may write anywhere.
    return frozenset(mine.step.writes) if len(mine.step.writes) == 1 and not is_result(run, mine.step) else None


async def _settle(run: Run, step_id: str, failure: Failure | None, duration_ms: int) -> None:
    mine = run.state.steps[step_id]
    outputs = outputs_of(mine.actions)
    status = StepStatus.SUCCEEDED
    if failure is not None:
        allowed = mine.step.allow_failure
        status = StepStatus.PARTIAL if allowed else StepStatus.FAILED
    elif not mine.snapshot and not mine.checks and run.artifacts.stays(outputs):
        until = run.artifacts.expiry(mine.step)
        await run.record(
            _finished(step_id=step_id, status=status, attempt=mine.attempt, duration_ms=duration_ms, expires_at=until)
        )
        return
    after = await run.snapshot() if mine.snapshot else ""
    artifact = None
    if status is not StepStatus.FAILED:
        artifact, outputs = run.artifacts.keep(mine, outputs)
    output = observed(run, mine, failure, after, outputs)
    await run.record(
        _finished(
            step_id=step_id,
            status=status,
            attempt=mine.attempt,
            output=output,
            duration_ms=duration_ms,
            failure=failure,
            checks=mine.checks,
            snapshot=after,
            artifact=artifact,
        )
    )


def observed(
    run: Run, mine: StepRun, failure: Failure | None, after: str, outputs: dict[str, Any]
) -> StepExecutionOutput:
    """Files from a comparison of the workspace before and after, commands as they were run: nothing is claimed."""
    files: dict[str, list[str]] = {"added": [], "removed": [], "changed": []}
    if mine.snapshot and after:
        own = claim(run, mine) if mine.shared else None
        for change in run.workspace.changes(mine.snapshot, after):
            if own is not None and change.path not in own:
                continue
            files[change.kind if change.kind in files else "changed"].append(as_text(change.path))
    status = ExecutionStatus.SUCCESS
    if failure is not None:
        status = ExecutionStatus.PARTIAL_SUCCESS if mine.step.allow_failure else ExecutionStatus.FAILED
    return _output(
        step_id=mine.step.id,
        status=status,
        outputs=outputs,
        logs=logs_of(mine.actions),
        generated_files=tuple(files["added"]),
        modified_files=tuple(files["changed"]),
        deleted_files=tuple(files["removed"]),
        executed_commands=commands_of(mine.actions),
        proven=failure is None and _proven(mine.baseline, mine.checks),
    )


def _proven(before: tuple[CheckResult, ...], after: tuple[CheckResult, ...]) -> bool:
    """All green now, and at least one that was red: a check that passed all along proves nothing."""
    if not after:
        return False
    red_before = {r.check.key for r in before if not r.passed}
    deciding = decisive(after)
    return bool(deciding) and all(r.passed for r in deciding) and any(r.check.key in red_before for r in deciding)
