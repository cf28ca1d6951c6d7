"""The journal in PostgreSQL: its public interface. `queue` has the queue of writes and its thread.

Most methods of a journal are synchronous and read a few rows: they use a connection on the caller's thread. An append
waits for a commit on the server and must not block the event loop, so a thread writes the queue.
"""

import asyncio
import contextlib
from collections.abc import Collection, Iterator, Sequence
from copy import copy
from typing import TYPE_CHECKING

from surefoot.config.storage import LEASE_SECONDS, shown_database
from surefoot.errors import JournalBusy, JournalError, UnknownRun
from surefoot.journal.cancelled import CancelledAfterAppend
from surefoot.journal.events import Event, Record, RunCreated, as_record, encode
from surefoot.journal.messages import InboxItem, InboxMessage, encode_message
from surefoot.journal.store.base import Position, RunSummary, run_exists
from surefoot.journal.store.blobs import digest_of
from surefoot.journal.store.postgres.leases import Lease, acquire, release
from surefoot.journal.store.postgres.owner import new_owner
from surefoot.journal.store.postgres.queue import WriteQueue
from surefoot.journal.store.postgres.reading import PostgresReader
from surefoot.journal.store.postgres.writing import PostgresWriter, WrittenRun
from surefoot.journal.store.status import require_creation

if TYPE_CHECKING:
    from surefoot.journal.objects.base import ObjectStore

PATIENCE_SECONDS = 30.0
"""How long a write waits for a server that does not answer, such as one that is restarted."""
SIDE_PATIENCE_SECONDS = 5.0
"""The same for writes on the event loop's own thread."""
KNOWN_BLOBS = 10_000


