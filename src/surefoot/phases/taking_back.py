"""Undoing what a step did, and only that. Edits that people make meanwhile are not the step's: they stay, and where
they are in a file that the step wrote too, the people decide."""

import asyncio
import os
from collections.abc import Collection
from pathlib import Path

from surefoot import events as e
from surefoot.outcome import Verdict
from surefoot.run import Run, Stopped
from surefoot.state import Action
from surefoot.tools.base import Tool, Writes
from surefoot.tools.fileio import TEMPORARY_PREFIX
from surefoot.workspace.faults import as_path, as_text, shown
from surefoot.workspace.restore import RestoreReport

AFTERWARDS_SECONDS = 2.0
"""Changed so much later than the run's last sign of life, a file was changed by somebody else."""


async def take_back(
    run: Run, step_id: str, snapshot: str, *, known: str = "", force: bool = False, more: Collection[str] = ()
) -> RestoreReport:
    """What the step's attempt changed goes back to the snapshot. `known` is the tree as the step left it: what differs
    from that was changed by someone else since, which raises `RestoreConflict` unless `force`."""
    touched = {as_path(path) for path in run.state.steps[step_id].touched}
    paths = [path for path in {*touched, *more} if path not in ("", ".")]
    if not paths:
        return RestoreReport(snapshot)

    def work() -> RestoreReport:
        workspace = run.workspace
        now = workspace.snapshot()
        wanted = workspace.with_paths_from(now, snapshot, paths)
        as_left = workspace.with_paths_from(now, known, paths) if known else now
        return workspace.restore(wanted, known=as_left, force=force)

    return await asyncio.to_thread(work)


def rolled_back(step_id: str, report: RestoreReport) -> e.RolledBack:
    paths = (*report.removed, *report.written, *report.adjusted)
    return e.RolledBack(
        step_id=step_id, snapshot=report.snapshot, paths=tuple(as_text(path) for path in paths if path != ".")
    )


def observed_changes(run: Run, tool: Tool, arguments: dict[str, object], snapshot: str) -> tuple[str, ...]:
    """What a call changed: the files it names, or for commands whatever is different now."""
    if tool.writes is Writes.NONE or not snapshot:
        return ()
    if tool.writes is Writes.DECLARED:
        named = [str(arguments[name]) for name in tool.path_arguments if name in arguments]
        return tuple(_relative(run.root, name) for name in named)
    return tuple(change.path for change in run.workspace.changes(snapshot))


async def undo_interrupted(run: Run, action: Action, *, alive_at: float | None = None) -> None:
    """An action that was cut off: what it changed goes. After a crash nobody saw its end; then what was changed clearly
    later than the run was alive is left alone, and said."""
    changed: tuple[str, ...] = ()
    if action.snapshot:
        tool = run.toolbox.get(action.tool)
        changed = await asyncio.to_thread(observed_changes, run, tool, action.arguments, action.snapshot)
        if alive_at is not None:
            changed += await asyncio.to_thread(_half_written, run, changed, action.snapshot)
            later = [path for path in changed if _changed_after(run.root, path, alive_at + AFTERWARDS_SECONDS)]
            changed = tuple(path for path in changed if path not in later)
            if later:
                kept = ", ".join(map(shown, later[:5])) + (f" and {len(later) - 5} more" if len(later) > 5 else "")
                run.note(e.Warned(message=f"changed after the run was cut off, so left as it is: {kept}"))
        await _only(run, action, changed)
    await run.record(e.ActionInterrupted(action_id=action.id, step_id=action.step_id))


def _half_written(run: Run, named: Collection[str], snapshot: str) -> tuple[str, ...]:
    """A file that was being written when the process ended has another name until it is whole."""
    folders = {Path(path).parent for path in named}
    added = [Path(change.path) for change in run.workspace.changes(snapshot) if change.kind == "added"]
    return tuple(str(p) for p in added if p.name.startswith(TEMPORARY_PREFIX) and p.parent in folders)


async def _only(run: Run, action: Action, paths: Collection[str]) -> None:
    def work() -> None:
        now = run.workspace.snapshot()
        wanted = run.workspace.with_paths_from(now, action.snapshot, [p for p in paths if p not in ("", ".")])
        run.workspace.restore(wanted, known=now)

    if paths:
        await asyncio.to_thread(work)


async def was_done(run: Run, call: str, step_id: str, subject: str) -> bool:
    """What was cut off may have had effects outside, and nobody can see from here whether it had: a person says."""
    answer = await run.ask_person(
        "conflict",
        f"{call} was interrupted, and it may have had effects outside the workspace, "
        "which cannot be undone here. Was it done, should it be done again, or should the run stop?",
        options=("done", "again", "stop"),
        step_id=step_id,
        subject=f"interrupted:{subject}",
    )
    if answer not in ("done", "again"):
        raise Stopped(Verdict.CANCELLED, f"stopped, because {call.partition('(')[0]} was interrupted: {answer}")
    return answer == "done"


def _relative(root: Path, name: str) -> str:
    path = Path(os.path.normpath(name))
    return os.path.relpath(path, root) if path.is_absolute() else str(path)


def _changed_after(root: Path, path: str, moment: float) -> bool:
    """A file that is gone was removed when its folder changed."""
    place = root / path
    while not os.path.lexists(place):
        place = place.parent
    return place.lstat().st_ctime > moment
