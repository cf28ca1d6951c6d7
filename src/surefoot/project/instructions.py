"""AGENTS.md: the project's own instructions for agents, quoted with the nearest first.

Nearest are the folders of the files that the task names, then the workspace, then the folders above it up to the root
of its repository. Every path goes through `tools/fs/paths.py`, and only a bounded part of all texts is quoted.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from surefoot.core.values import join_limited
from surefoot.errors import ToolError
from surefoot.tools.fs.fileio import read_bytes
from surefoot.tools.fs.paths import resolve

NAME = "AGENTS.md"
MAX_FILE_CHARS = 1_000_000
MAX_LISTED = 20
_NEAREST_WINS = "\nWhere these contradict each other, the nearest to the file that is changed counts: the first one.\n"


def instructions(root: Path, named: Sequence[str], room: int) -> str:
    """Quote every AGENTS.md that applies to the task, nearest first, up to `room` characters in all."""
    parts: list[str] = []
    for title, text in _instruction_files(root, named):
        if room <= 0:
            break
        excerpt = text if len(text) <= room else f"{text[:room]}\n(the first {room:,} of {len(text):,} characters)"
        room -= len(excerpt)
        parts.append(f"\n# {title} says\n{excerpt.strip()}\n")
    return (_NEAREST_WINS if len(parts) > 1 else "") + "".join(parts)


def nested_instructions(files: Sequence[str], named: Sequence[str]) -> str:
    """Name the AGENTS.md of other folders, which apply to the files below them, for a model that can read them."""
    quoted = {f"{folder}{NAME}" for folder in _folders_of(named)}
    others = [path for path in files if path.endswith(f"/{NAME}") and path not in quoted]
    if not others:
        return ""
    listed = join_limited(others, MAX_LISTED)
    return f"\nThese hold for the files of their folders; read one before you change a file there: {listed}\n"


def _instruction_files(root: Path, named: Sequence[str]) -> list[tuple[str, str]]:
    """The title and the text of each file, nearest first."""
    documents = [(f"{folder}{NAME}", _read(root, f"{folder}{NAME}")) for folder in _folders_of(named)]
    above = _folders_above(root)
    for depth, folder in enumerate(above, 1):
        path = (folder / NAME).relative_to(above[-1]).as_posix()
        documents.append(("../" * depth + NAME, _read(above[-1], path, owner=root)))
    return [(title, text) for title, text in documents if text is not None]


def _read(root: Path, path: str, *, owner: Path | None = None) -> str | None:
    """Read a text file below `root`; None if it is missing, leads outside, is secret, too long or not text. With
    `owner`, it must belong to the user or to the owner of that folder."""
    try:
        file = resolve(root, path, for_writing=False)
        if owner is not None and not _is_ours(file, owner):
            return None
        text = read_bytes(root, file).decode()
    except (OSError, ValueError, ToolError):
        return None
    return None if "\0" in text or len(text) > MAX_FILE_CHARS else text


def _folders_of(named: Sequence[str]) -> list[str]:
    """The folders of these files, each with a slash at its end, deepest first; the workspace itself is empty."""
    folders = {""}
    for path in named:
        parts = path.split("/")[:-1]
        folders |= {"/".join(parts[: depth + 1]) + "/" for depth in range(len(parts))}
    return sorted(folders, key=lambda name: (-name.count("/"), name))


def _folders_above(root: Path) -> list[Path]:
    """The folders above the workspace up to the root of its repository, nearest first. Without a repository there are
    none: anybody may be able to write there."""
    root = root.resolve()
    for index, folder in enumerate([root, *root.parents]):
        if (folder / ".git").exists():
            return [*root.parents][:index] if _is_ours(folder / ".git", root) else []
    return []


def _is_ours(path: Path, root: Path) -> bool:
    """Whether a file or folder above the workspace belongs to the user, or to the owner of the workspace."""
    try:
        return path.lstat().st_uid in (os.geteuid(), root.stat().st_uid)
    except OSError:
        return False
