"""`push`: pushes the result of a remote run to a branch of the repository that it was cloned from."""

from typing import TYPE_CHECKING

import click

from surefoot.cli.options import all_option
from surefoot.errors import SurefootError, UsageError

if TYPE_CHECKING:
    from surefoot.history.git.push import ProposedPush

_MAX_FILES = 20


@click.command()
@click.argument("run_id", metavar="[RUN]", default="last")
@click.option("--branch", metavar="NAME", default="", help="The branch; without it a new one, named after the task.")
@click.option("--remote-url", metavar="URL", default="", help="Another address of the repository, where you may push.")
@all_option
@click.option("--json", "as_json", is_flag=True, help="One JSON object: what was pushed, and where.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation. Required without a terminal.")
def push(run_id: str, branch: str, remote_url: str, all_folders: bool, as_json: bool, yes: bool) -> int:
    """Push what a verified remote run changed to a branch of the repository that it was cloned from.

    RUN is the beginning of its id; the default is the newest run of the current folder. The changes are one commit on
    top of the commit that the run began with, made and pushed by your own git on this machine. You see it first, and
    are asked. Nothing is ever overwritten: the branch is new, or you name one that has not moved since.
    """
    import asyncio
    import json

    from surefoot.cli.remote.starting import bring_remote
    from surefoot.cli.report import formatting as fmt
    from surefoot.cli.report.hiding import as_json as to_object
    from surefoot.cli.report.hiding import redactor
    from surefoot.cli.session.resources import open_journal
    from surefoot.cli.session.runs import find_run
    from surefoot.config import paths
    from surefoot.history.git.push import push_run, require_pushable
    from surefoot.history.restoring import user_and_command
    from surefoot.journal.reducers import fold

    _require_answer(yes)
    journal = open_journal()
    try:
        found_run = find_run(journal, run_id, all_folders=all_folders)
        records = list(journal.read(found_run.run_id))
        require_pushable(fold(records))
        bring_remote(records)
        event = asyncio.run(
            push_run(
                journal,
                paths.state_home(),
                found_run.run_id,
                agreed=lambda proposal: _agreed(proposal, yes=yes),
                branch=branch,
                address=remote_url,
                by=user_and_command(f"surefoot push {found_run.run_id}"),
                hide=redactor().redact,
            )
        )
    finally:
        journal.close()
    if event is None:
        raise SurefootError("nothing was pushed")
    if as_json:
        click.echo(json.dumps({"run": found_run.run_id, **to_object(event)}))
        return 0
    click.echo(f"pushed {event.commit[:10]} to {fmt.line(event.branch)} of {fmt.line(event.address)}")
    return 0


def _require_answer(yes: bool) -> None:
    import sys

    if not yes and not sys.stdin.isatty():
        raise UsageError("there is no terminal to ask for confirmation", remedy="confirm with --yes")


def _agreed(proposal: "ProposedPush", *, yes: bool) -> bool:
    """Show what would be pushed, and ask. Returns whether to push."""
    from surefoot.cli.git.session import left_out_lines
    from surefoot.cli.report import formatting as fmt
    from surefoot.history.git.message import title_of

    event = proposal.event
    existing = f"the branch {event.branch}, which ends with {proposal.tip[:10]} now" if proposal.tip else ""
    for line in (
        f"run {proposal.state.run_id}: {title_of(proposal.state)}",
        f"commit {event.commit[:10]} on top of {event.parent[:10]}, {fmt.count(len(event.paths), 'file')}: "
        + fmt.join_limited(event.paths[:_MAX_FILES]),
        f"to {existing or f'the new branch {event.branch}'}, of {event.address}",
    ):
        click.echo(fmt.line(line), err=True)
    for line in left_out_lines(proposal.left_out, ()):
        click.echo(line, err=True)
    return yes or click.confirm("Push it?", err=True)
