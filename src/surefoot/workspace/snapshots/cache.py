"""A cache of scan records across runs, so that unchanged files are not read again.

A lost or outdated cache does no harm: each record is compared with the file's stat values before it is used. The cache
must never refer to content that is no longer stored, so it holds the blob store's generation, which changes whenever
blobs are removed.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from surefoot.workspace.durable import replace_file
from surefoot.workspace.errors import suppress_full
from surefoot.workspace.snapshots.manifest import Entry
from surefoot.workspace.snapshots.scan import Record, Scan

_FORMAT = 2  # 2: entries have extended attributes


class StatCache:
    def __init__(self, file: Path, generation: Callable[[], str]) -> None:
        self._file = file
        self._read_generation = generation
        self._generation = ""
        self._last: dict[str, Record] | None = None
        self._scan: Scan | None = None
        self._too_recent: set[str] = set()
        self._unsaved = 0

    def known(self) -> dict[str, Record]:
        """Return the records that can be trusted if the stat values still match."""
        last = self._current()
        if not self._too_recent:
            return last
        known = dict(last)
        for path in self._too_recent:
            known.pop(path, None)
        return known

    def last(self) -> tuple[Scan, set[str]] | None:
        """Return the last scan and the paths in it that must be examined again; None if this process made no scan."""
        self._current()
        return (self._scan, self._too_recent) if self._scan is not None else None

    def changed(self, scanned: Scan) -> set[str] | None:
        """Return the paths whose entries differ from those of the last scan; None if this process made none."""
        last = self._current()
        if self._scan is None:
            return None
        if scanned.base is self._scan:
            paths = scanned.differing()
        else:
            paths = {path for path, record in scanned.records.items() if record is not last.get(path)}
            paths |= last.keys() - scanned.records.keys()
        return {path for path in paths if _entry(scanned.records.get(path)) != _entry(last.get(path))}

    def update(self, scanned: Scan) -> None:
        """Keep a scan whose files are all stored. Saves it to disk if that would spare the next process much reading.

        A full disk is not an error: this is only a cache.
        """
        self._last, self._too_recent = scanned.records, scanned.too_recent()
        self._scan, scanned.base = scanned, None
        self._unsaved += len(scanned.fresh)
        if self._unsaved * 20 > len(self._last) > len(self._too_recent):
            with suppress_full():
                self._save()
            self._unsaved = len(self._too_recent)

    def _save(self) -> None:
        assert self._last is not None
        rows = [(*record[:4], *record.entry) for path, record in self._last.items() if path not in self._too_recent]
        document = {"format": _FORMAT, "generation": self._generation, "rows": rows}
        replace_file(self._file, json.dumps(document, separators=(",", ":")).encode())

    def _current(self) -> dict[str, Record]:
        generation = self._read_generation()
        if self._last is None or generation != self._generation:
            self._last, self._too_recent, self._unsaved = self._load(generation), set(), 0
            self._scan, self._generation = None, generation
        return self._last

    def _load(self, generation: str) -> dict[str, Record]:
        try:
            document: Any = json.loads(self._file.read_bytes())
            if (document["format"], document["generation"]) != (_FORMAT, generation):
                return {}
            records = [Record(row[0], row[1], row[2], row[3], Entry(*row[4:])) for row in document["rows"]]
        except (OSError, ValueError, KeyError, TypeError):
            return {}
        return {record.entry.path: record for record in records}


def _entry(record: Record | None) -> Entry | None:
    return record.entry if record is not None else None
