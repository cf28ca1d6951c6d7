"""Low-level file operations shared by blobs, manifests and restores: write, copy, hash, lock, make durable."""

import contextlib
import fcntl
import hashlib
import os
import secrets
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from surefoot.journal.store.fsync import sync_folder

CHUNK = 256 * 1024
_ZEROS = bytes(CHUNK)
_FICLONE = 0x40049409  # from linux/fs.h: copy-on-write clone of another file
_MAX_SINGLE_SYNCS = 64  # above this, one syncfs is cheaper than one fsync per file


def write_all(fd: int, data: bytes) -> None:
    """Write all of `data`; a single os.write may write less."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def read_all(source: int, expected: int) -> bytes:
    """Read from the current position to the end of the file. `expected` is its likely size and saves reads."""
    pieces = [os.read(source, expected + 1)]
    while pieces[-1]:
        pieces.append(os.read(source, CHUNK))
    return b"".join(pieces)


def hash_fd(source: int) -> tuple[str, int]:
    """Return SHA-256 and size of the content from the current position to the end of the file."""
    digest, size = hashlib.sha256(), 0
    while piece := os.read(source, CHUNK):
        digest.update(piece)
        size += len(piece)
    return digest.hexdigest(), size


def copy_hashed(source: int, sink: int) -> tuple[str, int]:
    """Copy `source` into the empty file `sink`; return hash and size of the copy.

    The original may differ from it, because another process may be writing to it. Shares blocks where the file system
    supports that, and keeps holes.
    """
    if _clone(source, sink):
        return hash_fd(sink)
    info = os.fstat(source)
    sparse = info.st_blocks * 512 < info.st_size
    digest, size = hashlib.sha256(), 0
    while piece := os.read(source, CHUNK):
        digest.update(piece)
        size += len(piece)
        if sparse and piece == _ZEROS[: len(piece)]:
            os.lseek(sink, len(piece), os.SEEK_CUR)
        else:
            write_all(sink, piece)
    os.ftruncate(sink, size)
    return digest.hexdigest(), size


def _clone(source: int, sink: int) -> bool:
    try:
        fcntl.ioctl(sink, _FICLONE, source)
    except OSError:
        return False
    return True


def durable_write(path: Path, data: bytes) -> None:
    """Replace a file atomically. On return the content is on disk; a crash before leaves the old or the new content."""
    replace_file(path, data, durable=True)
    sync_folder(path.parent)


def replace_file(path: Path, data: bytes, *, durable: bool = False) -> None:
    """Replace a file atomically. Unless `durable`, a power failure may leave it damaged."""
    draft = path.with_name(f"{path.name}.{secrets.token_hex(6)}.tmp")
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        try:
            write_all(fd, data)
            if durable:
                os.fsync(fd)
        finally:
            os.close(fd)
        draft.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise


def sync_names(folder: int, names: Collection[str]) -> None:
    """Make these files and their folders durable. `names` are relative to the open `folder`."""
    if len(names) > _MAX_SINGLE_SYNCS:
        _sync_file_system(folder)
        return
    for name in {*names, *(name.rpartition("/")[0] or "." for name in names)}:
        try:
            fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
        except OSError:
            continue  # a symlink, or not readable: the fsync of its folder covers the name
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def _sync_file_system(folder: int) -> None:
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    if hasattr(libc, "syncfs"):
        if libc.syncfs(folder) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    else:
        os.sync()


@contextmanager
def file_lock(path: Path, operation: int) -> Iterator[None]:
    """Hold a flock on a file: LOCK_SH (shared) or LOCK_EX (exclusive). The kernel releases it after a crash."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, operation)
        yield
    finally:
        os.close(fd)


def workspace_key(root: Path) -> str:
    """Return a file name that identifies a workspace folder."""
    return hashlib.sha256(str(root).encode("utf-8", "surrogateescape")).hexdigest()[:24]
