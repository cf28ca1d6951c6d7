"""Writes transactions to a journal file: events, runs, content, acknowledged messages."""

import contextlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import apsw

from surefoot.journal.events import KINDS, Event, Record, encode
from surefoot.journal.store.base import first_line
from surefoot.journal.store.blobs import LARGE, BlobFiles, digest_of, pack
from surefoot.journal.store.checksums import RUN_BITS, event_crc, fields_crc, message_crc
from surefoot.journal.store.connection import Durability, open_writer
from surefoot.journal.store.status import CHANGES_STATUS, require_creation, status_after

_INSERT_EVENT = "INSERT INTO events (id, at, kind, crc, body) VALUES (?, ?, ?, ?, ?)"
_MAX_SEVERAL = 8
_INSERT_SEVERAL = [_INSERT_EVENT + ", (?, ?, ?, ?, ?)" * more for more in range(-1, _MAX_SEVERAL)]
"""Indexed by the number of events. A single statement is a transaction by itself, and cheaper than three."""
_INSERT_RUN = (
    "INSERT INTO runs (number, run_id, task, workspace, model, created_at, crc, stage, standing) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, '', 1)"
)
_UPDATE_RUN = "UPDATE runs SET stage = ?, verdict = ?, standing = ? WHERE number = ?"


class WrittenRun:
    """A run that this process writes."""

    __slots__ = ("durable", "id", "number", "seq", "stage", "verdict")

    def __init__(self, run_id: str, number: int = 0, durable: int = 0, stage: str = "", verdict: str | None = None):
        self.id = run_id
        self.number = number
        """Its number in the database; 0 until it is written."""
        self.durable = durable
        """The number of its last committed event."""
        self.seq = durable
        """The number of its last event, also if that is still queued."""
        self.stage = stage
        self.verdict = verdict


class Entry(NamedTuple):
    """A queued event."""

    run: WrittenRun
    seq: int
    at: float
    event: Event
    body: bytes
    awaited: bool
    """Whether a caller waits for it. Nobody waits for notes."""


as_entry: Callable[[tuple[WrittenRun, int, float, Event, bytes, bool]], Entry] = partial(tuple.__new__, Entry)
"""Like `Entry._make`, with one call fewer."""


class Blob(NamedTuple):
    codec: str
    body: bytes | None
    """None: it is stored in a file."""
    data: bytes


