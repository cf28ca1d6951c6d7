"""`skip`, `pause` and `cancel`: step in while a run is at work, from any terminal."""

from typing import Literal

import click

from surefoot.errors import UsageError

why_option = click.option("--why", default="", metavar="TEXT", help="The reason, kept with the run.")


@click.command()
@click.argument("run_id", metavar="RUN")
@click.argument("step_id", metavar="STEP")
@why_option
def skip(run_id: str, step_id: str, why: str) -> int:
    """Leave out STEP of a run that is at work: what it has done so far is undone, and the run goes on without it."""
    return send(run_id, "skip", step_id=step_id, why=why)


@click.command()
@click.argument("run_id", metavar="[RUN]", default="last")
@why_option
def pause(run_id: str, why: str) -> int:
    """Stop a run where it is, to go on later with `surefoot resume`."""
    return send(run_id, "pause", why=why)


@click.command()
@click.argument("run_id", metavar="RUN")
@why_option
def cancel(run_id: str, why: str) -> int:
    """End a run. What it has changed stays, as its summary tells."""
    return send(run_id, "cancel", why=why)


def send(run_id: str, command: Literal["skip", "pause", "cancel", "retry"], *, step_id: str = "", why: str = "") -> int:
    from surefoot.cli.places import open_journal
    from surefoot.cli.retry import step_named
    from surefoot.fold import fold
    from surefoot.machine import WORKING

    journal = open_journal()
    run_id = journal.find(run_id)
    state = fold(journal.read(run_id))
    if state.outcome is not None or state.stage not in WORKING:
        raise UsageError(f"run {run_id} is not at work", remedy=f"see what became of it: surefoot show {run_id}")
    if step_id:
        step_id = step_named(step_id, list(state.steps))
        if step_id not in state.steps:
            known = ", ".join(state.steps) or "it has none yet"
            raise UsageError(f"run {run_id} has no step {step_id!r}", remedy=f"its steps: {known}")
    journal.send(run_id, {"type": "control", "command": command, "step_id": step_id, "by": who(), "why": why})
    journal.close()
    what = f"{command} {step_id}".strip()
    click.echo(f"asked run {run_id}: {what}; it is heeded at once, or when the run is resumed")
    return 0


def who() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "user"
