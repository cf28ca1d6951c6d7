"""A folder tree accessed through file descriptors only.

Every name is looked up relative to the descriptor of its folder, and symlinks are never followed. So even a link that
is swapped in during an operation does not lead out of the tree, and no path is too long.
"""

import os
from collections import OrderedDict
from collections.abc import Callable, Iterator, Set
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # NONBLOCK: opening a pipe must not block
_MAX_OPEN_FOLDERS = 100


def split(path: str) -> tuple[str, str]:
    """Split a path into its folder and its name."""
    parent, _, name = path.rpartition("/")
    return parent, name


def ancestors(path: str) -> list[str]:
    """Return the folders that contain a path, from the top, without the root and the path itself."""
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]


def around(paths: Set[str]) -> Callable[[str], bool]:
    """Return a predicate that says whether a path is one of these, or above or below one of them."""
    above = {folder for path in paths for folder in ancestors(path)}
    return lambda path: path in paths or path in above or any(folder in paths for folder in ancestors(path))


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
        """Return the descriptor of a folder. Use it at once and do not close it: opening many others closes it."""
        if not path:
            return self._root
        fd = self._open.get(path)
        if fd is not None:
            self._open.move_to_end(path)
            return fd
        parent, name = split(path)
        parent_fd = self._open.get(parent) if parent else self._root
        if parent_fd is None:
            parent_fd = self._open_from_root(parent)
        return self._cache(path, os.open(name, _FOLDER, dir_fd=parent_fd))

    def forget(self, path: str) -> None:
        """Drop the descriptor of a folder that is being removed, because its name may be reused."""
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
        if not path:
            os.fchmod(self._root, mode)
            return
        with self.handle(path) as place:
            Path(place).chmod(mode)

    @contextmanager
    def handle(self, path: str) -> Iterator[str]:
        """Yield an absolute path to a file or folder that nobody can redirect. Works even if its mode is 000."""
        if not path:
            yield f"/proc/self/fd/{self._root}"
            return
        parent, name = split(path)
        fd = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self.folder(parent))
        try:
            yield f"/proc/self/fd/{fd}"
        finally:
            os.close(fd)

    def _open_from_root(self, path: str) -> int:
        """Open every folder from the root down to `path` and keep them, since work from the bottom up needs them next.

        A loop rather than recursion, because a tree may be deeper than Python's stack.
        """
        fd = self._root
        for folder in [*ancestors(path), path]:
            cached = self._open.get(folder)
            fd = cached if cached is not None else self._cache(folder, os.open(split(folder)[1], _FOLDER, dir_fd=fd))
        return fd

    def _cache(self, path: str, fd: int) -> int:
        self._open[path] = fd
        if len(self._open) > _MAX_OPEN_FOLDERS:
            os.close(self._open.popitem(last=False)[1])
        return fd
