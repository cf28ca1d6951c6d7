"""Preview a data file that is too long to be shown: its columns or fields, its first records, and their number.

To write a program that reads the file, a model needs the names and types of the fields, but not the data.
"""

import csv
import json
import os
import stat
from collections import Counter
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

from surefoot.errors import ToolError
from surefoot.tools.fs.paths import resolve

MAX_BYTES = 20_000_000
"""Only this much of a longer file is read."""
MAX_VALUE_CHARS = 80
HEAD_ROWS = 5
MAX_FIELDS = 40
SAMPLED = 2_000
"""How many records are searched for fields."""
MAX_DEPTH = 4
MAX_LINE_CHARS = 200
HEAD_LINES, TAIL_LINES = 8, 2
_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_SUFFIXES = (*_DELIMITERS, ".json", ".jsonl", ".ndjson", ".geojson", ".log", ".txt")


def is_data(path: str) -> bool:
    """Whether a file is data by its name, so that a preview says enough about it. A `.txt` file may be anything."""
    return Path(path).suffix.lower() in _SUFFIXES and not path.lower().endswith(".txt")


def data_preview(root: Path, path: str, limit: int) -> str | None:
    """Describe a file of data or of lines in at most `limit` characters; None for other or unreadable files."""
    suffix = Path(path).suffix.lower()
    if suffix not in _SUFFIXES:
        return None
    try:
        data = _beginning(root, path)
        cut = len(data) > MAX_BYTES
        text = data[:MAX_BYTES].decode(errors="ignore" if cut else "strict")
        rows = _describe(suffix)(text, _DELIMITERS.get(suffix, ""), cut)
    except (OSError, ValueError, ToolError, RecursionError, csv.Error):
        return None
    while rows and sum(len(row) + 1 for row in rows) > limit:
        rows.pop()
    return "\n".join(rows) or None


def _describe(suffix: str) -> Callable[[str, str, bool], list[str]]:
    if suffix in (".log", ".txt"):
        return _text
    return _table if suffix in _DELIMITERS else _lines if suffix in (".jsonl", ".ndjson") else _document


def _text(text: str, _: str, cut: bool) -> list[str]:
    lines = [line if len(line) <= MAX_LINE_CHARS else f"({len(line):,} characters)" for line in text.splitlines()]
    last = [] if cut else ["the last lines:", *lines[-TAIL_LINES:]]
    return [f"{_count(len(lines), cut)} lines", "the first lines:", *lines[:HEAD_LINES], *last]


def _beginning(root: Path, path: str) -> bytes:
    if not stat.S_ISREG((root / path).lstat().st_mode):
        raise ValueError("no ordinary file")
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with os.fdopen(os.open(resolve(root, path, for_writing=False), flags), "rb") as file:
        return file.read(MAX_BYTES + 1)


def _table(text: str, delimiter: str, cut: bool) -> list[str]:
    first = text.split("\n", 1)[0]
    if delimiter == "," and first.count(";") > first.count(","):
        delimiter = ";"
    reader = csv.reader(text.splitlines(), delimiter=delimiter)
    header = next(reader, [])
    head = list(islice(reader, HEAD_ROWS))
    count = len(head) + sum(1 for _ in reader)
    rows = [f"{_count(count, cut)} rows, {len(header)} columns", "columns: " + ", ".join(map(_value, header))]
    return [*rows, "the first rows:", *(delimiter.join(map(_value, row)) for row in head)]


def _lines(text: str, _: str, cut: bool) -> list[str]:
    lines = [line for line in text.splitlines() if line.strip()]
    records = [json.loads(line) for line in lines[:SAMPLED]]
    rows = [f"{_count(len(lines), cut)} records, one per line", *_fields(records), "the first records:"]
    return [*rows, *(json.dumps(_short(record), ensure_ascii=False) for record in records[:2])]


def _document(text: str, _: str, cut: bool) -> list[str]:
    if cut:
        raise ValueError("a part of a document cannot be read")
    value = json.loads(text)
    if isinstance(value, list):
        rows = [f"a list of {len(value):,}", *_fields(value[:SAMPLED]), "the first of them:"]
        return [*rows, *(json.dumps(_short(item), ensure_ascii=False) for item in value[:2])]
    return ["its structure:", *json.dumps(_structure(value), ensure_ascii=False, indent=1).split("\n")]


def _count(count: int, cut: bool) -> str:
    return f"more than {count:,}" if cut else f"{count:,}"


def _fields(records: list[Any]) -> list[str]:
    """List the fields of the records with their types, and in how many records they are, unless in all."""
    objects = [record for record in records if isinstance(record, dict)]
    if not objects:
        return []
    types: dict[str, Counter[str]] = {}
    for record in objects:
        for name, value in record.items():
            types.setdefault(str(name), Counter())[_type(value)] += 1
    rows = []
    for name, type_counts in islice(types.items(), MAX_FIELDS):
        some = f", in {type_counts.total():,} of {len(objects):,}" if type_counts.total() < len(objects) else ""
        rows.append(f"- {_value(name)}: {' or '.join(type_counts)}{some}")
    return ["fields:", *rows]


def _type(value: Any) -> str:
    if isinstance(value, dict):
        return "object with " + ", ".join(map(str, islice(value, 8)))
    if isinstance(value, list):
        return f"list of {_type(value[0]).split(' ')[0]}" if value else "list"
    names = {bool: "boolean", int: "number", float: "number", str: "text", type(None): "null"}
    return names.get(type(value), "value")


def _structure(value: Any, depth: int = 0) -> Any:
    """The value with each list reduced to its first element and its length."""
    if isinstance(value, dict):
        if depth >= MAX_DEPTH:
            return f"({len(value):,} fields)"
        fields = {name: _structure(item, depth + 1) for name, item in islice(value.items(), MAX_FIELDS)}
        return fields | ({"...": f"{len(value) - MAX_FIELDS:,} more fields"} if len(value) > MAX_FIELDS else {})
    if isinstance(value, list):
        if depth >= MAX_DEPTH or not value:
            return f"({len(value):,} elements)"
        more = [f"... {len(value):,} elements"] if len(value) > 1 else []
        return [_structure(value[0], depth + 1), *more]
    return _short(value)


def _short(value: Any) -> Any:
    """Shorten a value. Long texts are left out whole: the redactor does not recognise a part of a secret."""
    if isinstance(value, dict):
        return {name: _short(item) for name, item in islice(value.items(), MAX_FIELDS)}
    if isinstance(value, list):
        return [_short(item) for item in value[:3]] + ([f"... {len(value):,} in all"] if len(value) > 3 else [])
    return _value(value) if isinstance(value, str) else value


def _value(text: str) -> str:
    return text if len(text) <= MAX_VALUE_CHARS else f"({len(text):,} characters)"
