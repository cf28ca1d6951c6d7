"""Reading a journal file, also while another process writes it, and never believing a damaged row.

SQLite has no checksums of its own, so every row carries one (blobs have their hash). What does not fit is an error.
"""

import json
import struct
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import apsw

from surefoot.errors import JournalError, JournalVersion, UnknownRun
from surefoot.events import Record, as_record, decode
from surefoot.store.base import LAST, SHOWN_CANDIDATES, InboxItem, RunSummary, chosen
from surefoot.store.blobs import BlobFiles, unpack
from surefoot.store.connection import READ_FAULTS, broken, empty_reader, journal_error, open_reader

RUN_BITS = 32
"""An event's key is its run's number, shifted by this, plus its own number in the run."""
_SEQ = (1 << RUN_BITS) - 1
_SEQ_AND_TIME = struct.Struct("<qd")
_RUN = "number, run_id, task, workspace, model, created_at, runs.crc, stage, verdict, standing"
_LAST_EVENT = f"(SELECT max(id) FROM events WHERE id < (number + 1) << {RUN_BITS})"


def event_crc(run_id: str, seq: int, at: float, kind: str, body: bytes) -> int:
    return crc32(body, crc32(_SEQ_AND_TIME.pack(seq, at), crc32((run_id + kind).encode())))


def fields_crc(*fields: str | int | float) -> int:
    return crc32(json.dumps(fields).encode())


def message_crc(run: int, body: bytes) -> int:
    return crc32(body, run)


class Position(NamedTuple):
    """Where a run is in the database, and where it stands."""

    number: int
    last: int
    stage: str
    verdict: str | None


