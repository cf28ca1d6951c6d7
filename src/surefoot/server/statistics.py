"""Statistics over runs for the page. Facts of runs are kept, so that only runs with new events are read again."""

import asyncio
from typing import Any

from surefoot.config import paths
from surefoot.history.stats.read import Known, parse_since, read_statistics
from surefoot.history.stats.values import Statistics
from surefoot.history.worktree import worktree_origins
from surefoot.journal.redacted_values import exported
from surefoot.journal.store.reading import JournalReader
from surefoot.server.hub import Hub


class StatisticsSource:
    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._known: Known = {}
        self._reading = asyncio.Lock()

    async def read(self, since: str, folder: str) -> dict[str, Any]:
        """The statistics as JSON. An empty text stands for all times, or all folders."""
        begin = parse_since(since) if since else None
        async with self._reading:
            found = await asyncio.to_thread(self._read, begin, folder)
        return exported(found, self._hub.redactor)

    def _read(self, since: float | None, folder: str) -> Statistics:
        """In a thread, with a connection of its own: many runs take a while."""
        workspaces = None
        if folder:
            copies = worktree_origins(self._hub.home) if paths.worktree_records(self._hub.home).is_dir() else {}
            workspaces = [folder, *(copy for copy, origin in copies.items() if origin == folder)]
        reader = JournalReader(paths.journal_file(self._hub.home), busy_timeout=5.0)
        try:
            return read_statistics(reader, since=since, workspaces=workspaces, folder=folder or None, known=self._known)
        finally:
            reader.close()
