"""A tree as it was found at one moment: what it is in all, and what parts of it are, as hashes to compare later."""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import translate
from functools import cached_property

from surefoot.workspace.faults import shown
from surefoot.workspace.manifest import LEFT_ALONE, Entry


@dataclass(frozen=True)
class Look:
    entries: Mapping[str, Entry]
    excluded: tuple[str, ...] = ()
    """What is left out of snapshots, so that nobody sees it change."""

    @property
    def not_captured(self) -> list[str]:
        """What no undo brings back, in words."""
        alone = [e for e in self.entries.values() if e.kind in LEFT_ALONE]
        told = [f"{shown(entry.path)} ({entry.kind} {entry.target})" for entry in alone]
        return [*(f"{shown(path)} (excluded)" for path in self.excluded), *told]

    @cached_property
    def tree(self) -> str:
        """The same for two trees that differ at most in times."""
        return _hashed(entry._replace(mtime_ns=0) for entry in self._in_order())

    @cached_property
    def exactly(self) -> str | None:
        """The same only for trees that no program can tell apart, where build tools go by the times of files. None
        where something in it can change unseen."""
        if self.excluded or any(entry.kind in LEFT_ALONE for entry in self.entries.values()):
            return None
        return _hashed(map(_without_folder_times, self._in_order()))

    def part(self, pattern: str) -> str | None:
        """The same for what a pattern names: a file, a folder with all that is in it, or a glob with wildcards that
        match no slash. None where the tree alone cannot tell: a link leads elsewhere, or something is left out."""
        wanted = pattern.strip("/").split("/")
        if {"", ".", ".."} & set(wanted):
            return None
        parts = [re.compile(translate(name)) for name in wanted]
        found: list[Entry] = []
        for entry in self._in_order():
            names = entry.path.split("/") if entry.path else []
            inside = len(names) >= len(parts)
            if not names or any(part.match(name) is None for part, name in zip(parts, names, strict=False)):
                continue
            if entry.kind == "symlink" or entry.kind in LEFT_ALONE:
                return None
            if inside:
                found.append(entry)
        for path in self.excluded:
            if all(part.match(name) is not None for part, name in zip(parts, path.split("/"), strict=False)):
                return None
        return _hashed(map(_without_folder_times, found))

    def _in_order(self) -> Iterator[Entry]:
        return (self.entries[path] for path in sorted(self.entries))


def _without_folder_times(entry: Entry) -> Entry:
    """Making and deleting a scratch file is no change."""
    return entry._replace(mtime_ns=0) if entry.kind == "dir" else entry


def _hashed(entries: Iterable[Entry]) -> str:
    return hashlib.sha256(json.dumps(list(entries)).encode()).hexdigest()
