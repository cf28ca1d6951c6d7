"""Makes the git repositories inside a workspace harmless after each command.

When the user works in the outer repository, `git status` and `git diff` look into nested ones and run the programs that
their settings name, outside any sandbox. After each command, the settings and hooks that it added or changed are
reduced to harmless ones. A nested repository itself is kept and reported. The workspace's own `.git` is guarded in
other ways (`guarded_files`, `guard`); only its unfinished operations are checked here.
"""

import os
import re
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from surefoot.core.values import join_limited
from surefoot.workspace.sandbox.capture import Capture, capture, remove, restore
from surefoot.workspace.sandbox.git_config import Setting, format_settings, is_harmless, parse

MAX_FOLDERS = 200_000
"""The search for repositories stops after this many folders."""
_TRUSTED_AFTER_NS = 2_000_000_000
"""A folder that changed more recently is listed again: it may change once more within the same tick of the clock."""
_OPERATIONS = ("rebase-merge", "rebase-apply", "sequencer")
_TODO_LISTS = ("rebase-merge/git-rebase-todo", "sequencer/todo")
_EXEC = re.compile(rb"\s*(x|exec)\s")
_STRATEGIES = frozenset({b"ort", b"recursive", b"resolve", b"octopus", b"ours", b"subtree"})


@dataclass(slots=True)
class Repository:
    """The files that make git run programs, in one git folder: `.git`, the target of a `.git` file, or a bare one."""

    files: dict[str, Capture] = field(default_factory=dict)
    """`config` and the other watched files that exist."""
    hooks: Capture = field(default_factory=dict)


@dataclass(slots=True)
class GitState:
    repositories: dict[Path, Repository] = field(default_factory=dict)
    by_inode: dict[tuple[int, int], Path] = field(default_factory=dict)
    """To recognize a repository that was moved: it keeps its settings and hooks."""
    operations: frozenset[Path] = frozenset()
    truncated: bool = False


_WATCHED = ("config", "config.worktree", "commondir", *_TODO_LISTS, "rebase-merge/strategy")
_OWN_WATCHED = (*_TODO_LISTS, "rebase-merge/strategy")
"""In the workspace's own repository the others are guarded."""


def look(root: Path) -> GitState:
    """Find the nested repositories of a workspace, and the files in them that make git run programs."""
    state = GitState()
    own = root / ".git"
    folders = list(dict.fromkeys(_git_folders(root, state)))
    for folder in folders:
        with suppress(OSError):
            status = folder.lstat()
            watched = _OWN_WATCHED if folder == own else _WATCHED
            state.repositories[folder] = Repository(
                {name: captured for name in watched if (captured := capture(folder / name))},
                {} if folder == own else capture(folder / "hooks"),
            )
            state.by_inode[status.st_dev, status.st_ino] = folder
    operations = [folder / name for folder in folders for name in _OPERATIONS]
    state.operations = frozenset(path for path in operations if os.path.lexists(path))
    return state


def reduce(root: Path, before: GitState, opened: Iterable[Path] = ()) -> list[str]:
    """Make the changes of a command to nested repositories harmless. Returns notes on what was found and removed.

    Repositories below `opened` are left alone.
    """
    opened = tuple(opened)
    now = look(root)
    notes = []
    for folder, repository in now.repositories.items():
        if any(folder.is_relative_to(path) for path in opened) or os.path.realpath(folder) != str(folder):
            continue
        status = folder.lstat()
        former = folder if folder in before.repositories else before.by_inode.get((status.st_dev, status.st_ino))
        trusted = before.repositories[former] if former else Repository()
        name = folder.relative_to(root).as_posix()
        own = folder == root / ".git"
        dropped, problems = _reduce_repository(folder, repository, trusted, now)
        notes += [f"{name}: {problem}; do not use git here before you have looked at it" for problem in problems]
        if dropped:
            names = join_limited(dropped, 8)
            notes.append(f"removed from the git repository {name}, because git would execute or read it: {names}")
        if former is None and not own:
            notes.append(f"the command made a git repository inside the workspace: {name}")
    for path in sorted(now.operations - before.operations):
        if path.exists():
            notes.append(f"the command left an unfinished operation of git: {path.relative_to(root)}")
    if now.truncated and not before.truncated:
        notes.append("there are too many or unreadable folders to look for git repositories in all of them")
    return notes


def _reduce_repository(
    folder: Path, now: Repository, trusted: Repository, state: GitState
) -> tuple[list[str], list[str]]:
    """Reduce the new and changed files of a repository; return what was dropped, and the problems."""
    dropped: list[str] = []
    problems: list[str] = []
    for name, captured in now.files.items():
        if captured != trusted.files.get(name):
            try:
                dropped += _reduce_file(folder, name, captured, trusted, state)
            except OSError as error:
                problems.append(f"{name} could not be made harmless: {error.strerror}")
    if now.hooks != trusted.hooks:
        try:
            dropped += _reduce_hooks(folder / "hooks", now.hooks, trusted.hooks)
        except OSError as error:
            problems.append(f"its hooks could not be restored: {error.strerror}")
    return dropped, problems


def _reduce_file(folder: Path, name: str, captured: Capture, trusted: Repository, state: GitState) -> list[str]:
    """Reduce a file that is new or changed; return what was dropped from it."""
    path, content = folder / name, _text(captured)
    before = _text(trusted.files.get(name, {})) or b""
    if "/" in name and path.parent.is_symlink():
        path.parent.unlink()  # it may lead out of the workspace
        return [path.parent.name]
    if not os.path.lexists(path):
        return []  # removed with a link above it
    if content is None:
        remove(path)  # a link, a folder or too large
        return [name]
    if name == "config":
        return _reduce_config(path, content, before)
    if name in _TODO_LISTS:
        return _reduce_todo(path, content, before)
    if name == "commondir":
        target = Path(os.path.realpath(folder / os.fsdecode(content.strip())))
        harmless = target in state.repositories
    else:
        harmless = name == "rebase-merge/strategy" and content.strip() in _STRATEGIES
    if not harmless:
        path.unlink()
    return [] if harmless else [name]


