"""A run in a copy of a folder: the folder itself stays as it is until the run's changes are applied to it."""

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from surefoot.errors import UsageError
from surefoot.fold import fold
from surefoot.store.base import Journal
from surefoot.trail import trail
from surefoot.undo import Way, refuse_conflicts, way_to
from surefoot.workspace.faults import typed
from surefoot.workspace.files import durable_write
from surefoot.workspace.lock import WorkspaceLock
from surefoot.workspace.snapshot import Workspace


@dataclass(frozen=True, slots=True)
class Worktree:
    origin: str
    copy: str


def make_worktree(folder: Path, copy: Path, home: Path, run_id: str, *, excludes: Sequence[str] = ()) -> None:
    """A copy of the folder for this run, in a new folder. What is excluded from snapshots is not in it."""
    workspace = Workspace(folder, home, excludes=excludes)
    with typed("note where the copy is"):
        _note(home, run_id).parent.mkdir(parents=True, exist_ok=True)
        made = Worktree(str(workspace.root), str(copy))
        durable_write(_note(home, run_id), json.dumps(asdict(made)).encode())
    workspace.copy_to(workspace.snapshot(), copy)


def worktree_of(home: Path, run_id: str) -> Worktree | None:
    try:
        return Worktree(**json.loads(_note(home, run_id).read_bytes()))
    except FileNotFoundError:
        return None


def remove_worktree(home: Path, run_id: str, *, dry_run: bool = False) -> int:
    """Removes the copy; how many bytes that frees, or would."""
    made = worktree_of(home, run_id)
    if made is None:
        return 0
    own = Path(made.copy).parent
    freed = sum(file.lstat().st_size for file in own.rglob("*") if file.is_symlink() or not file.is_dir())
    if not dry_run:
        shutil.rmtree(own, ignore_errors=True)
        _note(home, run_id).unlink(missing_ok=True)
    return freed


async def apply_worktree(
    journal: Journal, home: Path, run_id: str, *, agreed: Callable[[Way], bool] = lambda _: True
) -> Way | None:
    """Does to the folder what the run did to its copy; None when nobody agreed. What was changed in the folder since
    the copy was made stays, and where both changed the same file it is refused."""
    made = worktree_of(home, run_id)
    if made is None:
        raise UsageError(f"run {run_id} did not work in a copy", remedy="its changes are where they belong already")
    if not Path(made.origin).is_dir():
        raise UsageError(f"the folder {made.origin} is gone", remedy=f"the result is in {made.copy}")
    records = list(journal.read(run_id))
    found, excludes = trail(records), fold(records).config.snapshot_excludes
    with WorkspaceLock(Path(made.origin), home, run_id):
        workspace = Workspace(Path(made.origin), home, excludes=excludes)
        workspace.finish_restore()
        way = way_to(workspace, found.end.found_in(workspace), known=[found.start.snapshot])
        refuse_conflicts(way)
        if way.changes and not agreed(way):
            return None
        workspace.restore(way.goal, known=way.now)
        return way


def _note(home: Path, run_id: str) -> Path:
    return home / "worktrees" / f"{run_id}.json"
