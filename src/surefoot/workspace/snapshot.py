"""The folder an agent works in, and its snapshots: take one, look what changed, go back, copy one elsewhere.

Everything is kept in a home folder outside the workspace. Nothing here runs git: a `.git` folder is captured and
restored like any other, so an agent's commit can be undone, and nothing else in it ever moves.

What is captured: content, mode bits, symlinks, hard links within the tree, empty folders, times, and the owner where
it is not our own. What is not: extended attributes and access control lists; a file that has to be written anew loses
them. Special files and unreadable ones are listed in the manifest and left alone.
"""

import fcntl
import os
import stat
import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from surefoot.errors import SnapshotOverQuota, UsageError
from surefoot.workspace.blobs import BlobStore
from surefoot.workspace.cache import StatCache
from surefoot.workspace.diff import Change, compare, unified
from surefoot.workspace.excludes import Excludes
from surefoot.workspace.faults import shown, typed
from surefoot.workspace.files import flocked, hash_of, key_of, read_all
from surefoot.workspace.gc import GcReport, Generation, collect
from surefoot.workspace.look import Look
from surefoot.workspace.manifest import Entry, Manifest, ManifestStore, partly
from surefoot.workspace.restore import Intent, IntentFile, RestoreReport, Rollback, copy_out
from surefoot.workspace.scan import ReadFile, Scan, read_contents, scan
from surefoot.workspace.tree import Tree


