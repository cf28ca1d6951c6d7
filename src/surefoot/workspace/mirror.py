"""Copies snapshots between machines through a content-addressed store, such as the blobs of a journal.

A snapshot's id is the hash of the list of its chunks, so that list is stored like any other content. Everything is
stored by its hash, once. The times of folders are not part of a snapshot's id and are not copied.
"""

import json
import time
from collections.abc import Callable
from typing import Any

from surefoot.errors import WorkspaceError
from surefoot.workspace.snapshots.manifest import Entry
from surefoot.workspace.snapshots.xattrs import blob_of
from surefoot.workspace.workspace import Workspace

Put = Callable[[bytes], str]
"""Stores content and returns its SHA-256."""
Get = Callable[[str], bytes]
"""Returns the content with this SHA-256."""


class Mirror:
    """Uploads and downloads snapshots of one workspace, and remembers what the store has. Synchronous."""

    def __init__(self, workspace: Workspace, put: Put, get: Get) -> None:
        self._workspace, self._put, self._get = workspace, put, get
        self._stored: set[str] = set()
        """Hashes of the content, and ids of the snapshots, that the store has."""

    def upload(self, snapshot: str) -> None:
        """Store everything that another machine needs to restore a snapshot. The list of its chunks comes last."""
        if snapshot in self._stored:
            return
        blobs, document = self._workspace.blobs, self._workspace.manifest_document(snapshot)
        if document is None:
            raise WorkspaceError(f"there is no snapshot {snapshot[:12]} here", remedy="take it again: resume the run")
        for digest in document["core"]["chunks"]:
            if digest not in self._stored:
                rows = blobs.get(digest)
                for needed in _content_of(rows) - self._stored:
                    self._store(needed, blobs.get(needed))
                self._store(digest, rows)
        self._store(snapshot, encode_core(document["core"]))

    def download(self, snapshot: str) -> None:
        """Copy a snapshot with all of its content into the storage of the workspace."""
        if snapshot in self._stored or self._is_local(snapshot):
            return
        core = json.loads(self._get(snapshot))
        now, entries = time.time_ns(), {}
        for digest in core["chunks"]:
            rows = self._fetch(digest)
            for needed in _content_of(rows) - self._stored:
                self._fetch(needed)
            for row in json.loads(rows):
                entry = Entry(*row)
                entries[entry.path] = entry._replace(mtime_ns=now) if entry.kind == "dir" else entry
        saved = self._workspace.save_manifest(entries, core["excludes"], core["excluded"])
        if saved != snapshot:
            raise _damaged(snapshot)
        self._stored.add(snapshot)

    def _is_local(self, snapshot: str) -> bool:
        """Whether the workspace has a snapshot of the store already. If so, notes that the store has its content."""
        document = self._workspace.manifest_document(snapshot)
        if document is not None:
            chunks = document["core"]["chunks"]
            contents = [_content_of(self._workspace.blobs.get(digest)) for digest in chunks]
            self._stored.update((snapshot,), chunks, *contents)
        return document is not None

    def _fetch(self, digest: str) -> bytes:
        blobs = self._workspace.blobs
        if blobs.has(digest):
            data = blobs.get(digest)
        else:
            data = self._get(digest)
            if blobs.put(data) != digest:
                raise _damaged(digest)
        self._stored.add(digest)
        return data

    def _store(self, digest: str, data: bytes) -> None:
        if self._put(data) != digest:
            raise WorkspaceError(
                f"the content {digest[:12]} changed while it was stored", remedy="restore it from a backup, then resume"
            )
        self._stored.add(digest)


def encode_core(core: Any) -> bytes:
    """Encode the list of chunks. The hash of the result is the id of the snapshot."""
    return json.dumps(core, separators=(",", ":"), sort_keys=True).encode()


def _content_of(rows: bytes) -> set[str]:
    entries = [Entry(*row) for row in json.loads(rows)]
    return ({entry.digest for entry in entries} | {blob_of(entry.xattrs) for entry in entries}) - {""}


def _damaged(digest: str) -> WorkspaceError:
    return WorkspaceError(
        f"the stored content {digest[:12]} is damaged",
        remedy="restore the database and the object store from a backup, or start the run again",
    )
