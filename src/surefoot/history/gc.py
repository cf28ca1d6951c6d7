"""Garbage collection: removes snapshots of old runs and the content of expired artifacts. The journal is kept."""

import shutil
import time
from collections.abc import Collection
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from surefoot.core.outcome import Verdict
from surefoot.core.transitions import Stage
from surefoot.engine.verifier.scratch import COPIES
from surefoot.errors import WorkspaceLocked
from surefoot.history.timeline import build_timeline, snapshot_storage
from surefoot.history.worktree import remove_worktree
from surefoot.journal.events import StepFinished
from surefoot.journal.store.base import Journal, RunSummary
from surefoot.workspace.lock import WorkspaceLock
from surefoot.workspace.restore.aside import Aside
from surefoot.workspace.worktrees import worktree_of

_ALL_RUNS = 1_000_000_000
_MIN_AGE_SECONDS = (60.0, 3600.0)
"""Bounds of the age below which content is kept: a run may have stored it and not yet recorded it."""


@dataclass(frozen=True, slots=True)
class Collected:
    runs: tuple[str, ...]
    """The runs that can no longer be undone."""
    kept: int
    """The number of other runs that were considered."""
    snapshots: int
    files: int
    bytes_freed: int


def collect_garbage(
    journal: Journal,
    home: Path,
    *,
    older_than: float,
    keep: int = 0,
    workspaces: Collection[str] | None = None,
    dry_run: bool = False,
) -> Collected:
    """Remove the snapshots of runs that ended more than `older_than` seconds ago, and content that no other run needs.

    This also removes the copies that these runs worked in, and files that an undo moved aside in their workspaces
    before that time. With `workspaces`, only runs that worked in one of them are removed. The newest `keep` ended runs,
    runs that are active, waiting or interrupted, and runs in a locked workspace are kept.
    """
    runs = journal.summaries(_ALL_RUNS)
    chosen = [run for run in runs if workspaces is None or run.workspace in workspaces]
    ended = [run for run in chosen if _has_final_verdict(run)][keep:]
    before = time.time() - older_than
    with ExitStack() as stack:
        old = [run for run in ended if run.updated_at <= before]
        # The locks keep these runs from being resumed meanwhile.
        locked = {workspace for workspace in {run.workspace for run in old} if _lock(stack, home, workspace)}
        dropped = {run.run_id: run for run in old if run.workspace in locked}
        needed: set[str] = set()
        for run in runs:
            if run.run_id not in dropped:
                needed.update(build_timeline(journal.read(run.run_id)).snapshots)
        shortest, longest = _MIN_AGE_SECONDS
        min_age = min(max(older_than, shortest), longest)
        report = snapshot_storage(home).collect_garbage(needed, min_age_seconds=min_age, dry_run=dry_run)
        origins = {worktree.origin for run_id in dropped if (worktree := worktree_of(home, run_id))}
        worktree_bytes = sum(remove_worktree(home, run_id, dry_run=dry_run) for run_id in dropped)
        aside_bytes = sum(
            Aside(Path(folder), home).sweep(older_than=before, dry_run=dry_run) for folder in {*locked, *origins}
        )
        if not dry_run:
            for run_id in dropped:
                _remove_scratch_copies(home, run_id)
    return Collected(
        runs=tuple(dropped),
        kept=len(chosen) - len(dropped),
        snapshots=report.manifests_removed,
        files=report.blobs_removed,
        bytes_freed=report.bytes_freed + worktree_bytes + aside_bytes,
    )


def expire_artifacts(journal: Journal, *, now: float | None = None) -> int:
    """Delete the content of all expired artifacts, in all runs. Returns the number of deleted contents.

    The journal keeps the event of each artifact, with its summary, its size and the time of its expiry.
    """
    moment = time.time() if now is None else now
    deleted = 0
    for run in journal.summaries(_ALL_RUNS):
        for record in journal.read(run.run_id):
            artifact = record.event.artifact if isinstance(record.event, StepFinished) else None
            if artifact is None or not artifact.hash or artifact.expires_at is None or artifact.expires_at > moment:
                continue
            if journal.has_blob(artifact.hash):
                journal.drop_blob(artifact.hash)
                deleted += 1
    return deleted


def _remove_scratch_copies(home: Path, run_id: str) -> None:
    """Remove the copies of the workspace that a killed process left behind."""
    for folder in (home / COPIES).glob(f"{run_id}.*"):
        shutil.rmtree(folder, ignore_errors=True)


def _has_final_verdict(run: RunSummary) -> bool:
    final = run.stage in (Stage.COMPLETED, Stage.FAILED)
    return final and run.verdict not in (None, Verdict.WAITING, Verdict.INTERRUPTED)


def _lock(stack: ExitStack, home: Path, workspace: str) -> bool:
    try:
        stack.enter_context(WorkspaceLock(Path(workspace), home, "gc"))
    except WorkspaceLocked:
        return False
    return True
