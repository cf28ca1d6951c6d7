"""The table of calls in the journal's database, shared by workers on many machines. Times are the database's own."""

import threading

from surefoot.journal.store.postgres.writing import PostgresWriter
from surefoot.models.limits.base import LOOK_SECONDS, WINDOW_SECONDS, Limits

PATIENCE_SECONDS = 30.0
_BEGIN = "SELECT surefoot.begin_call(%s, %s, %s, %s, %s, %s, %s)"
_RENEW = """
    UPDATE surefoot.calls SET until = clock_timestamp() + make_interval(secs => %s)
    WHERE id = %s AND NOT ended AND until > clock_timestamp() RETURNING 1
"""
_END = "UPDATE surefoot.calls SET ended = true, tokens = coalesce(%s, tokens) WHERE id = %s"


class SharedCalls:
    def __init__(self, url: str) -> None:
        self._writer = PostgresWriter(url, PATIENCE_SECONDS, None)
        self._lock = threading.Lock()

    def begin(self, limits: Limits, call_id: str, tokens: int, lease_seconds: float) -> float:
        bounds = (limits.concurrent_calls, limits.tokens_per_minute)
        values = (limits.provider, call_id, *bounds, tokens, lease_seconds, WINDOW_SECONDS)
        with self._lock:
            row = self._writer.execute(lambda connection, _: connection.execute(_BEGIN, values).fetchone())
        seconds = float(row[0]) if row else LOOK_SECONDS
        return max(seconds, LOOK_SECONDS) if seconds else 0.0

    def renew(self, call_id: str, lease_seconds: float) -> bool:
        with self._lock:
            sql, values = _RENEW, (lease_seconds, call_id)
            return self._writer.execute(lambda connection, _: connection.execute(sql, values).fetchone()) is not None

    def end(self, call_id: str, tokens: int | None) -> None:
        with self._lock:
            self._writer.execute(lambda connection, _: connection.execute(_END, (tokens, call_id)))

    def close(self) -> None:
        with self._lock:
            self._writer.close()
