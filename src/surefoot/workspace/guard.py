"""Keeps the guarded files of a workspace as they are while a command runs in it.

A sandbox can mount a file read-only only where there is one. So where a guarded path does not exist yet, an empty
folder stands in for it during the command: git does not see empty folders, no tool takes a folder for its settings,
and a mount holds it so that the command can neither fill nor replace it. Afterwards the stand-in goes, and the folder
around it gets its time back. A stand-in is known by its date, so one that a crash left behind is found and removed by
the next command.

What cannot be mounted over (a symbolic link; a file whose empty stand-in would break git) is remembered before the
command and put back after it.
"""

import os
import shutil
import stat
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from surefoot.workspace.sensitive import Guarded

STAND_IN_TIME = 0x5EF007 * 10**9
"""The time stamp (in ns; the spring of 1970) by which a stand-in is known."""
KEPT_BYTES = 1_000_000
"""Larger files are watched by their look from outside, and cannot be put back."""


@dataclass(slots=True)
class Survey:
    """How the guarded paths of a workspace stand right now."""

    read_only: list[Path] = field(default_factory=list)
    """There, and no link on the way: can be mounted read-only."""
    to_stand_in: list[Path] = field(default_factory=list)
    to_watch: list[Path] = field(default_factory=list)


def survey(root: Path, guarded: Iterable[Guarded]) -> Survey:
    found = Survey()
    for item in guarded:
        kind, path = _how_far(root, item.path)
        if kind == "link":
            found.to_watch.append(path)
            target = item.path.resolve()
            if target.is_relative_to(root) and target != root:
                (found.read_only if target.exists() else found.to_watch).append(target)
        elif kind == "there" and not is_stand_in(path):
            found.read_only.append(path)
        elif kind == "there" or (kind == "missing" and item.missing == "block"):
            found.to_stand_in.append(path)
        elif kind == "missing" and item.missing == "remove":
            found.to_watch.append(path)
    for paths in (found.read_only, found.to_stand_in, found.to_watch):
        paths[:] = dict.fromkeys(paths)
    return found


def _how_far(root: Path, path: Path) -> tuple[str, Path]:
    """Follows `path` down from `root` to its end, the first link or the first part that is missing."""
    current = root
    for part in path.relative_to(root).parts:
        try:
            mode = (current / part).lstat().st_mode
        except NotADirectoryError:
            return "there", current
        except FileNotFoundError:
            return "missing", current / part
        except PermissionError:
            return "closed", current  # to us, and so to the command
        current /= part
        if stat.S_ISLNK(mode):
            return "link", current
    return "there", current


@contextmanager
def standing_guard(root: Path, guarded: Iterable[Guarded], *, mounts: bool) -> Iterator[list[str]]:
    """Guards while a command runs. The list it gives holds, at the end, a line for each thing that was put back.

    `mounts` says that the sandbox mounts what is there (and the stand-ins) read-only; otherwise all is remembered.
    """
    found = survey(root, guarded)
    notes: list[str] = []
    watched = list(found.to_watch)
    if not mounts:
        watched += found.read_only + found.to_stand_in
    memories = {path: _remember(path) for path in watched}
    if mounts:
        _put_up(root, found.to_stand_in)
    try:
        yield notes
    finally:
        if mounts:
            _take_down(root)
        for path, memory in memories.items():
            shown = path.relative_to(root)
            try:
                if _put_back(path, memory):
                    notes.append(f"the command changed {shown}, which is guarded: the change was undone")
            except OSError as error:
                notes.append(f"the command changed {shown}, which is guarded, and it could not be undone: {error}")


# --- stand-ins ------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Site:
    """The stand-ins of one workspace, shared by the commands that run in it at the same time: whoever removed one
    while another command still runs would also remove the mount that protects that command's view of it."""

    users: int = 0
    standing: list[Path] = field(default_factory=list)
    times: dict[Path, tuple[int, int]] = field(default_factory=dict)
    """Folder: its time before our first stand-in and after the last one."""


_sites: dict[Path, _Site] = {}
_sites_lock = threading.Lock()


