"""Remote runs from the command line: starts and resumes them, and downloads their files."""

import asyncio
import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from surefoot.errors import UsageError, WorkersUnreachable

if TYPE_CHECKING:
    from surefoot.journal.events import Cloned, Record
    from surefoot.journal.state import RunState

_LOCAL_ONLY = {
    "worktree": "--worktree",
    "until_phase": "--until-phase",
    "cassette": "--record",
    "branch": "--branch",
    "commit": "--commit",
    "review": "--review",
}


def run_remotely(words: tuple[str, ...], options: Mapping[str, Any]) -> int:
    """`run --remote`: store the files and the task, hand the run over to the workers, and print its id."""
    from surefoot.cli.session.resources import resolve_workspace
    from surefoot.integrations.temporal.starting import clone

    for name, option in _LOCAL_ONLY.items():
        if options.get(name) not in (None, False):
            raise UsageError(f"{option} is not possible with --remote", remedy=f"leave {option} out")
    if options["ref"] and not options["git"]:
        raise UsageError("--ref is the branch or tag of --git", remedy="name the repository with --git URL")
    if not options["git"]:
        return _start(words, options, resolve_workspace(options["workspace"]))
    with tempfile.TemporaryDirectory(prefix="surefoot-clone-") as scratch:
        return _start(words, options, *clone(options["git"], options["ref"], Path(scratch)))


def _start(words: tuple[str, ...], options: Mapping[str, Any], folder: Path, cloned: "Cloned | None" = None) -> int:
    from surefoot.cli.session.prepare import given_task, load_settings
    from surefoot.cli.session.worktree import worktree_path
    from surefoot.engine.loop import new_run_id
    from surefoot.integrations.temporal.starting import RemoteRun, start_remote

    run_id = new_run_id()
    settings = load_settings(folder, options)
    new = given_task(words, options, folder, worktree_path(folder, run_id), default_checks=settings.execution.checks)
    run = RemoteRun(
        run_id=run_id,
        task=new.task,
        config=settings.execution,
        folder=folder,
        model=options["model"] or settings.model.model or "",
        first=new.first,
        given=new.given,
        based_on=new.based_on,
        cloned=cloned,
    )
    try:
        asyncio.run(start_remote(run))
    except WorkersUnreachable as error:
        error.add_note(f"the run is recorded; hand it over later with: surefoot resume {run_id}")
        raise
    if options["as_json"]:
        click.echo(json.dumps({"run": run_id}))
    else:
        click.echo(run_id)
        click.echo(f"handed over to the workers; to see it: surefoot watch {run_id}", err=True)
    return 0


def resume_remotely(state: "RunState", *, until_phase: str | None, model: str | None, as_json: bool = False) -> int:
    """`resume` of a remote run: hand it over to the workers again, even if it has failed or is paused."""
    from surefoot.integrations.temporal.client import hand_over

    if until_phase or model:
        raise UsageError(
            "a remote run is continued by workers, with their own settings",
            remedy="leave --until-phase and -m out; a worker's model is set where it runs",
        )
    asyncio.run(hand_over(state.run_id, seen_seq=state.seq))
    if as_json:
        click.echo(json.dumps({"run": state.run_id}))
    click.echo(f"handed over to the workers; to see it: surefoot watch {state.run_id}", err=True)
    return 0


def tell_workers(run_id: str) -> bool:
    """Tell the workers that an answer waits for a remote run. Returns False if the run is not remote."""
    from surefoot.cli.session.resources import open_journal
    from surefoot.integrations.temporal.client import hand_over
    from surefoot.journal.events import RunCreated

    journal = open_journal(read_only=True)
    try:
        created = next(iter(journal.read(run_id))).event
    finally:
        journal.close()
    if not isinstance(created, RunCreated) or not created.remote:
        return False
    asyncio.run(hand_over(run_id))
    click.echo("answered; a worker goes on with it")
    return True


def bring_remote(records: "Sequence[Record]") -> None:
    """Download the snapshots of a remote run to this machine. Does nothing for a run that is not remote."""
    from surefoot.config import paths
    from surefoot.integrations.temporal.files import bring_snapshots
    from surefoot.journal.events import RunCreated
    from surefoot.journal.store.opening import open_reader

    if not (isinstance(records[0].event, RunCreated) and records[0].event.remote):
        return
    home = paths.state_home()
    reader = open_reader(home)
    try:
        bring_snapshots(records, home, reader)
    finally:
        reader.close()
