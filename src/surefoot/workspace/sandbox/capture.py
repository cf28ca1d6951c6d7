"""Captures a file or folder before a command, and restores it afterwards."""

import errno
import os
import shutil
import stat
from pathlib import Path

MAX_CAPTURED_BYTES = 1_000_000
"""Changes to larger files are detected by their stat values; they cannot be restored."""

Capture = dict[str, tuple[int, bytes | tuple[int, ...]]]
"""By relative name ("" for the path itself): the mode, and the content, the link target or, for a large file, its stat
values."""
_NOT_CAPTURED = frozenset(("objects", "lfs"))
"""Folders with the content of a repository, which git never executes."""


def capture(path: Path) -> Capture:
    captured: Capture = {}
    pending = [""]
    while pending:
        name = pending.pop()
        current = path / name if name else path
        try:
            info = current.lstat()
            if stat.S_ISDIR(info.st_mode):
                captured[name] = (info.st_mode, b"")
                pending += [f"{name}/{e.name}".lstrip("/") for e in current.iterdir() if e.name not in _NOT_CAPTURED]
            elif stat.S_ISLNK(info.st_mode):
                captured[name] = (info.st_mode, os.fsencode(current.readlink()))
            elif stat.S_ISREG(info.st_mode) and info.st_size <= MAX_CAPTURED_BYTES:
                captured[name] = (info.st_mode, current.read_bytes())
            else:
                captured[name] = (info.st_mode, (info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns))
        except FileNotFoundError:
            continue
    return captured


def restore(path: Path, before: Capture) -> bool:
    """Make `path` what it was when captured; return whether anything had changed."""
    now = capture(path)
    if now == before:
        return False
    for name in sorted(now, reverse=True):
        if name not in before or stat.S_IFMT(now[name][0]) != stat.S_IFMT(before[name][0]):
            remove(path / name if name else path)
    for name in sorted(before):
        if now.get(name) != before[name]:
            _write(path / name if name else path, *before[name])
    return True


def remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _write(path: Path, mode: int, content: bytes | tuple[int, ...]) -> None:
    if isinstance(content, tuple):
        raise OSError(errno.EFBIG, f"{path.name} is too large to be kept for this")
    if stat.S_ISDIR(mode):
        path.mkdir(exist_ok=True)
    elif stat.S_ISLNK(mode):
        path.unlink(missing_ok=True)
        path.symlink_to(os.fsdecode(content))
        return
    else:
        # Always a new file: the command may have replaced the old one by a hard link to another file.
        path.unlink(missing_ok=True)
        path.write_bytes(content)
    path.chmod(stat.S_IMODE(mode))
