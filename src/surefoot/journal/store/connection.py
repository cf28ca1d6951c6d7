"""Opens the database of a journal, and translates SQLite's errors."""

import os
import time
from pathlib import Path
from typing import Literal, TypeAlias

import apsw

from surefoot.errors import JournalBroken, JournalBusy, JournalError, JournalFull
from surefoot.journal.store.fsync import sync_folder
from surefoot.journal.store.migrations import MIGRATIONS, migrate, schema_of

Durability: TypeAlias = Literal["process", "power"]
"""What an acknowledged event survives: a crash of the process, or also a power cut (one fsync per commit)."""

SYNCHRONOUS: dict[Durability, str] = {"process": "normal", "power": "full"}
OLDEST_SQLITE = (3, 51, 3)
"""In older versions, concurrent checkpoints can damage a database in WAL mode."""
SMALLEST_DATABASE = 512
READ_FAULTS = (apsw.Error, UnicodeDecodeError)
"""Exceptions that reading a damaged file can raise. The driver, not SQLite, detects invalid UTF-8."""


def open_writer(path: Path, durability: Durability, busy_timeout: float) -> apsw.Connection:
    """Open the writing connection. Creates the file if needed, readable by its owner only."""
    _require_sqlite()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    except (OSError, ValueError, apsw.Error) as error:
        raise _cannot_open(path, error) from error
    try:
        connection.set_busy_timeout(round(busy_timeout * 1000))
        _refuse_fragment(path)
        schema_of(connection, path)
        _use_wal(connection, path, busy_timeout)
        connection.pragma("synchronous", SYNCHRONOUS[durability])
        migrate(connection, path)
    except BaseException as error:
        connection.close()
        if isinstance(error, (*READ_FAULTS, OSError)):
            raise journal_error(path, error) from error
        raise
    return connection


def open_reader(path: Path, busy_timeout: float) -> apsw.Connection:
    """Open a read-only connection. Other connections and processes may be writing at the same time."""
    _require_sqlite()
    try:
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    except (ValueError, apsw.Error) as error:
        raise _cannot_open(path, error) from error
    try:
        connection.set_busy_timeout(round(busy_timeout * 1000))
        _refuse_fragment(path)
        if not _is_readable(connection, path):
            open_writer(path, "power", busy_timeout).close()
            schema_of(connection, path)
    except BaseException as error:
        connection.close()
        if _is_full(error) and not _has_wal(path):
            # Everything is in the file itself. Only the index of the WAL, which nobody writes now, has no room.
            flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
            return apsw.Connection(f"{path.absolute().as_uri()}?immutable=1", flags=flags)
        if isinstance(error, (*READ_FAULTS, OSError)):
            raise journal_error(path, error) from error
        raise
    return connection


def _has_wal(path: Path) -> bool:
    try:
        return path.with_name(path.name + "-wal").stat().st_size > 0
    except FileNotFoundError:
        return False


def _is_full(error: BaseException) -> bool:
    code = getattr(error, "extendedresult", 0)
    return isinstance(error, apsw.FullError) or code == apsw.SQLITE_IOERR_SHMSIZE


def _is_readable(connection: apsw.Connection, path: Path) -> bool:
    """False for an older schema, and after a crash that only a writer can recover from."""
    try:
        return schema_of(connection, path) == len(MIGRATIONS)
    except apsw.ReadOnlyError:
        return False


def empty_reader() -> apsw.Connection:
    """Return a connection to an empty journal, for a file that does not exist yet."""
    connection = apsw.Connection(":memory:")
    migrate(connection, Path(":memory:"))
    return connection


def journal_error(path: Path, error: Exception) -> JournalError:
    """Return the JournalError for an error of SQLite."""
    if _is_full(error):
        return JournalFull(
            f"the disk is full: the journal {path} could not be written",
            remedy="free some space and resume; no acknowledged event is lost",
        )
    match error:
        case apsw.BusyError() | apsw.LockedError():
            return JournalBusy(
                f"another process has kept the journal {path} locked for too long",
                remedy=f"wait until it is done, or find and stop it (fuser {path}); then resume",
            )
        case apsw.CorruptError() | apsw.NotADBError() | apsw.SQLError() | apsw.FormatError() | UnicodeDecodeError():
            return broken(path, str(error))
        case apsw.ReadOnlyError() | apsw.CantOpenError() | apsw.PermissionsError() | OSError():
            return _cannot_open(path, error)
        case apsw.IOError():
            code = getattr(error, "extendedresult", apsw.SQLITE_IOERR)
            name = apsw.mapping_extended_result_codes.get(code, "SQLITE_IOERR")
            return JournalError(
                f"the disk failed while the journal {path} was in use ({name})",
                remedy="check the disk, its quota and the system's log, then resume; "
                "no acknowledged event is lost if the disk can be read",
            )
        case _:
            return JournalError(f"the journal {path} could not be used: {error}", remedy="see `surefoot doctor`")


def broken(path: Path, reason: str) -> JournalBroken:
    return JournalBroken(
        f"the journal {path} is damaged: {reason}",
        remedy=f"restore it from a backup, or move it away ({path} with its -wal and -shm) to start a new one; "
        f"`sqlite3 {path} .recover` extracts what can still be read",
    )


def _refuse_fragment(path: Path) -> None:
    """Raise JournalBroken for a file of a few bytes, which SQLite would treat as an empty database."""
    size = path.stat().st_size
    if 0 < size < SMALLEST_DATABASE:
        raise broken(path, f"it is only {size} bytes long")


def _cannot_open(path: Path, error: Exception) -> JournalError:
    return JournalError(
        f"the journal {path} cannot be opened or written: {error}",
        remedy="check the owner and mode of the file and its folder, or choose another file for the journal",
    )


def _require_sqlite() -> None:
    version = apsw.sqlite_lib_version()
    if tuple(int(part) for part in version.split(".")) < OLDEST_SQLITE:
        oldest = ".".join(map(str, OLDEST_SQLITE))
        raise JournalError(
            f"SQLite {version} has a bug that can damage journals; {oldest} or newer is needed",
            remedy="pip install -U apsw (it includes SQLite)",
        )


def _use_wal(connection: apsw.Connection, path: Path, busy_timeout: float) -> None:
    """Switch a new journal to WAL mode, which is stored in the file."""
    if connection.pragma("journal_mode") == "wal":
        return
    # Two processes may create the same journal, and SQLite does not wait for locks during this switch.
    deadline = time.monotonic() + busy_timeout
    while True:
        try:
            mode = connection.pragma("journal_mode", "wal")
            break
        except apsw.BusyError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.005)
    if mode != "wal":
        raise JournalError(
            f"the file system of {path} cannot hold a journal: it lacks the shared memory for SQLite's log",
            remedy="choose a file on a local disk for the journal",
        )
    # The rollback file of this switch is deleted, but not durably. After a power cut it could be back, and undo all.
    sync_folder(path.parent)