class Workspace:
    """Synchronous and safe to call from several threads, one call at a time."""

    def __init__(self, root: Path, home: Path, *, excludes: Sequence[str] = (), quota_bytes: int = 2 * 1024**3) -> None:
        self.root, self.home = _checked(root, home)
        self.excludes = Excludes(excludes)
        self.quota_bytes = quota_bytes
        with typed("prepare the folder for snapshots"):
            self.home.mkdir(parents=True, exist_ok=True, mode=0o700)
            own = self.home / "workspaces" / key_of(self.root)
            own.mkdir(parents=True, exist_ok=True)
            self.blobs = BlobStore(self.home / "blobs")
            self._manifests = ManifestStore(self.home / "manifests", self.blobs)
        self._generation = Generation(self.home / "generation")
        self._cache = StatCache(own / "stat-cache.json", self._generation.read)
        self._intent = IntentFile(own / "restore.json")
        self._last_id = ""
        self._last_excluded: list[str] = []
        self._one_at_a_time = threading.RLock()

    def snapshot(self) -> str:
        """Captures the tree as it is and returns its id. An unchanged tree is one scan, reads and writes nothing."""
        with self._at_work("take a snapshot"), Tree(self.root) as tree:
            found = scan(tree, self._cache.known(), self.excludes)
            self._refuse_over_quota(found)
            read_contents(found, tree, self.blobs.put_open)
            if not (self._is_last(found) and self._manifests.touch(self._last_id)):
                self._last_id = self._manifests.save(found.entries(), self.excludes.patterns, found.excluded)
                self._last_excluded = found.excluded
            self._cache.remember(found)
            return self._last_id

    def manifest(self, snapshot_id: str) -> Manifest:
        with typed("read a snapshot's manifest"):
            return self._manifests.load(snapshot_id)

    def changes(self, before: str, after: str | None = None) -> list[Change]:
        """What differs from `before` to `after`, or to the tree now. Times and hard link groups do not count."""
        with self._at_work("compare the tree"), Tree(self.root) as tree:
            return self._changes(tree, before, after)

    def unified_diff(self, before: str, after: str | None = None, paths: Sequence[str] = ()) -> str:
        """The same as text, for all paths or for some files and folders."""

        def stored(entry: Entry) -> bytes:
            return _link_text(entry) if entry.kind == "symlink" else self.blobs.get(entry.digest)

        def present(entry: Entry) -> bytes:
            return _link_text(entry) if entry.kind == "symlink" else _read_now(tree, entry)

        with self._at_work("compare the tree"), Tree(self.root) as tree:
            changes = self._changes(tree, before, after)
            return unified(changes, stored, present if after is None else stored, paths)

    def restore(self, snapshot_id: str, *, known: str | None = None, force: bool = False) -> RestoreReport:
        """Brings back exactly what the manifest says.

        `known` is the agent's last known snapshot. Where the tree now differs from it in a path that would be touched,
        someone else was there: RestoreConflict, before anything is touched, unless `force`. Without `known` there is
        nothing to compare with, and all that differs from the snapshot is undone.
        """
        with self._at_work("restore the tree"):
            return self._roll_back(Intent(snapshot_id, known, force), resumed=False)

    def finish_restore(self, *, force: bool = False) -> RestoreReport | None:
        """Completes a restore that was killed or failed half-way; None when there is none. Can be repeated."""
        with self._at_work("finish restoring the tree"):
            intent = self._intent.read()
            if intent is None:
                return None
            return self._roll_back(replace(intent, force=intent.force or force), resumed=True)

    def abandon_restore(self) -> None:
        """Leaves a half-done restore as it is: the answer to a conflict by someone who wants to keep their changes."""
        with self._at_work("abandon a restore"):
            self._intent.remove()

    def copy_to(self, snapshot_id: str, target: Path) -> None:
        """The state of a snapshot in a new or empty folder outside the workspace."""
        target = target.resolve()
        if target.is_relative_to(self.root):
            raise UsageError(f"{target} is inside the workspace {self.root}", remedy="choose a folder outside of it")
        with self._at_work(f"copy a snapshot to {target}"):
            target.mkdir(parents=True, exist_ok=True)
            if any(target.iterdir()):
                raise UsageError(f"{target} is not empty", remedy="choose a new or an empty folder")
            copy_out(self._manifests.load(snapshot_id), self.blobs, target)

    def with_paths_from(self, base: str, other: str, paths: Collection[str]) -> str:
        """A snapshot that is `base` but for `paths`, which are as in `other`: restoring it undoes these and no more."""
        with self._at_work("put two snapshots together"):
            now, then = self._manifests.load(base), self._manifests.load(other)
            return self._manifests.save(partly(now.entries, then.entries, paths), now.excludes, now.excluded)

    def tree_hash(self) -> str:
        """A hash of the tree's content now: the same for two trees that differ at most in times. Stores nothing."""
        return self.look().tree

    def look(self) -> Look:
        """The tree as it is now, with the hashes of what is in it. Stores nothing."""
        with self._at_work("look at the tree"), Tree(self.root) as tree:
            found = self._look(tree, hash_of)
        return Look(found.entries(), tuple(found.excluded))

    def collect_garbage(
        self,
        keep: Collection[str],
        *,
        keep_blobs: Collection[str] = (),
        min_age_seconds: float = 3600,
        dry_run: bool = False,
    ) -> GcReport:
        """Drops the snapshots that are not in `keep`, of all workspaces that share this home, and the blobs that no
        remaining one needs. What was taken or used within `min_age_seconds` stays: a run that is just going on may
        not have written down yet that it needs it. With `dry_run` it only tells what it would drop."""
        with self._one_at_a_time, typed("collect garbage"), flocked(self.home / "store.lock", fcntl.LOCK_EX):
            half_done = [IntentFile(file).read() for file in self.home.glob("workspaces/*/restore.json")]
            return collect(
                self.blobs,
                self._manifests,
                self._generation,
                keep={*keep, *(name for intent in half_done if intent for name in (intent.snapshot, intent.known))},
                keep_blobs=keep_blobs,
                min_age_seconds=min_age_seconds,
                dry_run=dry_run,
            )

    @contextmanager
    def _at_work(self, doing: str) -> Iterator[None]:
        """While someone is at work in this home, garbage collection waits."""
        with self._one_at_a_time, typed(doing), flocked(self.home / "store.lock", fcntl.LOCK_SH):
            yield

    def _look(self, tree: Tree, read: ReadFile, excludes: Excludes | None = None) -> Scan:
        found = scan(tree, self._cache.known(), excludes or self.excludes)
        read_contents(found, tree, read)
        return found

    def _is_last(self, found: Scan) -> bool:
        return bool(self._last_id) and self._cache.is_last(found) and found.excluded == self._last_excluded

    def _changes(self, tree: Tree, before: str, after: str | None) -> list[Change]:
        """A path that either side was told to exclude is no change."""
        old = self._manifests.load(before)
        new = self._manifests.load(after) if after is not None else None
        excludes = Excludes([*old.excludes, *(new.excludes if new else self.excludes.patterns)])
        now = new.entries if new else self._look(tree, hash_of, excludes).entries()
        return compare(excludes.without(old.entries), excludes.without(now))

    def _roll_back(self, intent: Intent, *, resumed: bool) -> RestoreReport:
        goal = self._manifests.load(intent.snapshot)
        known = self._manifests.load(intent.known) if intent.known else None
        patterns = [*self.excludes.patterns, *goal.excludes, *(known.excludes if known else ())]
        _let_us_in(self.root)
        with Tree(self.root) as tree:
            rollback = Rollback(tree, self.blobs, self._cache.known(), goal, known, intent.force, Excludes(patterns))
            return rollback.run(self._intent, resumed=resumed)

    def _refuse_over_quota(self, found: Scan) -> None:
        if found.size <= self.quota_bytes:
            return
        sizes = [(path, record.entry.size) for path, record in found.records.items()]
        sizes += [(path, info.st_size) for path, info in found.unread]
        by_top: dict[str, int] = {}
        for path, size in sizes:
            top = path.partition("/")[0]
            by_top[top] = by_top.get(top, 0) + size
        heavy = sorted(by_top.items(), key=lambda item: -item[1])[:5]
        raise SnapshotOverQuota(
            f"{self.root} holds {_human(found.size)}, more than the {_human(self.quota_bytes)} a snapshot may have; "
            "heaviest: " + ", ".join(f"{shown(top)} ({_human(size)})" for top, size in heavy),
            remedy=f"leave out what need not be undone (snapshot_excludes, for example {shown(heavy[0][0])}), "
            "or allow more (snapshot_quota_gb)",
        )


def _checked(root: Path, home: Path) -> tuple[Path, Path]:
    root, home = root.resolve(), home.resolve()
    if not root.is_dir():
        raise UsageError(f"{root} is not a folder", remedy="name an existing folder as the workspace")
    if home.is_relative_to(root):
        raise UsageError(
            f"Surefoot's home {home} is inside the workspace {root}",
            remedy="set SUREFOOT_HOME to a folder outside of it: a snapshot must not contain itself",
        )
    return root, home


def _let_us_in(root: Path) -> None:
    """A workspace that closed itself to us cannot even be looked at; its mode comes back with the rest."""
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


def _human(size: int) -> str:
    value = float(size)
    for unit in ("bytes", "KB", "MB", "GB"):
        if value < 1024 or unit == "GB":
            break
        value /= 1024
    return f"{value:.0f} {unit}" if unit == "bytes" or value >= 100 else f"{value:.1f} {unit}"
