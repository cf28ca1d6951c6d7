"""Opening the database of a journal, and saying in plain words what goes wrong with it."""

import os
import time
from pathlib import Path
from typing import Literal, TypeAlias

import apsw

from surefoot.errors import JournalBroken, JournalBusy, JournalError
from surefoot.store.blobs import sync_folder
from surefoot.store.migrations import MIGRATIONS, migrate, schema_of

Durability: TypeAlias = Literal["process", "power"]
"""What an acknowledged event outlives: the end of this process, or also a power cut (one fsync a commit)."""

SYNCHRONOUS: dict[Durability, str] = {"process": "normal", "power": "full"}
OLDEST_SQLITE = (3, 51, 3)
"""Before it, writers that checkpoint at the same moment can damage a database in WAL mode."""
SMALLEST_DATABASE = 512
READ_FAULTS = (apsw.Error, UnicodeDecodeError)
"""What reading a damaged file can raise: text that is no longer UTF-8 is found by the driver, not by SQLite."""


def open_writer(path: Path, durability: Durability, busy_timeout: float) -> apsw.Connection:
    """The one connection that writes. The file is made if it is not there, readable for its owner only."""
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
    """A connection that cannot write, for a journal that another connection or process may be writing."""
    _require_sqlite()
    try:
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    except (ValueError, apsw.Error) as error:
        raise _cannot_open(path, error) from error
    try:
        connection.set_busy_timeout(round(busy_timeout * 1000))
        _refuse_fragment(path)
        if not _can_be_read(connection, path):
            open_writer(path, "power", busy_timeout).close()
            schema_of(connection, path)
    except BaseException as error:
        connection.close()
        if isinstance(error, (*READ_FAULTS, OSError)):
            raise journal_error(path, error) from error
        raise
    return connection


def _can_be_read(connection: apsw.Connection, path: Path) -> bool:
    """Not while it has an older schema, or was left by a crash in a state that only a writer can put right."""
    try:
        return schema_of(connection, path) == len(MIGRATIONS)
    except apsw.ReadOnlyError:
        return False


def empty_reader() -> apsw.Connection:
    """What a reader sees where no journal was written yet."""
    connection = apsw.Connection(":memory:")
    migrate(connection, Path(":memory:"))
    return connection


def journal_error(path: Path, error: Exception) -> JournalError:
    """The error of ours for one of SQLite's."""
    match error:
        case apsw.BusyError() | apsw.LockedError():
            return JournalBusy(
                f"another process has held the journal {path} locked for too long",
                remedy=f"wait until it is done, or find and stop it (fuser {path}); then resume",
            )
        case apsw.FullError():
            return JournalError(
                f"the disk is full: the journal {path} could not be written",
                remedy="free some space and resume; all that was acknowledged is there",
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
                remedy="look at the disk, its quota and the system's log, then resume; "
                "all that was acknowledged is there if the disk can be read",
            )
        case _:
            return JournalError(f"the journal {path} could not be used: {error}", remedy="see `surefoot doctor`")


def broken(path: Path, why: str) -> JournalBroken:
    return JournalBroken(
        f"the journal {path} is damaged: {why}",
        remedy=f"restore it from a backup, or move it away ({path} with its -wal and -shm) to start a new one; "
        f"`sqlite3 {path} .recover` saves what can be saved",
    )


def _refuse_fragment(path: Path) -> None:
    """SQLite takes a file of a byte or two for an empty one."""
    size = path.stat().st_size
    if 0 < size < SMALLEST_DATABASE:
        raise broken(path, f"it is only {size} bytes long")


def _cannot_open(path: Path, error: Exception) -> JournalError:
    return JournalError(
        f"the journal {path} cannot be opened or written: {error}",
        remedy="look at the owner and mode of the file and its folder, or name another file for the journal",
    )


def _require_sqlite() -> None:
    found = apsw.sqlite_lib_version()
    if tuple(int(part) for part in found.split(".")) < OLDEST_SQLITE:
        oldest = ".".join(map(str, OLDEST_SQLITE))
        raise JournalError(
            f"SQLite {found} has a fault that can damage journals; {oldest} or newer is needed",
            remedy="pip install -U apsw (it brings its own SQLite)",
        )


def _use_wal(connection: apsw.Connection, path: Path, busy_timeout: float) -> None:
    """Switch a new journal to the mode it keeps from then on."""
    if connection.pragma("journal_mode") == "wal":
        return
    # Two processes may make the same new journal; for this switch SQLite does not wait by itself.
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
            f"the file system of {path} cannot hold a journal: it has no shared memory for SQLite's log",
            remedy="name a file on a local disk for the journal",
        )
    # The switch's rollback file is deleted, but not yet durably: if a power cut brought it back, it would undo all.
    sync_folder(path.parent)
