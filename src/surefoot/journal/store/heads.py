"""Detects which runs of a journal file have new events, from any process. For watchers of many runs."""

from collections.abc import Collection
from pathlib import Path

import apsw

from surefoot.journal.store.checksums import RUN_BITS
from surefoot.journal.store.connection import READ_FAULTS, journal_error, open_reader

_SEQ = (1 << RUN_BITS) - 1
_HEADS = f"""
    SELECT run_id, (SELECT max(id) FROM events WHERE id < (number + 1) << {RUN_BITS})
    FROM (SELECT number, run_id FROM runs ORDER BY number DESC LIMIT ?)
"""


class Heads:
    """Reads SQLite's own counter of commits first, so that frequent polling costs next to nothing."""

    def __init__(self, path: Path, newest: int = 500) -> None:
        self._path, self._newest = path, newest
        self._connection: apsw.Connection | None = None
        self._version = -1
        self._heads: dict[str, int] = {}

    def changed(self) -> dict[str, int]:
        """Return the runs with events since the last call, each with the number of its last event."""
        if self._connection is None:
            if not self._path.exists():
                return {}
            self._connection = open_reader(self._path, 5.0)
        try:
            version = self._connection.pragma("data_version")
            if version == self._version:
                return {}
            rows = list(self._connection.execute(_HEADS, (self._newest,)))
        except READ_FAULTS as error:
            raise journal_error(self._path, error) from error
        self._version = version
        heads = {run_id: last & _SEQ for run_id, last in rows if last is not None}
        changed = {run_id: seq for run_id, seq in heads.items() if self._heads.get(run_id) != seq}
        self._heads = heads
        return changed

    def driven(self, run_ids: Collection[str] | None = None) -> frozenset[str]:
        """Return no runs. Runs in a file are driven on the same machine, where workspace locks show it."""
        return frozenset()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
