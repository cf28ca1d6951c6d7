"""Count fsyncs per commit in power-safe mode, and queries before a resumed run continues."""

from pathlib import Path
from typing import Any

import apsw
import peers_surefoot


class _CountingFile(apsw.VFSFile):
    syncs = 0

    def xSync(self, flags: int) -> None:  # noqa: N802 (SQLite's name)
        _CountingFile.syncs += 1
        super().xSync(flags)


class _CountingVFS(apsw.VFS):
    def __init__(self) -> None:
        super().__init__("counting", base="unix", makedefault=True)

    def xOpen(self, name: Any, flags: Any) -> apsw.VFSFile:  # noqa: N802
        return _CountingFile("unix", name, flags)


def syncs_per_commit(folder: Path, steps: int) -> float:
    """Count fsyncs per commit. Needs its own process: the counting VFS becomes the default of all connections."""
    commits = 0

    def count_commit() -> bool:
        nonlocal commits
        commits += 1
        return False

    vfs = _CountingVFS()
    apsw.connection_hooks.append(lambda connection: connection.set_commit_hook(count_commit))
    contender = peers_surefoot.Contender(folder, "full")
    work = contender.chain(steps)
    _CountingFile.syncs = commits = 0
    work()
    result = _CountingFile.syncs / commits
    contender.close()
    vfs.unregister()
    return result


def queries_to_resume(folder: Path, steps: int) -> int:
    """Count the queries on the events before step `steps + 1` begins, after `die_in_step(steps + 1)`."""
    queries: list[str] = []

    def trace(cursor: Any, sql: str, bindings: Any) -> bool:
        if sql.lstrip().upper().startswith("SELECT") and " events" in sql:
            queries.append(sql)
        return True

    apsw.connection_hooks.append(lambda connection: setattr(connection, "exec_trace", trace))
    contender = peers_surefoot.Contender(folder, "normal")
    contender.resume(steps + 1)
    contender.close()
    return len(queries)
