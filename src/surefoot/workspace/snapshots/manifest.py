"""Manifests: the entries of a snapshot, one for each path.

A manifest is stored as chunks of entries, each a blob, plus a short list of the chunks whose hash is the snapshot's id.
A change in one place of a tree thus stores one new chunk and a new list.

The id depends on path, kind, mode, owner, extended attributes, content, link target, hard link group, and the
modification time of files and symlinks (build tools rely on it, so a restore has to bring it back). The modification
time of folders is stored and restored but is not part of the id: creating and deleting a temporary file is no change.
"""

import hashlib
import json
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from surefoot.errors import WorkspaceError
from surefoot.workspace.durable import durable_write
from surefoot.workspace.errors import is_full
from surefoot.workspace.snapshots.blobs import BlobStore, is_digest
from surefoot.workspace.snapshots.chunks import Chunks, chunked, split_chunks, updated
from surefoot.workspace.snapshots.xattrs import UNKNOWN, blob_of

Kind = Literal["file", "dir", "symlink", "special", "unreadable"]
UNCAPTURED: frozenset[Kind] = frozenset({"special", "unreadable"})
"""Kinds that are recorded but neither read nor restored."""


class Entry(NamedTuple):
    """One path. A named tuple, to save memory in large trees."""

    path: str
    """Relative to the root, "" for the root itself. Bytes that are not UTF-8 are surrogate-escaped."""
    kind: Kind
    mode: int
    """Permission bits with setuid, setgid and sticky; not the file type."""
    mtime_ns: int
    size: int = 0
    digest: str = ""
    """SHA-256 of a file's content, in hex. Empty if the content is not stored, because there was no room for it."""
    target: str = ""
    """Where a symlink points; for `special` and `unreadable`, what the path is (fifo, socket, file, folder...); for a
    file whose content is not stored, its inode and modification time."""
    group: str = ""
    """The first path of all hard links to the same file in the tree; empty if there is only one."""
    owner: str = ""
    """`uid:gid`, if it differs from that of the process that took the snapshot."""
    xattrs: str = UNKNOWN
    """Extended attributes, see `xattrs`; "" if there are none."""

    @property
    def is_unstored(self) -> bool:
        """Whether this is a file whose content exists only in the file itself."""
        return (self.kind == "file" and not self.digest) or (self.kind == "unreadable" and self.target == "file")


@dataclass(frozen=True)
class Manifest:
    id: str
    entries: Mapping[str, Entry]
    """By path, sorted by path, so a folder comes before its content."""
    excludes: tuple[str, ...] = ()
    """The exclude patterns in effect."""
    excluded: tuple[str, ...] = ()
    """The paths that they matched, which are never captured, restored or deleted."""


