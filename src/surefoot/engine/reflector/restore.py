"""Undoes the changes of a step in the workspace, and only those.

Edits that people made in the meantime stay. If they are in a file that the step wrote too, a person decides.
Also undoes an action that was interrupted, or asks a person whether its effects outside the workspace took place.
"""

import asyncio
import os
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from surefoot.core.outcome import Verdict
from surefoot.core.values import join_limited
from surefoot.engine.executor.proposed import Proposed, store
from surefoot.engine.runtime.run import Run
from surefoot.engine.runtime.stop import Stopped
from surefoot.errors import RestoreConflict, ToolError, WorkspaceError
from surefoot.journal import events as e
from surefoot.journal.state import Action
from surefoot.prompting.proposal import Proposal
from surefoot.tools.fs.fileio import TEMPORARY_PREFIX
from surefoot.tools.fs.tool_files import in_repository, is_made_by_tools
from surefoot.tools.tool import Tool, Writes
from surefoot.workspace.errors import as_path, as_text, printable
from surefoot.workspace.restore.restore import RestoreReport, describe_incidents

GRACE_SECONDS = 2.0
"""Grace period: a change later than this after the run's last heartbeat is attributed to others."""


async def restore_step(
    run: Run,
    step_id: str,
    snapshot: str,
    *,
    known: str = "",
    force: bool = False,
    more: Collection[str] = (),
    keep_mixed: bool = False,
) -> RestoreReport:
    """Restore the paths that the step's attempt has touched, and `more`, from the snapshot.

    `known` is the tree as the step left it. Paths that differ from it were changed by someone else since, and raise
    `RestoreConflict` unless `force` is set. So do those that someone else changed during the attempt, while the run had
    stopped. With `keep_mixed`, for callers that cannot ask, these stay as they are, with a warning.
    """
    touched = {as_path(path) for path in run.state.steps[step_id].touched}
    paths = [path for path in {*touched, *more} if path not in ("", ".")]
    mixed = sorted({as_path(path) for path in run.state.steps[step_id].by_others}.intersection(paths))
    if mixed and keep_mixed:
        kept = join_limited([printable(path) for path in mixed], 5)
        run.recorder.warn(f"changed by the run and by somebody else, so left as it is: {kept}")
        paths = [path for path in paths if path not in mixed]
    elif mixed and not force:
        raise RestoreConflict([printable(path) for path in mixed])
    if not paths:
        return RestoreReport(snapshot)

    def restore() -> RestoreReport:
        workspace = run.workspace
        entries = workspace.manifest(snapshot).entries
        coming_back = sum(entries[path].size for path in paths if path in entries)
        now = workspace.capture([snapshot, *([known] if known else [])], reserve=coming_back)
        target = workspace.with_paths_from(now, snapshot, paths)
        as_left = workspace.with_paths_from(now, known, paths) if known else now
        return workspace.restore(target, known=as_left, force=force)

    report = await asyncio.to_thread(restore)
    note_incidents(run, report)
    return report


def note_incidents(run: Run, report: RestoreReport | None) -> None:
    """Warn about files that a restore moved or left where they are, instead of removing them."""
    for message in describe_incidents(report) if report else ():
        run.note(e.Warned(message=message))


def rolled_back(step_id: str, report: RestoreReport) -> e.RolledBack:
    paths = (*report.removed, *report.written, *report.adjusted)
    return e.RolledBack(
        step_id=step_id, snapshot=report.snapshot, paths=tuple(as_text(path) for path in paths if path != ".")
    )


def observed_changes(
    run: Run, tool: Tool, arguments: dict[str, object], snapshot: str, *, quick: bool = False
) -> tuple[str, ...]:
    """Return the paths that a call changed: those that it declares, or for a
    tool that may write anything all that differ from the snapshot.

    `quick`: see `Workspace.snapshot`.
    """
    if tool.writes is Writes.NONE or not snapshot:
        return ()
    if tool.writes is Writes.DECLARED:
        with suppress(ToolError):
            return tuple(_relative(run.root, name) for name in tool.written_paths(arguments))
        return ()
    return tuple(change.path for change in run.workspace.changes(snapshot, quick=quick))


