"""`worker`: drives runs that were started with `run --remote`."""

import click

from surefoot.cli.options import model_option, objects_option, queue_option, temporal_option


@click.command()
@temporal_option
@objects_option
@queue_option
@click.option(
    "--runs",
    metavar="N",
    type=click.IntRange(min=1),
    default=4,
    show_default=True,
    help="The most runs to drive at the same time.",
)
@model_option
def worker(runs: int, model: str | None) -> int:
    """Drive remote runs, until Ctrl-C or SIGTERM. Runs in progress then continue on another worker.

    Start as many workers as you like, on as many machines. They share a Temporal server and a database, and need no
    other way to reach each other. Keys of models belong in the environment of the workers.
    """
    import asyncio
    import sys

    from surefoot.cli.report.hiding import safe
    from surefoot.config.workers import read_workers
    from surefoot.integrations.temporal.worker import WorkerOptions, work

    def print_line(line: str) -> None:
        click.echo(line)
        sys.stdout.flush()

    def print_notice(message: str) -> None:
        click.echo(safe(message), err=True)

    asyncio.run(work(WorkerOptions(workers=read_workers(), runs=runs, model=model), print_line, print_notice))
    return 0
