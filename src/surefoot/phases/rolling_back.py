"""A step that failed, or that the run ends in the middle of, is undone: first what it did outside the workspace, then
the workspace itself."""

from surefoot import events as e
from surefoot.machine import Rung
from surefoot.outcome import ExecutionStatus, FailureKind
from surefoot.phases.compensating import compensate
from surefoot.phases.taking_back import rolled_back, take_back, undo_interrupted
from surefoot.run import Run
from surefoot.state import StepRun

SAME_STEP = (
    Rung.RETRY_LATER,
    Rung.ADJUST_PARAMETERS,
    Rung.ALTERNATIVE_TOOL,
    Rung.CANDIDATES,
    Rung.REPAIR_STEP,
)
"""After these the step is tried again, so part of its work may be of use."""


async def roll_back(run: Run, mine: StepRun) -> None:
    """After a failed attempt: everything as it was before it, whatever made the change; or what is worth keeping, kept.

    A step that only the final tree refuted is left in place: later steps have built on it."""
    refuted = mine.failures[-1].kind is FailureKind.REFUTED
    undone = mine.output is not None and mine.output.status is ExecutionStatus.ROLLED_BACK
    if not run.config.enable_auto_rollback or refuted or undone or mine.kept:
        return
    if (why := mine.reflections[-1].keep) and mine.rungs[-1] in SAME_STEP:
        await run.record(e.WorkKept(step_id=mine.step.id, why=why))
        return
    await compensate(run, mine)
    await _take_back(run, mine)


async def _take_back(run: Run, mine: StepRun, *, force: bool = False) -> None:
    if not mine.snapshot and not any(c.ok for c in mine.compensations):
        return
    undone = e.RolledBack(step_id=mine.step.id, snapshot="")
    if mine.snapshot:
        report = await take_back(run, mine.step.id, mine.snapshot, known="" if force else mine.after, force=force)
        undone = rolled_back(mine.step.id, report)
    await run.record(undone)


async def abandon(run: Run, mine: StepRun) -> None:
    """In the middle of an attempt: what it has done so far goes. Nobody is asked, because somebody said to stop."""
    step_id = mine.step.id
    for action in [a for a in run.state.open_actions.values() if a.step_id == step_id]:
        await undo_interrupted(run, action)
        if action.external:
            said = f"{action.tool} was cut off, and may have done its work outside the workspace or not"
            await run.record(e.LeftOutside(step_id=step_id, undoes=action.id, what=said))
    if run.config.enable_auto_rollback:
        await compensate(run, mine, may_ask=False)


async def abandon_running(run: Run) -> None:
    """The run ends in the middle of steps: what they have done so far goes, and they can be done again."""
    for step_id in sorted(run.state.running):
        mine = run.state.steps[step_id]
        if any(action.external for action in run.state.open_actions.values() if action.step_id == step_id):
            # Only a person can tell what came of it; they are asked when the run is resumed.
            continue
        await abandon(run, mine)
        if run.config.enable_auto_rollback:
            await _take_back(run, mine, force=True)
        await run.record(e.StepReset(step_id=step_id, rung=Rung.RETRY_LATER))
