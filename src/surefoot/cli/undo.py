"""`undo`, `diff`, `apply` and `gc`: what a run did to the files, seen, taken back, taken over, and no longer kept."""

import sys
from typing import TYPE_CHECKING

import click

from surefoot.cli.options import Duration
from surefoot.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from surefoot.undo import Way

yes_option = click.option("-y", "--yes", is_flag=True, help="Do it without asking.")


@click.command()
@click.argument("run_id", metavar="RUN")
@click.option("--step", metavar="STEP", default="", help="Only what this step and all after it did: its id or number.")
@click.option("--to", metavar="SNAPSHOT", default="", help="To this snapshot of the run, such as one that undo named.")
@click.option("--force", is_flag=True, help="Overwrite also files that someone has changed meanwhile.")
@yes_option
def undo(run_id: str, step: str, to: str, force: bool, yes: bool) -> int:
    """Bring the workspace back to how it was before the run, exactly.

    What you changed meanwhile stays; where that are the same files, it is refused. What is undone can be brought back.
    """
    import asyncio

    from surefoot import paths
    from surefoot.cli.places import open_journal
    from surefoot.undo import undo as carry_out

    if step and to:
        raise UsageError("--step and --to say two different things", remedy="give one of them")
    journal = open_journal()
    try:
        run_id = journal.find(run_id)
        agreed = _ask("This will be put back", yes)
        way = asyncio.run(carry_out(journal, paths.state_home(), run_id, step=step, to=to, force=force, agreed=agreed))
    finally:
        journal.close()
    if way is None:
        click.echo("nothing was changed", err=True)
        return 1
    if not way.changes:
        click.echo("the workspace is like that already")
        return 0
    click.echo(f"done; to bring back what was undone: surefoot undo {run_id} --to {way.now[:12]}")
    return 0


@click.command()
@click.argument("run_id", metavar="[RUN]", default="last")
@click.argument("step", metavar="[STEP]", default="")
@click.option("--stat", is_flag=True, help="Only how many lines changed in which file.")
def diff(run_id: str, step: str, stat: bool) -> int:
    """Show what a run, or one step of it, changed: in colour on a terminal, as a patch in a pipe.

    RUN is the beginning of its id; without one it is the newest. STEP is an id, or its number in `surefoot show`.
    """
    from surefoot import paths
    from surefoot.cli.differing import print_diff, stat_lines
    from surefoot.cli.places import open_journal
    from surefoot.cli.stdout import print_lines
    from surefoot.trail import diff_of

    journal = open_journal(read_only=True)
    records = list(journal.read(journal.find(run_id)))
    journal.close()
    text = diff_of(records, paths.state_home(), step)
    if stat:
        print_lines(stat_lines(text))
    else:
        print_diff(text)
    return 0


@click.command()
@click.argument("run_id", metavar="RUN")
@yes_option
def apply(run_id: str, yes: bool) -> int:
    """Do to the folder what a run with --worktree did to its copy.

    What you changed in the folder meanwhile stays; where that are the same files, it is refused.
    """
    import asyncio

    from surefoot import paths
    from surefoot.cli.places import open_journal
    from surefoot.worktree import apply_worktree

    journal = open_journal(read_only=True)
    try:
        run_id = journal.find(run_id)
        agreed = _ask("This will be changed", yes)
        way = asyncio.run(apply_worktree(journal, paths.state_home(), run_id, agreed=agreed))
    finally:
        journal.close()
    if way is None:
        click.echo("nothing was changed", err=True)
        return 1
    click.echo("done" if way.changes else "the folder is like that already")
    return 0


@click.command()
@click.option(
    "--older-than",
    type=Duration(),
    default="14d",
    show_default=True,
    help="Runs that ended longer ago, such as 12h or 30d.",
)
@click.option(
    "--keep",
    metavar="N",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="But not the newest N of them.",
)
@click.option("--dry-run", is_flag=True, help="Only tell what would go.")
def gc(older_than: float, keep: int, dry_run: bool) -> int:
    """Remove the snapshots of runs that ended a while ago, and copies made for them. Their journal stays.

    They can no longer be undone, compared or forked then. Runs that go on, wait or were interrupted keep everything.
    """
    from surefoot import paths
    from surefoot.cli import words
    from surefoot.cli.places import open_journal
    from surefoot.retention import clear

    journal = open_journal(read_only=True)
    try:
        done = clear(journal, paths.state_home(), older_than=older_than, keep=keep, dry_run=dry_run)
    finally:
        journal.close()
    megabytes = f"{done.bytes_freed / 1_000_000:,.1f} MB"
    what = f"{words.count(done.snapshots, 'snapshot')} of {words.count(len(done.runs), 'run')}, {megabytes}"
    click.echo(f"would remove {what}" if dry_run else f"removed {what}")
    click.echo(f"{words.count(done.kept, 'run')} kept")
    return 0


def _ask(what: str, yes: bool) -> "Callable[[Way], bool]":
    """Shows what is about to happen, and asks whoever sits at the terminal."""

    def agreed(way: "Way") -> bool:
        from surefoot.cli.differing import change_lines
        from surefoot.cli.stdout import print_lines

        click.echo(f"{what}:")
        print_lines(change_lines(way.changes))
        if yes:
            return True
        if not sys.stdin.isatty():
            raise UsageError("there is nobody to ask here", remedy="say --yes to do it without asking")
        return click.confirm("Go on?")

    return agreed
