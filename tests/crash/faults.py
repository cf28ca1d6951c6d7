"""A disk that fails at the n-th write of a process: full (ENOSPC), once or for good, broken (EIO), or taking less than
it was given (a short write)."""

import errno
import io
import os
import signal
import traceback
from collections.abc import Callable
from typing import Any

import apsw

from crash.points import JournalFile
from support.disk import Disk
from surefoot.errors import SurefootError

FAULTS = ("full", "full for good", "broken", "short")
NAMING = ("rename", "replace", "link", "symlink", "mkdir")
OK, TYPED, UNTYPED = 0, 3, 1


class FailingDisk:
    """Counts the writes of this process, wherever they are made, and lets the n-th fail; for good: all after it too."""

    def __init__(self, fault: str, at: int) -> None:
        self.fault, self.at = fault, at
        self.count = 0

    def strikes(self) -> bool:
        self.count += 1
        return self.count == self.at or (self.count > self.at and self.fault == "full for good")

    def error(self) -> OSError:
        number = errno.EIO if self.fault == "broken" else errno.ENOSPC
        return OSError(number, os.strerror(number))

    def install(self) -> None:
        write, fsync, fdopen = os.write, os.fsync, os.fdopen

        def failing_write(fd: int, data: Any) -> int:
            if not self.strikes():
                return write(fd, data)
            if self.fault == "short":
                return write(fd, bytes(data)[: max(1, len(data) // 2)])
            raise self.error()

        def failing_fsync(fd: Any) -> None:
            if self.strikes() and self.fault != "short":
                raise self.error()
            fsync(fd)

        def failing_fdopen(fd: int, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
            return io.BufferedWriter(_Raw(self, fd)) if mode == "wb" else fdopen(fd, mode, *args, **kwargs)

        os.write, os.fsync, os.fdopen = failing_write, failing_fsync, failing_fdopen
        for name in NAMING:
            setattr(os, name, self._failing(getattr(os, name)))
        self._journals = _Journals(self)

    def _failing(self, real: Callable[..., Any]) -> Callable[..., Any]:
        """A new name needs room on the disk, too; half a name there is not."""

        def call(*args: Any, **kwargs: Any) -> Any:
            if self.strikes() and self.fault != "short":
                raise self.error()
            return real(*args, **kwargs)

        return call


class _Raw(io.FileIO):
    """What is below a file object: buffers write through this."""

    def __init__(self, disk: FailingDisk, fd: int) -> None:
        super().__init__(fd, "wb")
        self._disk = disk

    def write(self, data: Any) -> int:
        if not self._disk.strikes():
            return super().write(data)
        if self._disk.fault == "short":
            return super().write(bytes(data)[: max(1, len(data) // 2)])
        raise self._disk.error()


class _Journals(Disk):
    def __init__(self, disk: FailingDisk) -> None:
        super().__init__()
        self._failing = disk

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:  # noqa: N802 - SQLite's name
        return JournalFile(self, name, flags)

    def operate(self) -> None:
        # SQLite is told of short writes as of any other: as an error.
        if self._failing.strikes():
            raise apsw.FullError("full") if self._failing.fault.startswith("full") else apsw.IOError("broken")


def on_a_failing_disk(work: Callable[[], object], fault: str, at: int) -> tuple[int, int]:
    """Does `work` in a process whose n-th write fails: how that ended, and how many writes it made."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        code = UNTYPED
        tell = os.write
        disk = FailingDisk(fault, at)
        try:
            disk.install()
            work()
            code = OK
        except SurefootError as error:
            if error.remedy:
                code = TYPED
            else:
                tell(2, traceback.format_exc().encode())
        except BaseException:
            tell(2, traceback.format_exc().encode())
        finally:
            tell(write_end, str(disk.count).encode())
            os._exit(code)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as pipe:
        writes = int(pipe.read())
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code != -signal.SIGKILL
    return code, writes