class PostgresJournal:
    """Reading never creates the tables; the first write does. Use it from one thread.

    The first write to a run acquires it: see `acquire`. `aclose` releases what was acquired.
    """

    def __init__(
        self,
        url: str,
        *,
        objects: "ObjectStore | None" = None,
        read_only: bool = False,
        owner: str | None = None,
        lease_seconds: float = LEASE_SECONDS,
        patience: float = PATIENCE_SECONDS,
    ) -> None:
        self.where = shown_database(url)
        self._read_only = read_only
        self._owner = owner or new_owner()
        self._lease_seconds = float(lease_seconds)
        self._reader = PostgresReader(url, objects)
        self._side_writer = PostgresWriter(url, SIDE_PATIENCE_SECONDS, objects)
        """For immediate writes on the caller's thread: leases, messages, deletion of content."""
        self._queue = WriteQueue(url, patience, objects)
        self._runs: dict[str, WrittenRun] = {}
        self._read_positions: dict[str, Position] = {}
        """The ends of runs that were read here. An append continues from there, so that events that another process
        wrote in between are noticed."""
        self._known_blobs: set[str] = set()

    # -- reading ----------------------------------------------------------------------------------------------------

    def read(self, run_id: str, after: int = 0) -> Iterator[Record]:
        if self._read_only or run_id in self._runs:
            return self._reader.read(run_id, after)
        return self._reader.read(run_id, after, lambda position: self._read_positions.update({run_id: position}))

    def summaries(self, limit: int = 50, workspaces: Collection[str] | None = None) -> list[RunSummary]:
        return self._reader.summaries(limit, workspaces)

    def workspaces(self) -> dict[str, int]:
        return self._reader.workspaces()

    def find(self, prefix: str) -> str:
        return self._reader.find(prefix)

    def get_blob(self, digest: str) -> bytes:
        queued = self._queue.blob(digest)
        return self._reader.blob(digest) if queued is None else queued

    def has_blob(self, digest: str) -> bool:
        return self._queue.blob(digest) is not None or self._reader.has_blob(digest)

    def receive(self, run_id: str) -> list[InboxItem]:
        """Raises LeaseLost if this process has lost the run. The driver polls this, so it notices the loss soon."""
        run = self._runs.get(run_id)
        if run is not None and run.lost is not None:
            raise copy(run.lost)
        items = self._reader.inbox(run_id, run.number if run else 0)
        taken = self._queue.acknowledged()
        return [item for item in items if item.id not in taken]

    # -- the lease --------------------------------------------------------------------------------------------------

    def acquire(self, run_id: str, owner: str | None = None, seconds: float | None = None) -> int:
        """Become the owner of a run, and return the fence. Raises JournalBusy while another process owns it.

        The lease is renewed until the journal is closed. A lease that has ended, or whose process on this machine is
        gone, is taken over; from then on the database refuses what the former owner writes.
        """
        run = self._acquire(run_id, owner or self._owner, float(seconds or self._lease_seconds))
        if run is None:
            raise UnknownRun(f"there is no run {run_id}", remedy="see `surefoot list`")
        return run.fence

    def _acquire(self, run_id: str, owner: str, seconds: float) -> WrittenRun | None:
        self._require_writable()
        acquired = self._side_writer.execute(lambda connection, _: acquire(connection, run_id, owner, seconds))
        if acquired is None:
            return None
        number, fence, last, stage, verdict = acquired
        run = WrittenRun(run_id, owner, seconds, number, fence, last, last, stage, verdict)
        before = self._read_positions.pop(run_id, None)
        if before is not None and before.last != last:
            self._release([run.lease()])
            raise JournalBusy(
                f"another process has written to run {run_id} since it was read here",
                remedy="read it again, or resume it once more",
            )
        self._runs[run_id] = run
        self._queue.hold(run)
        return run

    async def release(self, run_id: str) -> None:
        """Write the queue and release a run, so that another process can own it at once."""
        try:
            if run_id in self._runs:
                # The failure may be that of another run, and callers of `append` have been told already.
                with contextlib.suppress(JournalError):
                    await self.flush()
        finally:
            run = self._runs.pop(run_id, None)
            self._read_positions.pop(run_id, None)
            if run is not None:
                self._queue.let_go(run)
                if run.number and run.lost is None:
                    await asyncio.to_thread(self._release, [run.lease()])

    def _release(self, leases: list[Lease]) -> None:
        self._side_writer.execute(lambda connection, _: release(connection, leases))

    # -- writing ----------------------------------------------------------------------------------------------------

    async def append(self, run_id: str, events: Sequence[Event]) -> list[Record]:
        run, encoded = self._prepared(run_id, events)
        written: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        entries = self._queue.add(run, encoded, written)
        self._runs[run_id] = run
        cancelled: asyncio.CancelledError | None = None
        try:
            try:
                await asyncio.shield(written)
            except asyncio.CancelledError as error:
                # The events are written nevertheless. A second cancellation ends the wait.
                cancelled = error
                await written
        except Exception:
            if not run.number and run.lost is not None:
                # The run was not created, so the next append may create it.
                self._runs.pop(run_id, None)
            raise
        records = [as_record((entry.seq, entry.at, entry.event)) for entry in entries]
        if cancelled is not None:
            raise CancelledAfterAppend(records, cancelled)
        return records

    def note(self, run_id: str, event: Event) -> Record:
        run, encoded = self._prepared(run_id, (event,))
        (entry,) = self._queue.add(run, encoded, None)
        self._runs[run_id] = run
        return as_record((entry.seq, entry.at, event))

    async def flush(self) -> None:
        if not self._queue.is_empty():
            written: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._queue.flush(written)
            await written

    def put_blob(self, data: bytes) -> str:
        self._require_writable()
        digest = digest_of(data)
        if digest not in self._known_blobs:
            self._queue.add_blob(digest, bytes(data))
            if len(self._known_blobs) < KNOWN_BLOBS:
                self._known_blobs.add(digest)
        return digest

    def drop_blob(self, digest: str) -> None:
        self._require_writable()
        self._known_blobs.discard(digest)
        self._queue.drop_blob(digest)
        self._side_writer.drop_blob(digest)

    def send(self, run_id: str, message: InboxMessage) -> None:
        body = encode_message(message)
        number = self._reader.existing(run_id).number
        self._require_writable()
        self._side_writer.write_message(number, body)

    def acknowledge(self, run_id: str, ids: Sequence[int]) -> None:
        run = self._runs.get(run_id) or self._acquire(run_id, self._owner, self._lease_seconds)
        if run is None:
            raise UnknownRun(f"there is no run {run_id}", remedy="see `surefoot list`")
        self._queue.acknowledge(run, ids)

    async def aclose(self) -> None:
        await asyncio.to_thread(self.close)

    def close(self) -> None:
        """Write the queue, release all leases and close."""
        error = self._queue.close()
        held = [run.lease() for run in self._runs.values() if run.number and run.lost is None]
        self._runs.clear()
        self._read_positions.clear()
        if held:
            # Everything is written. A lease that cannot be released ends by itself.
            with contextlib.suppress(JournalError):
                self._release(held)
        self._reader.close()
        self._side_writer.close()
        if error:
            raise error

    def _prepared(self, run_id: str, events: Sequence[Event]) -> tuple[WrittenRun, list[tuple[Event, bytes]]]:
        """Return the run and its encoded events. Raises before anything is queued."""
        run = self._runs.get(run_id)
        if run is None:
            self._require_writable()
            run = self._acquire(run_id, self._owner, self._lease_seconds)
        if run is None:
            require_creation(run_id, events[0] if events else None)
            run = WrittenRun(run_id, self._owner, self._lease_seconds)
        elif run.lost is not None:
            raise copy(run.lost)
        for index, event in enumerate(events):
            if type(event) is RunCreated and (run.seq or index):
                raise run_exists(run_id)
        return run, [(event, encode(event)) for event in events]

    def _require_writable(self) -> None:
        if self._read_only:
            raise JournalError(
                f"the journal in {self.where} was opened for reading", remedy="open it without read_only"
            )
