"""How long what a run left is kept: the snapshots of runs that have ended go after a while, the journal stays."""

import shutil
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from surefoot.errors import WorkspaceLocked
from surefoot.machine import Stage
from surefoot.outcome import Verdict
from surefoot.store.base import Journal, RunSummary
from surefoot.trail import storage, trail
from surefoot.workspace.lock import WorkspaceLock
from surefoot.worktree import remove_worktree

_ALL = 1_000_000_000
_YOUNG = (60.0, 3600.0)
"""What is younger than this stays in any case: a run may have taken it and not written that down yet."""


@dataclass(frozen=True, slots=True)
class Cleared:
    runs: tuple[str, ...]
    """Those that can no longer be undone."""
    kept: int
    snapshots: int
    files: int
    bytes_freed: int


def clear(journal: Journal, home: Path, *, older_than: float, keep: int = 0, dry_run: bool = False) -> Cleared:
    """Removes the snapshots of runs that ended more than `older_than` seconds ago, but for the newest `keep` of them,
    and what no other run needs of their content. Runs that go on, wait or can be resumed after an interruption keep
    theirs, and so do those in a workspace where someone is at work."""
    runs = journal.summaries(_ALL)
    ended = [run for run in runs if _has_ended(run)][keep:]
    before = time.time() - older_than
    with ExitStack() as stack:
        old = [run for run in ended if run.updated_at <= before]
        # Nobody resumes one of them while this is going on.
        held = {workspace for workspace in {run.workspace for run in old} if _held(stack, home, workspace)}
        dropped = [run for run in old if run.workspace in held]
        gone = {run.run_id for run in dropped}
        needed: set[str] = set()
        for run in runs:
            if run.run_id not in gone:
                needed.update(trail(journal.read(run.run_id)).snapshots)
        young = min(max(older_than, _YOUNG[0]), _YOUNG[1])
        report = storage(home).collect_garbage(needed, min_age_seconds=young, dry_run=dry_run)
        copies = sum(remove_worktree(home, run_id, dry_run=dry_run) for run_id in gone)
        for left in [] if dry_run else [path for run_id in gone for path in home.glob(f"candidates/{run_id}.*")]:
            shutil.rmtree(left, ignore_errors=True)  # of a process that was killed
    return Cleared(
        runs=tuple(run.run_id for run in dropped),
        kept=len(runs) - len(dropped),
        snapshots=report.manifests_removed,
        files=report.blobs_removed,
        bytes_freed=report.bytes_freed + copies,
    )


def _has_ended(run: RunSummary) -> bool:
    over = run.stage in (Stage.COMPLETED, Stage.FAILED)
    return over and run.verdict not in (None, Verdict.WAITING, Verdict.INTERRUPTED)


def _held(stack: ExitStack, home: Path, workspace: str) -> bool:
    try:
        stack.enter_context(WorkspaceLock(Path(workspace), home, "gc"))
    except WorkspaceLocked:
        return False
    return True
