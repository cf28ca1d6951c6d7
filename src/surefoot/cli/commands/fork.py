"""`fork` creates a run in a new folder that starts in the middle of another one. `recover` gets a run from Redis."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from surefoot.cli.options import PHASE_NAMES, all_option, display_options, model_option
from surefoot.errors import UsageError

if TYPE_CHECKING:
    from surefoot.history.fork import Point


@click.command()
@click.argument("run_id", metavar="RUN")
@click.option("--at", "step", metavar="STEP", default="", help="The step to start with: its id or number.")
@click.option("--decision", metavar="N", type=click.IntRange(min=1), help="Instead: the decision to make again.")
@click.option("--phase", type=click.Choice(PHASE_NAMES), help="Instead: the phase to start with.")
@click.option(
    "--question", metavar="ID", default="", help="Instead: the question that is asked again, or answered by --answer."
)
@click.option("--answer", metavar="TEXT", default="", help="With --question: the answer to continue with.")
@click.option("--set", "changes", metavar="NAME=VALUE", multiple=True, help="Continue with another value of a setting.")
@click.option("-C", "--workspace", "target", metavar="NEWDIR", required=True, help="A new or empty folder for the run.")
@model_option
@click.option("--run", "start", is_flag=True, help="Start the new run immediately.")
@all_option
@display_options
def fork(
    run_id: str,
    step: str,
    decision: int | None,
    phase: str | None,
    question: str,
    answer: str,
    changes: tuple[str, ...],
    target: str,
    model: str | None,
    start: bool,
    all_folders: bool,
    **options: Any,
) -> int:
    """Create a new run in a new folder that starts in the middle of another one: with a phase or a step, or right
    before a decision or a question in it.

    RUN is the beginning of its id, or `last` for the newest run of the current folder. The new folder has the files of
    that moment, and the results of everything before it are taken over. `surefoot show RUN --decisions` lists the
    numbers of decisions.
    """
    import asyncio
    from functools import partial

    from surefoot.cli.report import formatting as fmt
    from surefoot.cli.session.foreground import run_in_foreground
    from surefoot.cli.session.prepare import prepare_resume, with_settings
    from surefoot.cli.session.resources import open_journal
    from surefoot.cli.session.runs import find_run, load_run
    from surefoot.config import paths
    from surefoot.history.fork import fork as create_fork

    if not start and any(options.values()):
        raise UsageError("options for watching a run need --run", remedy="add --run to start it immediately")
    point = _point(step, decision, phase, question)
    journal = open_journal()
    try:
        found_run = find_run(journal, run_id, all_folders=all_folders)
        folder = Path(target).expanduser().absolute()
        click.echo(
            f"forking run {found_run.run_id} of {fmt.folder(found_run.folder)} into {fmt.folder(folder)}", err=True
        )
        new_id = asyncio.run(
            create_fork(
                journal,
                paths.state_home(),
                found_run.run_id,
                point,
                folder,
                model=model or "",
                answer=answer,
                config=partial(with_settings, changes=changes),
            )
        )
    finally:
        journal.close()
    if not start:
        click.echo(f"created run {new_id}; continue with: cd {shlex.quote(target)} && surefoot resume {new_id}")
        return 0
    return asyncio.run(run_in_foreground(prepare_resume(load_run(new_id), model, options)))


def _point(step: str, decision: int | None, phase: str | None, question: str) -> "Point":
    from surefoot.core.transitions import Stage
    from surefoot.history.fork import Point

    if sum(map(bool, (step, decision, phase, question))) != 1:
        remedy = "with one of --at STEP, --decision N, --phase PHASE and --question ID"
        raise UsageError("say where the new run starts", remedy=remedy)
    return Point(step=step, decision=decision or 0, phase=Stage(phase) if phase else None, question=question)


@click.command()
@click.argument("run_id", metavar="[RUN]", default="last")
def recover(run_id: str) -> int:
    """Get a run back from Redis into the journal of this machine.

    RUN is the beginning of its id; the default is the newest run there. `surefoot show` and `surefoot report` then
    show it. `surefoot resume` continues it where its folder and its snapshots are; elsewhere,
    `surefoot run --based-on RUN` starts a new run with its plan. Recover only from a server that you trust: the run
    says which commands are carried out.
    """
    import asyncio

    from surefoot.cli.report.hiding import safe
    from surefoot.cli.session.prepare import load_settings
    from surefoot.config import paths
    from surefoot.integrations.redis.recovery import recover as recover_run

    settings = load_settings(Path.cwd()).integrations.redis
    recovered = asyncio.run(recover_run(settings, run_id, paths.journal_file(paths.state_home())))
    click.echo(recovered.run_id)
    state, events = recovered.state, f"{recovered.state.seq} events"
    verdict = str(state.outcome.verdict) if state.outcome else str(state.stage)
    click.echo(safe(f"recovered run {recovered.run_id}: {verdict}, {events}"), err=True)
    if recovered.missing:
        click.echo(f"the last {recovered.missing} events are not in Redis any more", err=True)
    if recovered.may_be_running:
        click.echo("it has not ended, and may still be running on the other machine", err=True)
    return 0