def _reduce_config(path: Path, content: bytes, before: bytes) -> list[str]:
    known, settings = _settings(before) or [], _settings(content)
    harmless = [setting for setting in settings or [] if setting in known or is_harmless(setting)]
    # Always rewritten: git must not read it in another way than Surefoot did.
    path.unlink()
    path.write_text(format_settings(harmless) if harmless else "", errors="surrogateescape")
    if settings is None:
        return ["config, which is not readable"]
    return [setting.name for setting in settings if setting not in harmless]


def _reduce_todo(path: Path, content: bytes, before: bytes) -> list[str]:
    known, lines = set(before.splitlines()), content.splitlines(keepends=True)
    harmless = [line for line in lines if not _EXEC.match(line) or line.rstrip(b"\r\n") in known]
    if len(harmless) == len(lines):
        return []
    path.unlink()
    path.write_bytes(b"".join(harmless))
    return [f"programs to run in {path.parent.name}/{path.name}"]


def _reduce_hooks(hooks: Path, now: Capture, trusted: Capture) -> list[str]:
    """Undo changes of hooks, except samples: git writes them itself and never runs them."""
    if not stat.S_ISDIR(now.get("", (stat.S_IFDIR, b""))[0]):
        restore(hooks, trusted)
        return ["hooks"]
    changed = [name for name in now if name and now[name] != trusted.get(name) and not _is_sample(name, now[name][0])]
    lost = [name for name in trusted if name not in now]
    if not changed and not lost:
        return []
    samples = {name: entry for name, entry in now.items() if not name or _is_sample(name, entry[0])}
    restore(hooks, {**samples, **trusted})
    return [f"hooks/{name}" for name in (*changed, *lost)]


def _is_sample(name: str, mode: int) -> bool:
    return name.endswith(".sample") and "/" not in name and stat.S_ISREG(mode)


def _settings(config: bytes) -> list[Setting] | None:
    try:
        return parse(config.decode(errors="surrogateescape"))
    except ValueError:
        return None


def _text(captured: Capture) -> bytes | None:
    """Return the content of a captured file, or None if it is a link, a folder or too large."""
    mode, content = captured.get("", (0, b""))
    return content if stat.S_ISREG(mode) and isinstance(content, bytes) else None


# --- finding repositories -------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Folder:
    changed_ns: int
    inode: int
    folders: tuple[str, ...]
    has_git: bool
    is_git: bool
    """Whether git would take this folder itself for a repository."""


_known: dict[Path, dict[str, _Folder]] = {}
"""The last listing of the folders of each workspace. Only folders that changed since are listed again."""


def _git_folders(root: Path, state: GitState) -> Iterator[Path]:
    former = _known.get(root, {})
    seen: dict[str, _Folder] = {}
    pending = [str(root)]
    while pending:
        path = pending.pop()
        if len(seen) >= MAX_FOLDERS:
            state.truncated = True
            break
        try:
            folder = _list(path, former.get(path))
        except OSError:
            state.truncated |= os.path.isdir(path)  # noqa: PTH112 - plain strings: there are many
            continue
        seen[path] = folder
        if folder.has_git and (target := _resolve_git(Path(path) / ".git")) and target.is_relative_to(root):
            yield target
        if folder.is_git:
            yield Path(path)
        inner = folder.is_git or path.endswith("/.git")
        # In a git folder only these have repositories of their own.
        names = [name for name in folder.folders if not inner or name in ("modules", "worktrees")]
        pending += [f"{path}/{name}" for name in names]
    _known[root] = seen


def _list(path: str, former: _Folder | None) -> _Folder:
    status = os.lstat(path)
    if former and (former.changed_ns, former.inode) == (status.st_ctime_ns, status.st_ino):
        return former
    try:
        names = _names(path)
    except PermissionError:
        # The folder may forbid only listing: git still finds the files in it by name.
        os.chmod(path, status.st_mode | 0o700)  # noqa: PTH101
        try:
            names = _names(path)
        finally:
            os.chmod(path, stat.S_IMODE(status.st_mode))  # noqa: PTH101
    parts = {"objects", "refs"} <= names.keys() or "commondir" in names
    old_enough = status.st_ctime_ns < time.time_ns() - _TRUSTED_AFTER_NS
    return _Folder(
        changed_ns=status.st_ctime_ns if old_enough else 0,
        inode=status.st_ino,
        folders=tuple(name for name, is_folder in names.items() if is_folder),
        has_git=".git" in names,
        is_git="HEAD" in names and parts,
    )


def _names(path: str) -> dict[str, bool]:
    """Return the entries of a folder, and whether each is a folder. Links are not followed."""
    with os.scandir(path) as entries:
        return {entry.name: entry.is_dir(follow_symlinks=False) for entry in entries}


def _resolve_git(git: Path) -> Path | None:
    """Return the git folder that a `.git` is or leads to, with all links resolved; None if there is none."""
    try:
        if git.is_dir():
            return Path(os.path.realpath(git))
        text = _text(capture(Path(os.path.realpath(git)))) or b""
    except OSError:
        return None
    if not text.startswith(b"gitdir:"):
        return None
    return Path(os.path.realpath(git.parent / os.fsdecode(text[len(b"gitdir:") :].strip())))
