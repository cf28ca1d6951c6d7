"""A content-addressed store of file contents on disk.

A blob is written under a temporary name and renamed when it is complete, so a file named by a hash always has that
content, even after a crash during the write.
"""

import contextlib
import hashlib
import itertools
import os
import re
import secrets
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from surefoot.errors import WorkspaceError
from surefoot.workspace.durable import copy_hashed, hash_fd, read_all, sync_names, write_all
from surefoot.workspace.errors import translate_os_errors

SMALL = 1024 * 1024  # files up to this size are read into memory, larger ones are streamed
_DRAFTS = "drafts"
_DIGEST = re.compile(r"[0-9a-f]{64}")


def is_digest(text: str) -> bool:
    return _DIGEST.fullmatch(text) is not None


class BlobStore:
    """Opens blobs relative to a descriptor of the folder, which is faster: a first snapshot does it for every file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / _DRAFTS).mkdir(parents=True, exist_ok=True, mode=0o700)
        self._fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        weakref.finalize(self, os.close, self._fd)
        self._draft_prefix = secrets.token_hex(12)
        self._draft_numbers = itertools.count()
        self._unsynced: set[str] = set()

    def put(self, data: bytes) -> str:
        with translate_os_errors("store a file's content"):
            return self._put(data)

    def put_open(self, source: int) -> tuple[str, int]:
        """Store the content of an open file; return hash and size of the stored content."""
        with translate_os_errors("store a file's content"):
            size = os.fstat(source).st_size
            if size > SMALL:
                return self._store(lambda sink: copy_hashed(source, sink))
            data = read_all(source, size)
            return self._put(data), len(data)

    def get(self, digest: str) -> bytes:
        with self.open(digest) as file:
            data = file.read()
        if hashlib.sha256(data).hexdigest() != digest:
            raise self._damaged(digest)
        return data

    def open(self, digest: str) -> BinaryIO:
        try:
            return os.fdopen(os.open(_name(digest), os.O_RDONLY | os.O_CLOEXEC, dir_fd=self._fd), "rb")
        except FileNotFoundError:
            raise WorkspaceError(
                f"the stored content {digest[:12]} is missing from {self.folder}",
                remedy="another program removed it: restore that folder from a backup",
            ) from None

    def has(self, digest: str) -> bool:
        try:
            os.stat(_name(digest), dir_fd=self._fd)
        except FileNotFoundError:
            return False
        return True

    def disk_usage(self, digest: str) -> int:
        """Return the disk space that a copy of a blob needs, which is less than its size if it has holes."""
        return os.stat(_name(digest), dir_fd=self._fd).st_blocks * 512

    def check(self, digest: str) -> None:
        """Raise WorkspaceError unless the blob exists and its content matches its hash."""
        with self.open(digest) as file:
            if hash_fd(file.fileno())[0] != digest:
                raise self._damaged(digest)

    def copy_out(self, digest: str, sink: int) -> None:
        with self.open(digest) as file:
            if copy_hashed(file.fileno(), sink)[0] != digest:
                raise self._damaged(digest)

    def flush(self) -> None:
        """Make everything stored so far durable against power failure."""
        names, self._unsynced = self._unsynced, set()
        sync_names(self._fd, names)

    def sweep(self, needed: set[str], *, older_than: float, dry_run: bool = False) -> tuple[int, int]:
        """Remove old blobs that are not needed, and drafts of crashed writers; return the number of files and bytes
        removed."""
        count = freed = 0
        for shard in (folder.name for folder in self.folder.iterdir()):
            with os.scandir(self.folder / shard) as files:
                for file in files:
                    info = file.stat(follow_symlinks=False)
                    if shard + file.name not in needed and info.st_mtime <= older_than:
                        if not dry_run:
                            os.unlink(f"{shard}/{file.name}", dir_fd=self._fd)
                        count, freed = count + 1, freed + info.st_size
        return count, freed

    def _put(self, data: bytes) -> str:
        digest = hashlib.sha256(data).hexdigest()
        name = _name(digest)

        def fill(fd: int) -> tuple[str, int]:
            write_all(fd, data)
            return digest, len(data)

        if self._is_complete(name, len(data)):
            os.utime(name, dir_fd=self._fd)  # in use again: the garbage collector keeps recent blobs
        else:
            self._store(fill)
        return digest

    def _is_complete(self, name: str, size: int) -> bool:
        """Whether the blob exists in full size. A power failure can truncate a blob; it is written again then."""
        try:
            return os.stat(name, dir_fd=self._fd).st_size == size
        except FileNotFoundError:
            return False

    def _store(self, fill: Callable[[int], tuple[str, int]]) -> tuple[str, int]:
        draft = f"{_DRAFTS}/{self._draft_prefix}-{next(self._draft_numbers)}"
        fd = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o400, dir_fd=self._fd)
        try:
            try:
                digest, size = fill(fd)
            finally:
                os.close(fd)
            if self._is_complete(_name(digest), size):
                os.unlink(draft, dir_fd=self._fd)
            else:
                self._publish(draft, _name(digest))
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(draft, dir_fd=self._fd)
            raise
        return digest, size

    def _publish(self, draft: str, name: str) -> None:
        try:
            os.rename(draft, name, src_dir_fd=self._fd, dst_dir_fd=self._fd)
        except FileNotFoundError:
            with contextlib.suppress(FileExistsError):
                os.mkdir(name[:2], 0o700, dir_fd=self._fd)
            os.rename(draft, name, src_dir_fd=self._fd, dst_dir_fd=self._fd)
        self._unsynced.add(name)

    def _damaged(self, digest: str) -> WorkspaceError:
        return WorkspaceError(
            f"the stored content {digest[:12]} in {self.folder} is damaged",
            remedy="the disk or another program changed it: restore that folder from a backup",
        )


def _name(digest: str) -> str:
    if not is_digest(digest):
        raise WorkspaceError(f"{digest!r} is not the hash of stored content", remedy="use a hash that put() returned")
    return f"{digest[:2]}/{digest[2:]}"
