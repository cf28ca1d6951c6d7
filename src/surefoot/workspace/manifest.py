"""What a snapshot records: one entry a path, and the manifest that holds them all.

A manifest is stored as chunks of entries, each chunk a blob, plus a short list of those chunks whose hash is the
snapshot's id. A tree that changed in one place thus stores one new chunk and one new list, not all of it again.

What the id depends on: path, kind, mode, owner, content, link target, hard link group, and the modification time of
files and symlinks (build tools look at those, so a restore has to bring them back). The modification time of folders
is kept beside it and restored, but is not part of the id: creating and deleting a scratch file is not a change.
"""

import hashlib
import json
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from surefoot.errors import WorkspaceError
from surefoot.workspace.blobs import BlobStore, is_digest
from surefoot.workspace.files import durable_write

Kind = Literal["file", "dir", "symlink", "special", "unreadable"]
LEFT_ALONE: frozenset[Kind] = frozenset({"special", "unreadable"})
"""Kinds that are reported, and neither read nor restored."""


class Entry(NamedTuple):
    """One path. A named tuple, because a large tree has a great many of them."""

    path: str
    """Relative to the root, "" for the root itself. Bytes that are not UTF-8 are surrogate-escaped."""
    kind: Kind
    mode: int
    """Permission bits with setuid, setgid and sticky; not the file type."""
    mtime_ns: int
    size: int = 0
    digest: str = ""
    """SHA-256 of a file's content, in hex."""
    target: str = ""
    """Where a symlink points; for `special` and `unreadable` what it is (fifo, socket, file, folder...)."""
    group: str = ""
    """The same for all hard links to one file: the first of their paths. Empty when only one is in the tree."""
    owner: str = ""
    """`uid:gid` where it is not that of the process that took the snapshot."""


@dataclass(frozen=True)
class Manifest:
    id: str
    entries: Mapping[str, Entry]
    """By path, in order of path, so a folder comes before what is in it."""
    excludes: tuple[str, ...] = ()
    """The patterns that were in force."""
    excluded: tuple[str, ...] = ()
    """The paths they matched: never captured, restored or deleted."""

    @property
    def left_alone(self) -> tuple[Entry, ...]:
        """Special and unreadable files: seen, and not captured."""
        return tuple(entry for entry in self.entries.values() if entry.kind in LEFT_ALONE)


