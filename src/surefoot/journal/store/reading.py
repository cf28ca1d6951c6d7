"""Reads a journal file, also while another process writes it, and detects damaged rows by their checksums."""

import json
import struct
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import apsw

from surefoot.core.transitions import Stage, Verdict
from surefoot.errors import JournalError, JournalVersion, UnknownRun
from surefoot.journal.store.base import (
    LAST,
    SHOWN_CANDIDATES,
    UNDO_KINDS,
    Body,
    DamagedRun,
    Position,
    RunSummary,
    Scanned,
    carries_out,
    names_base,
    select_run,
)
from surefoot.journal.store.blobs import BlobFiles, unpack
from surefoot.journal.store.checksums import RUN_BITS, event_crc, fields_crc, message_crc
from surefoot.journal.store.connection import READ_FAULTS, broken, empty_reader, journal_error, open_reader
from surefoot.journal.undone import undone_by

if TYPE_CHECKING:
    # Imported where events are decoded: a list of runs needs none.
    from surefoot.journal.events import Record
    from surefoot.journal.messages import InboxItem

_SEQ = (1 << RUN_BITS) - 1
_RUN = "number, run_id, task, workspace, model, created_at, runs.crc, stage, verdict, standing"
_LAST_EVENT = f"(SELECT max(id) FROM events WHERE id < (number + 1) << {RUN_BITS})"


