"""A disk for SQLite that counts operations, fails on request, and records what a power cut would leave."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw


class Disk(apsw.VFS):
    """While it is registered, every database is opened through it."""

    def __init__(self) -> None:
        self.writes = 0
        self.syncs = 0
        self.fail_at = 0
        """The number of the first write or sync that fails, counted from `fail_from`; 0: none."""
        self.error: Exception = apsw.FullError("failed on request")
        self.survivors: Path | None = None
        """The folder to which files are copied when they are synced: what is left after a power cut."""
        self._deleted: set[str] = set()
        super().__init__("surefoot-tests", "unix", makedefault=True)

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:  # noqa: N802 - SQLite's name
        return _File(self, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802
        super().xDelete(filename, syncdir)
        self._deleted.add(Path(filename).name)
        if syncdir:
            self.folder_synced()

    def folder_synced(self) -> None:
        """Until its folder is synced, a power cut brings a deleted file back."""
        while self._deleted:
            name = self._deleted.pop()
            if self.survivors:
                (self.survivors / name).unlink(missing_ok=True)

    def fail_from(self, operation: int, error: Exception | None = None) -> None:
        self.writes = self.syncs = 0
        self.fail_at = operation
        self.error = error or apsw.FullError("failed on request")

    def repair(self) -> None:
        self.fail_at = 0

    def operate(self) -> None:
        if self.fail_at and self.writes + self.syncs >= self.fail_at:
            raise self.error


class _File(apsw.VFSFile):
    def __init__(self, disk: Disk, name: Any, flags: list[int]) -> None:
        self._disk = disk
        self._path = Path(name.filename() if isinstance(name, apsw.URIFilename) else str(name))
        super().__init__("unix", name, flags)

    def xWrite(self, data: Any, offset: int) -> None:  # noqa: N802
        self._disk.writes += 1
        self._disk.operate()
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:  # noqa: N802
        self._disk.syncs += 1
        self._disk.operate()
        super().xSync(flags)
        if self._disk.survivors:
            shutil.copyfile(self._path, self._disk.survivors / self._path.name)


@contextmanager
def registered_disk() -> Iterator[Disk]:
    disk = Disk()
    try:
        yield disk
    finally:
        disk.unregister()
