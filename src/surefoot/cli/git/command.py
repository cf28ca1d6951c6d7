"""`review`, `commit` and `pr`: check the result of a run, and prepare it for others."""

from pathlib import Path

import click

from surefoot.cli.options import all_option
from surefoot.errors import SurefootError, UsageError


@click.command()
@click.argument("run_id", metavar="[RUN]", default="last")
@click.option("--list", "only_list", is_flag=True, help="Only print the files and their numbered hunks.")
@click.option(
    "--undo",
    "undo",
    metavar="FILE[:HUNK]",
    multiple=True,
    help="Undo this file, or this hunk of it, without a dialogue. Can be repeated.",
)
@all_option
@click.option("-y", "--yes", is_flag=True, help="Do not ask whether a run of another folder is meant.")
def review(run_id: str, only_list: bool, undo: tuple[str, ...], all_folders: bool, yes: bool) -> int:
    """Look at what a run changed, file by file and hunk by hunk: keep, undo or edit it.

    RUN is the beginning of its id; the default is the newest run of the current folder. What is undone is recorded and
    can be undone itself; your own changes since then are kept. Then the checks run again: the verdict of the run, and
    the exit code, are those of what is left.
    """
    import asyncio

    from surefoot.cli.git.reviewing import print_summary, require_terminal, review_run
    from surefoot.cli.git.whole import whole_diff
    from surefoot.cli.report.stdout import print_lines
    from surefoot.cli.session.ending import exit_code_of
    from surefoot.cli.session.resources import open_journal
    from surefoot.cli.session.runs import confirm_where, find_run
    from surefoot.config import paths
    from surefoot.history.review.review import changed_files

    if only_list and undo:
        raise UsageError("--list and --undo cannot be combined", remedy="give one of them")
    if not only_list and not undo:
        require_terminal(run_id=run_id)
    journal = open_journal(read_only=only_list)
    try:
        found_run = find_run(journal, run_id, all_folders=all_folders)
        if only_list:
            files = changed_files(list(journal.read(found_run.run_id)), paths.state_home())
            print_lines(whole_diff(files, numbered=True))
            if not files:
                click.echo("nothing that the run changed is left: there is nothing to review", err=True)
            return 0
        confirm_where(found_run, "reviewing", yes=yes)
        state = asyncio.run(review_run(journal, paths.state_home(), found_run.run_id, undo))
    finally:
        journal.close()
    print_summary(state)
    return exit_code_of(state)


@click.command()
@click.argument("run_id", metavar="[RUN]", default="last")
@click.option("--steps", is_flag=True, help="One commit for each step that succeeded.")
@all_option
@click.option("-y", "--yes", is_flag=True, help="Do not ask whether a run of another folder is meant.")
def commit(run_id: str, steps: bool, all_folders: bool, yes: bool) -> int:
    """Commit what a verified run changed to the current branch, as `run --commit` does.

    RUN is the beginning of its id; the default is the newest run of the current folder. Only files that the run changed
    are committed, with the content that it gave them. What you have staged stays staged. Your hooks and your signing
    settings apply. Nothing is pushed.
    """
    import asyncio

    from surefoot.cli.git.session import left_out_lines
    from surefoot.cli.report import formatting as fmt
    from surefoot.cli.report.hiding import redactor
    from surefoot.cli.session.resources import open_journal
    from surefoot.cli.session.runs import confirm_where, find_run
    from surefoot.config import paths
    from surefoot.history.git.commit import commit_run
    from surefoot.history.restoring import user_and_command

    journal = open_journal()
    try:
        found_run = find_run(journal, run_id, all_folders=all_folders)
        confirm_where(found_run, "committing", yes=yes)
        by, hide = user_and_command(f"surefoot commit {found_run.run_id}"), redactor().redact
        result = asyncio.run(commit_run(journal, paths.state_home(), found_run.run_id, by_step=steps, by=by, hide=hide))
    finally:
        journal.close()
    for event in result.events:
        step = f"  {fmt.line(event.step)}" if event.step else ""
        click.echo(f"{event.commit[:10]} on {fmt.line(event.branch)}, {fmt.count(len(event.paths), 'file')}{step}")
    for line in left_out_lines(result.nested, result.notes):
        click.echo(line, err=True)
    return 0


@click.command()
@click.argument("run_id", metavar="[RUN]", default="last")
@click.option("-o", "--output", metavar="FILE", help="Where to write the body; the default is standard output.")
@click.option("--title", "only_title", is_flag=True, help="Only print the title.")
@all_option
def pr(run_id: str, output: str | None, only_title: bool, all_folders: bool) -> int:
    """Print the body of a pull request for a run, in Markdown: what and why, changes, proof, what was not verified.

    RUN is the beginning of its id; the default is the newest run of the current folder. Nothing is sent; secrets are
    removed. With --title it prints the title instead:

    \b
      surefoot pr | gh pr create --title "$(surefoot pr --title)" --body-file -
    """
    import sys

    from surefoot.cli.report.hiding import redactor, safe
    from surefoot.cli.session.resources import open_journal
    from surefoot.cli.session.runs import find_run
    from surefoot.config import paths
    from surefoot.core.outcome import Verdict
    from surefoot.history.git.message import account_of, done_rows, title_of
    from surefoot.journal.reducers import fold
    from surefoot.report.build import Source, build_report
    from surefoot.report.pull_request import as_pull_request

    journal = open_journal(read_only=True)
    try:
        found_run = find_run(journal, run_id, all_folders=all_folders)
        records = list(journal.read(found_run.run_id))
        state = fold(records)
        if only_title:
            click.echo(safe(redactor().redact(title_of(state))))
            return 0
        source = Source(records=records, blob=journal.get_blob, home=paths.state_home(), redactor=redactor())
        account = account_of(state, records, redactor().redact)
        text = as_pull_request(build_report(source), account.understanding, done_rows(state, account))
    finally:
        journal.close()
    if state.outcome is None or state.outcome.verdict not in (Verdict.VERIFIED, Verdict.UNVERIFIED):
        click.echo(
            f"run {found_run.run_id} is not done, and this text says so: see surefoot show {found_run.run_id}", err=True
        )
    if output is None or output == "-":
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode("utf-8", "replace"))
        return 0
    try:
        Path(output).write_text(text, "utf-8", errors="replace")
    except OSError as error:
        raise SurefootError(f"cannot write {output}: {error.strerror}", remedy="name another file with -o") from error
    click.echo(f"wrote {output}")
    return 0
