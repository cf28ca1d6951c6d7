"""`replay`: plays a run once more from its journal, or makes its decisions again with the present code."""

import click

from surefoot.cli.options import all_option
from surefoot.errors import UsageError

OTHER_DECISION = 1
"""The exit code of --verify if a decision differs now."""


@click.command()
@click.argument("run_id", metavar="[RUN]", default="last")
@click.option(
    "--speed",
    metavar="N",
    type=click.FloatRange(min=0),
    default=None,
    help="How many times faster than the run. The default is 1 with the live view, else without pauses.",
)
@click.option("--verify", "verified", is_flag=True, help="Make every decision again from the recorded answers.")
@click.option("--json", "as_json", is_flag=True, help="Print every event as a JSON object, one per line.")
@click.option("--live/--plain", "live", default=None, help="Show the live view, or plain lines.")
@click.option("-v", "--verbose", is_flag=True, help="Print more: reasoning, answers, tokens.")
@all_option
def replay(
    run_id: str, speed: float | None, verified: bool, as_json: bool, live: bool | None, verbose: bool, all_folders: bool
) -> int:
    """Play a run once more from its journal, with no model, no tools and no workspace.

    RUN is the beginning of its id; the default is the newest run of the current folder. With --verify, nothing is
    played: the engine decides again, with the recorded answers and results, and the first decision that differs from
    the recorded one is named.
    """
    import asyncio

    if verified and (speed is not None or live is not None):
        raise UsageError("--verify shows no view", remedy="leave out --speed, --live and --plain")
    if verified:
        return asyncio.run(_verify(run_id, as_json, all_folders))
    return asyncio.run(_play(run_id, speed, as_json, live, verbose, all_folders))


async def _play(
    run_id: str, speed: float | None, as_json: bool, live: bool | None, verbose: bool, all_folders: bool
) -> int:
    from surefoot.cli.session.ending import Display, report_end
    from surefoot.cli.session.runs import load_run
    from surefoot.cli.session.watching import choose_watcher
    from surefoot.cli.views.live import LiveView
    from surefoot.history.replay.replay import play

    stored = load_run(run_id, all_folders=all_folders)
    watcher = choose_watcher(live=live, as_json=as_json, verbose=verbose)
    pace = speed if speed is not None else float(isinstance(watcher, LiveView))
    async with watcher:
        await play(stored.records, watcher.on_record, speed=pace)
    report_end(stored.state, watcher, Display(live=live, as_json=as_json, verbose=verbose))
    return 0


async def _verify(run_id: str, as_json: bool, all_folders: bool) -> int:
    import json

    from surefoot.cli.report.hiding import safe
    from surefoot.cli.session.resources import open_journal
    from surefoot.cli.session.runs import find_run
    from surefoot.config import paths
    from surefoot.history.replay.replay import explain, verify

    journal = open_journal(read_only=True)
    try:
        found_run = find_run(journal, run_id, all_folders=all_folders)
        result = await verify(journal, paths.state_home(), found_run.run_id)
    finally:
        journal.close()
    if as_json:
        click.echo(json.dumps({"type": "verification", "run_id": found_run.run_id, **result.as_object()}))
    else:
        for line in explain(result):
            click.echo(safe(line))
    return OTHER_DECISION if result.divergence else 0
