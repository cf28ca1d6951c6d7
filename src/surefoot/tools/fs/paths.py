"""Resolve a path given by a model, and check that it may be read or written.

A path is checked after it is resolved: links in any component and `..` are followed first, even below folders that do
not exist yet.
"""

import contextlib
import difflib
import os
import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from surefoot.errors import PathOutsideWorkspace, PathProtected, ToolError
from surefoot.tools.fs.walk import walk
from surefoot.workspace.sandbox.guarded_files import guarded_paths, startup_folder
from surefoot.workspace.sandbox.secret_files import secrets_below

MAX_NAME_BYTES = 255
MAX_PATH_BYTES = 4096
MAX_SUGGESTIONS = 3

_OWNED_FOLDERS = {
    ".git": "files under .git belong to git",
    ".surefoot": "files under .surefoot belong to Surefoot",
}
_GIT_PARTS = ("HEAD", "commondir", "objects", "refs")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_DRIVE = re.compile(r"^[A-Za-z]:[\\/]")


def resolve(
    root: Path, path: str, *, for_writing: bool, not_writable: Collection[str] = (), follow: bool = True
) -> Path:
    """Return the real path, which is inside `root`, or raise a `ToolError` with the reason.

    `not_writable` are paths relative to `root` that may be read but not written, such as scripts of checks. With
    `follow=False` a link in the last component is not followed, because deleting or moving a link leaves its target
    alone.
    """
    home = Path(os.path.realpath(root))
    _refuse_malformed(path)
    joined = home / _normalize(home, path)
    real = _follow_links(joined) if follow or joined.name == ".." else _follow_links(joined.parent) / joined.name
    if real != home and home not in real.parents:
        raise PathOutsideWorkspace(
            f"{path!r} is outside the workspace", argument="path", remedy=_suggest_inside(home, path)
        )
    _refuse_secret(home, real, path)
    if for_writing:
        _refuse_unwritable(home, real, path, not_writable)
    return real


def relative(root: Path, real: Path) -> str:
    """Return the path of `real` relative to `root`, as shown to models."""
    return real.relative_to(os.path.realpath(root)).as_posix()


def not_found(root: Path, path: str) -> ToolError:
    """Return the error for a missing file, with suggestions of similar names."""
    suggestions = _nearest(root, path)
    remedy = f"did you mean {' or '.join(suggestions)}?" if suggestions else "list_files shows what is there"
    return ToolError(f"there is no file {path!r}", argument="path", remedy=remedy)


def _refuse_malformed(path: str) -> None:
    problem = ""
    try:
        encoded = os.fsencode(path)
    except UnicodeEncodeError:
        encoded, problem = b"", "has characters that no file name can have"
    if not path.strip():
        problem = "is empty"
    elif _CONTROL.search(path):
        problem = "has control characters in it"
    elif len(encoded) > MAX_PATH_BYTES or any(len(name) > MAX_NAME_BYTES for name in encoded.split(b"/")):
        problem = "is too long"
    if problem:
        excerpt = path if len(path) <= 60 else path[:60] + "..."
        raise ToolError(
            f"the path {excerpt!r} {problem}",
            argument="path",
            remedy="give a path relative to the workspace, like src/app.py",
        )
    if _DRIVE.match(path):
        raise PathOutsideWorkspace(
            f"{path!r} is a Windows path outside the workspace",
            argument="path",
            remedy="give a path relative to the workspace, like src/app.py",
        )


def _normalize(home: Path, path: str) -> str:
    """Return `path` unchanged if it exists, else without the quotes and backslashes that models add."""
    if os.path.lexists(home / path):
        return path
    cleaned = path.strip().strip("`'\"").strip()
    if cleaned and not os.path.lexists(home / cleaned):
        cleaned = cleaned.replace("\\", "/")
    cleaned = cleaned or path
    if cleaned.startswith("~"):
        raise PathOutsideWorkspace(
            f"{path!r} is outside the workspace: ~ is not expanded", argument="path", remedy=_suggest_inside(home, path)
        )
    _refuse_malformed(cleaned)
    return cleaned


def _follow_links(path: Path) -> Path:
    real = Path(os.path.realpath(path))
    # realpath gives up at a link cycle and leaves the components after it unresolved.
    if any(part.is_symlink() for part in (real, *real.parents)):
        raise ToolError(
            f"{str(path)!r} leads through links that form a cycle",
            argument="path",
            remedy="name the file itself, not a link to it",
        )
    return real


