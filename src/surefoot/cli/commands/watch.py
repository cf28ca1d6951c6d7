"""`watch`: follow a run that another process drives."""

import click

from surefoot.cli.options import all_option
from surefoot.errors import UsageError


@click.command()
@click.argument("run_id", metavar="[RUN]", default="last")
@all_option
@click.option("--json", "as_json", is_flag=True, help="Print every event as a JSON object, one per line.")
@click.option(
    "--live/--plain",
    "live",
    default=None,
    help="Show the live view, or plain lines. The default is live on a terminal, plain elsewhere.",
)
def watch(run_id: str, all_folders: bool, as_json: bool, live: bool | None) -> int:
    """Show a run as it happens, from another terminal. The keys of the live view work too. Ctrl-C only stops watching.

    RUN is the beginning of its id; the default is the newest run of the current folder. Ends when the run ends or
    waits, with the exit code of the run.
    """
    import asyncio

    from surefoot.cli.session.attached import watch_run
    from surefoot.cli.session.resources import open_journal
    from surefoot.cli.session.runs import find_run

    if as_json and live is not None:
        raise UsageError("--json cannot be combined with --live or --plain", remedy="leave out --live and --plain")
    journal = open_journal()
    try:
        found = find_run(journal, run_id, all_folders=all_folders)
        return asyncio.run(watch_run(journal, found.run_id, live=live, as_json=as_json))
    finally:
        journal.close()
