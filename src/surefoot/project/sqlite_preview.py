"""Preview an SQLite file: its tables, with the first rows of each.

To write a program that reads the file, a model needs the names of the tables and columns, which only the file has. It
is only read, and no files are created beside it.
"""

import os
import stat
from pathlib import Path
from urllib.parse import quote

import apsw

from surefoot.errors import ToolError
from surefoot.tools.fs.paths import resolve

_MAGIC = b"SQLite format 3\0"
_MAX_TABLES = 20
_ROWS = 2
_MAX_VALUE_CHARS = 60
_MAX_VALUE_BYTES = 1_000_000
"""Per-value limit, also for computed values, against hostile databases."""
_UNREADABLE = (OSError, ValueError, MemoryError, ToolError, apsw.Error)


def tables_in(root: Path, name: str, limit: int) -> str | None:
    """Describe the tables of a file of the workspace in at most `limit` characters; without rows if they do not fit.

    Returns None if it is not an SQLite file, cannot or may not be read, or has no tables.
    """
    try:
        if not stat.S_ISREG((root / name).lstat().st_mode):
            return None
        path = resolve(root, name, for_writing=False)
        if not _has_magic(path) or _has_pending_writes(path):
            return None
        # Immutable: no locks, and no files beside it.
        address = f"file:{quote(os.fsencode(path))}?immutable=1"
        database = apsw.Connection(address, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
    except _UNREADABLE:
        return None
    try:
        database.limit(apsw.SQLITE_LIMIT_LENGTH, _MAX_VALUE_BYTES)
        database.pragma("trusted_schema", False)
        return _describe(database, limit)
    except _UNREADABLE:
        return None
    finally:
        database.close()


def _has_magic(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def _has_pending_writes(path: Path) -> bool:
    """Whether a write-ahead log holds changes that are not in the file yet."""
    beside = path.with_name(f"{path.name}-wal")
    return beside.exists() and beside.stat().st_size > 0


def _describe(database: apsw.Connection, limit: int) -> str | None:
    tables = "SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%' LIMIT ?"
    statements = list(database.execute(tables, (_MAX_TABLES,)))
    whole = [[f"{sql};", *(f"-- {row}" for row in _first_rows(database, name))] for name, sql in statements]
    for lines in (whole, [table[:1] for table in whole]):
        text = "\n".join(line for table in lines for line in table)
        if len(text) <= limit:
            return text or None
    return None


def _first_rows(database: apsw.Connection, table: str) -> list[str]:
    quoted = '"' + table.replace('"', '""') + '"'
    try:
        return [", ".join(map(_value_text, row)) for row in database.execute(f"SELECT * FROM {quoted} LIMIT {_ROWS}")]
    except _UNREADABLE:
        return []


def _value_text(value: object) -> str:
    """Show a value whole or not at all: the redactor does not recognise a part of a secret."""
    if isinstance(value, bytes):
        return f"({len(value)} bytes)"
    text = "NULL" if value is None else repr(value)
    return text if len(text) <= _MAX_VALUE_CHARS else f"({len(str(value))} characters)"
