"""`undo`, `diff`, `apply` and `gc`: show, revert and apply the changes of a run, and remove old snapshots."""

import sys
from typing import TYPE_CHECKING

import click

from surefoot.cli.options import Duration, all_option
from surefoot.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from surefoot.cli.session.runs import FoundRun
    from surefoot.history.restoring import RestorePlan

yes_option = click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")


@click.command()
@click.argument("run_id", metavar="RUN")
@click.option("--step", metavar="STEP", default="", help="Undo only from this step on: its id or number.")
@click.option(
    "--to", metavar="SNAPSHOT", default="", help="Restore this snapshot of the run, such as one that undo printed."
)
@click.option("--force", is_flag=True, help="Also overwrite files that were changed since by you or another program.")
@all_option
@yes_option
def undo(run_id: str, step: str, to: str, force: bool, all_folders: bool, yes: bool) -> int:
    """Restore the workspace exactly as it was before the run.

    RUN is the beginning of its id, or `last` for the newest run of the current folder. Your own changes since then are
    kept; if they are in the same files, undo refuses. An undo can be undone itself. If the changes of a run with
    --worktree were applied, they are removed from the folder again.
    """
    import asyncio

    from surefoot.cli.git.committed import after_undo, before_undo, committed_in
    from surefoot.cli.session.resources import open_journal
    from surefoot.cli.session.runs import find_run
    from surefoot.config import paths
    from surefoot.history.restoring import user_and_command
    from surefoot.history.undo import undo as undo_run
    from surefoot.journal.reducers import fold

    if step and to:
        raise UsageError("--step and --to cannot be combined", remedy="give one of them")
    journal = open_journal()
    try:
        found_run = find_run(journal, run_id, all_folders=all_folders)
        run_id = found_run.run_id
        _name_folder(found_run, "undoing", yes)
        earlier = fold(journal.read(run_id)).undone
        committed = committed_in(journal, run_id)
        for line in before_undo(committed):
            click.echo(line, err=True)
        confirm = _confirmation("These files will be restored", found_run, yes)
        options = f" --step {step}" if step else f" --to {to}" if to else ""
        by = user_and_command(f"surefoot undo {run_id}{options}")
        plan = asyncio.run(
            undo_run(journal, paths.state_home(), run_id, step=step, to=to, force=force, by=by, confirm=confirm)
        )
    finally:
        journal.close()
    if plan is None:
        click.echo("nothing was changed", err=True)
        return 1
    _print_incidents(plan)
    if not plan.changes:
        if earlier is not None and not to and not plan.report:
            again = f"surefoot apply {run_id}" if earlier.folder else f"surefoot undo {run_id} --to {earlier.redo[:12]}"
            redo = f"; to redo it: {again}" if earlier.redo else ""
            click.echo(f"run {run_id} is already undone{redo}", err=True)
        where = _other_folder(plan, found_run) or "the folder"
        click.echo(f"{where} is {'now' if plan.report else 'already'} in that state")
        return 0
    click.echo(f"done; to undo this: surefoot undo {run_id} --to {plan.current[:12]}")
    # A redo brings the changes back that are in the commit.
    for line in () if plan.redoes else after_undo(run_id, committed):
        click.echo(line)
    return 0


@click.command()
@click.argument("run_id", metavar="[RUN]", default="last")
@click.argument("step", metavar="[STEP]", default="")
@click.option("--stat", is_flag=True, help="Only the number of changed lines in each file.")
@click.option("--everything", is_flag=True, help="Also files in .git and in folders of tools.")
@all_option
def diff(run_id: str, step: str, stat: bool, everything: bool, all_folders: bool) -> int:
    """Show what a run, or one step of it, changed: in colour on a terminal, as a patch in a pipe.

    RUN is the beginning of its id; the default is the newest run of the current folder. STEP is an id, or its number
    in `surefoot show`. Files in .git and in folders of tools, such as .mypy_cache and node_modules, are left out and
    counted.
    """
    from surefoot.cli.remote.starting import bring_remote
    from surefoot.cli.report.diff import print_diff, print_left_out, stat_lines
    from surefoot.cli.report.stdout import print_lines
    from surefoot.cli.session.runs import load_run
    from surefoot.config import paths
    from surefoot.history.timeline import diff_of
    from surefoot.view.patches import without_tool_files

    stored = load_run(run_id, all_folders=all_folders)
    bring_remote(stored.records)
    text, others = diff_of(stored.records, paths.state_home(), step), list[str]()
    if not everything:
        text, others = without_tool_files(text)
    if others:
        print_left_out(others, stored.run_id)
    elif not text:
        subject = f"step {step} of run" if step else "run"
        click.echo(f"{subject} {stored.run_id} changed nothing", err=True)
    if stat:
        print_lines(stat_lines(text))
    else:
        print_diff(text)
    return 0


