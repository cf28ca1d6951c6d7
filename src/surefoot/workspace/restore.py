"""Brings a tree back to a snapshot: look, ask whether someone would be hurt, write down the intent, act, look again.

The intent is on disk before the first act and is removed after the last one, so a restore that was killed, or that ran
out of disk space, is found by `finish` and completed.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from surefoot.errors import RestoreConflict, WorkspaceError
from surefoot.workspace.blobs import BlobStore
from surefoot.workspace.excludes import Excludes
from surefoot.workspace.faults import shown
from surefoot.workspace.files import durable_write, hash_of, sync_folder
from surefoot.workspace.manifest import Entry, Manifest
from surefoot.workspace.restore_acts import Restorer
from surefoot.workspace.restore_plan import Plan, conflicts, is_closed_folder, plan_restore
from surefoot.workspace.scan import Record, Scan, read_contents, scan
from surefoot.workspace.tree import Tree


@dataclass(frozen=True)
class RestoreReport:
    snapshot: str
    removed: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    """Files, links and folders that were made or replaced."""
    adjusted: tuple[str, ...] = ()
    """Paths where only mode, owner or time was wrong."""
    kept: tuple[str, ...] = ()
    """Paths that could not be brought back as they were: special and unreadable files, and folders that hold
    something excluded."""


@dataclass(frozen=True)
class Intent:
    snapshot: str
    known: str | None
    force: bool


class IntentFile:
    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> Intent | None:
        try:
            return Intent(**json.loads(self._path.read_bytes()))
        except FileNotFoundError:
            return None

    def write(self, intent: Intent) -> None:
        durable_write(self._path, json.dumps(asdict(intent)).encode())

    def remove(self) -> None:
        if self._path.exists():
            self._path.unlink()
            sync_folder(self._path.parent)


@dataclass
class Rollback:
    """One restore of one tree."""

    tree: Tree
    blobs: BlobStore
    trusted: Mapping[str, Record]
    """What the stat cache knows."""
    goal: Manifest
    known: Manifest | None
    force: bool
    excludes: Excludes

    def run(self, intent: IntentFile, *, resumed: bool) -> RestoreReport:
        goal = self.excludes.without(self.goal.entries)
        found, plan = self._look(goal)
        closed = _closed_folders(found, goal)
        self._refuse_to_hurt(plan.touched() | closed, found, goal, resumed=resumed)
        if not (plan or closed or found.leftovers):
            intent.remove()
            return self._report(plan, kept=plan.kept)
        self._check_blobs(plan)
        intent.write(Intent(self.goal.id, self.known.id if self.known else None, self.force))
        restorer = Restorer(self.tree, self.blobs, careful=not self.force)
        while opened := [path for path in closed if restorer.open_up(path)]:
            found, plan = self._look(goal)
            closed = _closed_folders(found, goal) - set(opened)
        self._check_blobs(plan)
        restorer.carry_out(plan, goal, found)
        left = self._look(goal)[1]
        if left.changes_content():
            raise WorkspaceError(
                f"the tree changed while it was restored: {', '.join(map(shown, sorted(left.touched())[:5]))}",
                remedy="stop what is writing there and restore again",
            )
        restorer.make_durable(plan)
        intent.remove()
        return self._report(plan, kept=[*left.kept, *_not_settable(left, found)])

    def _look(self, goal: Mapping[str, Entry]) -> tuple[Scan, Plan]:
        found = scan(self.tree, self.trusted, self.excludes)
        others = [goal, self.known.entries if self.known else {}]

        def could_be_equal(path: str, size: int) -> bool:
            """Reading a file is only worth it where something of the same size is there to compare it with."""
            return any((entry := other.get(path)) is not None and entry.size == size for other in others)

        read_contents(found, self.tree, hash_of, could_be_equal)
        return found, plan_restore(found.entries(), goal, found.excluded)

    def _refuse_to_hurt(self, touched: set[str], found: Scan, goal: Mapping[str, Entry], *, resumed: bool) -> None:
        if self.known is None or self.force:
            return
        known = self.excludes.without(self.known.entries)
        hurt = conflicts(touched, now=found.entries(), known=known, goal=goal, resumed=resumed)
        if hurt:
            raise RestoreConflict([shown(path) for path in hurt])

    def _check_blobs(self, plan: Plan) -> None:
        """Before anything is touched: is what we need there, and undamaged?"""
        for digest in {entry.digest for entry in plan.write if entry.digest}:
            self.blobs.check(digest)

    def _report(self, plan: Plan, kept: Iterable[str]) -> RestoreReport:
        return RestoreReport(
            snapshot=self.goal.id,
            removed=tuple(path for path in plan.remove if path not in self.goal.entries),
            written=tuple(sorted(entry.path for entry in (*plan.make, *plan.write, *plan.link))),
            adjusted=tuple(entry.path or "." for entry in plan.adjust),
            kept=tuple(sorted(kept)),
        )


def _closed_folders(found: Scan, goal: Mapping[str, Entry]) -> set[str]:
    """Folders we may not list, and have to."""
    closed = {path for path, record in found.records.items() if is_closed_folder(record.entry)}
    return {path for path in closed if path not in goal or goal[path].kind != "unreadable"}


def _not_settable(left: Plan, found: Scan) -> list[str]:
    """Modes and owners that the file system or their owner did not let us set. Times are not worth a word: some file
    systems round them."""
    now = found.entries()
    return [
        entry.path or "."
        for entry in left.adjust
        if (have := now.get(entry.path)) is not None and (have.mode, have.owner) != (entry.mode, entry.owner)
    ]


def copy_out(manifest: Manifest, blobs: BlobStore, target: Path) -> None:
    """The state of a snapshot in a new folder."""
    with Tree(target) as tree:
        found = scan(tree, {}, Excludes(()))
        plan = plan_restore(found.entries(), manifest.entries, ())
        Restorer(tree, blobs, careful=True).carry_out(plan, manifest.entries, found)