class ManifestStore:
    def __init__(self, folder: Path, blobs: BlobStore) -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._folder = folder
        self._blobs = blobs
        self._recent: dict[str, Manifest] = {}
        """Going back needs the manifests of just now; reading a large one takes as long as a scan."""

    def save(self, entries: Mapping[str, Entry], excludes: Iterable[str], excluded: Iterable[str]) -> str:
        """Stores what is not stored yet, content before the list that needs it, and returns the id."""
        ordered = [entries[path] for path in sorted(entries)]
        chunks = [[_canonical(entry) for entry in chunk] for chunk in _chunks(ordered)]
        core: dict[str, Any] = {
            "format": 1,
            "excludes": list(excludes),
            "excluded": sorted(excluded),
            "chunks": [self._blobs.put(_encode(chunk)) for chunk in chunks],
        }
        snapshot_id = hashlib.sha256(_encode(core)).hexdigest()
        if not self.touch(snapshot_id):
            folders = [entry for entry in ordered if entry.kind == "dir"]
            times = [[(entry.path, entry.mtime_ns) for entry in chunk] for chunk in _chunks(folders)]
            document = {"core": core, "folder_times": [self._blobs.put(_encode(chunk)) for chunk in times]}
            self._blobs.flush()
            durable_write(self._folder / snapshot_id, _encode(document))
            by_path = {entry.path: entry for entry in ordered}
            self._remember(Manifest(snapshot_id, by_path, tuple(core["excludes"]), tuple(core["excluded"])))
        return snapshot_id

    def touch(self, snapshot_id: str) -> bool:
        """Marks a stored manifest as in use, for the garbage collector; False when there is none."""
        try:
            os.utime(self._folder / snapshot_id)
        except FileNotFoundError:
            return False
        return True

    def load(self, snapshot_id: str) -> Manifest:
        if snapshot_id in self._recent and (self._folder / snapshot_id).exists():
            return self._recent[snapshot_id]
        document = self._document(snapshot_id)
        core = document["core"]
        entries = [Entry(*row) for digest in core["chunks"] for row in json.loads(self._blobs.get(digest))]
        times = dict(pair for digest in document["folder_times"] for pair in json.loads(self._blobs.get(digest)))
        by_path = {
            entry.path: entry._replace(mtime_ns=times[entry.path]) if entry.kind == "dir" else entry
            for entry in entries
        }
        return self._remember(Manifest(snapshot_id, by_path, tuple(core["excludes"]), tuple(core["excluded"])))

    def _remember(self, manifest: Manifest) -> Manifest:
        self._recent[manifest.id] = manifest
        while len(self._recent) > 4:
            del self._recent[next(iter(self._recent))]
        return manifest

    def needed_blobs(self, snapshot_id: str) -> set[str]:
        document = self._document(snapshot_id)
        chunks = document["core"]["chunks"]
        content = {row[5] for digest in chunks for row in json.loads(self._blobs.get(digest))}
        return content.union(chunks, document["folder_times"])

    def ids(self) -> dict[str, float]:
        """Every stored manifest, with the time it was last in use."""
        return {file.name: file.stat().st_mtime for file in self._folder.iterdir() if is_digest(file.name)}

    def remove(self, snapshot_id: str) -> None:
        (self._folder / snapshot_id).unlink(missing_ok=True)

    def sweep_drafts(self) -> None:
        for file in self._folder.glob("*.tmp"):
            file.unlink(missing_ok=True)

    def _document(self, snapshot_id: str) -> Any:
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
        if hashlib.sha256(_encode(document.get("core"))).hexdigest() != snapshot_id:
            raise WorkspaceError(
                f"the manifest of snapshot {snapshot_id[:12]} in {self._folder} is damaged",
                remedy="bring that folder back from a backup, or restore another snapshot",
            )
        return document


def _canonical(entry: Entry) -> Entry:
    return entry._replace(mtime_ns=0) if entry.kind == "dir" else entry


def _chunks(entries: Iterable[Entry]) -> Iterator[list[Entry]]:
    """Cuts by the path alone, so that an added or removed file moves no other chunk's border."""
    chunk: list[Entry] = []
    for entry in entries:
        if chunk and zlib.crc32(entry.path.encode("utf-8", "surrogateescape")) & 0xFF == 0:
            yield chunk
            chunk = []
        chunk.append(entry)
    if chunk:
        yield chunk


def _encode(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), sort_keys=True).encode()


def partly(now: Mapping[str, Entry], then: Mapping[str, Entry], paths: Iterable[str]) -> dict[str, Entry]:
    """`now` with `paths`, and all that is below them, as they were `then`; folders come and go with what is in them."""
    entries = dict(now)
    for path in paths:
        for old in [p for p in entries if p == path or p.startswith(f"{path}/")]:
            del entries[old]
        entries |= {p: _of_then(entry) for p, entry in then.items() if p == path or p.startswith(f"{path}/")}
        folder = path
        while "/" in folder:
            folder = folder.rpartition("/")[0]
            if folder in then:
                if folder not in entries or (path in entries and entries[folder].kind != "dir"):
                    entries[folder] = then[folder]
            elif not any(p.startswith(f"{folder}/") for p in entries):
                entries.pop(folder, None)
    return regrouped({path: entries[path] for path in sorted(entries)})


def _of_then(entry: Entry) -> Entry:
    """A hard link of then is none to a file of now that has the name of its group: no path begins with a slash."""
    return entry._replace(group=f"/{entry.group}") if entry.group else entry


def regrouped(entries: dict[str, Entry]) -> dict[str, Entry]:
    """Hard link groups by those of their members that are here, named and dissolved as a scan would do it. Expects
    entries in order of path."""
    members: dict[str, list[str]] = {}
    for path, entry in entries.items():
        if entry.group:
            members.setdefault(entry.group, []).append(path)
    for paths in members.values():
        for path in paths:
            entries[path] = entries[path]._replace(group=paths[0] if len(paths) > 1 else "")
    return entries
