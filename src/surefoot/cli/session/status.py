"""The current status of one run, with the process that drives it or the runs that carried out its plan."""

import time
from datetime import datetime
from typing import NamedTuple

from surefoot.cli.report import text as fmt
from surefoot.cli.session.runs import open_run_list
from surefoot.config import paths
from surefoot.core.transitions import RunStatus
from surefoot.errors import UsageError, WorkspaceLocked
from surefoot.history.status import live_runs, unread_answers
from surefoot.journal.run_status import has_halted, is_plan, status_of
from surefoot.journal.state import RunState
from surefoot.workspace.lock import current_holder

HALT_TIMEOUT = 10.0
"""Seconds for the process of a run that was interrupted or paused to end."""


class CurrentStatus(NamedTuple):
    status: RunStatus
    live: bool
    """Whether a process drives the run now."""
    process: str = ""
    """The process in words; empty if there is none."""
    carried_out_by: tuple[str, ...] = ()
    """If the run is a plan: the runs that carried it out, oldest first."""

    @property
    def words(self) -> list[str]:
        """Lines that say who drives the run, or who carried out the plan."""
        lines = [f"in progress in {self.process}"] if self.process else []
        if self.carried_out_by:
            *earlier, last = self.carried_out_by
            more = f" and {fmt.count(len(earlier), 'run')} before it" if earlier else ""
            lines.append(f"carried out by run {last}{more}")
        return lines


def current_status(state: RunState) -> CurrentStatus:
    assert state.task is not None
    run_id, folder, home = state.run_id, state.task.folder, paths.state_home()
    live = state.outcome is None and run_id in live_runs({run_id: folder}, home)
    answered: set[str] = set()
    carried_out_by: list[str] = []
    if state.open_questions or is_plan(state):
        reader = open_run_list()
        try:
            answered = unread_answers(reader, run_id)
            carried_out_by = reader.carried_out_by(run_id) if is_plan(state) else []
        finally:
            reader.close()
    return CurrentStatus(
        status_of(state, live=live, answered=answered), live, _process(state) if live else "", tuple(carried_out_by)
    )


def status_when_halted(state: RunState) -> CurrentStatus:
    """The current status. If the run was interrupted or paused, its process is given some seconds to end: it still
    removes its files and closes its connections.
    """
    current, deadline = current_status(state), time.monotonic() + HALT_TIMEOUT
    while current.live and has_halted(state) and time.monotonic() < deadline:
        time.sleep(0.05)
        current = current_status(state)
    return current


def require_free(state: RunState) -> None:
    """Raise if the run cannot be resumed: a process drives it, or it is a plan."""
    run_id, current = state.run_id, status_when_halted(state)
    if current.live:
        raise WorkspaceLocked(
            f"run {run_id} is in progress in {current.process}",
            remedy=f"watch it: surefoot watch {run_id}; or stop it first: surefoot pause {run_id}",
        )
    if current.status == "plan":
        raise UsageError(
            f"run {run_id} is a finished plan; there is nothing to continue",
            remedy=f"carry it out: surefoot run --plan {run_id}; change it first: surefoot edit {run_id}",
        )


def _process(state: RunState) -> str:
    assert state.task is not None
    holder = current_holder(state.task.folder, paths.state_home())
    if holder is None or holder.run_id != state.run_id:
        # The process holds the lease of the run, and not the lock of this folder.
        return "a worker" if state.remote else "another process"
    return f"process {holder.pid} since {fmt.timestamp(datetime.fromisoformat(holder.since).timestamp())}"
