"""`fork`: a new run in a new folder that starts in the middle of another one."""

import shlex
from pathlib import Path
from typing import Any

import click

from surefoot.cli.options import all_option, display_options, model_option
from surefoot.errors import UsageError


@click.command()
@click.argument("run_id", metavar="RUN")
@click.option("--at", "step", metavar="STEP", default="", help="The step to start with: its id or number.")
@click.option("--decision", metavar="N", type=click.IntRange(min=1), help="Instead: the decision to make again.")
@click.option("-C", "--workspace", "target", metavar="NEWDIR", required=True, help="A new or empty folder for the run.")
@model_option
@click.option("--run", "start", is_flag=True, help="Start the new run immediately.")
@all_option
@display_options
def fork(
    run_id: str,
    step: str,
    decision: int | None,
    target: str,
    model: str | None,
    start: bool,
    all_folders: bool,
    **options: Any,
) -> int:
    """Create a new run in a new folder that starts with a step of another run, or right before a decision in it.

    RUN is the beginning of its id, or `last` for the newest run of the current folder. The new folder has the files of
    that moment, and the results of everything before it are taken over. `surefoot show RUN --decisions` lists the
    numbers of decisions.
    """
    import asyncio

    from surefoot.cli.report import formatting as fmt
    from surefoot.cli.session.foreground import run_in_foreground
    from surefoot.cli.session.prepare import prepare_resume
    from surefoot.cli.session.resources import open_journal
    from surefoot.cli.session.runs import find_run, load_run
    from surefoot.config import paths
    from surefoot.history.fork import fork as create_fork

    if not start and any(options.values()):
        raise UsageError("options for watching a run need --run", remedy="add --run to start it immediately")
    if bool(step) == (decision is not None):
        raise UsageError("say where the new run starts", remedy="with either --at STEP or --decision N")
    journal = open_journal()
    try:
        found = find_run(journal, run_id, all_folders=all_folders)
        folder = Path(target).expanduser().absolute()
        click.echo(f"forking run {found.run_id} of {fmt.folder(found.folder)} into {fmt.folder(folder)}", err=True)
        new_id = asyncio.run(
            create_fork(
                journal,
                paths.state_home(),
                found.run_id,
                step,
                folder,
                decision=decision or 0,
                model=model or "",
            )
        )
    finally:
        journal.close()
    if not start:
        click.echo(f"created run {new_id}; continue with: cd {shlex.quote(target)} && surefoot resume {new_id}")
        return 0
    return asyncio.run(run_in_foreground(prepare_resume(load_run(new_id), model, options)))
