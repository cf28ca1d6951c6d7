"""The hints of `undo` for a run whose changes were committed: the commit stays, and how to revert it in git."""

import shlex
from collections.abc import Iterator, Sequence

from surefoot.cli.report import formatting as fmt
from surefoot.journal.events import Committed
from surefoot.journal.reducers import fold
from surefoot.journal.store.base import Journal
from surefoot.workspace.errors import as_path

_MAX_PATHS = 50


def committed_in(journal: Journal, run_id: str) -> list[Committed]:
    """The commits that hold changes of a run."""
    return fold(list(journal.read(run_id))).commits


def before_undo(commits: Sequence[Committed]) -> Iterator[str]:
    if commits:
        ids = " ".join(commit.commit[:10] for commit in reversed(commits))
        branch = fmt.line(commits[-1].branch)
        yield f"git: its changes are committed on {branch}: undo restores the files and leaves the commit"
        yield f"git: to revert it as a commit instead: git revert {ids}"


def after_undo(run_id: str, commits: Sequence[Committed]) -> Iterator[str]:
    """How to commit the undo. `git revert` would refuse now, because the files are changed already."""
    if not commits:
        return
    paths = sorted({as_path(path) for commit in commits for path in commit.paths})
    ids = ", ".join(commit.commit[:10] for commit in commits)
    yield f"the commit stays: {ids}; to commit the undo too, in the top folder of the repository:"
    if len(paths) > _MAX_PATHS or not all(path.isprintable() for path in paths):
        yield f"  git commit -a -m 'Undo Surefoot run {run_id}'"
        return
    yield f"  git commit -m 'Undo Surefoot run {run_id}' -- {' '.join(map(shlex.quote, paths))}"
