"""Content by hash: compressed where that helps, in the database when small, in a file when large."""

import hashlib
import os
import zlib
from pathlib import Path

from surefoot.journal.store.fsync import store_synced

LARGE = 64 * 1024
"""Blobs with more bytes than this (compressed) are files, so that the database stays small and quick to copy."""
WORTH_PACKING = 256
PACKED, PLAIN = "zlib", "plain"


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def pack(data: bytes) -> tuple[str, bytes]:
    """Return the codec and the bytes to store. Uses the fastest level, because this runs on the event loop."""
    if len(data) >= WORTH_PACKING:
        packed = zlib.compress(data, 1)
        if len(packed) < len(data) * 0.9:
            return PACKED, packed
    return PLAIN, data


def unpack(codec: str, body: bytes, digest: str) -> bytes | None:
    """Return the content, or None if it does not match the hash."""
    try:
        data = zlib.decompress(body) if codec == PACKED else body
    except zlib.error:
        return None
    return data if digest_of(data) == digest else None


class BlobFiles:
    """Large blobs, in `<journal>-blobs/ab/<digest>.<codec>`."""

    def __init__(self, journal: Path) -> None:
        self._folder = journal.with_name(f"{journal.name}-blobs")

    def write(self, digest: str, codec: str, body: bytes) -> None:
        """Write atomically and sync.

        Synced in both durability modes, because after a power cut the database may have the event that refers to it.
        """
        path = self._path(digest, codec)
        unfinished = path.with_name(f"{path.name}.{os.getpid()}.tmp")
        store_synced(path, body, unfinished, (path.parent, self._folder, self._folder.parent))

    def read(self, digest: str, codec: str) -> bytes | None:
        try:
            return self._path(digest, codec).read_bytes()
        except FileNotFoundError:
            return None

    def remove(self, digest: str) -> None:
        for codec in (PACKED, PLAIN):
            self._path(digest, codec).unlink(missing_ok=True)

    def _path(self, digest: str, codec: str) -> Path:
        return self._folder / digest[:2] / f"{digest}.{codec}"
