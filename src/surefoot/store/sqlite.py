"""The journal in one SQLite file: what waits to be written, and who is told when it is.

Commits run on the event loop's own thread: one costs less than a hop to another thread and back. Appends that several
tasks make at the same time share a transaction; a task that writes alone commits without giving up its turn.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from copy import copy
from pathlib import Path
from typing import Any

import apsw

from surefoot.errors import JournalBusy, JournalError
from surefoot.events import Event, Record, RunCreated, as_record, decode, encode
from surefoot.store.base import (
    CHANGES_STANDING,
    InboxItem,
    RunSummary,
    already_there,
    creation,
    encoded_message,
)
from surefoot.store.blobs import LARGE, BlobFiles, digest_of, pack
from surefoot.store.connection import Durability, journal_error
from surefoot.store.reading import JournalReader, Position
from surefoot.store.writing import Blob, Entry, JournalWriter, Run, as_entry

TURNS_ALONE = 64
"""After so many commits in a row a task lets the others run, however alone it seems."""


class SqliteJournal:
    """Reading never makes the file; the first write does. Use it from one thread."""

    def __init__(
        self,
        path: Path,
        *,
        durability: Durability = "process",
        redact: Callable[[str], str] | None = None,
        read_only: bool = False,
        busy_timeout: float = 5.0,
    ) -> None:
        self.path = path
        self._durability = durability
        self._redact = redact
        """It gets text and gives it back with plain ASCII, no quotes, no backslashes, in the place of secrets."""
        self._read_only = read_only
        self._busy_timeout = busy_timeout
        self._reader = JournalReader(path, busy_timeout)
        self._writer: JournalWriter | None = None
        self._files = BlobFiles(path)
        self._runs: dict[str, Run] = {}
        self._read_to: dict[str, Position] = {}
        """Where runs stood that were read here. Who goes on with one goes on from what was read: if somebody else wrote
        to it in between, that must come out."""
        self._lost: set[str] = set()
        """Runs that another process has gone on with, which nobody here was told yet."""
        # What the next transaction takes along.
        self._queue: list[Entry] = []
        self._blobs: dict[str, Blob] = {}
        self._acknowledged: dict[int, str] = {}
        # Who is told when it is done, and the loop that was asked to do it.
        self._waiting: list[tuple[asyncio.Future[None], Run]] = []
        self._asked: asyncio.AbstractEventLoop | None = None
        self._lone_task: asyncio.Task[Any] | None = None
        self._turns_alone = 0

    # reading

    def read(self, run_id: str, after: int = 0) -> Iterator[Record]:
        if self._read_only or run_id in self._runs:
            return self._reader.read(run_id, after)
        return self._reader.read(run_id, after, lambda position: self._read_to.update({run_id: position}))

    def summaries(self, limit: int = 50) -> list[RunSummary]:
        return self._reader.summaries(limit)

    def find(self, prefix: str) -> str:
        return self._reader.find(prefix)

    def get_blob(self, digest: str) -> bytes:
        waiting = self._blobs.get(digest)
        return waiting.data if waiting else self._reader.blob(digest)

    def receive(self, run_id: str) -> list[InboxItem]:
        known = self._runs.get(run_id)
        items = self._reader.inbox(run_id, known.number if known else 0)
        return [item for item in items if item.id not in self._acknowledged]

    # writing

    async def append(self, run_id: str, events: Sequence[Event]) -> list[Record]:
        task = asyncio.current_task()
        if task is not self._lone_task or self._turns_alone == TURNS_ALONE or self._waiting:
            run, records = self._enqueue(run_id, events, awaited=True)
            await self._commit_with_others(run, task)
            return records
        self._turns_alone += 1
        known = self._runs.get(run_id)
        if known and len(events) == 1 and self._needs_no_company(events[0]):
            return [self._commit_one(known, events[0])]
        run, records = self._enqueue(run_id, events, awaited=True)
        if run in self._commit():
            raise self._taken_over(run_id)
        return records

    def note(self, run_id: str, event: Event) -> Record:
        run = self._runs.get(run_id)
        if run is None or type(event) is RunCreated:
            return self._enqueue(run_id, (event,), awaited=False)[1][0]
        if self._redact is None:
            body = encode(event)
        else:
            event, body = self._as_written(event)
        run.seq = seq = run.seq + 1
        at = time.time()
        self._queue.append(as_entry((run, seq, at, event, body, False)))
        return as_record((seq, at, event))

    async def flush(self) -> None:
        if error := self._commit_for_all():
            raise error

    def put_blob(self, data: bytes) -> str:
        self._writing()
        data = self._redacted_blob(data)
        digest = digest_of(data)
        if digest not in self._blobs and not self._reader.has_blob(digest):
            codec, body = pack(data)
            if len(body) > LARGE:
                self._files.write(digest, codec, body)
                self._blobs[digest] = Blob(codec, None, data)
            else:
                self._blobs[digest] = Blob(codec, body, data)
        return digest

    def send(self, run_id: str, message: dict[str, Any]) -> None:
        body = encoded_message(message)
        number = self._reader.existing(run_id).number
        writer = self._writing()
        try:
            writer.leave_message(number, body)
        except apsw.Error as error:
            raise journal_error(self.path, error) from error

    def acknowledge(self, run_id: str, ids: Sequence[int]) -> None:
        self._writing()
        self._acknowledged.update(dict.fromkeys(ids, run_id))

    async def aclose(self) -> None:
        self.close()

    def close(self) -> None:
        """Like `aclose`, for those who have no event loop. What still waits is written first."""
        error = self._commit_for_all()
        for pending in (self._runs, self._read_to, self._queue, self._blobs, self._acknowledged):
            pending.clear()
        self._reader.close()
        if self._writer:
            self._writer.close()
            self._writer = None
        if error:
            raise error

    # on the way to the disk

    def _writing(self) -> JournalWriter:
        if self._writer is None:
            if self._read_only:
                raise JournalError(
                    f"the journal {self.path} was opened for reading", remedy="open it without read_only"
                )
            self._writer = JournalWriter(self.path, self._durability, self._busy_timeout)
        return self._writer

    def _enqueue(self, run_id: str, events: Sequence[Event], *, awaited: bool) -> tuple[Run, list[Record]]:
        run = self._runs.get(run_id) or self._look_up(run_id)
        if run is None:
            run = Run(creation(run_id, events[0] if events else None).run_id)
        at, seq, entries = time.time(), run.seq, []
        for event in events:
            if seq and type(event) is RunCreated:
                raise already_there(run_id)
            seq += 1
            entries.append(as_entry((run, seq, at, *self._as_written(event), awaited)))
        # From here on nothing can fail: either all of them have their numbers or none.
        run.seq = seq
        self._runs[run_id] = run
        self._queue += entries
        return run, [as_record((entry.seq, at, entry.event)) for entry in entries]

    def _look_up(self, run_id: str) -> Run | None:
        self._writing()
        if run_id in self._lost:
            raise self._taken_over(run_id)
        position = self._read_to.pop(run_id, None) or self._reader.position(run_id)
        return Run(run_id, *position) if position else None

    def _as_written(self, event: Event) -> tuple[Event, bytes]:
        body = encode(event)
        if self._redact is None:
            return event, body
        text = body.decode()
        clean = self._redact(text)
        if clean == text:
            return event, body
        body = clean.encode()
        try:
            return decode(event.type, body), body
        except ValueError as error:
            raise JournalError(
                f"the event {event.type} could not be read any more after its secrets were taken out: {error}",
                remedy="a pattern for secrets is too wide: it matches ids, hashes or names of fields",
            ) from error

    def _redacted_blob(self, data: bytes) -> bytes:
        if self._redact is None:
            return data
        try:
            return self._redact(data.decode()).encode()
        except UnicodeDecodeError:
            return data

    def _needs_no_company(self, event: Event) -> bool:
        return not (self._queue or self._blobs or self._acknowledged or type(event) in CHANGES_STANDING)

    def _commit_one(self, run: Run, event: Event) -> Record:
        """What happens most: an event by itself. Without the queue it costs a third less."""
        event, body = self._as_written(event)
        record = Record(run.seq + 1, time.time(), event)
        try:
            self._writing().write_one(run, record.seq, record.at, event.type, body)
        except apsw.Error as error:
            if isinstance(error, apsw.ConstraintError) and self._moved_on({run}):
                del self._runs[run.id]
                raise self._taken_over(run.id) from error
            raise journal_error(self.path, error) from error
        except BaseException:
            # It may or may not be on the disk: look there before going on.
            del self._runs[run.id]
            raise
        run.seq = run.durable = record.seq
        return record

    async def _commit_with_others(self, run: Run, task: asyncio.Task[Any] | None) -> None:
        """Let every task that is ready make its append, then write them all at once."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()
        self._lone_task = None if self._waiting else task
        self._waiting.append((done, run))
        if self._asked is not loop:
            self._asked = loop
            loop.call_soon(self._commit_group)
        await done

    def _commit_group(self) -> None:
        self._asked = None
        self._turns_alone = 0
        self._commit_for_all()

    def _commit_for_all(self) -> Exception | None:
        """Commit, and tell everyone who waits, whatever happened."""
        waiting, self._waiting = self._waiting, []
        lost: Collection[Run] = ()
        failure: Exception | None = None
        try:
            lost = self._commit()
        except Exception as error:
            failure = error
        for done, run in waiting:
            if done.done() or done.get_loop().is_closed():
                continue
            if failure:
                # One for each: an error collects the tracebacks of all who raise it.
                done.set_exception(copy(failure).with_traceback(None))
            elif run in lost:
                done.set_exception(self._taken_over(run.id))
            else:
                done.set_result(None)
        return failure

    def _commit(self) -> Collection[Run]:
        """Write all that waits, in one transaction. Returned are runs that another process has gone on with."""
        if not (self._queue or self._blobs or self._acknowledged):
            return ()
        batch, self._queue = self._queue, []
        acknowledged, self._acknowledged = self._acknowledged, {}
        try:
            self._writing().write(batch, self._blobs, acknowledged)
        except apsw.Error as error:
            # The database refuses a number that is taken: someone else writes one of these runs.
            runs = {entry.run for entry in batch}
            lost = self._moved_on(runs) if isinstance(error, apsw.ConstraintError) else set()
            if not lost:
                self._put_back_notes(batch)
                raise journal_error(self.path, error) from error
            self._put_back_without(lost, batch, acknowledged)
            return lost | set(self._commit())
        except BaseException:
            for entry in batch:
                self._runs.pop(entry.run.id, None)
            raise
        self._blobs.clear()
        return ()

    def _put_back_notes(self, batch: list[Entry]) -> None:
        """After a failed transaction: who waits is told, so those events are dropped; notes get their next chance.

        What a task noted cannot depend on an append that another task was still waiting for, so it stays true.
        Messages that were acknowledged with this batch are received again.
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

    def _moved_on(self, runs: Collection[Run]) -> set[Run]:
        """Those that someone else has written to since we last did; none if that cannot be found out."""
        lost = set()
        with contextlib.suppress(JournalError):
            for run in runs:
                position = self._reader.position(run.id)
                if position and (position.number, position.last) != (run.number, run.durable):
                    lost.add(run)
        return lost

    def _put_back_without(self, lost: set[Run], batch: list[Entry], acknowledged: dict[int, str]) -> None:
        self._queue = [entry for entry in batch if entry.run not in lost]
        ids = {run.id for run in lost}
        self._acknowledged = {key: run_id for key, run_id in acknowledged.items() if run_id not in ids}
        for run_id in ids:
            del self._runs[run_id]
        self._lost |= ids

    def _taken_over(self, run_id: str) -> JournalBusy:
        """Said once. Who goes on after that goes on from where the other one is."""
        self._lost.discard(run_id)
        return JournalBusy(
            f"another process is writing run {run_id}: what this one was about to write was left out",
            remedy="let the other one go on, or stop it and resume here",
        )
