"""Keeps the guarded files of a workspace unchanged while a command runs in it.

A sandbox can mount a file read-only only if it exists. A guarded path that does not exist is therefore represented by
an empty folder, its stand-in, during the command: git does not see empty folders, no tool takes a folder for its
settings, and the mount keeps the command from filling or replacing it. Afterwards the stand-in is removed and the
modification time of its parent is restored. A stand-in is recognized by its own modification time, so the next command
removes those that a crash left behind.

Paths that cannot be mounted over (symbolic links; files whose empty stand-in would break git) are captured before the
command and restored after it.
"""

import os
import stat
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from surefoot.workspace.sandbox import git_state
from surefoot.workspace.sandbox.capture import capture, restore
from surefoot.workspace.sandbox.guarded_files import GuardedPath

STAND_IN_TIME = 0x5EF007 * 10**9
"""The modification time that identifies a stand-in: a moment in March 1970, in ns."""


@dataclass(slots=True)
class Survey:
    """The guarded paths of a workspace, by how each can be protected at this moment."""

    read_only: list[Path] = field(default_factory=list)
    """Existing paths without a link on the way, which can be mounted read-only."""
    stand_ins: list[Path] = field(default_factory=list)
    """Paths that are, or need, a stand-in."""
    captured: list[Path] = field(default_factory=list)
    """Paths to capture before the command and to restore after it."""


def survey(root: Path, guarded: Iterable[GuardedPath]) -> Survey:
    result = Survey()
    for item in guarded:
        kind, path = _locate(root, item.path)
        if kind == "link":
            result.captured.append(path)
            target = item.path.resolve()
            if target.is_relative_to(root) and target != root:
                (result.read_only if target.exists() else result.captured).append(target)
        elif kind == "exists" and not is_stand_in(path):
            result.read_only.append(path)
        elif kind == "exists" or (kind == "missing" and item.missing == "block"):
            result.stand_ins.append(path)
        elif kind == "missing" and item.missing == "remove":
            result.captured.append(path)
    for paths in (result.read_only, result.stand_ins, result.captured):
        paths[:] = dict.fromkeys(paths)
    return result


def _locate(root: Path, path: Path) -> tuple[Literal["exists", "missing", "closed", "link"], Path]:
    """Follow `path` from `root` to its end, to the first link, or to the first part that is missing."""
    current = root
    for part in path.relative_to(root).parts:
        try:
            mode = (current / part).lstat().st_mode
        except NotADirectoryError:
            return "exists", current
        except FileNotFoundError:
            return "missing", current / part
        except PermissionError:
            return "closed", current  # to Surefoot, and so to the command
        current /= part
        if stat.S_ISLNK(mode):
            return "link", current
    return "exists", current


@contextmanager
def guard_files(
    root: Path, guarded: Iterable[GuardedPath], *, mounts: bool, opened: Iterable[Path] = ()
) -> Iterator[list[str]]:
    """Protect guarded paths while a command runs. Yields a list that gets a note for each change undone on exit.

    `mounts` says that the sandbox mounts existing paths and stand-ins read-only; otherwise all paths are captured.
    Nested repositories are made harmless, except those below `opened`.
    """
    before = git_state.look(root)
    paths = survey(root, guarded)
    notes: list[str] = []
    to_capture = list(paths.captured)
    if not mounts:
        to_capture += paths.read_only + paths.stand_ins
    captures = {path: capture(path) for path in to_capture}
    if mounts:
        _add_stand_ins(root, paths.stand_ins)
    try:
        yield notes
    finally:
        if mounts:
            _remove_stand_ins(root)
        for path, captured in captures.items():
            name = path.relative_to(root)
            try:
                if restore(path, captured):
                    notes.append(f"the command changed {name}, which is guarded: the change was undone")
            except OSError as error:
                notes.append(f"the command changed {name}, which is guarded, and it could not be undone: {error}")
        notes += git_state.reduce(root, before, opened)


# --- stand-ins ------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _StandIns:
    """The stand-ins of one workspace, shared by all commands that run in it at the same time.

    Removing one also removes the mount on it in every running command, so only the last command removes them.
    """

    users: int = 0
    paths: list[Path] = field(default_factory=list)
    parent_times: dict[Path, tuple[int, int]] = field(default_factory=dict)
    """Modification time of each parent folder, before our first stand-in in it and after our last one."""


_stand_ins: dict[Path, _StandIns] = {}
_stand_ins_lock = threading.Lock()


def _add_stand_ins(root: Path, paths: Iterable[Path]) -> None:
    with _stand_ins_lock:
        shared = _stand_ins.setdefault(root, _StandIns())
        shared.users += 1
        for path in paths:
            if path in shared.paths:
                continue
            parent = path.parent
            before = parent.stat().st_mtime_ns
            if not is_stand_in(path):
                try:
                    path.mkdir(0o555)
                except OSError:
                    continue  # Surefoot may not create it, so the command, which has no more rights, may not either
                os.utime(path, ns=(STAND_IN_TIME, STAND_IN_TIME))
            shared.paths.append(path)
            first, last = shared.parent_times.get(parent, (before, before))
            shared.parent_times[parent] = (first if before == last else before, parent.stat().st_mtime_ns)


def _remove_stand_ins(root: Path) -> None:
    with _stand_ins_lock:
        shared = _stand_ins[root]
        shared.users -= 1
        if shared.users:
            return
        del _stand_ins[root]
    unchanged = [
        (folder, first)
        for folder, (first, last) in shared.parent_times.items()
        if folder.is_dir() and folder.stat().st_mtime_ns == last
    ]
    for path in shared.paths:
        if is_stand_in(path):
            with suppress(OSError):
                path.rmdir()
    for folder, time in unchanged:
        with suppress(OSError):
            os.utime(folder, ns=(folder.stat().st_atime_ns, time))


def is_stand_in(path: Path) -> bool:
    """Whether this is an empty folder that prevents the creation of a guarded path."""
    try:
        info = path.lstat()
        return stat.S_ISDIR(info.st_mode) and info.st_mtime_ns == STAND_IN_TIME and not any(path.iterdir())
    except OSError:
        return False