@click.command()
@click.argument("run_id", metavar="RUN")
@all_option
@yes_option
def apply(run_id: str, all_folders: bool, yes: bool) -> int:
    """Apply the changes that a run with --worktree made in its copy to the original folder.

    RUN is the beginning of its id, or `last` for the newest run of the current folder. Your own changes since then are
    kept; if they are in the same files, apply refuses.
    """
    import asyncio

    from surefoot.cli.remote.starting import bring_remote
    from surefoot.cli.session.resources import open_journal
    from surefoot.cli.session.runs import find_run
    from surefoot.config import paths
    from surefoot.history.restoring import user_and_command
    from surefoot.history.worktree import apply_worktree

    journal = open_journal()
    try:
        found_run = find_run(journal, run_id, all_folders=all_folders)
        _name_folder(found_run, "applying", yes)
        confirm = _confirmation("These files will be changed", found_run, yes)
        by = user_and_command(f"surefoot apply {found_run.run_id}")
        bring_remote(list(journal.read(found_run.run_id)))
        plan = asyncio.run(apply_worktree(journal, paths.state_home(), found_run.run_id, by=by, confirm=confirm))
    finally:
        journal.close()
    if plan is None:
        click.echo("nothing was changed", err=True)
        return 1
    if not plan.changes:
        click.echo(f"{_other_folder(plan, found_run) or 'the folder'} is already in that state")
        return 0
    _print_incidents(plan)
    click.echo(f"done; to undo this: surefoot undo {found_run.run_id}")
    return 0


@click.command()
@click.option(
    "--older-than",
    type=Duration(),
    default="14d",
    show_default=True,
    help="Only runs that ended longer ago, such as 12h or 30d.",
)
@click.option(
    "--keep",
    metavar="N",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Keep the newest N of them.",
)
@click.option("--dry-run", is_flag=True, help="Only print what would be removed.")
@click.option("--all", "all_folders", is_flag=True, help="The runs of all folders, not only of the current one.")
@yes_option
def gc(older_than: float, keep: int, dry_run: bool, all_folders: bool, yes: bool) -> int:
    """Remove the snapshots and copies of runs of the current folder that ended a while ago, and files that undo moved
    aside. The journal is kept.

    Such runs can no longer be undone, compared or forked. Nothing is removed of runs that are in progress, waiting or
    interrupted.
    """
    from surefoot.cli.report import formatting as fmt
    from surefoot.cli.session.resources import open_journal
    from surefoot.cli.session.runs import current_folder
    from surefoot.config import paths
    from surefoot.history.gc import collect_garbage, expire_artifacts

    journal = open_journal(read_only=dry_run)
    try:
        current = current_folder(journal)
        if all_folders:
            click.echo(f"runs of all folders: {fmt.count(len(journal.workspaces()), 'workspace')}")
            if not dry_run and not _agrees(yes):
                click.echo("nothing was removed", err=True)
                return 1
        else:
            click.echo(f"runs of {fmt.folder(current.path)}")
        removed = collect_garbage(
            journal,
            paths.state_home(),
            workspaces=None if all_folders else current.workspaces,
            older_than=older_than,
            keep=keep,
            dry_run=dry_run,
        )
        # Expired results are of no use to any run, so those of all folders are removed.
        expired = 0 if dry_run else expire_artifacts(journal)
    finally:
        journal.close()
    megabytes = f"{removed.bytes_freed / 1_000_000:,.1f} MB"
    total = f"{fmt.count(removed.snapshots, 'snapshot')} of {fmt.count(len(removed.runs), 'run')}, {megabytes}"
    click.echo(f"would remove {total}" if dry_run else f"removed {total}")
    click.echo(f"{fmt.count(removed.kept, 'run')} kept")
    if expired:
        click.echo(f"deleted {fmt.count(expired, 'expired result')} of steps")
    return 0


def _print_incidents(plan: "RestorePlan") -> None:
    """Print which files were moved aside, left as they are, or not restored."""
    from surefoot.workspace.restore.restore import describe_incidents

    for line in describe_incidents(plan.report) if plan.report else ():
        click.echo(line)


def _other_folder(plan: "RestorePlan", found_run: "FoundRun") -> str:
    """The folder whose files change; empty if it is that of the run, which was printed already."""
    from surefoot.workspace.errors import printable

    return "" if str(plan.folder) == found_run.folder else printable(plan.folder)


def _confirmation(title: str, found_run: "FoundRun", yes: bool) -> "Callable[[RestorePlan], bool]":
    """Return a function that lists the changes and asks for confirmation on the terminal."""

    def confirm(plan: "RestorePlan") -> bool:
        from surefoot.cli.report.diff import change_lines
        from surefoot.cli.report.stdout import print_lines

        where = _other_folder(plan, found_run)
        click.echo(f"{title} in {where}:" if where else f"{title}:")
        print_lines(change_lines(plan.changes))
        return _agrees(yes)

    return confirm


def _agrees(yes: bool) -> bool:
    if yes:
        return True
    if not sys.stdin.isatty():
        raise UsageError("there is no terminal to ask for confirmation", remedy="confirm with --yes")
    return click.confirm("Continue?")


def _name_folder(found_run: "FoundRun", action: str, yes: bool) -> None:
    """Print the folder. Ask about another folder only with --yes: without it, the list of files is confirmed anyway."""
    from surefoot.cli.session.runs import confirm_where, say_where

    if yes:
        confirm_where(found_run, action, yes=True)
    else:
        say_where(found_run, action)
