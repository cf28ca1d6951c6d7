"""The journal in one SQLite file: its public interface, the queue of writes, and group commit.

Commits run on the event loop's own thread, because a commit costs less than a hop to another thread and back. Appends
of several tasks at the same time share a transaction. A task that writes alone commits without yielding.
"""

import asyncio
import contextlib
import time
from collections.abc import Collection, Iterator, Sequence
from copy import copy
from pathlib import Path
from typing import Any

import apsw

from surefoot.errors import JournalBusy, JournalError
from surefoot.journal.cancelled import CancelledAfterAppend
from surefoot.journal.events import Event, Record, RunCreated, as_record, encode
from surefoot.journal.messages import InboxItem, InboxMessage, encode_message
from surefoot.journal.store.base import Position, RunSummary, run_exists
from surefoot.journal.store.blobs import LARGE, BlobFiles, digest_of, pack
from surefoot.journal.store.connection import Durability, journal_error
from surefoot.journal.store.reading import JournalReader
from surefoot.journal.store.status import CHANGES_STATUS, require_creation
from surefoot.journal.store.writing import Blob, Entry, JournalWriter, WrittenRun, as_entry

MAX_COMMITS_ALONE = 64
"""After this many commits in a row, a task that writes alone yields to the event loop."""


class SqliteJournal:
    """Reading never creates the file; the first write does. Use it from one thread."""

    def __init__(
        self,
        path: Path,
        *,
        durability: Durability = "process",
        read_only: bool = False,
        busy_timeout: float = 5.0,
    ) -> None:
        self.path = path
        self._durability = durability
        self._read_only = read_only
        self._busy_timeout = busy_timeout
        self._reader = JournalReader(path, busy_timeout)
        self._writer: JournalWriter | None = None
        self._files = BlobFiles(path)
        self._runs: dict[str, WrittenRun] = {}
        self._read_positions: dict[str, Position] = {}
        """The ends of runs that were read here. An append continues from there, so that events that another process
        wrote in between are noticed."""
        self._taken_over: set[str] = set()
        """Runs that another process has continued, if no caller here has been told yet."""
        # Part of the next transaction:
        self._queue: list[Entry] = []
        self._blobs: dict[str, Blob] = {}
        self._acknowledged: dict[int, str] = {}
        # Callers that wait for it, and the loop on which it is scheduled:
        self._waiting: list[tuple[asyncio.Future[None], WrittenRun]] = []
        self._scheduled_on: asyncio.AbstractEventLoop | None = None
        self._lone_task: asyncio.Task[Any] | None = None
        self._commits_alone = 0

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
        queued = self._blobs.get(digest)
        return queued.data if queued else self._reader.blob(digest)

    def receive(self, run_id: str) -> list[InboxItem]:
        run = self._runs.get(run_id)
        items = self._reader.inbox(run_id, run.number if run else 0)
        return [item for item in items if item.id not in self._acknowledged]

    # -- writing ----------------------------------------------------------------------------------------------------

    async def append(self, run_id: str, events: Sequence[Event]) -> list[Record]:
        task = asyncio.current_task()
        if task is not self._lone_task or self._commits_alone == MAX_COMMITS_ALONE or self._waiting:
            run, records = self._enqueue(run_id, events, awaited=True)
            await self._commit_in_group(run, task, records)
            return records
        self._commits_alone += 1
        known = self._runs.get(run_id)
        if known and len(events) == 1 and self._can_be_written_alone(events[0]):
            return [self._commit_one(known, events[0])]
        run, records = self._enqueue(run_id, events, awaited=True)
        if run in self._commit():
            raise self._taken_over_error(run_id)
        return records

    def note(self, run_id: str, event: Event) -> Record:
        run = self._runs.get(run_id)
        if run is None or type(event) is RunCreated:
            return self._enqueue(run_id, (event,), awaited=False)[1][0]
        body = encode(event)
        run.seq = seq = run.seq + 1
        at = time.time()
        self._queue.append(as_entry((run, seq, at, event, body, False)))
        return as_record((seq, at, event))

    async def flush(self) -> None:
        if error := self._commit_and_notify():
            raise error

    def put_blob(self, data: bytes) -> str:
        self._open_writer()
        digest = digest_of(data)
        if digest not in self._blobs and not self._reader.has_blob(digest):
            codec, body = pack(data)
            if len(body) > LARGE:
                self._files.write(digest, codec, body)
                self._blobs[digest] = Blob(codec, None, data)
            else:
                self._blobs[digest] = Blob(codec, body, data)
        return digest

    def has_blob(self, digest: str) -> bool:
        return digest in self._blobs or self._reader.has_blob(digest)

    def drop_blob(self, digest: str) -> None:
        self._open_writer().drop_blob(digest)
        self._blobs.pop(digest, None)
        self._files.remove(digest)

    def send(self, run_id: str, message: InboxMessage) -> None:
        body = encode_message(message)
        number = self._reader.existing(run_id).number
        writer = self._open_writer()
        try:
            writer.write_message(number, body)
        except apsw.Error as error:
            raise journal_error(self.path, error) from error

    def acknowledge(self, run_id: str, ids: Sequence[int]) -> None:
        self._open_writer()
        self._acknowledged.update(dict.fromkeys(ids, run_id))

    async def aclose(self) -> None:
        self.close()

    def close(self) -> None:
        """Write the queue and close. Like `aclose`, for callers without an event loop."""
        error = self._commit_and_notify()
        for pending in (self._runs, self._read_positions, self._queue, self._blobs, self._acknowledged):
            pending.clear()
        self._reader.close()
        if self._writer:
            self._writer.close()
            self._writer = None
        if error:
            raise error

    # -- the queue --------------------------------------------------------------------------------------------------

    def _open_writer(self) -> JournalWriter:
        if self._writer is None:
            if self._read_only:
                raise JournalError(
                    f"the journal {self.path} was opened for reading", remedy="open it without read_only"
                )
            self._writer = JournalWriter(self.path, self._durability, self._busy_timeout)
        return self._writer

    def _enqueue(self, run_id: str, events: Sequence[Event], *, awaited: bool) -> tuple[WrittenRun, list[Record]]:
        run = self._runs.get(run_id) or self._look_up(run_id)
        if run is None:
            run = WrittenRun(require_creation(run_id, events[0] if events else None).run_id)
        at, seq, entries = time.time(), run.seq, []
        for event in events:
            if seq and type(event) is RunCreated:
                raise run_exists(run_id)
            seq += 1
            entries.append(as_entry((run, seq, at, event, encode(event), awaited)))
        # Nothing below can fail, so either all events get their numbers or none.
        run.seq = seq
        self._runs[run_id] = run
        self._queue += entries
        return run, [as_record((entry.seq, at, entry.event)) for entry in entries]

    def _look_up(self, run_id: str) -> WrittenRun | None:
        self._open_writer()
        if run_id in self._taken_over:
            raise self._taken_over_error(run_id)
        position = self._read_positions.pop(run_id, None) or self._reader.position(run_id)
        return WrittenRun(run_id, *position) if position else None

    def _can_be_written_alone(self, event: Event) -> bool:
        return not (self._queue or self._blobs or self._acknowledged or type(event) in CHANGES_STATUS)

    # -- commits ----------------------------------------------------------------------------------------------------

    def _commit_one(self, run: WrittenRun, event: Event) -> Record:
        """Commit a single event without the queue. This is the most frequent case, and a third cheaper."""
        body = encode(event)
        record = Record(run.seq + 1, time.time(), event)
        try:
            self._open_writer().write_one(run, record.seq, record.at, event.type, body)
        except apsw.Error as error:
            if isinstance(error, apsw.ConstraintError) and self._find_taken_over({run}):
                del self._runs[run.id]
                raise self._taken_over_error(run.id) from error
            raise journal_error(self.path, error) from error
        except BaseException:
            # The event may or may not be on disk. Forget the run, so that its position is read again.
            del self._runs[run.id]
            raise
        run.seq = run.durable = record.seq
        return record

    async def _commit_in_group(
        self, run: WrittenRun, task: asyncio.Task[Any] | None, records: Sequence[Record]
    ) -> None:
        """Let every ready task make its append, then commit them together."""
        loop = asyncio.get_running_loop()
        committed: asyncio.Future[None] = loop.create_future()
        self._lone_task = None if self._waiting else task
        self._waiting.append((committed, run))
        if self._scheduled_on is not loop:
            self._scheduled_on = loop
            loop.call_soon(self._commit_group)
        try:
            await asyncio.shield(committed)
        except asyncio.CancelledError as error:
            if not committed.done():
                self._commit_and_notify()
            committed.result()
            raise CancelledAfterAppend(records, error) from None

    def _commit_group(self) -> None:
        self._scheduled_on = None
        self._commits_alone = 0
        self._commit_and_notify()

    def _commit_and_notify(self) -> Exception | None:
        """Commit, and notify all waiting callers of the result. Returns the error, if any."""
        waiting, self._waiting = self._waiting, []
        taken_over: Collection[WrittenRun] = ()
        failure: Exception | None = None
        try:
            taken_over = self._commit()
        except Exception as error:
            failure = error
        for committed, run in waiting:
            if committed.done() or committed.get_loop().is_closed():
                continue
            if failure:
                # A copy for each caller, because an error collects the traceback of everyone who raises it.
                committed.set_exception(copy(failure).with_traceback(None))
            elif run in taken_over:
                committed.set_exception(self._taken_over_error(run.id))
            else:
                committed.set_result(None)
        return failure

    def _commit(self) -> Collection[WrittenRun]:
        """Write everything that is queued in one transaction. Returns the runs that another process has continued."""
        if not (self._queue or self._blobs or self._acknowledged):
            return ()
        batch, self._queue = self._queue, []
        acknowledged, self._acknowledged = self._acknowledged, {}
        try:
            self._open_writer().write(batch, self._blobs, acknowledged)
        except apsw.Error as error:
            # The primary key is violated when another process writes one of these runs.
            runs = {entry.run for entry in batch}
            taken_over = self._find_taken_over(runs) if isinstance(error, apsw.ConstraintError) else set()
            if not taken_over:
                self._requeue_notes(batch)
                raise journal_error(self.path, error) from error
            self._requeue_without(taken_over, batch, acknowledged)
            return taken_over | set(self._commit())
        except BaseException:
            for entry in batch:
                self._runs.pop(entry.run.id, None)
            raise
        self._blobs.clear()
        return ()

    def _requeue_notes(self, batch: list[Entry]) -> None:
        """After a failed transaction, queue the notes again. Events of `append` are dropped: callers get the error.

        Notes stay valid: a task cannot note anything that depends on an append that another task still waits for.
        Messages that were acknowledged in this batch are received again.
        """
        for entry in batch:
            entry.run.seq = entry.run.durable
        for entry in batch:
            run = entry.run
            if entry.awaited or (run.seq == 0 and type(entry.event) is not RunCreated):
                continue
            run.seq += 1
            self._queue.append(entry._replace(seq=run.seq))
        for run in {entry.run for entry in batch if entry.run.seq == 0}:
            del self._runs[run.id]

    def _requeue_without(self, taken_over: set[WrittenRun], batch: list[Entry], acknowledged: dict[int, str]) -> None:
        self._queue = [entry for entry in batch if entry.run not in taken_over]
        ids = {run.id for run in taken_over}
        self._acknowledged = {key: run_id for key, run_id in acknowledged.items() if run_id not in ids}
        for run_id in ids:
            del self._runs[run_id]
        self._taken_over |= ids

    def _find_taken_over(self, runs: Collection[WrittenRun]) -> set[WrittenRun]:
        """Return the runs that another process has written to since this one last did; none if that cannot be read."""
        taken_over = set()
        with contextlib.suppress(JournalError):
            for run in runs:
                position = self._reader.position(run.id)
                if position and (position.number, position.last) != (run.number, run.durable):
                    taken_over.add(run)
        return taken_over

    def _taken_over_error(self, run_id: str) -> JournalBusy:
        """Return the error of a takeover, raised once. Later appends continue after the events of the other process."""
        self._taken_over.discard(run_id)
        return JournalBusy(
            f"another process is writing run {run_id}: the events of this process were discarded",
            remedy="let the other process continue, or stop it and resume here",
        )
