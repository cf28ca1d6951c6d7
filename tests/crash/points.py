"""The points at which a process can be killed: before everything it does that outlives it, and after it has started
another process. Killed after one is killed before the next."""

import os
import signal
import subprocess
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw

from support.disk import Disk, _File

CALLS = ("rename", "replace", "link", "symlink", "unlink", "remove", "rmdir", "mkdir", "fsync", "write", "ftruncate")
ENOUGH = 10**9


class Points:
    """Counts them, in this process, and kills it at the one that is fatal."""

    def __init__(self, fatal: int) -> None:
        self.fatal = fatal
        self.passed: list[str] = []
        """What kind each of them was."""

    def pass_one(self, kind: str) -> None:
        self.passed.append(kind)
        if len(self.passed) == self.fatal:
            os.kill(os.getpid(), signal.SIGKILL)

    def install(self) -> None:
        for name in CALLS:
            setattr(os, name, self._before(name, getattr(os, name)))
        start = subprocess.Popen.__init__

        def starting(popen: Any, *args: Any, **kwargs: Any) -> None:
            self.pass_one("spawn")
            start(popen, *args, **kwargs)
            self.pass_one("spawned")

        subprocess.Popen.__init__ = starting  # type: ignore[method-assign, assignment]
        self._disk = _Journals(self)

    def _before(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            # Signs of life make sure of their folder several times a second, which changes nothing.
            if name != "mkdir" or not Path(args[0]).is_dir():
                self.pass_one(name)
            return real(*args, **kwargs)

        return call


class _Journals(Disk):
    """Every write and sync of a journal is a point too: SQLite makes them by itself, not through `os`."""

    def __init__(self, points: Points) -> None:
        super().__init__()
        self._points = points

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:  # noqa: N802 - SQLite's name
        return JournalFile(self, name, flags)

    def operate(self) -> None:
        self._points.pass_one("journal")


class JournalFile(_File):
    def xLock(self, level: int) -> None:  # noqa: N802
        """On closing, SQLite tries to lock also what it opened for reading, and takes the refusal in its stride; that
        it comes as an exception is the driver's doing."""
        try:
            super().xLock(level)
        except apsw.IOError as error:
            raise apsw.BusyError from error


def killed(work: Callable[[], object], at: int, report: Path | None = None) -> bool:
    """Does `work` in a process that is killed at its n-th point. False when it came to its end before."""
    tell = os.write
    child = os.fork()
    if child == 0:
        code = 1
        try:
            points = Points(at)
            points.install()
            work()
            if report:
                report.write_text("\n".join(points.passed))
            code = 0
        except BaseException:
            tell(2, traceback.format_exc().encode())
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code in (0, -signal.SIGKILL), "it failed instead of being killed; its traceback is above"
    return code != 0


def points_of(work: Callable[[], object], report: Path) -> list[str]:
    """The kinds of all of them, in order, when nothing stops it."""
    assert not killed(work, ENOUGH, report)
    return report.read_text().splitlines()
