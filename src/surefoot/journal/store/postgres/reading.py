"""Reads a journal in PostgreSQL, also while other processes write it, and detects damaged rows.

Rows have the same checksums as in a file, which also protect the transfer to and from the database. A database without
the schema is an empty journal; reading creates nothing.
"""

from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from surefoot.core.transitions import Stage, Verdict
from surefoot.errors import JournalError, JournalUnreachable, JournalVersion, UnknownRun
from surefoot.journal.store.base import (
    LAST,
    SHOWN_CANDIDATES,
    UNDO_KINDS,
    Body,
    DamagedRun,
    Position,
    RunSummary,
    Scanned,
    UndoLabel,
    carries_out,
    names_base,
    select_run,
)
from surefoot.journal.store.blobs import PLAIN, unpack
from surefoot.journal.store.checksums import event_crc, fields_crc, message_crc
from surefoot.journal.store.postgres.connection import broken, connect, driver, is_lost, journal_error
from surefoot.journal.store.postgres.migrations import MIGRATIONS, schema_of
from surefoot.journal.undone import undone_by

if TYPE_CHECKING:
    # Imported where events are decoded: a list of runs needs none.
    from surefoot.journal.events import Record
    from surefoot.journal.messages import InboxItem
    from surefoot.journal.objects.base import ObjectStore
    from surefoot.journal.store.postgres.connection import Connection

_RUN = "number, run_id, task, workspace, model, created_at, crc, stage, verdict, standing, last, updated_at"
PAGE_EVENTS = 500
PAGE_BYTES = 8_000_000
"""How much of a run is read at once. No cursor stays open between pages, so a slow reader blocks nothing."""


