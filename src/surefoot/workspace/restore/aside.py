"""Files that a restore moves out of the workspace instead of deleting them, because their content is not stored.

Moving needs no room on the disk. The files go to Surefoot's home if that is on the same file system, else to a folder
beside the workspace. A file is found again by its inode, size and modification time, so there is no list to keep.
"""

import contextlib
import os
import secrets
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from surefoot.workspace.durable import workspace_key
from surefoot.workspace.snapshots.manifest import Entry

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Aside:
    def __init__(self, root: Path, home: Path) -> None:
        key = workspace_key(root)
        self._own = home / "workspaces" / key / "aside"
        self._beside = root.parent / f".surefoot-aside-{key[:12]}"

    def prepare(self) -> None:
        """Create the folder while there is room for it."""
        with contextlib.suppress(OSError):
            self._own.mkdir(parents=True, exist_ok=True, mode=0o700)

    def take(self, folder: int, name: str) -> Path | None:
        """Move a file out of an open folder; return where it is now, or None if it cannot be moved."""
        new_name = f"{secrets.token_hex(4)}-{os.fsencode(name)[-200:].decode('utf-8', 'surrogateescape')}"
        for place in self._places(create=True):
            with contextlib.suppress(OSError), _opened(place) as target:
                os.rename(name, new_name, src_dir_fd=folder, dst_dir_fd=target)
                return place / new_name
        return None

    def bring_back(self, entry: Entry, folder: int, name: str) -> bool:
        """Move a file back into an open folder; return False if it is gone, or on another file system now."""
        for place in self._places():
            with contextlib.suppress(OSError), _opened(place) as source:
                for file in place.iterdir():
                    info = file.lstat()
                    if (info.st_size, f"{info.st_ino}:{info.st_mtime_ns}") == (entry.size, entry.target):
                        os.rename(file.name, name, src_dir_fd=source, dst_dir_fd=folder)
                        return True
        return False

    def sweep(self, *, older_than: float, dry_run: bool = False) -> int:
        """Delete the files that were moved here before a time; return the number of bytes freed."""
        freed = 0
        for place in self._places():
            for file in place.iterdir():
                info = file.lstat()
                if info.st_ctime <= older_than and not stat.S_ISDIR(info.st_mode):
                    freed += info.st_blocks * 512
                    if not dry_run:
                        file.unlink(missing_ok=True)
            if not dry_run and place == self._beside:
                with contextlib.suppress(OSError):
                    place.rmdir()
        return freed

    def _places(self, *, create: bool = False) -> Iterable[Path]:
        """Yield the folders that can be used. One that another user made beside the workspace is skipped."""
        for place in (self._own, self._beside):
            if create and place == self._beside:
                with contextlib.suppress(OSError):
                    place.mkdir(mode=0o700)
            with contextlib.suppress(OSError):
                info = place.lstat()
                if stat.S_ISDIR(info.st_mode) and info.st_uid == os.geteuid():
                    yield place


@contextlib.contextmanager
def _opened(place: Path) -> Iterator[int]:
    fd = os.open(place, _FOLDER)
    try:
        yield fd
    finally:
        os.close(fd)
