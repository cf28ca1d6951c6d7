"""The files of a remote run. They are stored with the journal, and downloaded by the worker that continues the run."""

import asyncio
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from surefoot.config.model import ExecutionConfig
from surefoot.engine.runtime.storing import named_snapshots
from surefoot.errors import WorkspaceError, WorkspaceLocked
from surefoot.journal import events as e
from surefoot.journal.store.base import Journal, Reader
from surefoot.workspace.lock import WorkspaceLock
from surefoot.workspace.mirror import Mirror
from surefoot.workspace.workspace import Workspace

QUEUED_BYTES = 32 * 1024**2
"""How many bytes of content may wait to be written before more is read."""


def open_workspace(folder: Path, home: Path, config: ExecutionConfig) -> Workspace:
    return Workspace(folder, home, excludes=config.snapshot_excludes, quota_bytes=config.snapshot_quota_bytes)


def putting(journal: Journal) -> Callable[[bytes], str]:
    """A function that stores content from another thread. `putting` must be called in the journal's event loop."""
    loop, queued = asyncio.get_running_loop(), 0

    def put(data: bytes) -> str:
        nonlocal queued
        digest = journal.put_blob(data)
        queued += len(data)
        if queued > QUEUED_BYTES:
            asyncio.run_coroutine_threadsafe(journal.flush(), loop).result()
            queued = 0
        return digest

    return put


def snapshots_of(records: Sequence[e.Record]) -> list[str]:
    """All snapshots of the workspace that a run refers to, in order."""
    return list(dict.fromkeys(name for record in records for name in named_snapshots(record.event)))


def last_stored(records: Sequence[e.Record]) -> str:
    """The snapshot of the current files of a remote run."""
    for record in reversed(records):
        if isinstance(record.event, e.WorkspaceStored | e.RunCreated):
            return record.event.snapshot
    raise AssertionError("a run begins with RunCreated")


def bring_files(
    records: Sequence[e.Record], folder: Path, home: Path, config: ExecutionConfig, put: Callable[[bytes], str],
    reader: Reader,
) -> Mirror:  # fmt: skip
    """Make a folder of this machine contain exactly the files of a run, whatever an earlier worker left there."""
    created = records[0].event
    assert isinstance(created, e.RunCreated)
    with WorkspaceLock(folder, home, created.run_id):
        folder.mkdir(parents=True, exist_ok=True)
        workspace = open_workspace(folder, home, config)
        mirror = Mirror(workspace, put, reader.blob)
        for snapshot in snapshots_of(records):
            mirror.download(snapshot)
        workspace.abandon_restore()
        workspace.restore(last_stored(records))
    return mirror


def bring_snapshots(records: Sequence[e.Record], home: Path, reader: Reader) -> None:
    """Download the snapshots of a run to this machine, to compare or apply them."""
    from surefoot.history.timeline import snapshot_storage

    def refuse(_: bytes) -> str:
        raise WorkspaceError("snapshots are only read here")

    mirror = Mirror(snapshot_storage(home), refuse, reader.blob)
    for snapshot in snapshots_of(records):
        mirror.download(snapshot)


def remove_files(folder: Path, home: Path, run_id: str) -> None:
    """Remove the folder of a run, unless a process is working in it."""
    with suppress(WorkspaceLocked), WorkspaceLock(folder, home, run_id):
        shutil.rmtree(folder.parent, ignore_errors=True)
