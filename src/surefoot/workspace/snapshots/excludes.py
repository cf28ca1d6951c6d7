"""Patterns of paths to leave out of snapshots: simple globs in the style of .gitignore.

node_modules      a file or folder of that name, anywhere
*.iso             the same with a wildcard; wildcards never match a slash
data/             folders only
/build, docs/out  from the root: with a slash at the start or inside
"""

import re
from collections.abc import Iterable, Mapping
from fnmatch import translate

from surefoot.errors import UsageError
from surefoot.workspace.snapshots.manifest import Entry, regroup_links
from surefoot.workspace.snapshots.tree import split


class Excludes:
    def __init__(self, patterns: Iterable[str]) -> None:
        self.patterns = tuple(dict.fromkeys(patterns))
        self._rules = [_Rule(pattern) for pattern in self.patterns]

    def __bool__(self) -> bool:
        return bool(self._rules)

    def match(self, path: str, is_folder: bool) -> bool:
        return any(rule.match(path, is_folder) for rule in self._rules)

    def without(self, entries: Mapping[str, Entry]) -> dict[str, Entry]:
        """Return the entries that are not excluded, nor in an excluded folder. Expects folders before their content."""
        if not self._rules:
            return dict(entries)
        remaining: dict[str, Entry] = {}
        for path, entry in entries.items():
            if path == "" or (split(path)[0] in remaining and not self.match(path, entry.kind == "dir")):
                remaining[path] = entry
        return regroup_links(remaining) if len(remaining) < len(entries) else remaining


class _Rule:
    def __init__(self, pattern: str) -> None:
        self._folders_only = pattern.endswith("/")
        inner = pattern.strip("/")
        if not inner or pattern.startswith("!") or "**" in inner or "//" in inner:
            raise UsageError(
                f"the exclude pattern {pattern!r} is not supported",
                remedy="use a name or glob such as node_modules, *.iso, data/ or /build; not '!' or '**'",
            )
        self._anchored = "/" in pattern[:-1]
        self._parts = [re.compile(translate(part)) for part in inner.split("/")]

    def match(self, path: str, is_folder: bool) -> bool:
        if self._folders_only and not is_folder:
            return False
        names = path.split("/")
        if not self._anchored:
            names = names[-1:]
        return len(names) == len(self._parts) and all(
            part.match(name) is not None for part, name in zip(self._parts, names, strict=True)
        )
