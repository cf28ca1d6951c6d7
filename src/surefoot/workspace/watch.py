"""Watches the folders of a tree with inotify, to know which of them changed since the last kept scan.

A folder is watched before it is listed, so every later change in it leaves an event: a file that was written, closed
after writing, created, renamed or removed, and every change of mode, owner, times or attributes. Events are queued
before the system call that caused them returns.

Some changes leave no event in the folder of a file: a write through a memory map or by asynchronous I/O until the file
is closed, a write through a hard link in another folder, a write through a descriptor whose name was removed, and
changes by another machine. `rescan` always looks at files with several links. The other changes need a program that
runs at the same time, or the rights to link a file to another place. Callers to whom they matter scan the whole tree.

The watch is not trusted if events were lost, if the system's limits are too low, on file systems that other machines
may change, and if a part of the tree is another file system.
"""

import ctypes
import os
import struct
import weakref
from pathlib import Path

_MODIFY, _ATTRIB, _CLOSE_WRITE = 0x2, 0x4, 0x8
_MOVED_FROM, _MOVED_TO, _CREATE, _DELETE = 0x40, 0x80, 0x100, 0x200
_DELETE_SELF, _MOVE_SELF = 0x400, 0x800
_UNMOUNT, _OVERFLOW, _IGNORED, _IS_FOLDER = 0x2000, 0x4000, 0x8000, 0x40000000
_ONLY_FOLDERS = 0x1000000
_NAMES = _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE
_MASK = _MODIFY | _ATTRIB | _CLOSE_WRITE | _NAMES | _DELETE_SELF | _MOVE_SELF | _ONLY_FOLDERS

_HEAD = struct.Struct("iIII")
_BUFFER = 1 << 16
_SHARE = 4
"""Use at most a quarter of the watches that the user may have, because other programs need some too."""
_LIMIT = Path("/proc/sys/fs/inotify/max_user_watches")
_LOCAL_FILE_SYSTEMS = frozenset({0xEF53, 0x58465342, 0x9123683E, 0xF2F52010, 0x01021994})
"""ext2 to ext4, XFS, Btrfs, F2FS, tmpfs: only this machine's kernel changes them."""


class Watch:
    def __init__(self, fd: int, device: int, limit: int) -> None:
        self._fd: int | None = fd
        self._close = weakref.finalize(self, os.close, fd)
        self._device = device
        self._limit = limit
        self._paths: dict[int, str] = {}
        self._descriptors: dict[str, int] = {}
        self._seen: set[int] | None = None
        """The watches that the current scan of the whole tree has set so far; None outside of such a scan."""
        self._complete = False
        self.changed: set[str] = set()
        """Folders with an event since the last kept scan."""
        self.moved: set[str] = set()
        """Paths at which folders were created, moved or removed since then."""

    @classmethod
    def open(cls, root: int) -> "Watch | None":
        """Return a watch for the tree with this open root; None if its events could not be trusted."""
        try:
            if _file_system(root) not in _LOCAL_FILE_SYSTEMS:
                return None
            limit = int(_LIMIT.read_text()) // _SHARE
            fd = _call("inotify_init1", os.O_NONBLOCK | os.O_CLOEXEC)
        except (OSError, ValueError, AttributeError):
            return None
        return cls(fd, os.fstat(root).st_dev, limit)

    def add(self, path: str, folder: int) -> None:
        """Watch an open folder. Call this before listing it."""
        if self._fd is None:
            return
        try:
            if os.fstat(folder).st_dev != self._device or len(self._paths) >= self._limit:
                raise OSError
            descriptor = _call("inotify_add_watch", self._fd, b"/proc/self/fd/%d" % folder, _MASK)
        except OSError:
            self.close()
            return
        self._paths[descriptor] = path
        self._descriptors[path] = descriptor
        if self._seen is not None:
            self._seen.add(descriptor)

    def knows(self, path: str) -> bool:
        """Whether the folder at this path is watched, and is the one that was there at the last scan."""
        return path not in self.moved and self._paths.get(self._descriptors.get(path, -1)) == path

    def restart(self) -> None:
        """Begin a scan of the whole tree, which adds every folder again."""
        self.collect()
        self._complete, self._seen = False, set()
        self.changed.clear()
        self.moved.clear()

    def keep(self) -> None:
        """Forget the events so far, because the result of the last scan was kept."""
        if self._seen is not None and self._fd is not None:
            for descriptor in self._paths.keys() - self._seen:
                path = self._paths.pop(descriptor)
                if self._descriptors.get(path) == descriptor:
                    del self._descriptors[path]
                _library().inotify_rm_watch(self._fd, descriptor)  # fails if the folder is gone
        self._seen, self._complete = None, True
        self.changed.clear()
        self.moved.clear()

    def collect(self) -> bool:
        """Note the events since the last call; return False if some may be lost and the whole tree must be scanned."""
        buffer = bytearray(_BUFFER) if self._fd is not None else bytearray()
        while self._fd is not None:
            try:
                length = os.readv(self._fd, [buffer])
            except BlockingIOError:
                break
            self._note(bytes(buffer[:length]))
        return self._complete and self._fd is not None

    def _note(self, data: bytes) -> None:
        position, end = 0, len(data)
        while position < end:
            descriptor, mask, _, length = _HEAD.unpack_from(data, position)
            start = position + _HEAD.size
            position = start + length
            if mask & (_OVERFLOW | _UNMOUNT):
                self._complete = False
            folder = self._paths.get(descriptor)
            if folder is None:
                continue
            if not folder and mask & (_DELETE_SELF | _MOVE_SELF | _IGNORED):
                self._complete = False
            if mask & _IGNORED:
                del self._paths[descriptor]
                if self._descriptors.get(folder) == descriptor:
                    del self._descriptors[folder]
                continue
            self.changed.add(folder)
            if mask & _IS_FOLDER and mask & _NAMES:
                name = os.fsdecode(data[start:position].rstrip(b"\0"))
                self.moved.add(f"{folder}/{name}" if folder else name)

    def close(self) -> None:
        """Stop watching for good."""
        self._fd = None
        self._close()
        self._paths.clear()
        self._descriptors.clear()


_loaded: list[ctypes.CDLL] = []


def _library() -> ctypes.CDLL:
    if not _loaded:
        _loaded.append(ctypes.CDLL(None, use_errno=True))
    return _loaded[0]


def _call(name: str, *arguments: object) -> int:
    result = int(getattr(_library(), name)(*arguments))
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def _file_system(fd: int) -> int:
    """Return the type of a file system: the first field of the result of statfs(2)."""
    buffer = ctypes.create_string_buffer(512)
    _call("fstatfs", fd, buffer)
    return int(ctypes.cast(buffer, ctypes.POINTER(ctypes.c_long)).contents.value) & 0xFFFFFFFF