def _suggest_inside(home: Path, path: str) -> str:
    tail = path.replace("\\", "/").lstrip("~/")
    names = [name for name in tail.split("/") if name not in {"", ".", ".."}]
    for start in range(len(names)):
        candidate = "/".join(names[start:])
        if (home / candidate).is_file():
            return f"paths are relative to the workspace: did you mean {candidate}?"
    return "give a path relative to the workspace, like src/app.py"


def _refuse_secret(home: Path, real: Path, path: str) -> None:
    # The listing of a folder leaves out the secrets in it, so a folder that only contains secrets is not refused.
    if not secrets_below(home).isdisjoint((real, *real.parents)):
        raise PathProtected(
            f"{path!r} may not be read or changed: it holds keys, logins or a history of the user",
            argument="path",
            remedy="work without it, or ask the user for what is needed from it",
        )


def _refuse_unwritable(home: Path, real: Path, path: str, not_writable: Collection[str]) -> None:
    inside = real.relative_to(home)
    for part in inside.parts:
        reason = _OWNED_FOLDERS.get(part.lower())
        if reason:
            raise PathProtected(
                f"{path!r} may not be changed: {reason}", argument="path", remedy="work on the project's own files"
            )
    if inside.as_posix() == "surefoot.toml":
        raise PathProtected(
            f"{path!r} may not be changed: it configures this very run",
            argument="path",
            remedy="ask the user to change it",
        )
    _refuse_git_folder(home, real, path)
    if folder := startup_folder(home):
        raise PathProtected(
            f"{path!r} may not be changed: whatever is placed in {folder} is executed automatically",
            argument="path",
            remedy="ask the user to change it",
        )
    for guarded in guarded_paths(home):
        applies = os.path.lexists(guarded.path) or guarded.missing != "ignore"
        if applies and (real == guarded.path or guarded.path in real.parents):
            raise PathProtected(
                f"{path!r} may not be changed: programs outside the sandbox execute it or read settings from it",
                argument="path",
                remedy="ask the user to change it",
            )
    if inside.as_posix() in not_writable:
        raise PathProtected(
            f"{path!r} may not be changed: it decides what a check shows (a test or a script from before the run), or "
            "the task says to leave it alone",
            argument="path",
            remedy="do what the task asks for in other files",
        )


def _refuse_git_folder(home: Path, real: Path, path: str) -> None:
    """Refuse a path that would turn a folder into a git repository, or change one: git recognizes it by these parts."""
    for folder in real.parents:
        if folder == home.parent:
            return
        new = real.relative_to(folder).parts[0]
        names = {name for name in _GIT_PARTS if name == new or os.path.lexists(folder / name)}
        if "HEAD" in names and ("commondir" in names or {"objects", "refs"} <= names):
            raise PathProtected(
                f"{path!r} may not be changed: its folder would be a git repository, and git runs what its config says",
                argument="path",
                remedy="use other names, or ask the user to do it",
            )


def _nearest(root: Path, path: str) -> list[str]:
    """Return files of the same name in other folders, then files with similar names."""
    plain_path = path.strip().replace("\\", "/")
    name = plain_path.rsplit("/", 1)[-1]
    known = [entry.path for entry in walk(root).entries if not entry.is_folder]
    same_name = [known_path for known_path in known if known_path.rsplit("/", 1)[-1].lower() == name.lower()]
    by_name: dict[str, str] = {}
    for known_path in known:
        by_name.setdefault(known_path.rsplit("/", 1)[-1], known_path)
    similar = [by_name[close] for close in difflib.get_close_matches(name, by_name, n=MAX_SUGGESTIONS, cutoff=0.6)]
    similar += difflib.get_close_matches(plain_path, known, n=MAX_SUGGESTIONS, cutoff=0.7)
    return list(dict.fromkeys(same_name + similar))[:MAX_SUGGESTIONS]


def resolved_arguments(root: Path, arguments: Mapping[str, Any], names: Iterable[str]) -> dict[str, str]:
    """Return the arguments that are paths in the workspace, with links and `..` resolved."""
    resolved: dict[str, str] = {}
    for name in set(names) & arguments.keys():
        with contextlib.suppress(ToolError):
            resolved[name] = relative(root, resolve(root, str(arguments[name]), for_writing=False))
    return resolved
