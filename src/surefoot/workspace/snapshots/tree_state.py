"""The state of a tree at one moment, with hashes of the whole and of parts of it, for later comparison."""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import translate
from functools import cached_property

from surefoot.workspace.errors import printable
from surefoot.workspace.snapshots.manifest import UNCAPTURED, Entry, without_folder_time
from surefoot.workspace.snapshots.xattrs import UNKNOWN


@dataclass(frozen=True)
class TreeState:
    entries: Mapping[str, Entry]
    excluded: tuple[str, ...] = ()
    """Paths left out of snapshots, whose changes are not detected."""

    @property
    def not_captured(self) -> list[str]:
        """Descriptions of the paths that no undo restores."""
        uncaptured = [entry for entry in self.entries.values() if entry.kind in UNCAPTURED]
        return [
            *(f"{printable(path)} (excluded)" for path in self.excluded),
            *(f"{printable(entry.path)} ({entry.kind} {entry.target})" for entry in uncaptured),
        ]

    @cached_property
    def tree(self) -> str:
        """Hash of the tree without modification times."""
        return _hashed(entry._replace(mtime_ns=0) for entry in self._sorted())

    @cached_property
    def exactly(self) -> str | None:
        """Hash of the tree with the modification times of files, which build tools rely on. None if the tree has paths
        whose changes are not detected."""
        if self.excluded or any(entry.kind in UNCAPTURED for entry in self.entries.values()):
            return None
        return _hashed(map(without_folder_time, self._sorted()))

    def part(self, pattern: str) -> str | None:
        """Hash of the paths that a pattern matches: a file, a folder with its content, or a glob (wildcards match no
        slash). None if the tree does not determine their content: a match is a link, is excluded or is not captured."""
        components = pattern.strip("/").split("/")
        if {"", ".", ".."} & set(components):
            return None
        parts = [re.compile(translate(name)) for name in components]
        matched: list[Entry] = []
        for entry in self._sorted():
            names = entry.path.split("/") if entry.path else []
            inside = len(names) >= len(parts)
            if not names or any(part.match(name) is None for part, name in zip(parts, names, strict=False)):
                continue
            if entry.kind == "symlink" or entry.kind in UNCAPTURED:
                return None
            if inside:
                matched.append(entry)
        for path in self.excluded:
            if all(part.match(name) is not None for part, name in zip(parts, path.split("/"), strict=False)):
                return None
        return _hashed(map(without_folder_time, matched))

    def _sorted(self) -> Iterator[Entry]:
        return (self.entries[path] for path in sorted(self.entries))


def _hashed(entries: Iterable[Entry]) -> str:
    # Without attributes the hash is the same as in journals of older versions.
    rows = [entry[:-1] if entry.xattrs in ("", UNKNOWN) else entry for entry in entries]
    return hashlib.sha256(json.dumps(rows).encode()).hexdigest()
