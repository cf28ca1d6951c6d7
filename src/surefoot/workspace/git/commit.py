"""Commits through a temporary index. The user's own staged changes stay staged; their hooks and signing apply."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from surefoot.errors import GitError
from surefoot.workspace.errors import printable
from surefoot.workspace.git.program import failure, said_by
from surefoot.workspace.git.repository import Repository
from surefoot.workspace.git.staging import Staging, States, staged_by_user, take_over

_MAX_NAMED = 10


@dataclass(frozen=True, slots=True)
class Part:
    """The content of one commit."""

    message: str
    states: States
    step: str = ""


@dataclass(frozen=True, slots=True)
class NewCommit:
    commit: str
    parent: str
    paths: tuple[str, ...]
    step: str


def changed_before(repository: Repository, stage: Staging, before: States) -> list[str]:
    """Return the files that the user had changed before the run, or has staged: a commit would mix both changes."""
    stage.reset(repository.head)
    stage.stage(before)
    return sorted({*stage.differences(repository.head), *staged_by_user(repository, before)})


def has_all(repository: Repository, stage: Staging, after: States) -> bool:
    """Whether the last commit has these files in this state."""
    stage.reset(repository.head)
    stage.stage(after)
    return not stage.differences(repository.head)


def commit_parts(repository: Repository, stage: Staging, parts: Iterable[Part]) -> list[NewCommit]:
    """Commit the parts in order. If one is refused, all are taken back. A part without a change makes no commit."""
    commits: list[NewCommit] = []
    stage.reset(repository.head)
    head, tree = repository.head, _tree_of(repository, repository.head)
    for part in parts:
        stage.stage(part.states)
        new_tree = stage.tree()
        if new_tree == tree:
            continue
        paths = tuple(stage.differences(head))
        try:
            commit = _commit(repository, stage, part.message, head, new_tree)
        except BaseException:
            take_back(repository, commits)
            raise
        commits.append(NewCommit(commit, head, paths, part.step))
        head, tree = commit, new_tree
    return commits


def _commit(repository: Repository, stage: Staging, message: str, head: str, tree: str) -> str:
    """Make one commit with exactly this tree, and return its id. Raises GitError, and takes it back, if it differs."""
    arguments = ("commit", "--quiet", "--cleanup=verbatim", "-F", "-")
    result = repository.git.act(*arguments, send=message.encode(), variables=stage.variables)
    new = repository.git.ask("rev-parse", "--quiet", "--verify", "HEAD^{commit}").stdout.decode().strip()
    if result.returncode != 0:
        if new != head:
            take_back(repository, [NewCommit(new, head, (), "")])
        raise GitError(
            f"git refused the commit: {said_by(result)}", remedy="nothing was committed; see what the hook or git says"
        )
    if _tree_of(repository, new) != tree:
        take_back(repository, [NewCommit(new, head, (), "")])
        raise GitError(
            "a hook changed what is committed, so it is not what the checks have seen: the commit was taken back",
            remedy="nothing was committed; see what your pre-commit hook does, or commit yourself",
        )
    return new


def take_back(repository: Repository, commits: Sequence[NewCommit]) -> None:
    """Move the branch back to where it was before these commits. Files and index are not touched."""
    if not commits:
        return
    first, last = commits[0].parent, commits[-1].commit
    back = ("update-ref", "-m", "surefoot: commit taken back", "HEAD", first, last)
    result = repository.git.ask(*back) if first else repository.git.ask("update-ref", "-d", "HEAD", last)
    if result.returncode != 0:
        raise failure("update-ref", result, remedy=f"take the commit {last[:10]} back: git reset --soft {first[:10]}")


def adopt(repository: Repository, commits: Sequence[NewCommit]) -> str:
    """Update the user's index with the committed files. Returns a line for the user if that fails, else ""."""
    paths = sorted({path for commit in commits for path in commit.paths})
    try:
        take_over(repository, commits[-1].commit, paths)
    except GitError as error:
        named = " ".join(printable(path) for path in paths[:_MAX_NAMED])
        return f"the index could not be updated ({error}): git reset --quiet -- {named}"
    return ""


def _tree_of(repository: Repository, commit: str) -> str:
    if not commit:
        return repository.git.read("hash-object", "-t", "tree", os.devnull).decode().strip()
    return repository.git.read("rev-parse", f"{commit}^{{tree}}").decode().strip()
