"""A run in a copy of a folder. The folder itself does not change until the changes of the run are applied to it.

Applying them, and removing them again, is recorded in the journal of the run.
"""

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from surefoot.config.model import ExecutionConfig
from surefoot.errors import UsageError
from surefoot.history.restoring import RestorePlan, carry_out, plan_restore, refuse_conflicts, user_and_command
from surefoot.history.timeline import Timeline, build_timeline, workspace_of
from surefoot.journal import events as e
from surefoot.journal.reducers import fold
from surefoot.journal.state import RunState
from surefoot.journal.store.base import Journal
from surefoot.workspace.durable import durable_write
from surefoot.workspace.errors import as_path, translate_os_errors
from surefoot.workspace.lock import WorkspaceLock
from surefoot.workspace.snapshots.tree import around
from surefoot.workspace.workspace import Workspace
from surefoot.workspace.worktrees import Worktree, record_file, worktree_of


def make_worktree(folder: Path, copy: Path, home: Path, run_id: str, config: ExecutionConfig | None = None) -> None:
    """Copy a folder to a new one for this run, without the files that snapshots exclude."""
    config = config or ExecutionConfig()
    workspace = Workspace(folder, home, excludes=config.snapshot_excludes, quota_bytes=config.snapshot_quota_bytes)
    with translate_os_errors("record where the copy is"):
        record_file(home, run_id).parent.mkdir(parents=True, exist_ok=True)
        worktree = Worktree(str(workspace.root), str(copy))
        durable_write(record_file(home, run_id), json.dumps(asdict(worktree)).encode())
    workspace.copy_to(workspace.snapshot(), copy)


def remove_worktree(home: Path, run_id: str, *, dry_run: bool = False) -> int:
    """Remove the copy of a run, if it has one. Returns the number of bytes that this frees, or would free."""
    worktree = worktree_of(home, run_id)
    if worktree is None:
        return 0
    folder = Path(worktree.copy).parent
    freed = sum(file.lstat().st_size for file in folder.rglob("*") if file.is_symlink() or not file.is_dir())
    if not dry_run:
        shutil.rmtree(folder, ignore_errors=True)
        record_file(home, run_id).unlink(missing_ok=True)
    return freed


async def apply_worktree(
    journal: Journal,
    home: Path,
    run_id: str,
    *,
    by: str = "",
    confirm: Callable[[RestorePlan], bool] = lambda _: True,
) -> RestorePlan | None:
    """Apply the changes of the run to the original folder. Returns None if not confirmed.

    Changes to the folder since the copy was made are kept. Raises RestoreConflict if both changed the same file, and
    UsageError if the run did not work in a copy.
    """
    worktree = worktree_of(home, run_id)
    if worktree is None:
        raise UsageError(
            f"run {run_id} did not work in a copy", remedy="its changes are already in the folder it worked in"
        )
    folder = Path(worktree.origin)
    if not folder.is_dir():
        raise UsageError(f"the folder {worktree.origin} is gone", remedy=f"the result is in {worktree.copy}")
    records = list(journal.read(run_id))
    state, timeline = fold(records), build_timeline(records)
    with WorkspaceLock(folder, home, run_id):
        workspace = workspace_of(state, home, folder)
        workspace.finish_restore()
        target = timeline.end.resolve(workspace)
        earlier = [event.towards for event in state.applied if event.towards]
        plan = plan_restore(workspace, target, possible_ends=[timeline.start.snapshot, *earlier])
        refuse_conflicts(plan)
        if plan.changes and not confirm(plan):
            return None
        if plan.changes or not state.applied:
            await carry_out(journal, run_id, workspace, plan, [_applied(plan, by, towards=target)])
        return plan


def applied_folder(state: RunState, timeline: Timeline, step: str, to: str) -> str:
    """The folder from which an undo has to remove applied changes; empty if the undo concerns the run's own workspace.

    Raises UsageError for a step of an applied run.
    """
    if to:
        return timeline.applied_snapshots.get(timeline.find_snapshot(to, state.run_id), "")
    if state.applied and step:
        raise UsageError(
            f"the changes of run {state.run_id} were applied to {state.applied[-1].folder} as a whole",
            remedy=f"undo that: surefoot undo {state.run_id}; after that, --step undoes steps in the copy",
        )
    if step:
        return ""
    # If it was already undone, the same undo again completes one that was interrupted.
    return state.applied[-1].folder if state.applied else state.undone.folder if state.undone else ""


async def undo_apply(
    journal: Journal,
    home: Path,
    records: Sequence[e.Record],
    *,
    to: str,
    force: bool,
    by: str,
    confirm: Callable[[RestorePlan], bool],
) -> RestorePlan | None:
    """Remove applied changes from a folder, or restore it to one of its snapshots. Changes by others are kept.

    Returns None if not confirmed.
    """
    state, timeline = fold(records), build_timeline(records)
    events = [record.event for record in records if isinstance(record.event, e.Applied)]
    last, chain = events[-1], state.applied or events[-1:]
    folder = Path(last.folder)
    if not folder.is_dir():
        raise UsageError(f"the folder {folder} is gone", remedy="its changes are gone with it")
    target, reverts = last.after if last.reverts else chain[0].before, True
    if to:
        target = timeline.find_snapshot(to, state.run_id)
        reverts = target in {event.before for event in events if not event.reverts}
        chain = events
    own = {as_path(path) for event in chain for path in event.paths}
    with WorkspaceLock(folder, home, state.run_id):
        workspace = workspace_of(state, home, folder)
        workspace.finish_restore(force=force)
        possible_ends = [last.after, last.before]
        plan = plan_restore(workspace, target, possible_ends=possible_ends, is_own=around(own), force=force)
        refuse_conflicts(plan)
        if plan.changes and not confirm(plan):
            return None
        if plan.changes or (reverts and state.applied):
            event = _applied(plan, by, reverts=reverts)
            await carry_out(journal, state.run_id, workspace, plan, [event])
        return plan


def _applied(plan: RestorePlan, by: str, *, towards: str = "", reverts: bool = False) -> e.Applied:
    return e.Applied(
        folder=plan.folder,
        before=plan.current,
        after=plan.target,
        towards=towards,
        paths=plan.paths,
        reverts=reverts,
        by=by or user_and_command(),
    )
