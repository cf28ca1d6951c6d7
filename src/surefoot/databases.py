"""What is in an SQLite file, in a few lines: its tables, and a row or two of each. A program that is to read it needs
their names, and nothing else in the folder tells them. Reads only, and leaves no file beside it."""

import stat
from pathlib import Path
from urllib.parse import quote

import apsw

_MAGIC = b"SQLite format 3\0"
_MOST_TABLES = 20
_ROWS = 2
_LONGEST_VALUE = 60


def tables_in(path: Path) -> str | None:
    """Nothing for what is no such file, or cannot be read."""
    try:
        if not stat.S_ISREG(path.lstat().st_mode) or not _begins_like_one(path):
            return None
        # Immutable: no locks and no files beside it; what another program has not yet put into the file is not seen.
        name = f"file:{quote(str(path.absolute()))}?immutable=1"
        database = apsw.Connection(name, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
    except (OSError, apsw.Error):
        return None
    try:
        database.pragma("trusted_schema", False)
        return _described(database)
    except apsw.Error:
        return None
    finally:
        database.close()


def _begins_like_one(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def _described(database: apsw.Connection) -> str:
    tables = "SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%' LIMIT ?"
    lines = []
    for name, sql in list(database.execute(tables, (_MOST_TABLES,))):
        lines += [f"{sql};", *(f"-- {row}" for row in _first_rows(database, name))]
    return "\n".join(lines)


def _first_rows(database: apsw.Connection, table: str) -> list[str]:
    quoted = '"' + table.replace('"', '""') + '"'
    return [", ".join(map(_shown, row)) for row in database.execute(f"SELECT * FROM {quoted} LIMIT {_ROWS}")]


def _shown(value: object) -> str:
    if isinstance(value, bytes):
        return f"({len(value)} bytes)"
    text = "NULL" if value is None else repr(value)
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 3] + "..."
