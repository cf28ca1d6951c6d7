"""Restores a tree to a snapshot: scan, check for conflicts, record the intent, apply the plan, scan again.

The intent is on disk before the first change and is removed after the last one, so a restore that was killed, or that
ran out of disk space, is found and completed by `Workspace.finish_restore`. If the disk has no room even for the
intent, an undo by the user continues without it: removing files may make room, and a second undo completes it.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from surefoot.errors import RestoreConflict, RestoreIncomplete, WorkspaceError
from surefoot.journal.store.fsync import sync_folder
from surefoot.workspace.durable import durable_write, hash_fd
from surefoot.workspace.errors import printable
from surefoot.workspace.restore.actions import IN_THE_WAY, NO_ROOM, NOT_KEPT, Restorer
from surefoot.workspace.restore.aside import Aside
from surefoot.workspace.restore.plan import Plan, find_conflicts, is_closed_folder, plan_restore
from surefoot.workspace.snapshots.blobs import BlobStore
from surefoot.workspace.snapshots.diff import equal_entries
from surefoot.workspace.snapshots.excludes import Excludes
from surefoot.workspace.snapshots.manifest import Entry, Manifest
from surefoot.workspace.snapshots.quota import format_size
from surefoot.workspace.snapshots.scan import Record, Scan, read_contents, scan
from surefoot.workspace.snapshots.tree import Tree
from surefoot.workspace.snapshots.xattrs import blob_of


@dataclass(frozen=True)
class RestoreReport:
    snapshot: str
    removed: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    """Files, links and folders that were created or replaced."""
    adjusted: tuple[str, ...] = ()
    """Paths of which only mode, owner, extended attributes or time differed."""
    not_restored: tuple[str, ...] = ()
    """Paths that could not be restored: special and unreadable files, folders with excluded content, paths with
    attributes that we may not set, files that were moved aside and are gone."""
    moved_aside: tuple[tuple[str, str], ...] = ()
    """Files that were moved instead of removed, because their content is not stored: old path and new place."""
    left_in_place: tuple[str, ...] = ()
    """Files that should have been moved aside and could not be."""
    leftovers: tuple[str, ...] = ()
    """Temporary files of a killed restore that could not be removed."""


def describe_incidents(report: RestoreReport) -> list[str]:
    """Return one line for each path that needs the user's attention."""
    return [
        *(
            f"moved aside, because its content is not stored: {printable(path)} is now {printable(place)}"
            for path, place in report.moved_aside
        ),
        *(f"left in place: {printable(path)} ({IN_THE_WAY})" for path in report.left_in_place),
        *(f"not restored: {printable(path)}" for path in report.not_restored),
        *(f"a temporary file could not be removed: {printable(path)}" for path in report.leftovers),
    ]


