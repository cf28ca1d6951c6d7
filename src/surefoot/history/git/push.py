"""Pushes the changes of a run, as one commit on top of the commit that the run began with.

Only a person can ask for a push. It is made from a copy of the repository, with the user's own git and credentials.
Nothing is sent before the person has seen and confirmed what would be pushed, and no branch is ever overwritten.
"""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from surefoot.errors import UsageError
from surefoot.history.git.commit import Work, require_committable
from surefoot.history.restoring import user_and_command
from surefoot.history.timeline import build_timeline
from surefoot.journal import events as e
from surefoot.journal.reducers import fold
from surefoot.journal.state import RunState
from surefoot.journal.store.base import Journal
from surefoot.workspace.errors import as_text
from surefoot.workspace.git.hooks import PUSH_HOOKS
from surefoot.workspace.git.remote import copy_of, push, require_address, tip_of, without_login
from surefoot.workspace.git.repository import branch_name


@dataclass(frozen=True, slots=True)
class ProposedPush:
    """A push for a person to confirm."""

    state: RunState
    event: e.Pushed
    tip: str
    """The current last commit of the branch; empty if the branch is new."""
    left_out: tuple[str, ...]
    """Changed files that belong to a submodule or to another repository."""


async def push_run(
    journal: Journal,
    home: Path,
    run_id: str,
    *,
    agreed: Callable[[ProposedPush], bool],
    branch: str = "",
    address: str = "",
    by: str = "",
    hide: Callable[[str], str] = lambda text: text,
) -> e.Pushed | None:
    """Push the changes of a verified run to a branch of the repository that it was cloned from.

    Returns None if `agreed` returns False. The snapshots of the run must be on this machine. `address` is another
    address of the repository. Raises UsageError or GitError if the run cannot be pushed; in that case nothing was sent.
    """
    records = list(journal.read(run_id))
    state = fold(records)
    cloned = require_pushable(state)
    where = address or cloned.address
    require_address(where)
    name = branch or branch_name(state.task.text if state.task else "", run_id)
    with tempfile.TemporaryDirectory(prefix="surefoot-push-") as scratch:
        folder = Path(scratch)
        repository = copy_of(where, cloned.commit, name, folder)
        tip = tip_of(repository, where, name)
        if tip and not branch:
            raise UsageError(
                f"the branch {name} exists already in {without_login(where)}",
                remedy="name another one: --branch NAME; or name it, to add to it if it has not moved",
            )
        work = Work.of(state, records, build_timeline(records), folder, home, hooks=PUSH_HOOKS)
        (commit,), _ = work.commit(by_step=False, hide=hide)
        event = e.Pushed(
            commit=commit.commit,
            parent=commit.parent,
            branch=name,
            address=without_login(where),
            paths=tuple(map(as_text, commit.paths)),
            by=by or user_and_command(),
        )
        if not agreed(ProposedPush(state, event, tip, tuple(sorted(work.nested)))):
            return None
        push(repository, where, commit.commit, name)
    await journal.append(run_id, [event])
    return event


def require_pushable(state: RunState) -> e.Cloned:
    """The clone that the run began with. Raises UsageError if there is none, if the run is not verified, or if it was
    already pushed."""
    run_id = state.run_id
    if state.cloned is None:
        bring = f"surefoot apply {run_id} && surefoot commit {run_id}" if state.remote else f"surefoot commit {run_id}"
        raise UsageError(
            f"run {run_id} did not begin with a clone (run --remote --git), so it is not known where to push it",
            remedy=f"commit it in your own repository, and push that: {bring} && git push",
        )
    require_committable(state, "pushed", otherwise=f"take its changes as a patch: surefoot diff {run_id}")
    for event in state.pushes:
        raise UsageError(
            f"run {run_id} was pushed already, as {event.commit[:10]} to {event.branch} of {event.address}",
            remedy=f"see it there: git fetch {event.address} {event.branch}",
        )
    return state.cloned
