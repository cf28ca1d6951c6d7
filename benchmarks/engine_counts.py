"""What can be counted instead of timed: fsyncs a commit in power-safe mode, and queries until a run goes on."""

from pathlib import Path
from typing import Any

import apsw
import peers_surefoot


class _File(apsw.VFSFile):
    syncs = 0

    def xSync(self, flags: int) -> None:  # noqa: N802 (the name is SQLite's)
        _File.syncs += 1
        super().xSync(flags)


class _Disk(apsw.VFS):
    def __init__(self) -> None:
        super().__init__("counting", base="unix", makedefault=True)

    def xOpen(self, name: Any, flags: Any) -> apsw.VFSFile:  # noqa: N802
        return _File("unix", name, flags)


def syncs_a_commit(folder: Path, steps: int) -> float:
    """In a process of its own: the disk that counts becomes everybody's."""
    commits = 0

    def committed() -> bool:
        nonlocal commits
        commits += 1
        return False

    disk = _Disk()
    apsw.connection_hooks.append(lambda connection: connection.set_commit_hook(committed))
    contender = peers_surefoot.Contender(folder, "full")
    work = contender.chain(steps)
    _File.syncs = commits = 0
    work()
    counted = _File.syncs / commits
    contender.close()
    disk.unregister()
    return counted


def queries_to_resume(folder: Path, steps: int) -> int:
    """After `die_in_step(steps + 1)`: how often the journal is asked before that step begins."""
    asked: list[str] = []

    def traced(cursor: Any, sql: str, bindings: Any) -> bool:
        if sql.lstrip().upper().startswith("SELECT") and " events" in sql:
            asked.append(sql)
        return True

    apsw.connection_hooks.append(lambda connection: setattr(connection, "exec_trace", traced))
    contender = peers_surefoot.Contender(folder, "normal")
    contender.resume(steps + 1)
    contender.close()
    return len(asked)
