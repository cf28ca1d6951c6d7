"""One run per workspace. The lock is the kernel's own (flock): a crash of any kind releases it with the process, so
there are no stale locks to reclaim and a reused process id cannot be mistaken for the owner. The programs that watch
its commands hold it too: after a crash it is free when the last command has ended, and nobody takes over a folder in
which one of them still writes. The file only says who holds it, for the message that the others get."""

import contextlib
import fcntl
import json
import os
import time
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from surefoot.errors import WorkspaceLocked
from surefoot.workspace.faults import typed
from surefoot.workspace.files import key_of, write_all

_PATIENCE = 2.0  # seconds a new owner has to write down who it is
_LAST_COMMANDS = 30.0  # seconds that the commands of a killed owner have to end
_held: set[int] = set()


def held() -> tuple[int, ...]:
    """The locks of this process, as file descriptors that the watchers of its commands inherit."""
    return tuple(_held)


class WorkspaceLock:
    def __init__(self, root: Path, home: Path, run_id: str) -> None:
        self._root = root.resolve()
        self._file = home / "locks" / f"{key_of(self._root)}.lock"
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
        """Takes the lock, or raises WorkspaceLocked that names the owner. Never waits for the owner to finish."""
        with typed("lock the workspace"):
            self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            fd = os.open(self._file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                self._take_or_refuse(fd)
                self._say_who(fd)
            except BaseException:
                os.close(fd)
                raise
            self._fd = fd
            _held.add(fd)

    def _take_or_refuse(self, fd: int) -> None:
        """An owner is named only if its process is really there. For a moment the file may be empty, or still name a
        crashed owner, until the new one has written its name or the last command of the old one has ended: then it is
        asked again."""
        begun = time.monotonic()
        while True:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                holder = _read_holder(fd)
                present = bool(holder) and _start_time(holder["pid"]) == holder["started"]
                patience = _LAST_COMMANDS if holder else _PATIENCE
                if present or time.monotonic() > begun + patience:
                    raise self._locked_by(holder) from None
            time.sleep(0.01)

    def release(self) -> None:
        if self._fd is None:
            return
        fd, self._fd = self._fd, None
        _held.discard(fd)
        with contextlib.suppress(OSError):  # the lock itself is what matters, and closing gives that back
            os.ftruncate(fd, 0)
            fcntl.flock(fd, fcntl.LOCK_UN)
        os.close(fd)

    def _say_who(self, fd: int) -> None:
        holder = {
            "run_id": self._run_id,
            "pid": os.getpid(),
            "started": _start_time(os.getpid()),
            "since": datetime.now(UTC).isoformat(timespec="seconds"),
            "root": str(self._root).encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace"),
        }
        os.ftruncate(fd, 0)
        os.lseek(fd, 0, os.SEEK_SET)
        write_all(fd, json.dumps(holder).encode())

    def _locked_by(self, holder: dict[str, Any]) -> WorkspaceLocked:
        if not holder:
            return WorkspaceLocked(
                f"another run, which did not say its name, is working in {self._root}",
                remedy="wait for it to end, or work in another folder",
            )
        return WorkspaceLocked(
            f"run {holder['run_id']} (process {holder['pid']}) is working in {self._root} since {holder['since']}",
            remedy=f"wait for it to end, or stop process {holder['pid']}; or work on a copy of the folder (--worktree)",
        )


def _read_holder(fd: int) -> dict[str, Any]:
    try:
        holder: dict[str, Any] = json.loads(os.pread(fd, 65536, 0))
    except ValueError:
        return {}
    return holder


def _start_time(pid: int) -> int:
    """When a process started, in clock ticks since boot; 0 when it is gone or cannot be seen. The name in the second
    field may hold spaces and brackets, so fields are counted after its end."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()[19])
    except OSError:
        return 0
