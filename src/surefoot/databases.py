"""What is in an SQLite file, in a few lines: its tables, and a row or two of each. A program that is to read it needs
their names, and nothing else in the folder tells them. Reads only, and leaves no file beside it."""

import os
import stat
from pathlib import Path
from urllib.parse import quote

import apsw

_MAGIC = b"SQLite format 3\0"
_MOST_TABLES = 20
_ROWS = 2
_LONGEST_VALUE = 60
_MOST_BYTES = 1_000_000
"""Of one value, also of one that is computed: what somebody else made may be made to take a lot."""
_UNREADABLE = (OSError, ValueError, MemoryError, apsw.Error)


def tables_in(path: Path, limit: int) -> str | None:
    """In at most so many characters, rather without rows than without a table; nothing for what is no such file,
    cannot be read, or has no tables."""
    try:
        if not stat.S_ISREG(path.lstat().st_mode) or not _begins_like_one(path) or _is_written_to(path):
            return None
        # Immutable: no locks, and no files beside it.
        name = f"file:{quote(os.fsencode(path.absolute()))}?immutable=1"
        database = apsw.Connection(name, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
    except _UNREADABLE:
        return None
    try:
        database.limit(apsw.SQLITE_LIMIT_LENGTH, _MOST_BYTES)
        database.pragma("trusted_schema", False)
        return _described(database, limit)
    except _UNREADABLE:
        return None
    finally:
        database.close()


def _begins_like_one(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def _is_written_to(path: Path) -> bool:
    """What another program has not yet put into the file would not be seen."""
    beside = path.with_name(f"{path.name}-wal")
    return beside.exists() and beside.stat().st_size > 0


def _described(database: apsw.Connection, limit: int) -> str | None:
    tables = "SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%' LIMIT ?"
    found = list(database.execute(tables, (_MOST_TABLES,)))
    whole = [[f"{sql};", *(f"-- {row}" for row in _first_rows(database, name))] for name, sql in found]
    for lines in (whole, [table[:1] for table in whole]):
        text = "\n".join(line for table in lines for line in table)
        if len(text) <= limit:
            return text or None
    return None


def _first_rows(database: apsw.Connection, table: str) -> list[str]:
    quoted = '"' + table.replace('"', '""') + '"'
    try:
        return [", ".join(map(_shown, row)) for row in database.execute(f"SELECT * FROM {quoted} LIMIT {_ROWS}")]
    except _UNREADABLE:
        return []


def _shown(value: object) -> str:
    """Whole or not at all: a part of a secret is not known as one."""
    if isinstance(value, bytes):
        return f"({len(value)} bytes)"
    text = "NULL" if value is None else repr(value)
    return text if len(text) <= _LONGEST_VALUE else f"({len(str(value))} characters)"