async def undo_interrupted(run: Run, action: Action, *, alive_at: float | None = None) -> None:
    """Undo the file changes of an action that was interrupted. `alive_at` is as for `changes_of_interrupted`."""
    if changed := await changes_of_interrupted(run, action, alive_at=alive_at):
        report = await _restore_paths(run, action, changed)
        if alive_at is not None:
            _warn_of_undone(run, action, report)
    proposed = _question_of_model(run, action)
    await run.record(e.ActionInterrupted(action_id=action.id, step_id=action.step_id, proposed=proposed))


async def changes_of_interrupted(run: Run, action: Action, *, alive_at: float | None = None) -> tuple[str, ...]:
    """Return the paths that an interrupted action changed.

    `alive_at` is the last heartbeat of the run, given if another process asks later. Files that changed more than
    GRACE_SECONDS after it were changed by somebody else. They are left out, with a warning.
    """
    if not action.snapshot:
        return ()
    tool = run.toolbox.get(action.tool)
    changed = await asyncio.to_thread(observed_changes, run, tool, action.arguments, action.snapshot)
    if alive_at is None:
        return changed
    changed += await asyncio.to_thread(_half_written, run, changed, action.snapshot)
    by_others = {as_path(path) for path in run.state.steps[action.step_id].by_others}
    later = [
        path for path in changed if path in by_others or run.workspace.changed_after(path, alive_at + GRACE_SECONDS)
    ]
    if later:
        kept = join_limited([printable(path) for path in later], 5)
        run.note(e.Warned(message=f"changed after the run was cut off, so left as it is: {kept}"))
    return tuple(path for path in changed if path not in later)


def _question_of_model(run: Run, action: Action) -> str:
    """Store a question of the model that waits for its answer, so that it is not asked in other words.

    Returns its hash; empty if the action is not such a question.
    """
    if action.tool != "ask_user" or action.call_id:
        return ""
    before = sum(other.id != action.id for other in run.state.steps[action.step_id].actions)
    return store(run, Proposed([Proposal("act", action.tool, action.arguments)], before, has_new_parts=False))


def _half_written(run: Run, named: Collection[str], snapshot: str) -> tuple[str, ...]:
    """Return temporary files beside the named ones: a file has a temporary name until it is written completely."""
    folders = {Path(path).parent for path in named}
    added = [Path(change.path) for change in run.workspace.changes(snapshot) if change.kind == "added"]
    return tuple(str(p) for p in added if p.name.startswith(TEMPORARY_PREFIX) and p.parent in folders)


def _warn_of_undone(run: Run, action: Action, report: RestoreReport) -> None:
    """Name the files that were restored after a crash: what somebody else changed in that moment is gone with them."""
    removed, put_back = (
        [printable(path) for path in paths if path != "." and not Path(path).name.startswith(TEMPORARY_PREFIX)]
        for paths in (report.removed, report.written)
    )
    parts = [
        f"{what}: {join_limited(names, 5)}" for what, names in (("put back", put_back), ("removed", removed)) if names
    ]
    if parts:
        run.note(e.Warned(message=f"{action.tool} was cut off, and its changes were undone; {'; '.join(parts)}"))


async def changed_by_others(run: Run) -> tuple[str, ...]:
    """Return the paths that differ from what the run left when it last stopped, as text for the journal.

    Empty if it is not recorded what it left, as after a kill, and for remote runs, whose files are somewhere else.
    Files of git and of tools are left out.
    """
    left = run.state.left
    if not left or run.state.remote:
        return ()
    paths: list[str] = []
    with suppress(WorkspaceError):
        paths = [change.path for change in await asyncio.to_thread(run.workspace.changes, left) if change.path != "."]
    return tuple(as_text(path) for path in paths if not (in_repository(path) or is_made_by_tools(path)))


async def _restore_paths(run: Run, action: Action, paths: Collection[str]) -> RestoreReport:
    def restore() -> RestoreReport:
        now = run.workspace.capture([action.snapshot])
        target = run.workspace.with_paths_from(now, action.snapshot, [p for p in paths if p not in ("", ".")])
        return run.workspace.restore(target, known=now)

    report = await asyncio.to_thread(restore)
    note_incidents(run, report)
    return report


async def ask_whether_done(run: Run, call: str, step_id: str, subject: str) -> bool:
    """Ask a person whether an interrupted call took effect outside the workspace, which cannot be seen from here."""
    answer = await run.human.ask(
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
