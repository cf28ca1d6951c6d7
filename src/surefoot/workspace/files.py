"""Small acts on open files that blobs, manifests and restores share: write all, copy and hash, make durable."""

import contextlib
import fcntl
import hashlib
import os
import secrets
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

CHUNK = 256 * 1024
_ZEROS = bytes(CHUNK)
_FICLONE = 0x40049409  # from linux/fs.h: share the blocks of another file until one of them is written
_FEW = 64  # up to here one fsync a file is cheaper than writing out the whole file system


def write_all(fd: int, data: bytes) -> None:
    """The kernel may take less than it is given; what is left is offered again."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def read_all(source: int, expected: int) -> bytes:
    """Everything from here to the end of a file; `expected` is a guess at its size that saves reads."""
    pieces = [os.read(source, expected + 1)]
    while pieces[-1]:
        pieces.append(os.read(source, CHUNK))
    return b"".join(pieces)


def hash_of(source: int) -> tuple[str, int]:
    """SHA-256 and size of what is read from `source` until its end."""
    seen, size = hashlib.sha256(), 0
    while piece := os.read(source, CHUNK):
        seen.update(piece)
        size += len(piece)
    return seen.hexdigest(), size


def copy_hashed(source: int, sink: int) -> tuple[str, int]:
    """Copies `source` into the empty file `sink` and returns hash and size of the copy, not of the original,
    which someone may be writing to. Shares blocks where the file system can, and leaves holes where there were some."""
    if _clone(source, sink):
        return hash_of(sink)
    info = os.fstat(source)
    sparse = info.st_blocks * 512 < info.st_size
    seen, size = hashlib.sha256(), 0
    while piece := os.read(source, CHUNK):
        seen.update(piece)
        size += len(piece)
        if sparse and piece == _ZEROS[: len(piece)]:
            os.lseek(sink, len(piece), os.SEEK_CUR)
        else:
            write_all(sink, piece)
    os.ftruncate(sink, size)
    return seen.hexdigest(), size


def _clone(source: int, sink: int) -> bool:
    try:
        fcntl.ioctl(sink, _FICLONE, source)
    except OSError:
        return False
    return True


def durable_write(path: Path, data: bytes) -> None:
    """After this the file is on disk with this content; killed before, it is as it was."""
    draft = path.with_name(f"{path.name}.{secrets.token_hex(6)}.tmp")
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        try:
            write_all(fd, data)
            os.fsync(fd)
        finally:
            os.close(fd)
        draft.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def sync_names(folder: int, names: Collection[str]) -> None:
    """Makes these files and the folders they are in durable. `names` are relative to the open `folder`."""
    if len(names) > _FEW:
        _sync_file_system(folder)
        return
    for name in {*names, *(name.rpartition("/")[0] or "." for name in names)}:
        try:
            fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
        except OSError:
            continue  # a symlink, or something that is unreadable on purpose: its folder's fsync carries the name
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
def flocked(path: Path, operation: int) -> Iterator[None]:
    """Holds the kernel's lock on a file: shared by many with LOCK_SH, by one with LOCK_EX. A crash releases it."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, operation)
        yield
    finally:
        os.close(fd)


def key_of(root: Path) -> str:
    """A file name that stands for a workspace folder."""
    return hashlib.sha256(str(root).encode("utf-8", "surrogateescape")).hexdigest()[:24]
