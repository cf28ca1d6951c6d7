"""One folder tree, reached through file descriptors only.

Every name is looked up relative to the descriptor of its own folder and is never followed if it is a symlink. So not
even a link that is swapped in at the wrong moment leads out of the tree, and no path is too long.
"""

import os
from collections import OrderedDict
from pathlib import Path
from types import TracebackType
from typing import Self

TEMP_NAME = ".surefoot-restore.tmp"
"""What a restore writes before it renames; the one name that snapshots never see."""

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # NONBLOCK: a pipe must not make us wait
_KEPT_OPEN = 100


def split(path: str) -> tuple[str, str]:
    """The folder a path is in, and its name there."""
    parent, _, name = path.rpartition("/")
    return parent, name


def above(path: str) -> list[str]:
    """The folders on the way to a path, from the top; without the root, without the path itself."""
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]


class Tree:
    def __init__(self, root: Path) -> None:
        self._root = os.open(root, _FOLDER & ~os.O_NOFOLLOW)
        self._open: OrderedDict[str, int] = OrderedDict()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for fd in self._open.values():
            os.close(fd)
        os.close(self._root)

    def folder(self, path: str) -> int:
        """The descriptor of a folder, good until many others were asked for: use it at once, do not close it."""
        if not path:
            return self._root
        fd = self._open.get(path)
        if fd is not None:
            self._open.move_to_end(path)
            return fd
        parent, name = split(path)
        above_it = self._open.get(parent) if parent else self._root
        if above_it is None:
            above_it = self._walk_to(parent)
        return self._keep(path, os.open(name, _FOLDER, dir_fd=above_it))

    def forget(self, path: str) -> None:
        """To be called when a folder was removed: its name may soon mean another one."""
        fd = self._open.pop(path, None)
        if fd is not None:
            os.close(fd)

    def open_file(self, path: str) -> int:
        parent, name = split(path)
        return os.open(name, _FILE, dir_fd=self.folder(parent))

    def lstat(self, path: str) -> os.stat_result:
        parent, name = split(path)
        return os.stat(name, dir_fd=self.folder(parent), follow_symlinks=False) if path else os.fstat(self._root)

    def readlink(self, path: str) -> str:
        parent, name = split(path)
        return os.readlink(name, dir_fd=self.folder(parent))

    def chmod(self, path: str, mode: int) -> None:
        """Through a descriptor that needs no permission to be opened, so that it also works on mode 000."""
        if not path:
            os.fchmod(self._root, mode)
            return
        parent, name = split(path)
        fd = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self.folder(parent))
        try:
            Path(f"/proc/self/fd/{fd}").chmod(mode)
        finally:
            os.close(fd)

    def _walk_to(self, path: str) -> int:
        """Step by step from the root, a loop because a tree may be deeper than Python's stack. Keeps the folders on
        the way, because those who work from the bottom up need them next."""
        fd = self._root
        for folder in [*above(path), path]:
            kept = self._open.get(folder)
            fd = kept if kept is not None else self._keep(folder, os.open(split(folder)[1], _FOLDER, dir_fd=fd))
        return fd

    def _keep(self, path: str, fd: int) -> int:
        self._open[path] = fd
        if len(self._open) > _KEPT_OPEN:
            os.close(self._open.popitem(last=False)[1])
        return fd