class ManifestStore:
    def __init__(self, folder: Path, blobs: BlobStore) -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._folder = folder
        self._blobs = blobs
        self._recent: dict[str, Manifest] = {}
        """Cache for restores, which need the latest manifests: loading a large one takes as long as a scan."""
        self._layout: tuple[str, Chunks, Chunks] = ("", Chunks([], []), Chunks([], []))
        """The manifest that was saved last: its id, the chunks of its entries and those of the times of folders. All of
        them are stored as long as the manifest is."""
        self._unsaved: dict[str, Manifest] = {}
        """Manifests that could not be saved because the disk is full. A restore uses them and may make room."""

    def save(
        self, entries: Mapping[str, Entry], excludes: Iterable[str], excluded: Iterable[str], *, lenient: bool = False
    ) -> str:
        """Store a manifest, unless it exists, and return its id. Chunks are stored before the list of them.

        With `lenient`, a manifest for which the disk has no room is kept in memory, until `save_rest`.
        """
        paths = sorted(entries)
        patterns, left_out = tuple(excludes), tuple(sorted(excluded))
        try:
            rows = chunked(paths, self._store_rows(entries))
            folders = list(split_chunks(path for path in paths if entries[path].kind == "dir"))
            return self._save(entries, rows, Chunks(folders, []), patterns, left_out)
        except (OSError, WorkspaceError) as error:
            if not (lenient and is_full(error)):
                raise
            rows = chunked(paths, lambda chunk: hashlib.sha256(_rows(entries, chunk)).hexdigest())
            snapshot_id = _id_of(_core(rows, patterns, left_out))
            self._unsaved[snapshot_id] = Manifest(snapshot_id, {p: entries[p] for p in paths}, patterns, left_out)
        return snapshot_id

    def save_changed(
        self,
        last: str,
        entries: Mapping[str, Entry],
        changed: Collection[str],
        excludes: Iterable[str],
        excluded: Iterable[str],
    ) -> str:
        """Store a manifest that differs from an earlier one only at the `changed` paths, and return its id.

        If the earlier one was saved last, only the chunks that these paths are in are stored.
        """
        known, rows, folders = self._layout
        if known != last or not self.touch(last):
            return self.save(entries, excludes, excluded)

        def is_folder(path: str) -> bool:
            return path in entries and entries[path].kind == "dir"

        rows = updated(rows, changed, entries.__contains__, self._store_rows(entries))
        folders = updated(folders, changed, is_folder, self._store_times(entries))
        return self._save(entries, rows, folders, tuple(excludes), tuple(sorted(excluded)))

    def _save(
        self,
        entries: Mapping[str, Entry],
        rows: Chunks,
        folders: Chunks,
        excludes: tuple[str, ...],
        excluded: tuple[str, ...],
    ) -> str:
        """Write a manifest whose entries are stored, unless it exists, and return its id."""
        core = _core(rows, excludes, excluded)
        snapshot_id = _id_of(core)
        if self.touch(snapshot_id):
            times = self.document(snapshot_id)["folder_times"]
        else:
            times = folders.digests or [self._store_times(entries)(chunk) for chunk in folders.paths]
            self._blobs.flush()
            durable_write(self._folder / snapshot_id, _encode({"core": core, "folder_times": times}))
            by_path = {path: entries[path] for chunk in rows.paths for path in chunk}
            self._cache(Manifest(snapshot_id, by_path, excludes, excluded))
        self._layout = snapshot_id, rows, Chunks(folders.paths, times)
        return snapshot_id

    def _store_rows(self, entries: Mapping[str, Entry]) -> Callable[[list[str]], str]:
        return lambda chunk: self._blobs.put(_rows(entries, chunk))

    def _store_times(self, entries: Mapping[str, Entry]) -> Callable[[list[str]], str]:
        return lambda chunk: self._blobs.put(_encode([(path, entries[path].mtime_ns) for path in chunk]))

    def is_saved(self, snapshot_id: str) -> bool:
        return snapshot_id not in self._unsaved

    def save_rest(self) -> None:
        """Save the manifests that are only in memory."""
        while self._unsaved:
            snapshot_id, manifest = next(iter(self._unsaved.items()))
            self.save(manifest.entries, manifest.excludes, manifest.excluded)
            del self._unsaved[snapshot_id]

    def touch(self, snapshot_id: str) -> bool:
        """Mark a stored manifest as in use, for the garbage collector; return False if it does not exist."""
        try:
            os.utime(self._folder / snapshot_id)
        except FileNotFoundError:
            return False
        return True

    def load(self, snapshot_id: str) -> Manifest:
        if snapshot_id in self._unsaved:
            return self._unsaved[snapshot_id]
        if snapshot_id in self._recent and (self._folder / snapshot_id).exists():
            return self._cache(self._recent.pop(snapshot_id))
        document = self.document(snapshot_id)
        core = document["core"]
        entries = [Entry(*row) for digest in core["chunks"] for row in json.loads(self._blobs.get(digest))]
        times = dict(pair for digest in document["folder_times"] for pair in json.loads(self._blobs.get(digest)))
        by_path = {
            entry.path: entry._replace(mtime_ns=times[entry.path]) if entry.kind == "dir" else entry
            for entry in entries
        }
        return self._cache(Manifest(snapshot_id, by_path, tuple(core["excludes"]), tuple(core["excluded"])))

    def _cache(self, manifest: Manifest) -> Manifest:
        self._recent[manifest.id] = manifest
        while len(self._recent) > 4:
            del self._recent[next(iter(self._recent))]
        return manifest

    def needed_blobs(self, snapshot_id: str) -> set[str]:
        document = self.document(snapshot_id)
        chunks = document["core"]["chunks"]
        rows = [Entry(*row) for digest in chunks for row in json.loads(self._blobs.get(digest))]
        content = {entry.digest for entry in rows} | {blob_of(entry.xattrs) for entry in rows}
        return content.union(chunks, document["folder_times"])

    def ids(self) -> dict[str, float]:
        """Return the id of every stored manifest, with the time of its last use."""
        return {file.name: file.stat().st_mtime for file in self._folder.iterdir() if is_digest(file.name)}

    def remove(self, snapshot_id: str) -> None:
        (self._folder / snapshot_id).unlink(missing_ok=True)

    def sweep_drafts(self) -> None:
        for file in self._folder.glob("*.tmp"):
            file.unlink(missing_ok=True)

    def document(self, snapshot_id: str) -> Any:
        """Return the stored lists of chunks: `core`, whose hash is the id, and `folder_times`.

        Raises WorkspaceError if they are missing or damaged.
        """
        if not is_digest(snapshot_id):
            raise WorkspaceError(f"{snapshot_id!r} is not a snapshot id", remedy="use an id that snapshot() returned")
        try:
            document = json.loads((self._folder / snapshot_id).read_bytes())
        except FileNotFoundError:
            raise WorkspaceError(
                f"there is no snapshot {snapshot_id[:12]} in {self._folder}",
                remedy="it was removed by gc, or belongs to another Surefoot home",
            ) from None
        except ValueError:
            document = {}
        if _id_of(document.get("core")) != snapshot_id:
            raise WorkspaceError(
                f"the manifest of snapshot {snapshot_id[:12]} in {self._folder} is damaged",
                remedy="restore that folder from a backup, or use another snapshot",
            )
        return document