class PostgresReader:
    def __init__(self, url: str, objects: "ObjectStore | None" = None) -> None:
        self._url, self._objects = url, objects
        self._idle: list[Connection] = []
        self._closed = False
        self._has_schema = False

    def read(
        self, run_id: str, after: int = 0, at_end: Callable[[Position], object] = lambda _: None
    ) -> "Iterator[Record]":
        """Iterate over events. `at_end` is called with the position if the run was read to its end."""
        position = self.existing(run_id)
        return self._stream(run_id, position, after, at_end)

    def bodies(self, run_ids: Collection[str], kinds: Collection[str]) -> list[Body]:
        """The bodies of some events of these runs, by one query for all of them."""
        sql = (
            "SELECT r.run_id, e.seq, e.at, e.kind, e.crc, e.body FROM surefoot.runs AS r JOIN surefoot.events AS e "
            "ON e.run = r.number WHERE r.run_id = ANY(%s) AND e.kind = ANY(%s) ORDER BY e.run, e.seq"
        )
        rows = self._rows(sql, [*run_ids], [*kinds])
        return [
            Body(run_id, event.kind, event.body or b"")
            for run_id, *row in rows
            for event in self._scanned(run_id, [tuple(row)])
        ]

    def scan(self, run_id: str, kinds: Collection[str]) -> list[Scanned]:
        """All events of a run, in order, with the encoded bodies of some kinds. Other bodies are not read."""
        position = self.existing(run_id)
        sql = (
            "SELECT seq, at, kind, crc, CASE WHEN kind = ANY(%s) THEN body END FROM surefoot.events "
            "WHERE run = %s AND seq <= %s ORDER BY seq"
        )
        events = list(self._scanned(run_id, self._rows(sql, [*kinds], position.number, position.last)))
        if [event.seq for event in events] != list(range(1, position.last + 1)):
            raise broken(self._url, f"events of run {run_id} are missing")
        return events

    def existing(self, run_id: str) -> Position:
        position = self.position(run_id)
        if position is None:
            raise UnknownRun(f"there is no run {run_id}", remedy="see `surefoot list`")
        return position

    def position(self, run_id: str) -> Position | None:
        rows = self._rows(f"SELECT {_RUN} FROM surefoot.runs WHERE run_id = %s", run_id) if run_id.isascii() else []
        return self._position(rows[0]) if rows else None

    def summaries(self, limit: int = 50, workspaces: Collection[str] | None = None) -> list[RunSummary]:
        chosen, values = _in_workspaces("WHERE", workspaces)
        rows = self._rows(f"SELECT {_RUN} FROM surefoot.runs {chosen}ORDER BY number DESC LIMIT %s", *values, limit)
        undone = self._undone(rows)
        return [self._summary(row, undone) for row in rows]

    def summaries_since(
        self, since: float = 0.0, workspaces: Collection[str] | None = None
    ) -> Iterator[RunSummary | DamagedRun]:
        """The runs that began at this time or later, newest first. A damaged one does not end the list."""
        chosen, values = _in_workspaces("AND", workspaces)
        rows = self._rows(
            f"SELECT {_RUN} FROM surefoot.runs WHERE created_at >= %s {chosen}ORDER BY number DESC",
            float(since),
            *values,
        )
        undone = self._undone(rows)
        for row in rows:
            try:
                yield self._summary(row, undone)
            except JournalError as error:
                yield DamagedRun(str(row[1]), str(error))

    def workspaces(self) -> dict[str, int]:
        return dict(self._rows("SELECT workspace, count(*) FROM surefoot.runs GROUP BY workspace"))

    def find(self, prefix: str) -> str:
        # One more than is listed, to know whether there are more.
        newest = self._ids("ORDER BY number DESC LIMIT %s", SHOWN_CANDIDATES + 1)
        if prefix == LAST:
            matches = newest[:1]
        elif prefix.isascii() and "\0" not in prefix:
            matches = self._ids("WHERE starts_with(run_id, %s) ORDER BY number DESC", prefix)
        else:
            matches = []
        return select_run(prefix, matches, newest)

    def has_blob(self, digest: str) -> bool:
        return bool(self._rows("SELECT 1 FROM surefoot.blobs WHERE digest = %s", bytes.fromhex(digest)))

    def blob(self, digest: str) -> bytes:
        try:
            rows = self._rows("SELECT codec, body FROM surefoot.blobs WHERE digest = %s", bytes.fromhex(digest))
        except ValueError:
            rows = []
        if not rows:
            raise broken(self._url, f"there is no content under the hash {digest}")
        codec, body = rows[0]
        if body is None:
            if self._objects is None:
                raise JournalError(
                    f"the content under the hash {digest} is in an object store that is not configured here",
                    remedy="set `objects` in [storage], or SUREFOOT_OBJECTS, as where the run was recorded",
                )
            codec, body = PLAIN, self._objects.get(digest)
        data = None if body is None else unpack(codec, bytes(body), digest)
        if data is None:
            raise broken(self._url, f"the content under the hash {digest} is missing or was changed")
        return data

    def inbox(self, run_id: str, number: int = 0) -> "list[InboxItem]":
        """The messages of a run. `number` is the number of the run, if the caller knows it."""
        from surefoot.journal.messages import InboxItem, decode_message

        run = number or self.existing(run_id).number
        items = []
        for message, crc, body in self._rows(
            "SELECT id, crc, body FROM surefoot.inbox WHERE run = %s ORDER BY id", run
        ):
            if crc != message_crc(run, body):
                raise broken(self._url, f"message {message} for run {run_id} was changed")
            items.append(InboxItem(message, decode_message(body)))
        return items

    def carried_out_by(self, run_id: str) -> list[str]:
        """The runs that carried out the plan of this one, oldest first."""
        sql = (
            "SELECT run_id, body FROM surefoot.runs JOIN surefoot.events ON run = number AND seq = 1 "
            "WHERE number > %s AND position(%s::bytea IN body) > 0 ORDER BY number"
        )
        rows = self._rows(sql, self.existing(run_id).number, names_base(run_id))
        return [plan_run for plan_run, body in rows if carries_out(bytes(body), run_id)]

    def close(self) -> None:
        self._closed = True
        while self._idle:
            self._idle.pop().close()

    def _stream(
        self, run_id: str, position: Position, after: int, at_end: Callable[[Position], object]
    ) -> "Iterator[Record]":
        from surefoot.journal.events import as_record, decode

        seq, pages = after, self._pages(position.number, after)
        for row_seq, at, kind, crc, body in pages:
            seq += 1
            if row_seq != seq or event_crc(run_id, seq, at, kind, body) != crc:
                raise broken(self._url, f"event {seq} of run {run_id} is missing or was changed")
            try:
                event = decode(kind, body)
            except (KeyError, ValueError) as error:
                raise JournalVersion(
                    f"event {seq} of run {run_id} was written by another version of Surefoot: "
                    f"this one cannot read {kind!r}",
                    remedy="upgrade Surefoot, in the way you installed it, to the version that wrote it or newer",
                ) from error
            yield as_record((seq, at, event))
        if seq < position.last and after <= position.last:
            raise broken(self._url, f"the events of run {run_id} after {seq} are missing")
        if seq == position.last:
            at_end(position)

    def _pages(self, number: int, after: int) -> Iterator[tuple[Any, ...]]:
        """The rows of a run, a page at a time. Long events are on pages of their own."""
        sql = (
            "SELECT seq, at, kind, crc, body FROM ("
            "SELECT *, sum(octet_length(body)) OVER (ORDER BY seq) - octet_length(body) AS before FROM ("
            "SELECT * FROM surefoot.events WHERE run = %s AND seq > %s ORDER BY seq LIMIT %s) AS page) AS sized "
            "WHERE before < %s ORDER BY seq"
        )
        while rows := self._rows(sql, number, after, PAGE_EVENTS, PAGE_BYTES):
            yield from rows
            after = rows[-1][0]

    def _scanned(self, run_id: str, rows: Iterable[tuple[Any, ...]]) -> Iterator[Scanned]:
        for seq, at, kind, crc, body in rows:
            if body is not None and event_crc(run_id, seq, at, kind, body) != crc:
                raise broken(self._url, f"event {seq} of run {run_id} was changed")
            yield Scanned(seq, at, kind, body)

    def _position(self, row: Sequence[Any]) -> Position:
        number, run_id, *_, crc, stage, verdict, standing, last, _ = row
        if crc != fields_crc(*row[1:6]):
            raise broken(self._url, f"the entry of run {run_id!r} was changed")
        if last < standing:
            raise broken(self._url, f"the events of run {run_id} are missing")
        return Position(number, last, stage, verdict)

    def _summary(self, row: Sequence[Any], undone: dict[int, UndoLabel]) -> RunSummary:
        position = self._position(row)
        number, run_id, task, workspace, model, created_at, *_, updated_at = row
        try:
            return RunSummary(
                run_id=run_id,
                task=task,
                workspace=workspace,
                model=model,
                stage=Stage(position.stage),
                verdict=Verdict(position.verdict) if position.verdict is not None else None,
                created_at=created_at,
                updated_at=updated_at,
                events=position.last,
                undone=undone.get(number, ""),
            )
        except ValueError as error:
            raise broken(self._url, f"the status of run {run_id} was changed") from error

    def _undone(self, runs: Sequence[Sequence[Any]]) -> dict[int, UndoLabel]:
        """Return the undo labels of runs, from the events after each run's last change of status. By run number."""
        sql = (
            "SELECT e.run, e.at, e.kind, e.body FROM surefoot.events AS e "
            "JOIN unnest(%s::bigint[], %s::integer[]) AS r(number, standing) ON e.run = r.number "
            "WHERE e.seq > r.standing AND e.kind = ANY(%s) ORDER BY e.run, e.seq"
        )
        rows = self._rows(sql, [row[0] for row in runs], [row[9] for row in runs], [*UNDO_KINDS]) if runs else []
        if not rows:
            return {}
        first = "SELECT run, at, kind, body FROM surefoot.events WHERE run = ANY(%s) AND seq = 1"
        rows = [*self._rows(first, list({row[0] for row in rows})), *rows]
        return {
            number: undone_by((at, kind, body) for run, at, kind, body in rows if run == number)
            for number in {row[0] for row in rows}
        }

    def _ids(self, clause: str, value: str | int) -> list[str]:
        return [row[0] for row in self._rows(f"SELECT run_id FROM surefoot.runs {clause}", value)]

    def _rows(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return the rows of a query. Tries once more on a lost connection: the server may have been restarted."""
        for last_try in (False, True):
            try:
                with self._connection() as connection:
                    if not self._look_for_schema(connection):
                        return []
                    return connection.cursor(binary=True).execute(sql, values).fetchall()
            except JournalUnreachable:
                if last_try:
                    raise
                while self._idle:
                    self._idle.pop().close()
        raise AssertionError

    def _look_for_schema(self, connection: "Connection") -> bool:
        """Whether there is a journal. Raises JournalVersion for an older schema, which only a writer migrates."""
        if not self._has_schema:
            version = schema_of(connection, self._url)
            if 0 < version < len(MIGRATIONS):
                raise JournalVersion(
                    "the journal has an older schema",
                    remedy="write to it once with this version, for example by starting a run",
                )
            self._has_schema = version > 0
        return self._has_schema

    @contextmanager
    def _connection(self) -> "Generator[Connection]":
        connection = self._idle.pop() if self._idle else connect(self._url)
        try:
            yield connection
        except driver().Error as error:
            problem = journal_error(self._url, error)
            if is_lost(error, connection):
                connection.close()
                raise JournalUnreachable(str(problem), remedy=problem.remedy) from None
            raise problem from None
        finally:
            if self._closed or connection.closed:
                connection.close()
            else:
                self._idle.append(connection)


def _in_workspaces(word: str, workspaces: Collection[str] | None) -> tuple[str, tuple[Any, ...]]:
    return ("", ()) if workspaces is None else (f"{word} workspace = ANY(%s) ", ([*workspaces],))
