"""Detects which runs in a database have new events, from any process, and which are being driven."""

from collections.abc import Collection

from surefoot.errors import JournalError
from surefoot.journal.store.postgres.owner import is_gone
from surefoot.journal.store.postgres.reading import PostgresReader

_NEWEST = "(SELECT number, run_id, last, lease_until, owner FROM surefoot.runs ORDER BY number DESC LIMIT %s) AS newest"
_NAMED = "(SELECT run_id, lease_until, owner FROM surefoot.runs WHERE run_id = ANY(%s)) AS named"
_SUM = f"SELECT coalesce(max(number), 0), coalesce(sum(last), 0)::bigint FROM {_NEWEST}"
"""Numbers of events only grow, so their sum changes with every event, and the highest number with every run."""


class PostgresHeads(PostgresReader):
    """Queries one sum first, so that frequent polling transfers only a few bytes."""

    def __init__(self, url: str, newest: int = 500) -> None:
        super().__init__(url)
        self._newest = newest
        self._sum: tuple[int, ...] = ()
        self._heads: dict[str, int] = {}

    def changed(self) -> dict[str, int]:
        """Return the runs with events since the last call, each with the number of its last event."""
        sums = self._rows(_SUM, self._newest)
        if not sums or sums[0] == self._sum:
            return {}
        heads = dict(self._rows(f"SELECT run_id, last FROM {_NEWEST}", self._newest))
        changed = {run_id: seq for run_id, seq in heads.items() if self._heads.get(run_id) != seq}
        self._sum, self._heads = sums[0], heads
        return changed

    def driven(self, run_ids: Collection[str] | None = None) -> frozenset[str]:
        """Return the runs that a process of any machine owns now; none if the database does not answer.

        A killed process of this machine does not count, even if its lease has not ended.
        """
        source, value = (_NEWEST, self._newest) if run_ids is None else (_NAMED, [*run_ids])
        try:
            rows = self._rows(f"SELECT run_id, owner FROM {source} WHERE lease_until > clock_timestamp()", value)
        except JournalError:
            return frozenset()
        return frozenset(run_id for run_id, owner in rows if not is_gone(owner or ""))
