"""The queue of writes to a database, and the thread that empties it.

Writes that are queued while the thread waits for the server go into the next transaction of their run. So a task that
writes alone waits for one commit, and tasks that write at the same time share one.
"""

import asyncio
import contextlib
import threading
import time
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from surefoot.errors import JournalError, LeaseLost, SurefootError
from surefoot.journal.events import Event, RunCreated
from surefoot.journal.store.postgres.leases import Lease, LeaseRenewal, lease_lost
from surefoot.journal.store.postgres.writing import Entry, PostgresWriter, WrittenRun

if TYPE_CHECKING:
    from surefoot.journal.objects.base import ObjectStore

Waiter = asyncio.Future[None]


@dataclass(slots=True)
class _Batch:
    """The writes of one round."""

    entries: list[Entry] = field(default_factory=list)
    blobs: dict[str, bytes] = field(default_factory=dict)
    acknowledged: dict[int, WrittenRun] = field(default_factory=dict)
    waiting: list[tuple[Waiter, WrittenRun | None]] = field(default_factory=list)
    """The callers that wait for a run, or with None for everything."""

    def __bool__(self) -> bool:
        return bool(self.entries or self.blobs or self.acknowledged or self.waiting)

    def runs(self) -> list[WrittenRun]:
        return list(dict.fromkeys([entry.run for entry in self.entries] + [*self.acknowledged.values()]))