class JournalReader:
    def __init__(self, path: Path, busy_timeout: float) -> None:
        self._path = path
        self._busy_timeout = busy_timeout
        self._files = BlobFiles(path)
        self._idle: list[apsw.Connection] = []
        self._closed = False

    def read(
        self, run_id: str, after: int = 0, at_end: Callable[[Position], object] = lambda _: None
    ) -> "Iterator[Record]":
        """Iterate over events. `at_end` is called with the position if the run was read to its end and is unchanged."""
        position = self.existing(run_id)
        return self._stream(run_id, position, after, at_end)

    def bodies(self, run_ids: Collection[str], kinds: Collection[str]) -> list[Body]:
        """The bodies of some events of these runs, by one query for all of them.

        Other events are neither decoded nor checked for damage.
        """
        sql = (
            f"SELECT run_id, id - (number << {RUN_BITS}), at, kind, events.crc, body FROM runs CROSS JOIN events "
            f"ON id > number << {RUN_BITS} AND id < (number + 1) << {RUN_BITS} "
            "WHERE run_id IN (SELECT value FROM json_each(?)) AND kind IN (SELECT value FROM json_each(?)) ORDER BY id"
        )
        rows = self._rows(sql, json.dumps([*run_ids]), json.dumps([*kinds]))
        return [
            Body(run_id, kind, self._intact(run_id, seq, at, kind, crc, body))
            for run_id, seq, at, kind, crc, body in rows
        ]

    def scan(self, run_id: str, kinds: Collection[str]) -> list[Scanned]:
        """All events of a run, in order, with the encoded bodies of some kinds. Other bodies are not read."""
        position = self.existing(run_id)
        first = position.number << RUN_BITS
        sql = (
            "SELECT id, at, kind, crc, CASE WHEN kind IN (SELECT value FROM json_each(?)) THEN body END FROM events "
            "WHERE id > ? AND id <= ? ORDER BY id"
        )
        rows = self._rows(sql, json.dumps([*kinds]), first, first + position.last)
        events = list(self._scanned(run_id, first, rows))
        if [event.seq for event in events] != list(range(1, position.last + 1)):
            raise broken(self._path, f"events of run {run_id} are missing")
        return events

    def _scanned(self, run_id: str, first: int, rows: Iterable[tuple[Any, ...]]) -> Iterator[Scanned]:
        for row_id, at, kind, crc, body in rows:
            seq = row_id - first
            yield Scanned(seq, at, kind, None if body is None else self._intact(run_id, seq, at, kind, crc, body))

    def _intact(self, run_id: str, seq: int, at: Any, kind: Any, crc: Any, body: Any) -> bytes:
        """Return the body of an event. Raises JournalBroken if its checksum does not match."""
        try:
            intact = event_crc(run_id, seq, at, kind, body) == crc
        except (TypeError, struct.error):
            intact = False
        if not intact:
            raise broken(self._path, f"event {seq} of run {run_id} was changed")
        return bytes(body)

    def existing(self, run_id: str) -> Position:
        position = self.position(run_id)
        if position is None:
            raise self._no_run(run_id)
        return position

    def position(self, run_id: str) -> Position | None:
        row = self._row(f"SELECT {_RUN}, {_LAST_EVENT} FROM runs WHERE run_id = ?", run_id)
        return None if row is None else self._position(row)

    def summaries(self, limit: int = 50, workspaces: Collection[str] | None = None) -> list[RunSummary]:
        chosen = "" if workspaces is None else "WHERE workspace IN (SELECT value FROM json_each(?)) "
        rows = self._rows(
            f"SELECT {_RUN}, events.id, events.at FROM runs LEFT JOIN events ON events.id = {_LAST_EVENT} "
            f"{chosen}ORDER BY number DESC LIMIT ?",
            *(() if workspaces is None else (json.dumps([*workspaces]),)),
            limit,
        )
        undo_events = self._undo_events(rows)
        return [self._summary(row, undo_events) for row in rows]

    def summaries_since(
        self, since: float = 0.0, workspaces: Collection[str] | None = None
    ) -> Iterator[RunSummary | DamagedRun]:
        """The runs that began at this time or later, newest first. A damaged one does not end the list."""
        chosen = "" if workspaces is None else "AND workspace IN (SELECT value FROM json_each(?)) "
        rows = self._rows(
            f"SELECT {_RUN}, events.id, events.at FROM runs LEFT JOIN events ON events.id = {_LAST_EVENT} "
            f"WHERE created_at >= ? {chosen}ORDER BY number DESC",
            since,
            *(() if workspaces is None else (json.dumps([*workspaces]),)),
        )
        undo_events = self._undo_events(rows)
        for row in rows:
            try:
                yield self._summary(row, undo_events)
            except JournalError as error:
                yield DamagedRun(str(row[1]), str(error))

    def workspaces(self) -> dict[str, int]:
        return dict(self._rows("SELECT workspace, count(*) FROM runs GROUP BY workspace"))

    def find(self, prefix: str) -> str:
        # One more than is listed, to know whether there are more.
        newest = self._ids("ORDER BY number DESC LIMIT ?", SHOWN_CANDIDATES + 1)
        if prefix == LAST:
            matches = newest[:1]
        elif prefix.isascii():
            matches = self._ids("WHERE substr(run_id, 1, length(?1)) = ?1 ORDER BY number DESC", prefix)
        else:
            # Run ids are ASCII, and this text may not even be valid Unicode.
            matches = []
        if not matches:
            self._check_all_runs()
        run_id = select_run(prefix, matches, newest)
        self.existing(run_id)
        return run_id

    def has_blob(self, digest: str) -> bool:
        return self._row("SELECT 1 FROM blobs WHERE digest = ?", bytes.fromhex(digest)) is not None

    def blob(self, digest: str) -> bytes:
        try:
            row = self._row("SELECT codec, body FROM blobs WHERE digest = ?", bytes.fromhex(digest))
        except ValueError:
            row = None
        if row is None:
            raise broken(self._path, f"there is no content under the hash {digest}")
        codec, body = row
        if body is None:
            body = self._files.read(digest, codec)
        data = unpack(codec, body, digest) if isinstance(body, bytes) else None
        if data is None:
            raise broken(self._path, f"the content under the hash {digest} is missing or was changed")
        return data

    def inbox(self, run_id: str, number: int = 0) -> "list[InboxItem]":
        """The messages of a run. `number` is the number of the run, if the caller knows it."""
        run = number or self.existing(run_id).number
        from surefoot.journal.messages import InboxItem, decode_message

        items = []
        for message, crc, body in self._rows("SELECT id, crc, body FROM inbox WHERE run = ? ORDER BY id", run):
            if not isinstance(body, bytes) or crc != message_crc(run, body):
                raise broken(self._path, f"message {message} for run {run_id} was changed")
            items.append(InboxItem(message, decode_message(body)))
        return items

    def carried_out_by(self, run_id: str) -> list[str]:
        """The runs that carried out the plan of this one, oldest first."""
        sql = (
            f"SELECT run_id, body FROM runs JOIN events ON events.id = (number << {RUN_BITS}) + 1 "
            "WHERE number > ? AND instr(body, ?) ORDER BY number"
        )
        rows = self._rows(sql, self.existing(run_id).number, names_base(run_id))
        return [plan_run for plan_run, body in rows if carries_out(body, run_id)]

    def close(self) -> None:
        self._closed = True
        while self._idle:
            self._idle.pop().close()

    def _stream(
        self, run_id: str, position: Position, after: int, at_end: Callable[[Position], object]
    ) -> "Iterator[Record]":
        from surefoot.journal.events import as_record, decode

        first, end = position.number << RUN_BITS, (position.number + 1) << RUN_BITS
        key = first + after
        sql = "SELECT id, at, kind, crc, body FROM events WHERE id > ? AND id < ? ORDER BY id"
        with self._connection() as connection, closing(connection.execute(sql, (key, end))) as rows:
            for row_id, at, kind, crc, body in rows:
                key += 1
                try:
                    intact = row_id == key and event_crc(run_id, key - first, at, kind, body) == crc
                except (TypeError, struct.error):
                    # Damage can also change the type of a value.
                    intact = False
                if not intact:
                    raise broken(self._path, f"event {key - first} of run {run_id} is missing or was changed")
                try:
                    event = decode(kind, body)
                except (KeyError, ValueError) as error:
                    raise self._unknown_event(run_id, key - first, kind) from error
                yield as_record((key - first, at, event))
        # On a damaged page this query can end early, while the query for the last event finds more.
        if key < first + position.last:
            raise broken(self._path, f"the events of run {run_id} after {key - first} are missing")
        if key == first + position.last:
            at_end(position)

    def _unknown_event(self, run_id: str, seq: int, kind: str) -> JournalVersion:
        return JournalVersion(
            f"event {seq} of run {run_id} in {self._path} was written by another version of Surefoot: "
            f"this one cannot read {kind!r}",
            remedy="upgrade Surefoot, in the way you installed it, to the version that wrote it or newer",
        )

    def _position(self, row: Sequence[Any]) -> Position:
        number, run_id, *_, stage, verdict, since, last = self._verified(row)
        # The status comes from the event with the number `since`. If that event is missing, the end of the run is lost.
        if not isinstance(last, int) or not isinstance(since, int) or last < (number << RUN_BITS) + since:
            raise broken(self._path, f"the events of run {run_id} are missing")
        return Position(number, last & _SEQ, stage, verdict)

    def _summary(self, row: Sequence[Any], undo_events: "_UndoEvents") -> RunSummary:
        position = self._position(row[:-1])
        _, run_id, task, workspace, model, created_at, *_, updated_at = row
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
                undone=undone_by(undo_events.get(position.number, [])),
            )
        except ValueError as error:
            raise broken(self._path, f"the status of run {run_id} was changed") from error

    def _undo_events(self, runs: Sequence[Sequence[Any]]) -> "_UndoEvents":
        """Return the undo events after each run's last change of status, and its first event. No query per run."""
        spans = [((row[0] << RUN_BITS) + row[9], row[10]) for row in runs if isinstance(row[10], int)]
        kinds = ", ".join(f"'{kind}'" for kind in UNDO_KINDS)
        sql = (
            "SELECT events.id, at, kind, body FROM json_each(?) AS spans CROSS JOIN events "
            "ON events.id > spans.value ->> 0 AND events.id <= spans.value ->> 1 "
            f"WHERE kind IN ({kinds}) ORDER BY events.id"
        )
        rows = self._rows(sql, json.dumps(spans)) if spans else []
        if rows:
            # Whether an undo is complete depends on the snapshot in the first event.
            created = json.dumps([(row[0] >> RUN_BITS << RUN_BITS) + 1 for row in rows])
            first = "SELECT id, at, kind, body FROM events WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id"
            rows = [*self._rows(first, created), *rows]
        by_run: _UndoEvents = {}
        for event_id, at, kind, body in rows:
            by_run.setdefault(event_id >> RUN_BITS, []).append((at, kind, body))
        return by_run

    def _verified(self, row: Sequence[Any]) -> Sequence[Any]:
        """Return the row of a run. Raises JournalBroken if its checksum does not match."""
        try:
            intact = row[6] == fields_crc(*row[:6])
        except TypeError:
            intact = False
        if not intact:
            raise broken(self._path, f"the entry of run {row[1]!r} was changed")
        return row

    def _no_run(self, run_id: str) -> JournalError | UnknownRun:
        if run_id in self._check_all_runs():
            return broken(self._path, f"run {run_id} exists, but the index does not contain it")
        return UnknownRun(f"there is no run {run_id}", remedy="see `surefoot list`")

    def _check_all_runs(self) -> set[str]:
        """Return the ids of all runs, read without the index: a damaged index must not hide an existing run."""
        return {self._verified(row)[1] for row in self._rows(f"SELECT {_RUN} FROM runs NOT INDEXED")}

    def _ids(self, clause: str, value: str | int) -> list[str]:
        return [row[0] for row in self._rows(f"SELECT run_id FROM runs {clause}", value)]

    def _row(self, sql: str, *values: Any) -> tuple[Any, ...] | None:
        rows = self._rows(sql, *values)
        return rows[0] if rows else None

    def _rows(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        with self._connection() as connection:
            return list(connection.execute(sql, values))

    @contextmanager
    def _connection(self) -> Generator[apsw.Connection]:
        """Yield a connection for one query. One that is shared with a half-read stream would show old data."""
        connection = self._idle.pop() if self._idle else self._open()
        try:
            yield connection
        except READ_FAULTS as error:
            raise journal_error(self._path, error) from error
        finally:
            if self._closed or connection.filename == "":
                connection.close()
            else:
                self._idle.append(connection)

    def _open(self) -> apsw.Connection:
        # An empty reader is not reused: the file may exist the next time.
        return open_reader(self._path, self._busy_timeout) if self._path.exists() else empty_reader()


_UndoEvents: TypeAlias = dict[int, list[tuple[float, str, bytes]]]
"""Times, kinds and bodies of events, by the number of their run."""