def _put_up(root: Path, paths: Iterable[Path]) -> None:
    with _sites_lock:
        site = _sites.setdefault(root, _Site())
        site.users += 1
        for path in paths:
            if path in site.standing:
                continue
            parent = path.parent
            before = parent.stat().st_mtime_ns
            if not is_stand_in(path):
                try:
                    path.mkdir(0o555)
                except OSError:
                    continue  # we may not make it there, so the command, which is no stronger, may not either
                os.utime(path, ns=(STAND_IN_TIME, STAND_IN_TIME))
            site.standing.append(path)
            first, last = site.times.get(parent, (before, before))
            site.times[parent] = (first if before == last else before, parent.stat().st_mtime_ns)


def _take_down(root: Path) -> None:
    with _sites_lock:
        site = _sites[root]
        site.users -= 1
        if site.users:
            return
        del _sites[root]
    untouched = [
        (folder, first)
        for folder, (first, last) in site.times.items()
        if folder.is_dir() and folder.stat().st_mtime_ns == last
    ]
    for path in site.standing:
        if is_stand_in(path):
            with suppress(OSError):
                path.rmdir()
    for folder, time in untouched:
        with suppress(OSError):
            os.utime(folder, ns=(folder.stat().st_atime_ns, time))


def is_stand_in(path: Path) -> bool:
    """Whether this is one of the empty folders that keep a guarded path from being made while a command runs."""
    try:
        look = path.lstat()
        return stat.S_ISDIR(look.st_mode) and look.st_mtime_ns == STAND_IN_TIME and not any(path.iterdir())
    except OSError:
        return False


# --- remembering and putting back -----------------------------------------------------------------------------

_Memory = dict[str, tuple[int, bytes | tuple[int, ...]]]
"""Relative name ("" for the path itself): mode, and content, link target, or the look of a file too large to keep."""
_NOT_REMEMBERED = frozenset(("objects", "lfs"))
"""A repository's content, which runs nothing."""


def _remember(path: Path) -> _Memory:
    memory: _Memory = {}
    unseen = [""]
    while unseen:
        name = unseen.pop()
        here = path / name if name else path
        try:
            look = here.lstat()
            if stat.S_ISDIR(look.st_mode):
                memory[name] = (look.st_mode, b"")
                unseen += [f"{name}/{e.name}".lstrip("/") for e in here.iterdir() if e.name not in _NOT_REMEMBERED]
            elif stat.S_ISLNK(look.st_mode):
                memory[name] = (look.st_mode, os.fsencode(here.readlink()))
            elif stat.S_ISREG(look.st_mode) and look.st_size <= KEPT_BYTES:
                memory[name] = (look.st_mode, here.read_bytes())
            else:
                memory[name] = (look.st_mode, (look.st_ino, look.st_size, look.st_mtime_ns, look.st_ctime_ns))
        except FileNotFoundError:
            continue
    return memory


def _put_back(path: Path, memory: _Memory) -> bool:
    """Makes `path` what it was; True when that took anything."""
    now = _remember(path)
    if now == memory:
        return False
    for name in sorted(now, reverse=True):
        if name not in memory or stat.S_IFMT(now[name][0]) != stat.S_IFMT(memory[name][0]):
            _remove(path / name if name else path)
    for name in sorted(memory):
        if now.get(name) != memory[name]:
            _write(path / name if name else path, *memory[name])
    return True


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _write(path: Path, mode: int, content: bytes | tuple[int, ...]) -> None:
    if isinstance(content, tuple):
        raise OSError(f"{path.name} is too large to be kept for this")
    if stat.S_ISDIR(mode):
        path.mkdir(exist_ok=True)
    elif stat.S_ISLNK(mode):
        path.unlink(missing_ok=True)
        path.symlink_to(os.fsdecode(content))
        return
    else:
        # A new file, never the old one written through: the command may have linked it to somewhere else.
        path.unlink(missing_ok=True)
        path.write_bytes(content)
    path.chmod(stat.S_IMODE(mode))
