"""Sends control requests: messages that ask a run to skip or retry a step, to pause, or to end."""

import json
from typing import Literal

import click

from surefoot.cli.report import formatting as fmt
from surefoot.cli.session.resources import open_journal
from surefoot.cli.session.runs import find_run
from surefoot.config import paths
from surefoot.errors import UsageError
from surefoot.history.requests import send_control, step_to_control
from surefoot.history.status import live_runs
from surefoot.journal.reducers import fold

Command = Literal["skip", "pause", "cancel", "retry"]


def request_control(
    run_id: str,
    command: Command,
    *,
    step_id: str = "",
    reason: str = "",
    all_folders: bool = False,
    as_json: bool = False,
) -> int:
    """Send a control request to a run in progress, and print when it takes effect. Returns the exit code."""
    journal = open_journal()
    try:
        found_run = find_run(journal, run_id, all_folders=all_folders)
        run_id = found_run.run_id
        state = fold(journal.read(run_id))
        step_id = step_to_control(state, step_id)
        assert state.task is not None
        driven = state.remote or bool(live_runs({run_id: state.task.folder}, paths.state_home()))
        if command == "pause" and not driven:
            raise UsageError(
                f"run {run_id} is not running", remedy=f"nothing to pause; continue it with: surefoot resume {run_id}"
            )
        send_control(journal, run_id, command, step_id, reason)
    finally:
        journal.close()
    if as_json:
        click.echo(json.dumps({"run": run_id, "sent": command, "step": step_id or None}))
        return 0
    request = f"{command} {step_id}".strip()
    where = fmt.folder(found_run.folder)
    when = "it takes effect immediately" if driven else f"it takes effect on: surefoot resume {run_id}"
    click.echo(f"sent to run {run_id} in {where}: {request}; {when}")
    return 0
