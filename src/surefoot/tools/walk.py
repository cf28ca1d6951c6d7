"""Looking through the workspace: in a fixed order, bounded, past what nobody wants to see."""

import fnmatch
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

NEVER_SHOWN = frozenset(
    {".git", ".hg", ".svn", ".surefoot", "node_modules", "__pycache__", ".venv", "venv", ".tox", ".mypy_cache"}
    | {".ruff_cache", ".pytest_cache", ".hypothesis", ".eggs", ".idea"}
)
MAX_ENTRIES = 20_000
MAX_DEPTH = 60


class Entry(NamedTuple):
    path: str
    """Relative to the workspace, with forward slashes."""
    is_folder: bool


@dataclass
class Walk:
    entries: list[Entry] = field(default_factory=list)
    """Files, and the folders that have nothing in them."""
    ignored: list[str] = field(default_factory=list)
    """What `.gitignore` keeps out of sight; folders end in a slash."""
    cut: bool = False
    """True when there was more than anyone should look at."""


class _Rule(NamedTuple):
    base: str
    parts: tuple[str, ...]
    folders_only: bool
    negated: bool


def walk(root: Path, folder: str = "", *, limit: int = MAX_ENTRIES) -> Walk:
    """Everything under `root/folder`, sorted. Links to folders are not followed.

    A folder that is asked for by name is shown even when `.gitignore` hides it from a look at the whole.
    """
    found = Walk()
    home, folder = Path(os.path.realpath(root)), folder.strip("/")
    _walk_into(home, folder, _rules_above(home, folder), found, limit)
    return found


def _rules_above(root: Path, folder: str) -> list[_Rule]:
    rules: list[_Rule] = []
    reached = ""
    for name in folder.split("/") if folder else []:
        rules += _read_rules(root, reached)
        reached = f"{reached}/{name}" if reached else name
        if name in NEVER_SHOWN or _is_ignored(reached, True, rules):
            return []
    return rules


def _walk_into(root: Path, folder: str, rules: list[_Rule], found: Walk, limit: int) -> None:
    if folder.count("/") >= MAX_DEPTH:
        found.cut = True
        return
    rules = rules + _read_rules(root, folder)
    try:
        children = sorted(os.scandir(root / folder), key=lambda child: child.name)
    except OSError:
        return
    for child in children:
        if len(found.entries) >= limit:
            found.cut = True
            return
        path = f"{folder}/{child.name}" if folder else child.name
        is_folder = child.is_dir(follow_symlinks=False)
        if is_folder and child.name in NEVER_SHOWN:
            continue
        if _is_ignored(path, is_folder, rules):
            found.ignored.append(path + "/" if is_folder else path)
        elif is_folder:
            before = len(found.entries)
            _walk_into(root, path, rules, found, limit)
            if len(found.entries) == before:
                found.entries.append(Entry(path, True))
        else:
            found.entries.append(Entry(path, False))


def matches_glob(path: str, glob: str) -> bool:
    """`*.py` means any folder, `src/**/*.py` what it says, `*.{js,ts}` either."""
    for pattern in _without_braces(glob.strip().removeprefix("./")):
        parts = tuple(pattern.strip("/").split("/"))
        if "/" not in pattern.strip("/"):
            parts = ("**", *parts)
        if _parts_match(tuple(path.split("/")), parts):
            return True
    return False


def _without_braces(glob: str) -> list[str]:
    start, end = glob.find("{"), glob.find("}")
    if start < 0 or end < start:
        return [glob]
    return [glob[:start] + choice + glob[end + 1 :] for choice in glob[start + 1 : end].split(",")]


def _parts_match(names: Sequence[str], parts: Sequence[str]) -> bool:
    """Match folder by folder, so that no pattern can take more than names x parts comparisons."""
    reached = [True] + [False] * len(names)
    for part in parts:
        if part == "**":
            first = reached.index(True) if True in reached else len(reached)
            reached = [position >= first for position in range(len(reached))]
        else:
            reached = [False] + [
                reached[position] and fnmatch.fnmatchcase(name, part) for position, name in enumerate(names)
            ]
    return reached[-1]


def _read_rules(root: Path, folder: str) -> list[_Rule]:
    file = root / folder / ".gitignore"
    try:
        # Neither a link to somewhere else nor a pipe that would never end.
        if not stat.S_ISREG(file.lstat().st_mode):
            return []
        text = file.read_text("utf-8", errors="replace")
    except OSError:
        return []
    rules = []
    for line in text.splitlines():
        pattern = line.rstrip()
        if not pattern or pattern.startswith("#"):
            continue
        negated = pattern.startswith("!")
        pattern = pattern.removeprefix("!").removeprefix("\\")
        body = pattern.rstrip("/")
        parts = tuple(body.strip("/").split("/"))
        if "/" not in body:
            parts = ("**", *parts)
        rules.append(_Rule(folder, parts, pattern.endswith("/"), negated))
    return rules


def _is_ignored(path: str, is_folder: bool, rules: list[_Rule]) -> bool:
    ignored = False
    for rule in rules:
        if rule.folders_only and not is_folder:
            continue
        inside = path[len(rule.base) + 1 :] if rule.base else path
        if rule.negated == ignored and _parts_match(inside.split("/"), rule.parts):
            ignored = not rule.negated
    return ignored
