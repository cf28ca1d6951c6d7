"""`fork`: a point of a run as a new run in a new folder, to go on from there in another way."""

from pathlib import Path
from typing import Any

import click

from surefoot.cli.options import model_option, watching_options
from surefoot.errors import UsageError


@click.command()
@click.argument("run_id", metavar="RUN")
@click.option("--at", "step", metavar="STEP", default="", help="The step to begin with: its id or number.")
@click.option("--decision", metavar="N", type=click.IntRange(min=1), help="Or the decision to make anew.")
@click.option("-C", "--workspace", "target", metavar="NEWDIR", required=True, help="A new or empty folder for it.")
@model_option
@click.option("--run", "go_on", is_flag=True, help="Go on with the new run at once.")
@watching_options
def fork(
    run_id: str, step: str, decision: int | None, target: str, model: str | None, go_on: bool, **watching: Any
) -> int:
    """Make a new run that begins with a step of another one, or right before a decision in it, in a new folder.

    The files there are as they were at that moment, and all that was found and done before it is taken over. The
    numbers of decisions are in `surefoot show RUN --decisions`.
    """
    import asyncio

    from surefoot import paths
    from surefoot.cli.places import open_journal
    from surefoot.fork import fork as carry_out

    if not go_on and any(watching.values()):
        raise UsageError("nothing is run, so there is nothing to watch", remedy="say --run to go on at once")
    if bool(step) == (decision is not None):
        raise UsageError("say where the new run begins", remedy="with --at STEP or with --decision N")
    journal = open_journal()
    try:
        old = journal.find(run_id)
        new = asyncio.run(
            carry_out(journal, paths.state_home(), old, step, Path(target), decision=decision or 0, model=model or "")
        )
    finally:
        journal.close()
    if not go_on:
        click.echo(f"made run {new} in {target}; go on with: surefoot resume {new}")
        return 0
    from surefoot.cli.run import go_on_with

    return go_on_with(new, None, model, watching)
