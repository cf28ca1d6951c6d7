"""Which file a path from a model means, and whether it may be touched.

Every path is judged by where it really leads: links at any component, `..`, and folders that do not exist yet are
followed to the end before the answer is compared with the workspace.
"""

import difflib
import os
import re
from collections.abc import Collection
from pathlib import Path

from surefoot.errors import PathOutsideWorkspace, PathProtected, ToolError
from surefoot.tools.walk import walk
from surefoot.workspace.sensitive import guarded_paths

MAX_NAME_BYTES = 255
MAX_PATH_BYTES = 4096
SUGGESTED = 3

_OWNED_FOLDERS = {
    ".git": "files under .git belong to git",
    ".surefoot": "files under .surefoot belong to Surefoot",
}
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_DRIVE = re.compile(r"^[A-Za-z]:[\\/]")


def resolve(root: Path, path: str, *, for_writing: bool, protected: Collection[str] = (), follow: bool = True) -> Path:
    """The real place `path` means, which is inside `root`, or an error that says why not.

    `follow=False` leaves a link at the last component alone: deleting or moving a link is not deleting its target.
    """
    home = Path(os.path.realpath(root))
    _refuse_nonsense(path)
    meant = home / _as_meant(home, path)
    real = _followed(meant) if follow or meant.name == ".." else _followed(meant.parent) / meant.name
    if real != home and home not in real.parents:
        raise PathOutsideWorkspace(
            f"{path!r} is outside the workspace", argument="path", remedy=_inside_instead(home, path)
        )
    if for_writing:
        _refuse_read_only(home, real, path, protected)
    return real


def relative(root: Path, real: Path) -> str:
    """`real` as the model should write it."""
    return real.relative_to(os.path.realpath(root)).as_posix()


def not_found(root: Path, path: str) -> ToolError:
    """The error for a missing file, with the names it may have meant."""
    close = _nearest(root, path)
    remedy = f"did you mean {' or '.join(close)}?" if close else "list_files shows what is there"
    return ToolError(f"there is no file {path!r}", argument="path", remedy=remedy)


def _refuse_nonsense(path: str) -> None:
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
        shown = path if len(path) <= 60 else path[:60] + "..."
        raise ToolError(
            f"the path {shown!r} {problem}",
            argument="path",
            remedy="give a path relative to the workspace, like src/app.py",
        )
    if _DRIVE.match(path):
        raise PathOutsideWorkspace(
            f"{path!r} is a Windows path outside the workspace",
            argument="path",
            remedy="give a path relative to the workspace, like src/app.py",
        )


def _as_meant(home: Path, path: str) -> str:
    """The path as it is, if that exists; else without the quotes and backslashes that models put in."""
    if os.path.lexists(home / path):
        return path
    cleaned = path.strip().strip("`'\"").strip()
    if cleaned and not os.path.lexists(home / cleaned):
        cleaned = cleaned.replace("\\", "/")
    cleaned = cleaned or path
    if cleaned.startswith("~"):
        raise PathOutsideWorkspace(
            f"{path!r} is outside the workspace: ~ is not expanded", argument="path", remedy=_inside_instead(home, path)
        )
    _refuse_nonsense(cleaned)
    return cleaned


def _followed(path: Path) -> Path:
    real = Path(os.path.realpath(path))
    # In a circle of links realpath gives up and leaves what comes after the circle unfollowed.
    if any(part.is_symlink() for part in (real, *real.parents)):
        raise ToolError(
            f"{str(path)!r} leads through links that go in a circle",
            argument="path",
            remedy="name the file itself, not a link to it",
        )
    return real


def _inside_instead(home: Path, path: str) -> str:
    tail = path.replace("\\", "/").lstrip("~/")
    names = [name for name in tail.split("/") if name not in {"", ".", ".."}]
    for start in range(len(names)):
        candidate = "/".join(names[start:])
        if (home / candidate).is_file():
            return f"paths are relative to the workspace: did you mean {candidate}?"
    return "give a path relative to the workspace, like src/app.py"


def _refuse_read_only(home: Path, real: Path, path: str, protected: Collection[str]) -> None:
    inside = real.relative_to(home)
    for part in inside.parts:
        owner = _OWNED_FOLDERS.get(part.lower())
        if owner:
            raise PathProtected(
                f"{path!r} may not be changed: {owner}", argument="path", remedy="work on the project's own files"
            )
    if inside.as_posix() == "surefoot.toml":
        raise PathProtected(
            f"{path!r} may not be changed: it configures this very run",
            argument="path",
            remedy="ask the user to change it",
        )
    for guarded in guarded_paths(home):
        there = os.path.lexists(guarded.path) or guarded.missing != "ignore"
        if there and (real == guarded.path or guarded.path in real.parents):
            raise PathProtected(
                f"{path!r} may not be changed: other programs run it or obey it, outside of any sandbox",
                argument="path",
                remedy="ask the user to change it",
            )
    if inside.as_posix() in protected:
        raise PathProtected(
            f"{path!r} may not be changed: tests that existed before the run are read-only to the agent, as is what "
            "the task says to leave alone",
            argument="path",
            remedy="change the code, not the tests",
        )


def _nearest(root: Path, path: str) -> list[str]:
    """Files of the same name elsewhere first, then names that look alike."""
    wanted = path.strip().replace("\\", "/")
    name = wanted.rsplit("/", 1)[-1]
    known = [entry.path for entry in walk(root).entries if not entry.is_folder]
    same_name = [known_path for known_path in known if known_path.rsplit("/", 1)[-1].lower() == name.lower()]
    by_name: dict[str, str] = {}
    for known_path in known:
        by_name.setdefault(known_path.rsplit("/", 1)[-1], known_path)
    alike = [by_name[close] for close in difflib.get_close_matches(name, by_name, n=SUGGESTED, cutoff=0.6)]
    alike += difflib.get_close_matches(wanted, known, n=SUGGESTED, cutoff=0.7)
    return list(dict.fromkeys(same_name + alike))[:SUGGESTED]
