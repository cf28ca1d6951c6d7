"""The table of calls in a local SQLite file, shared by the processes of one machine."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from surefoot.models.limits.base import LOOK_SECONDS, WINDOW_SECONDS, Limits

BUSY_SECONDS = 30.0
_TABLE = """
CREATE TABLE IF NOT EXISTS calls (
    id TEXT PRIMARY KEY, provider TEXT NOT NULL, started REAL NOT NULL, until REAL NOT NULL, ended INTEGER NOT NULL,
    tokens INTEGER NOT NULL
) WITHOUT ROWID
"""


class LocalCalls:
    def __init__(self, path: Path, clock: Callable[[], float] = time.time) -> None:
        import apsw

        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._clock = clock
        self._connection: Any = apsw.Connection(str(path))
        self._connection.set_busy_timeout(round(BUSY_SECONDS * 1000))
        for statement in ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = OFF", _TABLE):
            list(self._connection.execute(statement))
        self._lock = threading.Lock()

    def begin(self, limits: Limits, call_id: str, tokens: int, lease_seconds: float) -> float:
        with self._transaction() as execute:
            now = self._clock()
            window_start = now - WINDOW_SECONDS
            execute("DELETE FROM calls WHERE started <= ? AND (ended OR until <= ?)", (window_start, now))
            running = "SELECT count(*) FROM calls WHERE provider = ? AND NOT ended AND until > ?"
            ((calls,),) = execute(running, (limits.provider, now))
            if limits.concurrent_calls is not None and calls >= limits.concurrent_calls:
                return LOOK_SECONDS
            used = "SELECT coalesce(sum(tokens), 0), min(started) FROM calls WHERE provider = ? AND started > ?"
            ((taken, oldest),) = execute(used, (limits.provider, window_start))
            if limits.tokens_per_minute is not None and taken + tokens > limits.tokens_per_minute:
                return max((oldest or now) - window_start, LOOK_SECONDS)
            row = (call_id, limits.provider, now, now + lease_seconds, tokens)
            execute("INSERT INTO calls VALUES (?, ?, ?, ?, 0, ?)", row)
            return 0.0

    def renew(self, call_id: str, lease_seconds: float) -> bool:
        with self._transaction() as execute:
            now = self._clock()
            sql = "UPDATE calls SET until = ? WHERE id = ? AND NOT ended AND until > ? RETURNING 1"
            return bool(execute(sql, (now + lease_seconds, call_id, now)))

    def end(self, call_id: str, tokens: int | None) -> None:
        with self._transaction() as execute:
            execute("UPDATE calls SET ended = 1, tokens = coalesce(?, tokens) WHERE id = ?", (tokens, call_id))

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    @contextmanager
    def _transaction(self) -> Iterator[Callable[[str, tuple[Any, ...]], list[tuple[Any, ...]]]]:
        """Run statements in a transaction that excludes all other threads and processes."""
        with self._lock:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield lambda sql, values: list(self._connection.execute(sql, values))
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")
