"""Control requests: messages that ask a run to skip or retry a step, to pause, or to end."""

import getpass
from typing import Literal

import click

from surefoot.cli.report import formatting as fmt
from surefoot.cli.session.resources import open_journal
from surefoot.cli.session.runs import find_run
from surefoot.core.transitions import WORKING
from surefoot.errors import UsageError
from surefoot.journal.events import ControlCommand
from surefoot.journal.messages import ControlMessage
from surefoot.journal.reducers import fold
from surefoot.journal.store.base import Journal

Command = Literal["skip", "pause", "cancel", "retry"]


def request_control(
    run_id: str, command: Command, *, step_id: str = "", reason: str = "", all_folders: bool = False
) -> int:
    """Send a control request to a run that is in progress, say so, and return the exit code."""
    journal = open_journal()
    try:
        found = find_run(journal, run_id, all_folders=all_folders)
        run_id = found.run_id
        state = fold(journal.read(run_id))
        if state.outcome is not None or state.stage not in WORKING:
            raise UsageError(f"run {run_id} is not running", remedy=f"see how it ended: surefoot show {run_id}")
        if step_id:
            step_id = resolve_step(step_id, list(state.steps))
            if step_id not in state.steps:
                steps = ", ".join(state.steps) or "it has none yet"
                raise UsageError(f"run {run_id} has no step {step_id!r}", remedy=f"its steps: {steps}")
        send_control(journal, run_id, command, step_id, reason)
    finally:
        journal.close()
    request = f"{command} {step_id}".strip()
    where = fmt.folder(found.folder)
    click.echo(f"sent to run {run_id} in {where}: {request}; it takes effect immediately, or on resume")
    return 0


def send_control(journal: Journal, run_id: str, command: ControlCommand, step_id: str = "", reason: str = "") -> None:
    journal.send(run_id, ControlMessage(command=command, step_id=step_id, by=user_name(), why=reason))


def resolve_step(name: str, ids: list[str]) -> str:
    """The id of a step; a plain number counts the steps of the plan from 1. An unknown name is returned unchanged."""
    return ids[int(name) - 1] if name not in ids and name.isdecimal() and 0 < int(name) <= len(ids) else name


def user_name() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "user"
