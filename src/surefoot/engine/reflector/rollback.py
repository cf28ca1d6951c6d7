"""Undoes a step that failed, or that was running when the run ended.

Effects outside the workspace are undone first, then changes in the workspace.
"""

from surefoot.core.outcome import FailureKind
from surefoot.core.phases import ExecutionStatus
from surefoot.core.transitions import RETRY_RUNGS, Rung
from surefoot.engine.reflector.compensation import compensate
from surefoot.engine.reflector.restore import restore_step, rolled_back, undo_interrupted
from surefoot.engine.runtime.run import Run
from surefoot.journal import events as e
from surefoot.journal.state import StepRun

SAME_STEP = RETRY_RUNGS | {Rung.REPAIR_STEP}
"""Rungs after which the step is tried again, so that its work may still be useful."""


async def roll_back(run: Run, step_run: StepRun) -> None:
    """Undo a failed attempt, unless its work is worth keeping.

    A step that was refuted only on the final tree is not undone: later steps have built on it.
    """
    refuted = step_run.failures[-1].kind is FailureKind.REFUTED
    undone = step_run.output is not None and step_run.output.status is ExecutionStatus.ROLLED_BACK
    if not run.config.enable_auto_rollback or refuted or undone or step_run.work_kept:
        return
    if (why := step_run.reflections[-1].keep) and step_run.rungs[-1] in SAME_STEP:
        await run.record(e.WorkKept(step_id=step_run.step.id, why=why))
        return
    await compensate(run, step_run)
    await _restore(run, step_run)


async def _restore(run: Run, step_run: StepRun, *, force: bool = False) -> None:
    if not step_run.snapshot and not any(c.ok for c in step_run.compensations):
        return
    step_id = step_run.step.id
    undone = e.RolledBack(step_id=step_id, snapshot="")
    if step_run.snapshot:
        known = "" if force else step_run.after
        report = await restore_step(run, step_id, step_run.snapshot, known=known, force=force, keep_mixed=force)
        undone = rolled_back(step_id, report)
    await run.record(undone)


async def abandon(run: Run, step_run: StepRun) -> None:
    """Undo the open actions of a running attempt, and compensate for its effects outside the workspace.

    The files of its finished actions are left to the caller. Nobody is asked, because the attempt is being stopped.
    """
    step_id = step_run.step.id
    for action in [a for a in run.state.open_actions.values() if a.step_id == step_id]:
        await undo_interrupted(run, action)
        if action.external:
            what = f"{action.tool} was cut off, and may have done its work outside the workspace or not"
            await run.record(e.LeftOutside(step_id=step_id, undoes=action.id, what=what))
    if run.config.enable_auto_rollback:
        await compensate(run, step_run, may_ask=False)


async def abandon_running(run: Run) -> None:
    """Undo the running steps of a run that ends, so that they can be done again."""
    for step_id in sorted(run.state.running):
        step_run = run.state.steps[step_id]
        if any(action.external for action in run.state.open_actions.values() if action.step_id == step_id):
            # Only a person can tell whether the action was done, and is asked when the run is resumed.
            continue
        await abandon(run, step_run)
        if run.config.enable_auto_rollback:
            await _restore(run, step_run, force=True)
        await run.record(e.StepReset(step_id=step_id, rung=Rung.RETRY_LATER))
