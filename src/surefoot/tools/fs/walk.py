"""Walk the workspace in a fixed order, with limits, skipping caches, secrets and ignored files."""

import fnmatch
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from surefoot.tools.fs.tool_files import SKIPPED_FOLDERS
from surefoot.workspace.sandbox.secret_files import secrets_below

MAX_ENTRIES = 20_000
MAX_DEPTH = 60


class Entry(NamedTuple):
    path: str
    """Relative to the workspace, with forward slashes."""
    is_folder: bool


@dataclass
class Walk:
    entries: list[Entry] = field(default_factory=list)
    """Files, and folders without visible content."""
    ignored: list[str] = field(default_factory=list)
    """Paths excluded by `.gitignore`; folders end in a slash."""
    secrets: frozenset[str] = frozenset()
    """Paths of the user's secrets, which are left out."""
    truncated: bool = False
    """True when a limit was reached."""


class _Rule(NamedTuple):
    base: str
    parts: tuple[str, ...]
    folders_only: bool
    negated: bool


def walk(root: Path, folder: str = "", *, limit: int = MAX_ENTRIES, gitignore: bool = True) -> Walk:
    """List everything under `root/folder`, sorted. Links to folders are not followed.

    A folder that is named explicitly is listed even if `.gitignore` excludes it. Without `gitignore`, ignored files are
    listed too.
    """
    home, folder = Path(os.path.realpath(root)), folder.strip("/")
    result = Walk(secrets=frozenset(secret.relative_to(home).as_posix() for secret in secrets_below(home)))
    rules = _rules_above(home, folder) if gitignore else None
    _walk_into(home, folder, rules, result, limit)
    return result


def _rules_above(root: Path, folder: str) -> list[_Rule]:
    """Return the rules of the folders above `folder`; none if it is itself skipped or ignored."""
    rules: list[_Rule] = []
    reached = ""
    for name in folder.split("/") if folder else []:
        rules += _read_rules(root, reached)
        reached = f"{reached}/{name}" if reached else name
        if name in SKIPPED_FOLDERS or _is_ignored(reached, True, rules):
            return []
    return rules


def _walk_into(root: Path, folder: str, rules: list[_Rule] | None, result: Walk, limit: int) -> None:
    """Add the content of a folder. `rules` are those of the folders above; with None, no file is ignored."""
    if folder.count("/") >= MAX_DEPTH:
        result.truncated = True
        return
    if rules is not None:
        rules = rules + _read_rules(root, folder)
    try:
        children = sorted(os.scandir(root / folder), key=lambda child: child.name)
    except OSError:
        return
    for child in children:
        if len(result.entries) >= limit:
            result.truncated = True
            return
        path = f"{folder}/{child.name}" if folder else child.name
        if path in result.secrets:
            continue
        is_folder = child.is_dir(follow_symlinks=False)
        if is_folder and child.name in SKIPPED_FOLDERS:
            continue
        if rules is not None and _is_ignored(path, is_folder, rules):
            result.ignored.append(path + "/" if is_folder else path)
        elif is_folder:
            before = len(result.entries)
            _walk_into(root, path, rules, result, limit)
            if len(result.entries) == before:
                result.entries.append(Entry(path, True))
        else:
            result.entries.append(Entry(path, False))


def matches_glob(path: str, glob: str) -> bool:
    """Match a glob: `*.py` in any folder, `src/**/*.py` below `src`, `*.{js,ts}` either suffix."""
    for pattern in _expand_braces(glob.strip().removeprefix("./")):
        parts = tuple(pattern.strip("/").split("/"))
        if "/" not in pattern.strip("/"):
            parts = ("**", *parts)
        if _parts_match(tuple(path.split("/")), parts):
            return True
    return False


def _expand_braces(glob: str) -> list[str]:
    start, end = glob.find("{"), glob.find("}")
    if start < 0 or end < start:
        return [glob]
    return [glob[:start] + choice + glob[end + 1 :] for choice in glob[start + 1 : end].split(",")]


def _parts_match(names: Sequence[str], parts: Sequence[str]) -> bool:
    """Match component by component: at most names x parts comparisons, whatever the pattern."""
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
        # Skip links, which may lead outside, and pipes, which would block.
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
