"""The migrations of the schema: functions in a list, applied in order, never changed once released.

A file is inspected before anything is written to it. A file that is not a journal, or is newer than this version of
Surefoot, is not modified.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path

import apsw

from surefoot._version import __version__
from surefoot.errors import JournalBroken, JournalError, JournalVersion

APPLICATION_ID = 0x53464A4C
"""Identifies a journal in the header of the file ("SFJL")."""


def create_tables(connection: apsw.Connection) -> None:
    """Create the schema. The id of an event is the number of its run * 2^32 + its number in the run.

    So one b-tree both orders and finds events, an append touches only the last page of a run, and the primary key
    prevents two processes from writing the same run. `crc` covers the whole row: SQLite has no checksums of its own.
    """
    connection.execute("""
        CREATE TABLE runs (
            number INTEGER PRIMARY KEY,
            run_id TEXT NOT NULL UNIQUE,
            task TEXT NOT NULL,
            workspace TEXT NOT NULL,
            model TEXT NOT NULL,
            created_at REAL NOT NULL,
            stage TEXT NOT NULL,
            verdict TEXT,
            standing INTEGER NOT NULL, -- the number of the event since which it stands there
            crc INTEGER NOT NULL
        ) STRICT;
        CREATE TABLE events (
            id INTEGER PRIMARY KEY,
            at REAL NOT NULL,
            kind TEXT NOT NULL,
            crc INTEGER NOT NULL,
            body BLOB NOT NULL
        ) STRICT;
        CREATE TABLE blobs (
            digest BLOB NOT NULL UNIQUE,
            codec TEXT NOT NULL,
            body BLOB -- NULL: it is a file
        ) STRICT;
        CREATE TABLE inbox (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            run INTEGER NOT NULL,
            crc INTEGER NOT NULL,
            body BLOB NOT NULL
        ) STRICT;
    """)


MIGRATIONS: tuple[Callable[[apsw.Connection], None], ...] = (create_tables,)


def schema_of(connection: apsw.Connection, path: Path) -> int:
    """The number of migrations applied to the file; 0 for an empty file. Raises if the file cannot be read."""
    # One transaction for a consistent view, because another process may be creating the journal.
    with connection:
        empty = connection.execute("SELECT count(*) FROM sqlite_schema").fetchall() == [(0,)]
        application, schema = connection.pragma("application_id"), connection.pragma("user_version")
    if application != APPLICATION_ID:
        if application == 0 and schema == 0 and empty:
            return 0
        raise JournalBroken(
            f"{path} is not a Surefoot journal but a database of another program",
            remedy="choose another file for the journal, or move this one away",
        )
    if not 1 <= schema <= len(MIGRATIONS):
        raise JournalVersion(
            f"the journal {path} was written by Surefoot {_last_writer(connection)} (schema {schema}); "
            f"this is {__version__}, which supports schemas up to {len(MIGRATIONS)}",
            remedy="upgrade Surefoot, in the way you installed it, to that version or a newer one",
        )
    return int(schema)


def migrate(connection: apsw.Connection, path: Path) -> None:
    """Migrate the file to the current schema in one transaction. A file with content is backed up first."""
    if schema_of(connection, path) == len(MIGRATIONS):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Another process may have migrated it while this one waited for the lock.
        old = schema_of(connection, path)
        if old < len(MIGRATIONS):
            if old:
                _back_up(path, old)
            _apply(connection, path, old)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _apply(connection: apsw.Connection, path: Path, old: int) -> None:
    if old == 0:
        connection.execute("CREATE TABLE migrations (name TEXT PRIMARY KEY, applied_at REAL, surefoot TEXT) STRICT")
    for migration in MIGRATIONS[old:]:
        try:
            migration(connection)
        except apsw.SQLError as error:
            raise JournalError(
                f"the journal {path} could not be migrated to the current schema: {migration.__name__}: {error}",
                remedy="nothing was changed; the version that wrote it can still read it",
            ) from error
        record = (migration.__name__, time.time(), __version__)
        connection.execute("INSERT INTO migrations VALUES (?, ?, ?)", record)
    connection.pragma("application_id", APPLICATION_ID)
    connection.pragma("user_version", len(MIGRATIONS))


def _back_up(path: Path, schema: int) -> None:
    """Copy the file to a name with its schema number, atomically."""
    copy = path.with_name(f"{path.name}.schema-{schema}.bak")
    unfinished = copy.with_name(f"{copy.name}.{os.getpid()}.tmp")
    target = apsw.Connection(str(unfinished))
    # The writer holds a lock on the database, but a second connection can still read the last commit.
    source = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        with target.backup("main", source, "main") as backup:
            backup.step()
    finally:
        source.close()
        target.close()
    unfinished.chmod(0o600)
    unfinished.replace(copy)


def _last_writer(connection: apsw.Connection) -> str:
    """The version that migrated the file last, if the table of a newer schema can be read."""
    try:
        row = connection.execute("SELECT surefoot FROM migrations ORDER BY rowid DESC LIMIT 1").fetchone()
    except (apsw.Error, UnicodeDecodeError):
        return "another version"
    return str(row[0]) if row else "another version"
