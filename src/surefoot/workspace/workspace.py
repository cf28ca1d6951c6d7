"""The workspace of a run and its snapshots: take, compare, restore and copy them.

Snapshots are stored in a home folder outside the workspace, without git. A `.git` folder is captured and restored like
any other, so an agent's commit can be undone and nothing else in it changes.

A snapshot records content, mode bits, symlinks, hard links within the tree, empty folders, times, owners other than the
current user, and extended attributes including access control lists. Special and unreadable files are listed in the
manifest and left alone.

A snapshot before an action is complete or refused. One before a restore may lack contents for which there is no room:
the restore moves such files aside instead of removing them, so a full disk or a huge file never blocks it.
"""

import fcntl
import os
import stat
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from surefoot.errors import RestoreIncomplete, UsageError
from surefoot.workspace.durable import file_lock, hash_fd, read_all, workspace_key
from surefoot.workspace.errors import suppress_full, translate_os_errors
from surefoot.workspace.restore.actions import Restorer, new_temp_name
from surefoot.workspace.restore.aside import Aside
from surefoot.workspace.restore.restore import Intent, IntentFile, Restore, RestoreReport, copy_out
from surefoot.workspace.snapshots.blobs import BlobStore
from surefoot.workspace.snapshots.cache import StatCache
from surefoot.workspace.snapshots.diff import Change, compare, unified
from surefoot.workspace.snapshots.excludes import Excludes
from surefoot.workspace.snapshots.gc import GcReport, Generation, collect
from surefoot.workspace.snapshots.manifest import Entry, Manifest, ManifestStore, overlay, regroup_links
from surefoot.workspace.snapshots.quota import StoreWhileRoom, check_quota, within_quota
from surefoot.workspace.snapshots.rescan import rescan
from surefoot.workspace.snapshots.scan import Scan, read_contents, scan
from surefoot.workspace.snapshots.tree import Tree
from surefoot.workspace.snapshots.tree_state import TreeState
from surefoot.workspace.snapshots.xattrs import Keep, no_store
from surefoot.workspace.watch import Watch