class JournalReader:
    def __init__(self, path: Path, busy_timeout: float) -> None:
        self._path = path
        self._busy_timeout = busy_timeout
        self._files = BlobFiles(path)
        self._idle: list[apsw.Connection] = []
        self._closed = False

    def read(self, run_id: str, after: int, at_end: Callable[[Position], object] = lambda _: None) -> Iterator[Record]:
        """`at_end` is told where the run stood, when all of it was read and nothing came in between."""
        position = self.existing(run_id)
        return self._stream(run_id, position, after, at_end)

    def existing(self, run_id: str) -> Position:
        position = self.position(run_id)
        if position is None:
            raise self._no_run(run_id)
        return position

    def position(self, run_id: str) -> Position | None:
        row = self._row(f"SELECT {_RUN}, {_LAST_EVENT} FROM runs WHERE run_id = ?", run_id)
        return None if row is None else self._position(row)

    def summaries(self, limit: int) -> list[RunSummary]:
        found = self._rows(
            f"SELECT {_RUN}, events.id, events.at FROM runs LEFT JOIN events ON events.id = {_LAST_EVENT} "
            "ORDER BY number DESC LIMIT ?",
            limit,
        )
        return [self._summary(row) for row in found]

    def find(self, prefix: str) -> str:
        # One more than is shown, so that it can be said that there are more.
        newest = self._ids("ORDER BY number DESC LIMIT ?", SHOWN_CANDIDATES + 1)
        if prefix == LAST:
            matches = newest[:1]
        elif prefix.isascii():
            matches = self._ids("WHERE substr(run_id, 1, length(?1)) = ?1 ORDER BY number DESC", prefix)
        else:
            # Run ids are ASCII. Other text may not even be valid Unicode.
            matches = []
        if not matches:
            self._look_at_every_run()
        found = chosen(prefix, matches, newest)
        self.existing(found)
        return found

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

    def inbox(self, run_id: str, number: int = 0) -> list[InboxItem]:
        """`number`: of the run in the database, where that is known."""
        run = number or self.existing(run_id).number
        items = []
        for message, crc, body in self._rows("SELECT id, crc, body FROM inbox WHERE run = ? ORDER BY id", run):
            if not isinstance(body, bytes) or crc != message_crc(run, body):
                raise broken(self._path, f"message {message} for run {run_id} was changed")
            items.append(InboxItem(message, json.loads(body)))
        return items

    def close(self) -> None:
        self._closed = True
        while self._idle:
            self._idle.pop().close()

    def _stream(
        self, run_id: str, position: Position, after: int, at_end: Callable[[Position], object]
    ) -> Iterator[Record]:
        first, end = position.number << RUN_BITS, (position.number + 1) << RUN_BITS
        key = first + after
        sql = "SELECT id, at, kind, crc, body FROM events WHERE id > ? AND id < ? ORDER BY id"
        with self._connection() as connection, closing(connection.execute(sql, (key, end))) as rows:
            for found, at, kind, crc, body in rows:
                key += 1
                try:
                    intact = found == key and event_crc(run_id, key - first, at, kind, body) == crc
                except (TypeError, struct.error):
                    # Damage can change the type of a value too.
                    intact = False
                if not intact:
                    raise broken(self._path, f"event {key - first} of run {run_id} is missing or was changed")
                try:
                    event = decode(kind, body)
                except (KeyError, ValueError) as error:
                    raise self._of_another_version(run_id, key - first, kind) from error
                yield as_record((key - first, at, event))
        # A damaged page can end the search for more before the end that another search finds.
        if key < first + position.last:
            raise broken(self._path, f"the events of run {run_id} after {key - first} are missing")
        if key == first + position.last:
            at_end(position)

    def _of_another_version(self, run_id: str, seq: int, kind: str) -> JournalVersion:
        return JournalVersion(
            f"event {seq} of run {run_id} in {self._path} was written by another version of Surefoot: "
            f"this one cannot read {kind!r}",
            remedy="use the version that wrote it or a newer one: pip install -U surefoot",
        )

    def _position(self, row: Sequence[Any]) -> Position:
        number, run_id, *_, stage, verdict, since, last = self._checked(row)
        # Where a run stands is known from an event: if that is not there any more, its end was lost.
        if not isinstance(last, int) or not isinstance(since, int) or last < (number << RUN_BITS) + since:
            raise broken(self._path, f"the events of run {run_id} are missing")
        return Position(number, last & _SEQ, stage, verdict)

    def _summary(self, row: Sequence[Any]) -> RunSummary:
        position = self._position(row[:-1])
        _, run_id, task, workspace, model, created_at, *_, updated_at = row
        try:
            return RunSummary(
                run_id=run_id,
                task=task,
                workspace=workspace,
                model=model,
                stage=position.stage,
                verdict=position.verdict,
                created_at=created_at,
                updated_at=updated_at,
                events=position.last,
            )
        except ValueError as error:
            raise broken(self._path, f"the standing of run {run_id} was changed") from error

    def _checked(self, row: Sequence[Any]) -> Sequence[Any]:
        try:
            intact = row[6] == fields_crc(*row[:6])
        except TypeError:
            intact = False
        if not intact:
            raise broken(self._path, f"the entry of run {row[1]!r} was changed")
        return row

    def _no_run(self, run_id: str) -> JournalError | UnknownRun:
        if run_id in self._look_at_every_run():
            return broken(self._path, f"run {run_id} is there, but its index does not lead to it")
        return UnknownRun(f"there is no run {run_id}", remedy="see `surefoot list`")

    def _look_at_every_run(self) -> set[str]:
        """Before it is said that a run is not there, it must be sure that no damage hides it."""
        return {self._checked(row)[1] for row in self._rows(f"SELECT {_RUN} FROM runs NOT INDEXED")}

    def _ids(self, which: str, value: str | int) -> list[str]:
        return [row[0] for row in self._rows(f"SELECT run_id FROM runs {which}", value)]

    def _row(self, sql: str, *values: Any) -> tuple[Any, ...] | None:
        found = self._rows(sql, *values)
        return found[0] if found else None

    def _rows(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        with self._connection() as connection:
            return list(connection.execute(sql, values))

    @contextmanager
    def _connection(self) -> Generator[apsw.Connection]:
        """A connection for this query alone: one that a half-read stream holds would show the others old data."""
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
        # Not kept: the file may be there the next time.
        return open_reader(self._path, self._busy_timeout) if self._path.exists() else empty_reader()
