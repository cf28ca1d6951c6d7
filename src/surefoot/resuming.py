"""What a run that was cut off has to put right before it goes on, and what only a person can decide about it."""

import asyncio

from surefoot import events as e
from surefoot.config import PhasePolicy
from surefoot.errors import RestoreConflict, UsageError
from surefoot.machine import Rung, Stage, StepStatus
from surefoot.outcome import Verdict
from surefoot.phases.step import task_checks
from surefoot.phases.taking_back import rolled_back, take_back, undo_interrupted, was_done
from surefoot.run import Run, Stopped
from surefoot.state import Action, StepRun

_MOST_PATHS = 20


async def pick_up(run: Run) -> None:
    """From wherever the run stopped, in whatever way, to where it can go on."""
    await run.take_messages()
    had_ended = run.state.stage is Stage.FAILED
    await _leave_the_halt(run)
    await _finish_restore(run)
    for action in list(run.state.open_actions.values()):
        await _undo_interrupted(run, action)
    if had_ended:
        await _try_again(run)
    await look_first(run)


async def look_first(run: Run) -> None:
    """The task's own checks before anything is done: only what is red now can prove the task later."""
    if run.state.looked_first or run.config.phases is PhasePolicy.PLAN:
        return
    for result in await run.verifier.check(task_checks(run), "before"):
        if result.check.origin == "user" and result.exit_code in (126, 127):
            raise UsageError(
                f"the check {result.check.label!r} cannot be run: {result.detail}",
                remedy="mend the command; a check has to be able to fail and to pass",
            )


async def settle_conflict(run: Run, conflict: RestoreConflict) -> None:
    """A failed step could not be undone, because someone changed its files meanwhile. They decide."""
    mine = run.state.steps[run.state.recovering]
    answer = await _ask(run, conflict, mine.step.id, f"{mine.step.id}.{mine.attempt}")
    if answer == "overwrite":
        report = await take_back(run, mine.step.id, mine.snapshot, force=True)
        await run.record(rolled_back(mine.step.id, report))
    else:
        await _once_more(run, mine, f"These files were changed by someone else and stay: {', '.join(conflict.paths)}")


async def _leave_the_halt(run: Run) -> None:
    state = run.state
    if state.stage is Stage.WAITING:
        await run.enter(state.before_waiting, "resumed")
    elif state.stage is Stage.FAILED:
        stage = state.failed_at or Stage.UNDERSTANDING
        failed = state.steps.get(state.recovering)
        if stage is Stage.RECOVERY and (failed is None or failed.status is not StepStatus.FAILED):
            # What failed was undone by a person and is to be done again.
            stage = Stage.EXECUTION
        if stage is Stage.VALIDATION and any(r.status is StepStatus.PENDING for r in state.steps.values()):
            stage = Stage.EXECUTION
        await run.enter(stage, "resumed")


async def _try_again(run: Run) -> None:
    """A person asks for more after the ladder was at its end: the failed step starts over, with all its tries."""
    mine = run.state.steps.get(run.state.recovering)
    if run.state.stage is not Stage.RECOVERY or mine is None or mine.step.id in run.state.failed:
        return
    if mine.status is StepStatus.FAILED and mine.rungs[-1:] == [Rung.GIVE_UP]:
        await _once_more(run, mine, "")


async def _once_more(run: Run, mine: StepRun, note: str) -> None:
    await run.record(
        e.StepReset(step_id=mine.step.id, rung=Rung.ADJUST_PARAMETERS, by="user", note=note),
        e.StageEntered(stage=Stage.EXECUTION, reason="resumed"),
    )


async def _undo_interrupted(run: Run, action: Action) -> None:
    """An intent without a result is an action that was cut off: its effects in the workspace go, and it may be tried
    again. What it may have done elsewhere cannot be seen from here."""
    arguments = ", ".join(f"{name}={value!r}" for name, value in action.arguments.items())
    call = f"{action.tool}({arguments[:500]})"
    if action.external and await was_done(run, call, action.step_id, action.id):
        said = "It was interrupted, and a person says that it was done."
        await run.record(e.ActionFinished(action_id=action.id, step_id=action.step_id, ok=True, summary=said))
        return
    await undo_interrupted(run, action, alive_at=run.last_alive)


async def _finish_restore(run: Run) -> None:
    """A restore that was killed half-way is completed, unless someone has changed its files since and wants to keep
    them."""
    try:
        await asyncio.to_thread(run.workspace.finish_restore)
    except RestoreConflict as conflict:
        if await _ask(run, conflict, "", "half-done") == "overwrite":
            await asyncio.to_thread(run.workspace.finish_restore, force=True)
        else:
            await asyncio.to_thread(run.workspace.abandon_restore)


async def _ask(run: Run, conflict: RestoreConflict, step_id: str, what: str) -> str:
    listed = "\n".join(f"  {path}" for path in conflict.paths[:_MOST_PATHS])
    more = f"\n  and {len(conflict.paths) - _MOST_PATHS} more" if len(conflict.paths) > _MOST_PATHS else ""
    answer = await run.ask_person(
        "conflict",
        "These files should be put back as they were, but someone has changed them meanwhile:\n"
        f"{listed}{more}\nOverwrite them, keep them as they are now, or stop?",
        options=("overwrite", "keep", "stop"),
        step_id=step_id,
        subject=f"{what}:{' '.join(conflict.paths)}",
    )
    if answer not in ("overwrite", "keep"):
        raise Stopped(Verdict.CANCELLED, f"stopped, because files were changed meanwhile: {answer}")
    return answer