@dataclass(frozen=True)
class Intent:
    """The arguments of a restore in progress, as stored on disk."""

    snapshot: str
    known: str | None
    force: bool
    temp_name: str = ".surefoot-restore.tmp"
    """The name of its temporary files. Older versions used this one for all restores."""


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
class Restore:
    """One restore of one tree."""

    tree: Tree
    blobs: BlobStore
    aside: Aside
    trusted: Mapping[str, Record]
    """Records from the stat cache."""
    goal: Manifest
    known: Manifest | None
    force: bool
    excludes: Excludes
    temp_name: str

    def run(self, intent: IntentFile, record: Callable[[], None], *, resumed: bool) -> RestoreReport:
        """Restore the tree. `record` is called before the first change, to write the intent."""
        goal = self.excludes.without(self.goal.entries)
        scanned, plan = self._scan(goal)
        closed = _closed_folders(scanned, goal)
        self._refuse_conflicts(plan.touched() | closed, scanned, goal, resumed=resumed)
        if not (plan or closed or scanned.leftovers):
            intent.remove()
            return self._report(plan, plan.not_restored)
        self._check_blobs(plan)
        record()
        restorer = Restorer(self.tree, self.blobs, careful=not self.force, temp_name=self.temp_name, aside=self.aside)
        while opened := [path for path in closed if restorer.make_accessible(path)]:
            scanned, plan = self._scan(goal)
            closed = _closed_folders(scanned, goal) - set(opened)
        self._check_blobs(plan)
        restorer.apply(plan, goal, scanned, self.known.entries if self.known else None)
        now, remaining = self._scan(goal)
        if unexpected := sorted(remaining.content_paths() - restorer.failed.keys()):
            raise WorkspaceError(
                f"the tree changed during the restore: {', '.join(map(printable, unexpected[:5]))}",
                remedy="stop the program that writes there and restore again",
            )
        restorer.make_durable(plan)
        report = self._report(plan, [*remaining.not_restored, *_not_settable(remaining, now)], restorer)
        missing = sorted(path for path, reason in restorer.failed.items() if reason == NO_ROOM)
        if missing:  # The intent stays, so that the rest can be restored later.
            sizes = {entry.path: entry.size for entry in plan.write}
            listed = [f"{printable(path)} ({format_size(sizes.get(path, 0))})" for path in missing]
            raise RestoreIncomplete(listed, [place for _, place in report.moved_aside])
        intent.remove()
        return report

    def _scan(self, goal: Mapping[str, Entry]) -> tuple[Scan, Plan]:
        scanned = scan(self.tree, self.trusted, self.excludes, temp_name=self.temp_name)
        others = [goal, self.known.entries if self.known else {}]

        def may_be_equal(path: str, size: int) -> bool:
            """Whether there is stored content of the same size to compare the file with. Other files are not read."""
            return any(
                (entry := other.get(path)) is not None and entry.size == size and bool(entry.digest) for other in others
            )

        read_contents(scanned, self.tree, hash_fd, may_be_equal)
        return scanned, plan_restore(scanned.entries(), goal, scanned.excluded)

    def _refuse_conflicts(self, touched: set[str], scanned: Scan, goal: Mapping[str, Entry], *, resumed: bool) -> None:
        if self.known is None or self.force:
            return
        known = self.excludes.without(self.known.entries)
        conflicts = find_conflicts(touched, now=scanned.entries(), known=known, goal=goal, resumed=resumed)
        if conflicts:
            raise RestoreConflict([printable(path) for path in conflicts])

    def _check_blobs(self, plan: Plan) -> None:
        """Check, before anything is changed, that all required content exists and is undamaged."""
        needed = {entry.digest for entry in plan.write}
        needed |= {blob_of(entry.xattrs) for entry in (*plan.create, *plan.write, *plan.adjust)}
        for digest in needed - {""}:
            self.blobs.check(digest)

    def _report(self, plan: Plan, not_restored: Iterable[str], restorer: Restorer | None = None) -> RestoreReport:
        failed = restorer.failed if restorer else {}
        written = {entry.path for entry in (*plan.create, *plan.write, *plan.link)}
        return RestoreReport(
            snapshot=self.goal.id,
            removed=tuple(path for path in plan.remove if path not in self.goal.entries and path not in failed),
            written=tuple(sorted(written - failed.keys())),
            adjusted=tuple(entry.path or "." for entry in plan.adjust),
            not_restored=tuple(sorted({*not_restored, *(p for p, reason in failed.items() if reason == NOT_KEPT)})),
            moved_aside=tuple(sorted(restorer.moved.items())) if restorer else (),
            left_in_place=tuple(sorted(path for path, reason in failed.items() if reason == IN_THE_WAY)),
            leftovers=tuple(restorer.leftovers) if restorer else (),
        )


def _closed_folders(scanned: Scan, goal: Mapping[str, Entry]) -> set[str]:
    """Return the folders that must be listed but whose permissions forbid it."""
    closed = {path for path, record in scanned.records.items() if is_closed_folder(record.entry)}
    return {path for path in closed if path not in goal or goal[path].kind != "unreadable"}


def _not_settable(remaining: Plan, scanned: Scan) -> list[str]:
    """Return the paths whose mode, owner or extended attributes could not be set. Times are ignored: some file systems
    round them."""
    now = scanned.entries()
    return [
        entry.path or "."
        for entry in remaining.adjust
        if (current := now.get(entry.path)) is not None
        and not equal_entries(current, entry._replace(group=current.group))
    ]


def copy_out(manifest: Manifest, blobs: BlobStore, target: Path) -> None:
    """Write the state of a snapshot to a new folder, without files whose content is not stored."""
    with Tree(target) as tree:
        scanned = scan(tree, {}, Excludes(()))
        plan = plan_restore(scanned.entries(), manifest.entries, ())
        restorer = Restorer(tree, blobs, careful=True)
        restorer.apply(plan, manifest.entries, scanned)
    if missing := [path for path, reason in restorer.failed.items() if reason == NO_ROOM]:
        raise RestoreIncomplete([printable(path) for path in sorted(missing)])