def _core(rows: Chunks, excludes: tuple[str, ...], excluded: tuple[str, ...]) -> dict[str, Any]:
    return {"format": 1, "excludes": list(excludes), "excluded": list(excluded), "chunks": rows.digests}


def _rows(entries: Mapping[str, Entry], paths: list[str]) -> bytes:
    return _encode([without_folder_time(entries[path]) for path in paths])


def _id_of(core: Any) -> str:
    return hashlib.sha256(_encode(core)).hexdigest()


def without_folder_time(entry: Entry) -> Entry:
    """Drop the modification time of a folder, which every temporary file in it changes."""
    return entry._replace(mtime_ns=0) if entry.kind == "dir" else entry


def _encode(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), sort_keys=True).encode()


def overlay(base: Mapping[str, Entry], other: Mapping[str, Entry], paths: Iterable[str]) -> dict[str, Entry]:
    """Return the entries of `base`, with `paths` and everything below them taken from `other`.

    Parent folders are added if `other` has them, and removed if it does not and they are empty.
    """
    entries = dict(base)
    for path in paths:
        for old in [p for p in entries if p == path or p.startswith(f"{path}/")]:
            del entries[old]
        entries |= {p: _with_foreign_group(e) for p, e in other.items() if p == path or p.startswith(f"{path}/")}
        folder = path
        while "/" in folder:
            folder = folder.rpartition("/")[0]
            if folder in other:
                if folder not in entries or (path in entries and entries[folder].kind != "dir"):
                    entries[folder] = other[folder]
            elif not any(p.startswith(f"{folder}/") for p in entries):
                entries.pop(folder, None)
    return regroup_links({path: entries[path] for path in sorted(entries)})


def _with_foreign_group(entry: Entry) -> Entry:
    """Keep hard link groups of two manifests apart, even if they have the same name. No path starts with a slash."""
    return entry._replace(group=f"/{entry.group}") if entry.group else entry


def regroup_links(entries: dict[str, Entry]) -> dict[str, Entry]:
    """Name hard link groups by their first member that is present, and dissolve those with one member, as a scan does.

    Expects entries sorted by path.
    """
    members: dict[str, list[str]] = {}
    for path, entry in entries.items():
        if entry.group:
            members.setdefault(entry.group, []).append(path)
    for paths in members.values():
        for path in paths:
            entries[path] = entries[path]._replace(group=paths[0] if len(paths) > 1 else "")
    return entries