class Workspace:
    """The folder of a run, and its snapshots. Synchronous and thread-safe: calls from several threads take turns."""

    def __init__(self, root: Path, home: Path, *, excludes: Sequence[str] = (), quota_bytes: int = 2 * 1024**3) -> None:
        self.root, self.home = _validated(root, home)
        self.excludes = Excludes(excludes)
        self.quota_bytes = quota_bytes
        with translate_os_errors("prepare the folder for snapshots"):
            self.home.mkdir(parents=True, exist_ok=True, mode=0o700)
            own_folder = self.home / "workspaces" / workspace_key(self.root)
            own_folder.mkdir(parents=True, exist_ok=True)
            self.blobs = BlobStore(self.home / "blobs")
            self._manifests = ManifestStore(self.home / "manifests", self.blobs)
            self._aside = Aside(self.root, self.home)
            self._aside.prepare()
        self._generation = Generation(self.home / "generation")
        self._cache = StatCache(own_folder / "stat-cache.json", self._generation.read)
        self._intent = IntentFile(own_folder / "restore.json")
        self._last_id = ""
        self._last_excluded: set[str] = set()
        self._watch: Watch | None = None
        self._watch_tried = False
        self._lock = threading.RLock()

    def snapshot(self, *, quick: bool = False) -> str:
        """Capture the tree and return the snapshot's id. An unchanged tree is only scanned, not read.

        With `quick`, only the folders in which a watch saw changes since the last snapshot are scanned, where a watch
        is possible. Changes that leave no event are missed, see `watch`. The first quick snapshot scans the whole tree
        and begins to watch it.
        """
        with self._operation("take a snapshot"), Tree(self.root) as tree:
            if quick and not self._watch_tried:
                self._watch_tried, self._watch = True, Watch.open(tree.folder(""))
            scanned = self._rescan(tree, self.blobs.put) if quick else None
            if scanned is None:
                if self._watch is not None:
                    self._watch.restart()
                known, keep = self._cache.known(), self.blobs.put
                scanned = scan(tree, known, self.excludes, keep_xattrs=keep, watch=self._watch)
            check_quota(self.root, scanned, self.quota_bytes)
            read_contents(scanned, tree, self.blobs.put_open)
            self._last_id, self._last_excluded = self._save(scanned), scanned.excluded
            self._cache.update(scanned)
            if self._watch is not None:
                self._watch.keep()
            return self._last_id

    def capture(self, near: Collection[str] = (), *, reserve: int = 0) -> str:
        """Capture the tree as far as there is room, and return the snapshot's id. Never refuses a tree for its size.

        The largest new files over the quota, and files for which the disk has no room, are recorded without content.
        `near` are snapshots that are likely to have much in common with the tree. `reserve` is the number of bytes to
        leave free on the disk.
        """
        with self._operation("take a snapshot"), Tree(self.root) as tree:
            room = StoreWhileRoom(self.blobs, self.root, reserve)
            scanned = scan(tree, self._cache.known(), self.excludes, keep_xattrs=room.keep)
            likely = [self._manifests.load(snapshot).entries for snapshot in near]
            read_contents(scanned, tree, room.store, within_quota(scanned, self.quota_bytes, likely))
            entries = scanned.entries()
            snapshot_id = self._manifests.save(entries, self.excludes.patterns, scanned.excluded, lenient=True)
            if self.is_saved(snapshot_id) and not any(entry.is_unstored for entry in entries.values()):
                self._cache.update(scanned)
                self._last_id, self._last_excluded = snapshot_id, scanned.excluded
            return snapshot_id

    def is_saved(self, *snapshot_ids: str) -> bool:
        """Whether snapshots are on disk. A full disk keeps them in memory until the end of a restore."""
        return all(map(self._manifests.is_saved, snapshot_ids))

    def manifest(self, snapshot_id: str) -> Manifest:
        with translate_os_errors("read a snapshot's manifest"):
            return self._manifests.load(snapshot_id)

    def changes(self, before: str, after: str | None = None, *, quick: bool = False) -> list[Change]:
        """Return the changes from `before` to `after`, or to the current tree, except times and hard link groups.

        `quick`: see `snapshot`.
        """
        with self._operation("compare the tree"), Tree(self.root) as tree:
            if quick and after is None and (changes := self._quick_changes(tree, before)) is not None:
                return changes
            return self._changes(tree, before, after)

    def unified_diff(
        self,
        before: str,
        after: str | None = None,
        paths: Sequence[str] = (),
        *,
        counts: Callable[[str], bool] | None = None,
    ) -> str:
        """Return the changes of all paths, or of the given files and folders, as a unified diff.

        `counts`: a predicate for the paths that are compared; the default is all.
        """

        def stored(entry: Entry) -> bytes:
            return _link_text(entry) if entry.kind == "symlink" else self.blobs.get(entry.digest)

        def present(entry: Entry) -> bytes:
            return _link_text(entry) if entry.kind == "symlink" else _read_now(tree, entry)

        with self._operation("compare the tree"), Tree(self.root) as tree:
            changes = self._changes(tree, before, after)
            if counts is not None:
                changes = [change for change in changes if counts(change.path)]
            return unified(changes, stored, present if after is None else stored, paths)

    def restore(
        self, snapshot_id: str, *, known: str | None = None, force: bool = False, unrecorded: bool = False
    ) -> RestoreReport:
        """Restore the tree to exactly the state in the manifest.

        `known` is the last snapshot taken by the agent. If a path that would be touched differs from it, another
        process changed it: raises RestoreConflict before anything is touched, unless `force`. Without `known`, every
        difference from the snapshot is undone.

        The restore is recorded on disk first, so that it can be finished after a crash. With `unrecorded` it is done
        even if there is no room for the record; the caller then has to repeat a restore that fails.

        Raises RestoreIncomplete if the disk has no room for some of the files. The others are restored, and
        `finish_restore` or another restore adds the missing ones.
        """
        with self._operation("restore the tree"):
            unfinished = self._intent.read()
            temp_name = unfinished.temp_name if unfinished else new_temp_name()
            return self._restore(Intent(snapshot_id, known, force, temp_name), resumed=False, unrecorded=unrecorded)

    def finish_restore(self, *, force: bool = False) -> RestoreReport | None:
        """Complete a restore that was killed or failed half-way; return None if there is none. Can be repeated."""
        with self._operation("finish restoring the tree"):
            intent = self._intent.read()
            if intent is None:
                return None
            return self._restore(replace(intent, force=intent.force or force), resumed=True)

    def abandon_restore(self) -> list[str]:
        """Leave an incomplete restore as it is, to keep the changes that conflict with it.

        Removes its temporary files, and returns those that could not be removed.
        """
        with self._operation("abandon a restore"), Tree(self.root) as tree:
            intent = self._intent.read()
            if intent is None:
                return []
            restorer = Restorer(tree, self.blobs, careful=True)
            restorer.remove_leftovers(scan(tree, self._cache.known(), self.excludes, temp_name=intent.temp_name))
            self._intent.remove()
            return restorer.leftovers

    def copy_to(self, snapshot_id: str, target: Path, *, without: Collection[str] = ()) -> None:
        """Write the state of a snapshot to a new or empty folder outside the workspace.

        The folders in `without` are left empty.
        """
        target = target.resolve()
        if target.is_relative_to(self.root):
            raise UsageError(f"{target} is inside the workspace {self.root}", remedy="choose a folder outside of it")
        with self._operation(f"copy a snapshot to {target}"):
            target.mkdir(parents=True, exist_ok=True)
            if any(target.iterdir()):
                raise UsageError(f"{target} is not empty", remedy="choose a new or an empty folder")
            manifest = self._manifests.load(snapshot_id)
            inside = tuple(f"{folder}/" for folder in without)
            entries = {path: entry for path, entry in manifest.entries.items() if not path.startswith(inside)}
            copy_out(replace(manifest, entries=regroup_links(entries)) if inside else manifest, self.blobs, target)

    def with_paths_from(self, base: str, other: str, paths: Collection[str]) -> str:
        """Return the id of a snapshot of `base` with `paths` as in `other`. Restoring it undoes only these paths."""
        with self._operation("combine two snapshots"):
            first, second = self._manifests.load(base), self._manifests.load(other)
            entries = overlay(first.entries, second.entries, paths)
            return self._manifests.save(entries, first.excludes, first.excluded, lenient=True)

    def adopt(self, source: "Workspace", snapshot_id: str) -> None:
        """Copy a snapshot from the storage of another home. It keeps its id."""
        with self._operation("copy a snapshot"):
            manifest = source.manifest(snapshot_id)
            for digest in source._manifests.needed_blobs(snapshot_id) - {""}:
                self.blobs.put(source.blobs.get(digest))
            self._manifests.save(manifest.entries, manifest.excludes, manifest.excluded)

    def manifest_document(self, snapshot_id: str) -> dict[str, Any] | None:
        """Return the lists of a snapshot's chunks, see `ManifestStore.document`; None if it is not stored here."""
        with self._operation("read a snapshot's manifest"):
            return self._manifests.document(snapshot_id) if self._manifests.touch(snapshot_id) else None

    def save_manifest(self, entries: Mapping[str, Entry], excludes: Sequence[str], excluded: Sequence[str]) -> str:
        """Store a manifest whose contents are stored already, and return the snapshot's id."""
        with self._operation("store a snapshot"):
            return self._manifests.save(entries, excludes, excluded)

    def changed_after(self, path: str, moment: float) -> bool:
        """Whether a path changed after a moment, by the kernel's change time, which no program can set.

        For a missing path, the change time of the closest folder that exists counts.
        """
        place = self.root / path
        while not os.path.lexists(place):
            place = place.parent
        return place.lstat().st_ctime > moment

    def tree_state(self) -> TreeState:
        """Return the state of the current tree. Stores nothing."""
        with self._operation("read the tree"), Tree(self.root) as tree:
            scanned = self._scan(tree)
        return TreeState(scanned.entries(), tuple(sorted(scanned.excluded)))

    def collect_garbage(
        self,
        keep: Collection[str],
        *,
        keep_blobs: Collection[str] = (),
        min_age_seconds: float = 3600,
        dry_run: bool = False,
    ) -> GcReport:
        """Remove the snapshots that are not in `keep`, of all workspaces that share this home, and the blobs that no
        remaining snapshot needs.

        Everything stored or used within `min_age_seconds` stays: a run in progress may not have recorded yet that it
        needs it. With `dry_run` nothing is removed.
        """
        with self._lock, translate_os_errors("collect garbage"), file_lock(self.home / "store.lock", fcntl.LOCK_EX):
            incomplete = [IntentFile(file).read() for file in self.home.glob("workspaces/*/restore.json")]
            return collect(
                self.blobs,
                self._manifests,
                self._generation,
                keep={*keep, *(name for intent in incomplete if intent for name in (intent.snapshot, intent.known))},
                keep_blobs=keep_blobs,
                min_age_seconds=min_age_seconds,
                dry_run=dry_run,
            )

    @contextmanager
    def _operation(self, action: str) -> Iterator[None]:
        """Keep garbage collection, even by other processes, from running during an operation on this home."""
        with self._lock, translate_os_errors(action), file_lock(self.home / "store.lock", fcntl.LOCK_SH):
            yield

    def _scan(self, tree: Tree, excludes: Excludes | None = None, likely: Mapping[str, Entry] | None = None) -> Scan:
        """Scan and hash the tree. Files over the quota are not read: a file with holes can be larger than any disk."""
        scanned = scan(tree, self._cache.known(), excludes or self.excludes)
        read_contents(scanned, tree, hash_fd, within_quota(scanned, self.quota_bytes, [likely or {}]))
        return scanned

    def _rescan(self, tree: Tree, keep_xattrs: Keep = no_store) -> Scan | None:
        """Scan the changes since the last snapshot; None if the whole tree has to be scanned."""
        if self._watch is None or not self._watch.collect() or (last_scan := self._cache.last()) is None:
            return None
        last, too_recent = last_scan
        if tree.lstat("").st_ino != last.records[""].inode:
            return None
        try:
            return rescan(tree, last, too_recent, self.excludes, self._watch, keep_xattrs=keep_xattrs)
        except OSError:
            return None  # a scan of the whole tree decides whether this is an error

    def _save(self, scanned: Scan) -> str:
        """Save the manifest of a scan and return its id. Stores only the differences if this process has saved one."""
        changed = self._cache.changed(scanned) if self._last_id else None
        patterns = self.excludes.patterns
        if changed is None:
            return self._manifests.save(scanned.entries(), patterns, scanned.excluded)
        if not changed and scanned.excluded == self._last_excluded and self._manifests.touch(self._last_id):
            return self._last_id
        return self._manifests.save_changed(self._last_id, scanned.entries(), changed, patterns, scanned.excluded)

    def _quick_changes(self, tree: Tree, before: str) -> list[Change] | None:
        """Return the changes since the last snapshot; None if the tree has to be compared as a whole."""
        if before != self._last_id:
            return None
        old = self._manifests.load(before)
        if old.excludes != self.excludes.patterns or (scanned := self._rescan(tree)) is None:
            return None
        read_contents(scanned, tree, hash_fd, within_quota(scanned, self.quota_bytes, [old.entries]))
        paths = scanned.differing()
        return compare(
            {path: old.entries[path] for path in paths if path in old.entries},
            {path: scanned.records[path].entry for path in paths if path in scanned.records},
        )

    def _changes(self, tree: Tree, before: str, after: str | None) -> list[Change]:
        """Compare two states, without the paths that either of them excludes."""
        old = self._manifests.load(before)
        new = self._manifests.load(after) if after is not None else None
        excludes = Excludes([*old.excludes, *(new.excludes if new else self.excludes.patterns)])
        now = new.entries if new else self._scan(tree, excludes, old.entries).entries()
        return compare(excludes.without(old.entries), excludes.without(now))

    def _restore(self, intent: Intent, *, resumed: bool, unrecorded: bool = False) -> RestoreReport:
        goal = self._manifests.load(intent.snapshot)
        known = self._manifests.load(intent.known) if intent.known else None
        patterns = [*self.excludes.patterns, *goal.excludes, *(known.excludes if known else ())]

        def record() -> None:
            with suppress_full() if unrecorded else nullcontext():
                self._manifests.save_rest()
                self._intent.write(intent)

        _make_accessible(self.root)
        with Tree(self.root) as tree:
            restore = Restore(
                *(tree, self.blobs, self._aside, self._cache.known(), goal, known, intent.force, Excludes(patterns)),
                intent.temp_name,
            )
            try:
                report = restore.run(self._intent, record, resumed=resumed)
            except RestoreIncomplete:
                record()  # if it was not possible before, removing files may have made room for it
                raise
        self._manifests.save_rest()
        return report


def _validated(root: Path, home: Path) -> tuple[Path, Path]:
    root, home = root.resolve(), home.resolve()
    if not root.is_dir():
        raise UsageError(f"{root} is not a folder", remedy="name an existing folder as the workspace")
    if home.is_relative_to(root):
        raise UsageError(
            f"Surefoot's home {home} is inside the workspace {root}",
            remedy="go into a project folder, or name one with -C; or set SUREFOOT_HOME to a folder outside of it: a "
            "snapshot must not contain itself",
        )
    return root, home


def _make_accessible(root: Path) -> None:
    """Make a root folder accessible if its mode forbids that; the restore sets the mode of the snapshot."""
    mode = stat.S_IMODE(root.stat().st_mode)
    if mode & 0o500 != 0o500 and os.geteuid() != 0:
        root.chmod(mode | 0o700)


def _link_text(entry: Entry) -> bytes:
    return entry.target.encode("utf-8", "surrogateescape")


def _read_now(tree: Tree, entry: Entry) -> bytes:
    fd = tree.open_file(entry.path)
    try:
        return read_all(fd, entry.size)
    finally:
        os.close(fd)
