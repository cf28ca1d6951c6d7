"""Resolves the links in many paths at once.

There are hundreds of secret and start-up files, and they are looked up for each command and each written file. They
share most of their folders, and most of those do not exist.
"""

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple


def places_below(root: str, named: Iterable[Path]) -> Iterator[Path]:
    """Yield those of the paths that are below `root`, and the targets of links if they are below `root`."""
    prefix = root.rstrip("/") + "/"
    folders: dict[str, _Folder] = {}
    for path in map(str, named):
        folder, _, name = path.rpartition("/")
        above = _follow(folder, folders)
        place = f"{above.path}/{name}"
        if place.startswith(prefix):
            yield Path(place)
        if above.exists and os.path.islink(place) and (target := os.path.realpath(place)).startswith(prefix):  # noqa: PTH114
            yield Path(target)


def resolve_parents(paths: Iterable[Path]) -> tuple[Path, ...]:
    """Make paths absolute and follow the links above them. A path itself may be a link, or not exist yet."""
    folders: dict[str, _Folder] = {}
    resolved = []
    for original in paths:
        path = original if str(original).startswith("/") else original.expanduser().absolute()
        folder = str(path.parent)
        real = _follow(folder.rstrip("/"), folders).path or "/"
        resolved.append(path if real == folder else Path(real, path.name))
    return tuple(resolved)


class _Folder(NamedTuple):
    path: str
    """The path with links followed, without a slash at the end."""
    exists: bool
    """False only if it is certain that nothing is there."""


def _follow(folder: str, known: dict[str, _Folder]) -> _Folder:
    """Do what `os.path.realpath` does, but look at each folder only once."""
    if folder not in known:
        above, _, name = folder.rpartition("/")
        if not folder:
            known[folder] = _Folder("", True)
        elif name in ("", ".", "..") or not folder.startswith("/"):
            known[folder] = _Folder(os.path.realpath(folder).rstrip("/"), True)
        else:
            known[folder] = _enter(_follow(above, known), name)
    return known[folder]


def _enter(above: _Folder, name: str) -> _Folder:
    place = f"{above.path}/{name}"
    if not above.exists:
        return _Folder(place, False)
    try:
        is_link = stat.S_ISLNK(os.lstat(place).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return _Folder(place, False)
    except OSError:
        return _Folder(place, True)
    return _Folder(os.path.realpath(place) if is_link else place, True)
