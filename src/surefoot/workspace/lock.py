"""The lock that gives one run exclusive use of a workspace.

It is a kernel lock (flock), so any crash releases it: there are no stale locks to reclaim, and a reused process id is
never mistaken for the owner. The supervisors of the run's commands inherit it. After a crash the lock is therefore free
only when the last command has ended, and no new run starts in a folder that a command still writes to. The content of
the lock file names the holder, for the error messages of other processes.
"""

import contextlib
import fcntl
import json
import os
import time
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from surefoot.errors import WorkspaceLocked
from surefoot.workspace.durable import workspace_key, write_all
from surefoot.workspace.errors import suppress_full, translate_os_errors

_IDENTIFY_TIMEOUT = 2.0  # seconds for a new holder to write its identity
_COMMANDS_TIMEOUT = 30.0  # seconds for the commands of a killed holder to end
_held_fds: set[int] = set()
_own_fds: ContextVar[tuple[int, ...]] = ContextVar("own_lock_fds", default=())
"""The locks that were taken in this context, which are those of the run that the asyncio task belongs to."""


def held_lock_fds() -> tuple[int, ...]:
    """Return the file descriptors of the locks of this run, for supervisors to inherit.

    A process may drive several runs. A command of one must not hold the lock of another, whose descriptor may also be
    closed at any moment.
    """
    return tuple(fd for fd in _own_fds.get() if fd in _held_fds)


class WorkspaceLock:
    def __init__(self, root: Path, home: Path, run_id: str) -> None:
        self._root = root.resolve()
        self._file = home / "locks" / f"{workspace_key(self._root)}.lock"
        self._run_id = run_id
        self._fd: int | None = None

    def __enter__(self) -> Self:
        self.acquire()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def acquire(self) -> None:
        """Take the lock, or raise WorkspaceLocked naming the holder. Never waits for a live holder to finish."""
        with translate_os_errors("lock the workspace"):
            self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            fd = os.open(self._file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                self._flock(fd)
                self._write_holder(fd)
            except BaseException:
                os.close(fd)
                raise
            self._fd = fd
            _held_fds.add(fd)
            _own_fds.set((*held_lock_fds(), fd))

    def _flock(self, fd: int) -> None:
        """Take the lock, retrying while the holder is unknown or dead.

        The file may be empty, or still name a crashed holder, until the new holder has written its identity or the last
        command of the old one has ended.
        """
        started = time.monotonic()
        while True:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                holder = _read_holder(fd)
                alive = bool(holder) and _start_time(holder["pid"]) == holder["started"]
                timeout = _COMMANDS_TIMEOUT if holder else _IDENTIFY_TIMEOUT
                if alive or time.monotonic() > started + timeout:
                    raise self._locked_by(holder) from None
            time.sleep(0.01)

    def release(self) -> None:
        if self._fd is None:
            return
        fd, self._fd = self._fd, None
        _held_fds.discard(fd)
        with contextlib.suppress(OSError):  # closing the descriptor releases the lock in any case
            os.ftruncate(fd, 0)
            fcntl.flock(fd, fcntl.LOCK_UN)
        os.close(fd)

    def _write_holder(self, fd: int) -> None:
        holder = {
            "run_id": self._run_id,
            "pid": os.getpid(),
            "started": _start_time(os.getpid()),
            "since": datetime.now(UTC).isoformat(timespec="seconds"),
            "root": str(self._root).encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace"),
        }
        os.ftruncate(fd, 0)
        os.lseek(fd, 0, os.SEEK_SET)
        with suppress_full():  # The lock works without the holder's name, and an undo must work on a full disk.
            write_all(fd, json.dumps(holder).encode())

    def _locked_by(self, holder: dict[str, Any]) -> WorkspaceLocked:
        if not holder:
            return WorkspaceLocked(
                f"another run, which left no name in the lock file, is working in {self._root}",
                remedy="wait for it to end, or work in another folder",
            )
        return WorkspaceLocked(
            f"run {holder['run_id']} (process {holder['pid']}) has been working in {self._root} "
            f"since {holder['since']}",
            remedy=f"wait for it to end, or stop process {holder['pid']}; or work on a copy of the folder (--worktree)",
        )


class Holder(NamedTuple):
    """The process that holds the lock of a folder."""

    run_id: str
    pid: int
    since: str
    """ISO 8601, in UTC."""


def current_holder(root: Path, home: Path) -> Holder | None:
    """Return the process that holds the lock of a folder, or None.

    Checks both the process and the kernel's lock: the name of a killed holder stays in the file, and its process id may
    have been reused.
    """
    try:
        fd = os.open(home / "locks" / f"{workspace_key(root.resolve())}.lock", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        holder = _read_holder(fd)
        alive = bool(holder) and holder["started"] != 0 and _start_time(holder["pid"]) == holder["started"]
        if not alive or not _is_locked(fd):
            return None
    finally:
        os.close(fd)
    return Holder(str(holder["run_id"]), holder["pid"], str(holder["since"]))


def running_in(root: Path, home: Path) -> str:
    """Return the id of the run that holds the lock of a folder; empty if none does."""
    holder = current_holder(root, home)
    return holder.run_id if holder else ""


def _is_locked(fd: int) -> bool:
    """Whether another descriptor holds the lock. To find out, a free lock is taken and released at once."""
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    fcntl.flock(fd, fcntl.LOCK_UN)
    return False


def _read_holder(fd: int) -> dict[str, Any]:
    try:
        holder: dict[str, Any] = json.loads(os.pread(fd, 65536, 0))
    except ValueError:
        return {}
    return holder


def _start_time(pid: int) -> int:
    """Return the start time of a process, in clock ticks since boot; 0 if it has ended (zombies too) or is hidden."""
    try:
        # The second field, the program's name, may contain spaces and brackets: count the fields after its end.
        fields = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    except OSError:
        return 0
    return 0 if fields[0] in "ZX" else int(fields[19])