class WriteQueue:
    def __init__(self, url: str, patience: float, objects: "ObjectStore | None") -> None:
        self._changed = threading.Condition()
        """Guards all attributes below, and the numbers of runs and entries."""
        self._next = _Batch()
        self._current = _Batch()
        """The batch that is being written; empty while the thread waits."""
        self._held: dict[str, WrittenRun] = {}
        self._closing = False
        self._writer = PostgresWriter(url, patience, objects)
        self._thread: threading.Thread | None = None
        self._renewal = LeaseRenewal(url, self._leases, self._on_lost)

    # -- on the caller's thread -------------------------------------------------------------------------------------

    def hold(self, run: WrittenRun) -> None:
        """Renew the lease of a run until `let_go` or `close`."""
        with self._changed:
            self._held[run.id] = run
        self._renewal.start()

    def let_go(self, run: WrittenRun) -> None:
        """Stop renewing the lease of a run, and drop its queued writes."""
        with self._changed:
            self._held.pop(run.id, None)
            self._next.entries = [entry for entry in self._next.entries if entry.run is not run]
            for key in [key for key, owner in self._next.acknowledged.items() if owner is run]:
                del self._next.acknowledged[key]

    def add(self, run: WrittenRun, events: Sequence[tuple[Event, bytes]], waiter: Waiter | None) -> list[Entry]:
        """Queue events. Without `waiter`, they are written with the next awaited events."""
        with self._changed:
            at, entries = time.time(), []
            for event, body in events:
                run.seq += 1
                entries.append(Entry(run, run.seq, at, event, body, waiter is not None))
            self._next.entries += entries
            if waiter is not None:
                self._next.waiting.append((waiter, run))
                self._wake()
        return entries

    def add_blob(self, digest: str, data: bytes) -> None:
        with self._changed:
            self._next.blobs[digest] = data

    def drop_blob(self, digest: str) -> None:
        with self._changed:
            self._next.blobs.pop(digest, None)

    def blob(self, digest: str) -> bytes | None:
        with self._changed:
            content = self._next.blobs.get(digest)
            return self._current.blobs.get(digest) if content is None else content

    def acknowledge(self, run: WrittenRun, ids: Sequence[int]) -> None:
        with self._changed:
            self._next.acknowledged.update(dict.fromkeys(ids, run))

    def acknowledged(self) -> set[int]:
        with self._changed:
            return {*self._next.acknowledged, *self._current.acknowledged}

    def is_empty(self) -> bool:
        with self._changed:
            return not (self._next or self._current)

    def flush(self, waiter: Waiter) -> None:
        with self._changed:
            self._next.waiting.append((waiter, None))
            self._wake()

    def close(self) -> Exception | None:
        """Write everything and end the threads. Returns the error, if any."""
        problem: Exception | None = None
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()
        if self._next:
            # Only notes: nobody waits for them, so the thread was not woken.
            problem = self._write_round()
        self._renewal.stop()
        self._writer.close()
        return problem

    def _wake(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="surefoot-journal", daemon=True)
            self._thread.start()
        self._changed.notify_all()

    # -- on the thread ----------------------------------------------------------------------------------------------

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._next.waiting or self._closing)
                if self._closing and not self._next.waiting:
                    return
            self._write_round()

    def _write_round(self) -> Exception | None:
        """Write the queue, and return the first error. A run that fails does not stop the others from being written."""
        with self._changed:
            batch, self._next = self._next, _Batch()
            self._current = batch
        failures: dict[WrittenRun, Exception] = {}
        problem: Exception | None = None
        try:
            self._writer.write_blobs(batch.blobs)
        except (SurefootError, OSError) as error:
            problem = error
        for run in batch.runs():
            failure = problem or self._write_run(run, batch)
            if failure is not None:
                failures[run] = failure
        with self._changed:
            if problem is not None:
                self._next.blobs = {**batch.blobs, **self._next.blobs}
            self._current = _Batch()
            for run, failure in failures.items():
                self._take_back(run, failure, batch)
        problem = problem or next(iter(failures.values()), None)
        for waiter, waited_for in batch.waiting:
            _notify(waiter, problem if waited_for is None else failures.get(waited_for))
        return problem

    def _write_run(self, run: WrittenRun, batch: _Batch) -> Exception | None:
        entries = [entry for entry in batch.entries if entry.run is run]
        acknowledged = [key for key, owner in batch.acknowledged.items() if owner is run]
        if run.lost is not None:
            return run.lost
        try:
            self._writer.append(run, entries, acknowledged)
        except Exception as error:
            return error
        if run.id not in self._held:
            self.hold(run)
        return None

    def _take_back(self, run: WrittenRun, failure: Exception, batch: _Batch) -> None:
        """After a failed transaction, queue its notes again. Events of `append` are dropped: callers get the error.

        Acknowledged messages are received again. Nothing is kept for a run that is lost or was not created.
        """
        notes = [entry for entry in batch.entries if entry.run is run and not entry.awaited]
        queued = [entry for entry in self._next.entries if entry.run is run]
        others = [entry for entry in self._next.entries if entry.run is not run]
        entries = notes + queued
        created = bool(run.number) or (bool(entries) and type(entries[0].event) is RunCreated)
        if isinstance(failure, LeaseLost) or not created:
            run.lost = failure if isinstance(failure, JournalError) else lease_lost(run.id)
            self._held.pop(run.id, None)
            entries = []
        run.seq = run.durable
        for entry in entries:
            run.seq += 1
            entry.seq = run.seq
        self._next.entries = entries + others

    # -- the lease --------------------------------------------------------------------------------------------------

    def _leases(self) -> list[Lease]:
        with self._changed:
            return [run.lease() for run in self._held.values() if run.lost is None]

    def _on_lost(self, lease: Lease) -> None:
        with self._changed:
            run = self._held.get(lease.run_id)
            if run is not None and run.fence == lease.fence:
                run.lost = lease_lost(run.id)
                del self._held[run.id]


def _notify(waiter: Waiter, failure: Exception | None) -> None:
    """Resolve the future of a caller on its own event loop, which may be closed by now."""

    def resolve() -> None:
        if waiter.done():
            return
        if failure is None:
            waiter.set_result(None)
        else:
            # A copy for each caller, because an error collects the traceback of everyone who raises it.
            waiter.set_exception(copy(failure).with_traceback(None))

    with contextlib.suppress(RuntimeError):
        waiter.get_loop().call_soon_threadsafe(resolve)
