"""Leases: one owner per run, and a fence, which is a number that grows with every new owner.

An append names its fence, and the database refuses it if the fence of the run is another one (`surefoot.append`). So it
does not matter how late an owner notices that it has lost a run.
"""

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from surefoot.errors import JournalBusy, JournalError, LeaseLost
from surefoot.journal.store.postgres.connection import connect, driver, journal_error
from surefoot.journal.store.postgres.owner import is_replaceable, shown_owner

if TYPE_CHECKING:
    from surefoot.journal.store.postgres.connection import Connection

BEATS = 3
"""How often a lease is renewed during its lifetime."""
_HOLDER = """
    SELECT owner, lease_until IS NULL OR lease_until < clock_timestamp(),
        ceil(extract(epoch FROM lease_until - clock_timestamp()))::integer
    FROM surefoot.runs WHERE run_id = %s
"""
_ACQUIRE = """
    UPDATE surefoot.runs SET
        owner = %(owner)s, fence = fence + 1, lease_until = clock_timestamp() + make_interval(secs => %(seconds)s)
    WHERE run_id = %(run_id)s
        AND (lease_until IS NULL OR lease_until < clock_timestamp() OR owner IN (%(owner)s, %(replaced)s))
    RETURNING number, fence, last, stage, verdict
"""
_RENEW = """
    UPDATE surefoot.runs AS r SET lease_until = clock_timestamp() + make_interval(secs => l.seconds)
    FROM unnest(%s::bigint[], %s::bigint[], %s::double precision[]) AS l(number, fence, seconds)
    WHERE r.number = l.number AND r.fence = l.fence RETURNING r.number
"""
_RELEASE = """
    UPDATE surefoot.runs AS r SET lease_until = NULL FROM unnest(%s::bigint[], %s::bigint[]) AS l(number, fence)
    WHERE r.number = l.number AND r.fence = l.fence
"""


class Acquired(NamedTuple):
    """A lease, with the position and status of its run."""

    number: int
    fence: int
    last: int
    stage: str
    verdict: str | None


@dataclass(frozen=True, slots=True)
class Lease:
    run_id: str
    number: int
    fence: int
    owner: str
    seconds: float


def acquire(connection: "Connection", run_id: str, owner: str, seconds: float) -> Acquired | None:
    """Become the owner of a run. Returns None if there is no such run, raises JournalBusy if it has another owner."""
    while True:
        row = connection.execute(_HOLDER, (run_id,)).fetchone()
        if row is None:
            return None
        holder, lease_ended, left = row
        replaced = holder if lease_ended or is_replaceable(holder) else owner
        acquired = connection.execute(
            _ACQUIRE, {"run_id": run_id, "owner": owner, "replaced": replaced, "seconds": seconds}
        ).fetchone()
        if acquired is not None:
            return Acquired(*acquired)
        if replaced == owner:
            raise JournalBusy(
                f"run {run_id} is being driven by {shown_owner(holder)}, whose lease ends in {left} seconds "
                "unless it is renewed",
                remedy="wait for it to end; if that process or machine is gone, try again when the lease has ended",
            )
        # Another process was faster: look up the new owner.


def release(connection: "Connection", leases: Iterable[Lease]) -> None:
    held = list(leases)
    connection.execute(_RELEASE, ([lease.number for lease in held], [lease.fence for lease in held]))


def lease_lost(run_id: str, holder: str = "") -> LeaseLost:
    by = f" by {shown_owner(holder)}" if holder else ""
    return LeaseLost(
        f"run {run_id} was taken over{by} after the lease of this process had ended; nothing more was written here",
        remedy=f"let the other process continue (surefoot watch {run_id}); this one has to end",
    )


class LeaseRenewal:
    """Renews leases from a thread of its own, so that work on the event loop does not delay it."""

    def __init__(self, url: str, held: Callable[[], list[Lease]], on_lost: Callable[[Lease], None]) -> None:
        self._url, self._held, self._on_lost = url, held, on_lost
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._connection: Connection | None = None

    def start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._beat, name="surefoot-lease", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def _beat(self) -> None:
        while not self._ended.wait(min((lease.seconds for lease in self._held()), default=1.0) / BEATS):
            leases = self._held()
            if not leases:
                continue
            try:
                renewed = self._renew(leases)
            except JournalError:
                # The leases may or may not be lost. The next append finds out, and waits for the server if necessary.
                continue
            for lease in leases:
                if lease.number not in renewed:
                    self._on_lost(lease)
        if self._connection is not None:
            self._connection.close()

    def _renew(self, leases: list[Lease]) -> set[int]:
        if self._connection is None or self._connection.closed:
            self._connection = connect(self._url)
        values = [[lease.number for lease in leases], [lease.fence for lease in leases]]
        try:
            rows = self._connection.execute(_RENEW, (*values, [lease.seconds for lease in leases]))
            return {number for (number,) in rows}
        except driver().Error as error:
            self._connection.close()
            raise journal_error(self._url, error) from None
