"""Undoes or edits parts of the result of a run. Like an undo, a review is recorded, and keeps changes by others."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from surefoot.errors import UsageError
from surefoot.history.restoring import RestorePlan, carry_out, plan_restore, refuse_conflicts, user_and_command
from surefoot.history.review.parts import Hunk, TextChange
from surefoot.history.timeline import build_timeline, workspace_of
from surefoot.journal import events as e
from surefoot.journal.reducers import fold
from surefoot.journal.state import RunState
from surefoot.journal.store.base import Journal
from surefoot.tools.fs.tool_files import in_repository, is_cache
from surefoot.workspace.errors import as_text
from surefoot.workspace.lock import WorkspaceLock
from surefoot.workspace.snapshots.diff import MAX_DIFF_BYTES, Change
from surefoot.workspace.snapshots.tree import around
from surefoot.workspace.workspace import Workspace


class ChangedFile(NamedTuple):
    """A file that the run changed."""

    path: str
    kind: str
    """`added`, `removed`, `modified`, `mode` or `type`."""
    text: TextChange | None
    """The lines before and after; None if the file is not text or too large, or only its mode or type changed."""

    @property
    def hunks(self) -> list[Hunk]:
        """The parts that can be kept or undone one by one. A new or a deleted file has none."""
        return self.text.hunks() if self.text is not None and self.kind == "modified" else []


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision about a file: its new content, or None for its state before the run."""

    content: bytes | None = None


def require_reviewable(state: RunState) -> None:
    """Raise UsageError unless the run has ended and its result can still be changed."""
    run_id = state.run_id
    if state.outcome is None:
        raise UsageError(f"run {run_id} has not ended", remedy=f"see its state: surefoot show {run_id}")
    if state.undone is not None and not state.undone.is_partial:
        raise UsageError(f"the changes of run {run_id} were undone", remedy="there is nothing to review")
    if state.commits:
        raise UsageError(
            f"the changes of run {run_id} are committed, as {state.commits[-1].commit[:10]}",
            remedy=f"change them with git: git revert {state.commits[-1].commit[:10]}",
        )
    if state.applied or state.remote:
        raise UsageError(
            f"run {run_id} worked in a copy, and its changes are applied as a whole",
            remedy=f"review it before `surefoot apply`, or take all of it back: surefoot undo {run_id}",
        )
    if state.task is None or not state.task.folder.is_dir():
        raise UsageError(f"the workspace of run {run_id} is gone", remedy="there is nothing to review")


def changed_files(records: list[e.Record], home: Path) -> list[ChangedFile]:
    """The files that a run changed, with their parts, as undos and reviews have left them. Caches and the files of the
    repository itself are left out."""
    state, timeline = fold(records), build_timeline(records)
    workspace = workspace_of(state, home)
    start, end = timeline.start.resolve(workspace), timeline.left.resolve(workspace)
    is_own = timeline.touched_since(0)
    return [
        ChangedFile(change.path, change.kind, _text(change, workspace))
        for change in workspace.changes(start, end)
        if is_own(change.path) and _is_file(change) and not in_repository(change.path)
        if not is_cache(change.path)
    ]


def _is_file(change: Change) -> bool:
    return any(entry is not None and entry.kind in ("file", "symlink") for entry in (change.before, change.after))


def _text(change: Change, workspace: Workspace) -> TextChange | None:
    entries = [entry for entry in (change.before, change.after) if entry is not None]
    if change.kind in ("mode", "type") or any(entry.kind != "file" or entry.is_unstored for entry in entries):
        return None
    if any(entry.size > MAX_DIFF_BYTES for entry in entries):
        return None
    before, after = (workspace.blobs.get(f.digest) if f is not None else b"" for f in (change.before, change.after))
    return TextChange.of(before, after)


async def carry_out_review(
    journal: Journal, home: Path, run_id: str, decisions: Mapping[str, Decision], *, by: str = ""
) -> RestorePlan | None:
    """Change the files as decided. Returns None if the result is already as decided.

    Raises RestoreConflict if someone else has changed one of the files since. Otherwise the verified result is gone,
    even if someone else had already made the same changes: `engine/verifier/recheck.py` checks what is left.
    """
    records = list(journal.read(run_id))
    state, timeline = fold(records), build_timeline(records)
    require_reviewable(state)
    assert state.task is not None
    with WorkspaceLock(state.task.folder, home, run_id):
        workspace = workspace_of(state, home)
        workspace.finish_restore()
        start, end = timeline.start.resolve(workspace), timeline.left.resolve(workspace)
        were_changed = _paths(workspace, start, timeline.end.resolve(workspace)) | decisions.keys()
        target = _target(workspace, start, end, decisions)
        plan = plan_restore(
            workspace,
            target,
            possible_ends=[end.resolve(workspace) for end in timeline.possible_ends],
            is_own=around(set(decisions)),
            check_leftovers_until=timeline.check_leftovers_until,
        )
        refuse_conflicts(plan)
        before = e.RolledBack(step_id="", snapshot=plan.current)
        reviewed = e.RolledBack(
            step_id="",
            snapshot=plan.target,
            paths=plan.paths,
            towards=target,
            by=by or user_and_command(),
            scope="review",
            undone=tuple(map(as_text, sorted(were_changed - _paths(workspace, start, target)))),
        )
        if not plan.changes and not _paths(workspace, end, target):
            return None
        await carry_out(journal, run_id, workspace, plan, [before, reviewed])
        return plan


async def record_nothing_left(journal: Journal, home: Path, run_id: str, by: str) -> None:
    """Record that the whole run is undone, if reviews have left nothing of it. Call this after the checks."""
    if not changed_files(list(journal.read(run_id)), home):
        await journal.append(run_id, [e.RolledBack(step_id="", snapshot="", by=by, scope="review")])


def _paths(workspace: Workspace, before: str, after: str) -> set[str]:
    return {change.path for change in workspace.changes(before, after)}


def _target(workspace: Workspace, start: str, end: str, decisions: Mapping[str, Decision]) -> str:
    """The snapshot of the end of the run with the files as decided."""
    undone = [path for path, decision in decisions.items() if decision.content is None]
    target = workspace.with_paths_from(end, start, undone) if undone else end
    edited = {path: decision.content for path, decision in decisions.items() if decision.content is not None}
    if not edited:
        return target
    manifest = workspace.manifest(target)
    entries = dict(manifest.entries)
    for path, content in edited.items():
        # A new modification time, so that tools that compare times notice the change.
        digest = workspace.blobs.put(content)
        entries[path] = entries[path]._replace(digest=digest, size=len(content), group="", mtime_ns=time.time_ns())
    return workspace.save_manifest(entries, manifest.excludes, manifest.excluded)
