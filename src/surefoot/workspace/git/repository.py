"""The repository around a folder: its branch, an operation in progress, and the uncommitted changes of the user."""

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

from surefoot.errors import GitError, UsageError
from surefoot.workspace.git.program import Git, failure, said_by

_OPERATIONS = {
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "MERGE_HEAD": "a merge",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "BISECT_LOG": "a bisect",
}
_HEAD = "refs/heads/"


@dataclass(frozen=True, slots=True)
class Changes:
    """The numbers of files with uncommitted changes."""

    staged: int = 0
    modified: int = 0
    untracked: int = 0
    conflicted: int = 0

    def __bool__(self) -> bool:
        return any((self.staged, self.modified, self.untracked, self.conflicted))

    def as_text(self) -> str:
        counts = {name: getattr(self, name) for name in ("staged", "modified", "untracked", "conflicted")}
        return ", ".join(f"{number:,} {name}" for name, number in counts.items() if number)


@dataclass(frozen=True, slots=True)
class Repository:
    git: Git = field(repr=False)
    """git in the top folder."""
    top: Path
    folder: Path
    """The git folder: `.git`, or that of a worktree."""
    head: str
    """The current commit; empty if there is none yet."""
    branch: str
    """The current branch; empty if none is checked out."""
    operation: str
    """The operation in progress, such as "a rebase"; empty if there is none."""

    @property
    def place(self) -> str:
        """The name to switch back to: the branch, or the commit if no branch is checked out."""
        return self.branch or self.head


def find_repository(folder: Path) -> Repository | None:
    """Return the repository whose working tree contains the folder; None if there is none, or no git."""
    git = Git.find(folder)
    if git is None or not is_in_repository(folder):
        return None
    process = git.ask("rev-parse", "--show-toplevel", "--absolute-git-dir")
    lines = process.stdout.split(b"\n")
    if process.returncode != 0 or len(lines) < 3:
        return None
    top, git_folder = Path(os.fsdecode(lines[0])), Path(os.fsdecode(lines[1]))
    git = git.at(top)
    head = git.ask("rev-parse", "--quiet", "--verify", "HEAD^{commit}")
    branch = git.ask("symbolic-ref", "--quiet", "HEAD")
    name = os.fsdecode(branch.stdout.strip()) if branch.returncode == 0 else ""
    return Repository(
        git=git,
        top=top,
        folder=git_folder,
        head=head.stdout.decode().strip() if head.returncode == 0 else "",
        branch=name.removeprefix(_HEAD),
        operation=next((label for file, label in _OPERATIONS.items() if (git_folder / file).exists()), ""),
    )


def is_in_repository(folder: Path) -> bool:
    """Whether the folder, or one around it, has a `.git`."""
    return any(os.path.lexists(place / ".git") for place in (folder, *folder.parents))


def require_repository(folder: Path, option: str) -> Repository:
    """Return the repository for an option that needs one. Raises UsageError unless a branch or commit can be made."""
    git = Git.find(folder)
    if git is None:
        raise UsageError(f"{option} needs git, and there is none on PATH", remedy=f"install git, or leave {option} out")
    repository = find_repository(folder)
    if repository is None and is_in_repository(folder):
        reason = said_by(git.ask("rev-parse", "--show-toplevel"))
        raise UsageError(f"git cannot use the repository around {folder}: {reason}", remedy="do what git says there")
    if repository is None:
        raise UsageError(
            f"{option} needs a git repository, and {folder} is in none",
            remedy=f"make one: git init && git add . && git commit; or leave {option} out",
        )
    if repository.operation:
        raise UsageError(
            f"{repository.operation} is under way in {repository.top}",
            remedy=f"finish or abort it first (git status says how), or leave {option} out",
        )
    if not repository.branch:
        raise UsageError(
            f"no branch is checked out in {repository.top} (detached HEAD at {repository.head[:10]})",
            remedy=f"go to a branch first: git switch NAME, or git switch -c NAME; or leave {option} out",
        )
    return repository


def require_identity(repository: Repository) -> None:
    """Raise UsageError if git does not know who commits."""
    for role in ("GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"):
        if repository.git.ask("var", role).returncode != 0:
            raise UsageError(
                "git does not know who you are, so it would refuse the commit",
                remedy='tell it: git config --global user.name "Your Name" && '
                "git config --global user.email you@example.com",
            )


class Change(NamedTuple):
    path: str
    """Relative to the top folder."""
    kind: Literal["staged", "modified", "untracked", "conflicted"]


def changes_of_user(repository: Repository, folder: Path, *, all_files: bool = False) -> list[Change]:
    """Return the uncommitted changes in a folder of the repository. Raises GitError if git fails.

    Without `all_files`, a new folder counts as one change.
    """
    untracked = "--untracked-files=all" if all_files else "--untracked-files=normal"
    arguments = ("status", "--porcelain=v2", "-z", untracked, "--ignore-submodules=dirty", "--", ".")
    return list(_changes(repository.git.at(folder).read(*arguments)))


def count_changes(changes: Iterable[Change]) -> Changes:
    return Changes(**Counter[str](change.kind for change in changes))


def _changes(output: bytes) -> Iterator[Change]:
    entries = iter(os.fsdecode(output).split("\0"))
    for entry in entries:
        match entry[:2]:
            case "1 " | "2 ":
                path = entry.split(" ", 8 if entry[0] == "1" else 9)[-1]
                if entry[2] != ".":
                    yield Change(path, "staged")
                if entry[3] != ".":
                    yield Change(path, "modified")
                if entry[0] == "2":
                    next(entries, None)  # the name before the rename
            case "u ":
                yield Change(entry.split(" ", 10)[-1], "conflicted")
            case "? ":
                yield Change(entry[2:], "untracked")


# -- branches ------------------------------------------------------------------------------------------------------


def branch_name(task: str, run_id: str) -> str:
    """Return a name for the branch of a run, from the words of its task and its id: `surefoot/add-json-flag-3f2a`."""
    slug = ""
    for word in re.findall(r"[a-z0-9]+", task.lower()):
        if len(slug) + len(word) >= 40:
            break
        slug += f"{word}-"
    return f"surefoot/{slug or 'run-'}{run_id.rpartition('-')[2]}"


def require_new_branch(repository: Repository, name: str) -> None:
    """Raise UsageError if the name is invalid or the branch exists."""
    if name.startswith("-") or repository.git.ask("check-ref-format", "--branch", name).returncode != 0:
        raise UsageError(f"{name!r} is not a valid branch name", remedy="write it as --branch=NAME, such as fix/login")
    if repository.git.ask("show-ref", "--verify", "--quiet", f"{_HEAD}{name}").returncode == 0:
        raise UsageError(
            f"the branch {name} exists already",
            remedy=f"name another one, or go there first and leave --branch out: git switch {name}",
        )


def make_branch(repository: Repository, name: str) -> None:
    """Create a branch at the current commit and switch to it. Files and index stay as they are."""
    require_new_branch(repository, name)
    process = repository.git.act("checkout", "--quiet", "-b", name)
    if process.returncode != 0:
        raise failure("checkout", process, remedy="name another branch with --branch=NAME")
    now = find_repository(repository.top)
    if now is None or now.branch != name:
        raise GitError(f"git made the branch {name}, but did not switch to it", remedy="see what `git status` says")
