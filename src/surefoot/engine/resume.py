"""Brings an interrupted or failed run to a state in which it can continue, and settles conflicts with files that others
changed. Asks a person where only a person can decide.
"""

import asyncio

from surefoot.core.outcome import Verdict
from surefoot.core.transitions import Rung, Stage, StepStatus
from surefoot.engine.reflector.restore import (
    ask_whether_done,
    changes_of_interrupted,
    note_incidents,
    restore_step,
    rolled_back,
    undo_interrupted,
)
from surefoot.engine.runtime.run import Run
from surefoot.engine.runtime.stop import Stopped
from surefoot.engine.verifier.before_run import check_before
from surefoot.errors import RestoreConflict
from surefoot.journal import events as e
from surefoot.journal.state import Action, StepRun
from surefoot.workspace.errors import as_text, printable

_MAX_PATHS = 20


async def pick_up(run: Run) -> None:
    """Complete a half-done restore, undo actions that were cut off, and enter the stage in which the run goes on."""
    await run.inbox.receive()
    had_ended = run.state.stage is Stage.FAILED
    await _leave_halt(run)
    await _finish_restore(run)
    for action in list(run.state.open_actions.values()):
        await _resolve_interrupted(run, action)
    if had_ended:
        await _reset_failed_step(run)
    await check_before(run)


async def resolve_conflict(run: Run, conflict: RestoreConflict) -> None:
    """Ask what to do about a failed step that cannot be undone, because someone changed its files meanwhile."""
    step_run = run.state.steps[run.state.recovering]
    step_id = step_run.step.id
    answer = await _ask(run, conflict, step_id, f"{step_id}.{step_run.attempt}")
    if answer == "overwrite":
        report = await restore_step(run, step_id, step_run.snapshot, force=True)
        await run.record(rolled_back(step_id, report))
    else:
        await _reset(run, step_run, f"These files were changed by someone else and stay: {', '.join(conflict.paths)}")


async def _leave_halt(run: Run) -> None:
    state = run.state
    if state.stage is Stage.WAITING:
        await run.enter(state.before_waiting, "resumed")
    elif state.stage is Stage.FAILED:
        stage = state.failed_at or Stage.UNDERSTANDING
        failed = state.steps.get(state.recovering)
        if stage is Stage.RECOVERY and (failed is None or failed.status is not StepStatus.FAILED):
            # A person has undone the failed step, so it is done again.
            stage = Stage.EXECUTION
        if stage is Stage.VALIDATION and any(r.status is StepStatus.PENDING for r in state.steps.values()):
            stage = Stage.EXECUTION
        await run.enter(stage, "resumed")


async def _reset_failed_step(run: Run) -> None:
    """Give a step that the ladder gave up on its full number of attempts again, because a person resumed the run."""
    step_run = run.state.steps.get(run.state.recovering)
    if run.state.stage is not Stage.RECOVERY or step_run is None or step_run.step.id in run.state.failed:
        return
    if step_run.status is StepStatus.FAILED and step_run.rungs[-1:] == [Rung.GIVE_UP]:
        await _reset(run, step_run, "")


async def _reset(run: Run, step_run: StepRun, note: str) -> None:
    await run.record(
        e.StepReset(step_id=step_run.step.id, rung=Rung.ADJUST_PARAMETERS, by="user", note=note),
        e.StageEntered(stage=Stage.EXECUTION, reason="resumed"),
    )


async def _resolve_interrupted(run: Run, action: Action) -> None:
    """Undo the file changes of an action that was begun and has no recorded result.

    The engine does not repeat it: the step continues, and a model decides again what to do. If the action has effects
    outside the workspace, a person is asked whether it was done. If so, it counts as done and its files stay.
    """
    arguments = ", ".join(f"{name}={value!r}" for name, value in action.arguments.items())
    call = f"{action.tool}({arguments[:500]})"
    if action.external and await ask_whether_done(run, call, action.step_id, action.id):
        changed = await changes_of_interrupted(run, action, alive_at=run.heartbeat.last_before)
        finished = e.ActionFinished(
            action_id=action.id,
            step_id=action.step_id,
            ok=True,
            summary="It was interrupted, and a person says that it was done.",
            changed=tuple(map(as_text, changed)),
        )
        await run.record(finished)
        return
    await undo_interrupted(run, action, alive_at=run.heartbeat.last_before)


async def _finish_restore(run: Run) -> None:
    """Complete a restore that was killed half-way, unless someone has changed its files and wants to keep them."""
    try:
        note_incidents(run, await asyncio.to_thread(run.workspace.finish_restore))
    except RestoreConflict as conflict:
        if await _ask(run, conflict, "", "half-done") == "overwrite":
            note_incidents(run, await asyncio.to_thread(run.workspace.finish_restore, force=True))
        elif left := await asyncio.to_thread(run.workspace.abandon_restore):
            run.note(e.Warned(message=f"temporary files were left: {', '.join(map(printable, left))}"))


async def _ask(run: Run, conflict: RestoreConflict, step_id: str, occasion: str) -> str:
    listed = "\n".join(f"  {path}" for path in conflict.paths[:_MAX_PATHS])
    more = f"\n  and {len(conflict.paths) - _MAX_PATHS} more" if len(conflict.paths) > _MAX_PATHS else ""
    answer = await run.human.ask(
        "conflict",
        "These files should be put back as they were, but someone has changed them meanwhile:\n"
        f"{listed}{more}\nOverwrite them, keep them as they are now, or stop?",
        options=("overwrite", "keep", "stop"),
        step_id=step_id,
        subject=f"{occasion}:{' '.join(conflict.paths)}",
    )
    if answer not in ("overwrite", "keep"):
        raise Stopped(Verdict.CANCELLED, f"stopped, because files were changed meanwhile: {answer}")
    return answer
