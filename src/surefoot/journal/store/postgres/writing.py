"""Writes to the database: one statement per run and commit, repeated safely when the connection is lost.

A statement whose answer is lost may have been executed, so it is sent again. If it was executed, the database refuses
the repetition, because the run is no longer at the event that it names. The position of the run then confirms it.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from surefoot.errors import JournalError, JournalUnreachable
from surefoot.journal.events import KINDS, Event, RunCreated
from surefoot.journal.store.base import first_line, run_exists
from surefoot.journal.store.blobs import LARGE, pack
from surefoot.journal.store.checksums import event_crc, fields_crc, message_crc
from surefoot.journal.store.postgres.connection import connect, driver, is_lost, journal_error
from surefoot.journal.store.postgres.leases import Lease, lease_lost
from surefoot.journal.store.postgres.migrations import EXISTS, STALE, migrate
from surefoot.journal.store.status import CHANGES_STATUS, status_after

if TYPE_CHECKING:
    from surefoot.journal.objects.base import ObjectStore
    from surefoot.journal.store.postgres.connection import Connection

OBJECT = "object"
"""The codec of content that is in the object store."""
_EVENTS = "%b::double precision[], %b::text[], %b::bigint[], %b::bytea[]"
_APPEND = f"SELECT surefoot.append(%s, %s, %s, %s, %s, %s, %s, {_EVENTS}, %b::bigint[])"
_CREATE = f"SELECT surefoot.create_run(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, {_EVENTS})"
_BLOB = "INSERT INTO surefoot.blobs (digest, codec, body) VALUES (%b, %s, %b) ON CONFLICT (digest) DO NOTHING"
_T = TypeVar("_T")


@dataclass(slots=True, eq=False)
class WrittenRun:
    """A run that this process owns or is about to create."""

    id: str
    owner: str
    lease_seconds: float
    number: int = 0
    """Its number in the database; 0 until it is written."""
    fence: int = 0
    durable: int = 0
    """The number of its last committed event."""
    seq: int = 0
    """The number of its last event, also if that is still queued."""
    stage: str = ""
    verdict: str | None = None
    lost: JournalError | None = None
    """Why nothing more can be written to it."""

    def lease(self) -> Lease:
        return Lease(self.id, self.number, self.fence, self.owner, self.lease_seconds)


@dataclass(slots=True, eq=False)
class Entry:
    """A queued event. Its number may change until it is written."""

    run: WrittenRun
    seq: int
    at: float
    event: Event
    body: bytes
    awaited: bool
    """Whether a caller waits for it. Nobody waits for notes."""


@dataclass(slots=True)
class Columns:
    """The events of one transaction by column, and the status of the run after them."""

    at: list[float] = field(default_factory=list)
    kind: list[str] = field(default_factory=list)
    crc: list[int] = field(default_factory=list)
    body: list[bytes] = field(default_factory=list)
    stage: str = ""
    verdict: str | None = None
    standing: int | None = None


class PostgresWriter:
    """The writing connection. Used by one thread at a time."""

    def __init__(self, url: str, patience: float, objects: "ObjectStore | None") -> None:
        self._url, self._patience, self._objects = url, patience, objects
        self._connection: Connection | None = None

    def open(self) -> "Connection":
        """Return the connection. Connects and migrates the database if needed."""
        if self._connection is None or self._connection.closed:
            connection = connect(self._url)
            try:
                migrate(connection, self._url)
            except driver().Error as error:
                connection.close()
                raise journal_error(self._url, error) from None
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def execute(self, use: "Callable[[Connection, bool], _T]") -> _T:
        """Call `use` with the connection, and again if that is lost. Its second argument is True in later calls."""
        deadline, pause, again = time.monotonic() + self._patience, 0.05, False
        while True:
            try:
                return self._use(use, again)
            except JournalUnreachable:
                if time.monotonic() + pause > deadline:
                    raise
            again = True
            time.sleep(pause)
            pause = min(2 * pause, 2.0)

    def _use(self, use: "Callable[[Connection, bool], _T]", again: bool) -> _T:
        connection = self.open()
        try:
            return use(connection, again)
        except driver().Error as error:
            problem = journal_error(self._url, error)
            if is_lost(error, connection):
                connection.close()
                raise JournalUnreachable(str(problem), remedy=problem.remedy) from None
            raise problem from None

    def append(self, run: WrittenRun, entries: Sequence[Entry], acknowledged: Sequence[int]) -> None:
        """Write the events of one run in one transaction. Raises LeaseLost if another process owns it now."""
        columns = _columns(run, entries)
        if run.number:
            self.execute(lambda connection, again: self._append(connection, again, run, columns, acknowledged))
        else:
            self.execute(lambda connection, again: self._create(connection, again, run, entries[0], columns))
        run.durable += len(entries)
        if columns.standing is not None:
            run.stage, run.verdict = columns.stage, columns.verdict

    def _append(
        self, connection: "Connection", again: bool, run: WrittenRun, columns: Columns, acknowledged: Sequence[int]
    ) -> None:
        status = (columns.stage, columns.verdict, columns.standing)
        values = (columns.at, columns.kind, columns.crc, columns.body, [*acknowledged])
        try:
            connection.execute(_APPEND, (run.number, run.fence, run.durable, run.lease_seconds, *status, *values))
        except driver().Error as error:
            if error.diag.sqlstate != STALE:
                raise
            row = connection.execute(
                "SELECT fence, last, owner FROM surefoot.runs WHERE number = %s", (run.number,)
            ).fetchone()
            fence, last, owner = row or (0, 0, "")
            if again and (fence, last) == (run.fence, run.durable + len(columns.at)):
                # Only this process could have written with this fence.
                return
            raise lease_lost(run.id, owner) from None

    def _create(self, connection: "Connection", again: bool, run: WrittenRun, first: Entry, columns: Columns) -> None:
        created = first.event
        assert isinstance(created, RunCreated)
        # PostgreSQL's `text` cannot hold NUL. The event has the task unchanged.
        task, workspace, model = (
            text.replace("\0", "\ufffd")
            for text in (first_line(created.task.text), created.task.workspace, created.model)
        )
        fields = (run.id, task, workspace, model, first.at)
        status = (columns.stage, columns.verdict, columns.standing)
        events = (columns.at, columns.kind, columns.crc, columns.body)
        try:
            row = connection.execute(
                _CREATE, (*fields, fields_crc(*fields), run.owner, run.lease_seconds, *status, *events)
            ).fetchone()
        except driver().Error as error:
            if error.diag.sqlstate != EXISTS:
                raise
            row = connection.execute(
                "SELECT number FROM surefoot.runs WHERE run_id = %s AND owner = %s AND fence = 1 AND last = %s",
                (run.id, run.owner, len(columns.at)),
            ).fetchone()
            if not (again and row):
                raise run_exists(run.id) from None
        assert row is not None
        run.number, run.fence = row[0], 1

    def write_blobs(self, blobs: Mapping[str, bytes]) -> None:
        """Write content. This needs no lease: any process writes the same, and nothing refers to it before an event."""
        for digest, data in blobs.items():
            codec, body = pack(data)
            if len(body) > LARGE and self._objects is not None:
                self._objects.put(digest, data)
                codec, stored = OBJECT, None
            else:
                stored = body
            row = (bytes.fromhex(digest), codec, stored)
            self.execute(lambda connection, _, row=row: connection.execute(_BLOB, row))  # type: ignore[misc]

    def drop_blob(self, digest: str) -> None:
        key = bytes.fromhex(digest)
        self.execute(lambda connection, _: connection.execute("DELETE FROM surefoot.blobs WHERE digest = %b", (key,)))
        if self._objects is not None:
            self._objects.delete(digest)

    def write_message(self, run: int, body: bytes) -> None:
        sql = "INSERT INTO surefoot.inbox (run, crc, body) VALUES (%s, %s, %b)"
        # A lost connection is replaced before the insert. The insert is not repeated: the message could arrive twice.
        self.execute(lambda connection, _: connection.execute("SELECT 1"))
        connection = self.open()
        try:
            connection.execute(sql, (run, message_crc(run, body), body))
        except driver().Error as error:
            raise journal_error(self._url, error) from None

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _columns(run: WrittenRun, entries: Sequence[Entry]) -> Columns:
    columns = Columns(stage=run.stage, verdict=run.verdict)
    for entry in entries:
        kind = KINDS[type(entry.event)]
        columns.at.append(entry.at)
        columns.kind.append(kind)
        columns.crc.append(event_crc(run.id, entry.seq, entry.at, kind, entry.body))
        columns.body.append(entry.body)
        if type(entry.event) in CHANGES_STATUS:
            stage, verdict = status_after(entry.event, columns.stage, columns.verdict)
            # Plain strings: the driver would write the name of an enum member.
            columns.stage, columns.verdict = str(stage), None if verdict is None else str(verdict)
            columns.standing = entry.seq
    return columns