class JournalWriter:
    """The writing connection."""

    def __init__(self, path: Path, durability: Durability, busy_timeout: float) -> None:
        self._connection = open_writer(path, durability, busy_timeout)
        self._execute = self._connection.cursor().execute

    def write(self, entries: Sequence[Entry], blobs: Mapping[str, Blob], acknowledged: Collection[int]) -> None:
        """Write everything in one transaction."""
        if 0 < len(entries) <= _MAX_SEVERAL and not blobs and not acknowledged and self._write_several(entries):
            return
        self._execute("BEGIN IMMEDIATE")
        try:
            after = self._write_all(entries, blobs, acknowledged)
            self._execute("COMMIT")
        except BaseException:
            with contextlib.suppress(apsw.Error):
                if self._connection.in_transaction:
                    self._execute("ROLLBACK")
            raise
        for run, (number, durable, stage, verdict) in after.items():
            run.number, run.durable, run.stage, run.verdict = number, durable, stage, verdict

    def write_one(self, run: WrittenRun, seq: int, at: float, kind: str, body: bytes) -> None:
        """Write one event. A single statement is a transaction by itself, and cheaper than three."""
        key = (run.number << RUN_BITS) + seq
        self._execute(_INSERT_EVENT, (key, at, kind, event_crc(run.id, seq, at, kind, body), body))

    def _write_several(self, entries: Sequence[Entry]) -> bool:
        """Write events of existing runs that do not change a status. Returns False if others are among them."""
        values: list[object] = []
        for run, seq, at, event, body, _ in entries:
            if not run.number or type(event) in CHANGES_STATUS:
                return False
            kind = KINDS[type(event)]
            values += ((run.number << RUN_BITS) + seq, at, kind, event_crc(run.id, seq, at, kind, body), body)
        self._execute(_INSERT_SEVERAL[len(entries)], values)
        for entry in entries:
            entry.run.durable = entry.seq
        return True

    def write_message(self, run: int, body: bytes) -> None:
        self._execute("INSERT INTO inbox (run, crc, body) VALUES (?, ?, ?)", (run, message_crc(run, body), body))

    def drop_blob(self, digest: str) -> None:
        """Delete content, and overwrite its bytes in the file."""
        self._execute("PRAGMA secure_delete = ON")
        self._execute("DELETE FROM blobs WHERE digest = ?", (bytes.fromhex(digest),))

    def close(self) -> None:
        self._connection.close()

    def _write_all(
        self, entries: Sequence[Entry], blobs: Mapping[str, Blob], acknowledged: Collection[int]
    ) -> dict[WrittenRun, tuple[int, int, str, str | None]]:
        """Execute the statements. Returns the number, last event, stage and verdict of each run after the commit."""
        execute_many = self._connection.executemany
        last = {entry.run: entry.seq for entry in entries}
        numbers = {run: run.number for run in last}
        statuses: dict[WrittenRun, tuple[str, str | None, int]] = {}
        rows = []
        for entry in entries:
            run, seq, at, event, body, _ = entry
            number = numbers[run]
            if not number:
                number = numbers[run] = self._insert_run(entry)
            if type(event) in CHANGES_STATUS:
                stage, verdict, _ = statuses.get(run, (run.stage, run.verdict, 0))
                statuses[run] = (*status_after(event, stage, verdict), seq)
            kind = KINDS[type(event)]
            rows.append(((number << RUN_BITS) + seq, at, kind, event_crc(run.id, seq, at, kind, body), body))
        execute_many(_INSERT_EVENT, rows)
        for run, status in statuses.items():
            self._execute(_UPDATE_RUN, (*status, numbers[run]))
        if blobs:
            execute_many(
                "INSERT OR IGNORE INTO blobs (digest, codec, body) VALUES (?, ?, ?)",
                [(bytes.fromhex(digest), blob.codec, blob.body) for digest, blob in blobs.items()],
            )
        if acknowledged:
            execute_many("DELETE FROM inbox WHERE id = ?", [(key,) for key in acknowledged])
        return {run: (numbers[run], seq, *statuses.get(run, (run.stage, run.verdict))[:2]) for run, seq in last.items()}

    def _insert_run(self, entry: Entry) -> int:
        created = require_creation(entry.run.id, entry.event)
        ((number,),) = self._execute("SELECT coalesce(max(number), 0) + 1 FROM runs")
        fields = (
            number,
            created.run_id,
            first_line(created.task.text),
            created.task.workspace,
            created.model,
            entry.at,
        )
        self._execute(_INSERT_RUN, (*fields, fields_crc(*fields)))
        return int(number)


def import_run(
    path: Path, run_id: str, records: Sequence[Record], blobs: Iterable[bytes], timeout: float = 5.0
) -> None:
    """Write a run from another journal, with the numbers and times of its events; all of it or nothing.

    The journal must not have the run yet.
    """
    run, files = WrittenRun(run_id), BlobFiles(path)
    stored: dict[str, Blob] = {}
    writer = JournalWriter(path, "process", timeout)
    try:
        for data in blobs:
            digest, (codec, body) = digest_of(data), pack(data)
            if len(body) > LARGE:
                files.write(digest, codec, body)
            stored[digest] = Blob(codec, None if len(body) > LARGE else body, data)
        entries = [Entry(run, record.seq, record.at, record.event, encode(record.event), False) for record in records]
        writer.write(entries, stored, ())
    finally:
        writer.close()
