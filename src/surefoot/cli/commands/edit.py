"""`edit`: changes the steps of a run that have not started, in an editor or from a file."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from surefoot.cli.options import all_option, reason_option
from surefoot.errors import PlanError, UsageError

if TYPE_CHECKING:
    from surefoot.journal.events import PlanRevised
    from surefoot.journal.state import RunState


@click.command()
@click.argument("run_id", metavar="[RUN]", default="last")
@click.option("--file", "source", metavar="FILE", help="Read the steps from a file, or from standard input with -.")
@click.option("--print", "only_print", is_flag=True, help="Print the steps, to be edited and given back with --file.")
@reason_option
@all_option
@click.option("-y", "--yes", is_flag=True, help="Do not ask whether to change a run of another folder.")
def edit(run_id: str, source: str | None, only_print: bool, why: str, all_folders: bool, yes: bool) -> int:
    """Change the steps of a plan or of a run that have not started: texts, checks, order and dependencies; add or
    remove steps.

    RUN is the beginning of its id; the default is the newest run of the current folder. Without --file they are opened
    in your editor ($VISUAL or $EDITOR). A plan is changed at once. A run in progress applies the change before its next
    step, a stopped one when it is resumed.
    """
    import asyncio

    from surefoot.cli.report.hiding import redactor
    from surefoot.cli.session.resources import open_journal
    from surefoot.cli.session.runs import confirm_where, find_run
    from surefoot.engine.planner.plan_toml import as_text
    from surefoot.history.requests import require_editable, revise_plan, send_edit
    from surefoot.journal.reducers import fold
    from surefoot.journal.run_status import is_plan

    journal = open_journal()
    try:
        found_run = find_run(journal, run_id, all_folders=all_folders)
        run_id = found_run.run_id
        state = fold(journal.read(run_id))
        require_editable(state)
        if only_print:
            click.echo(as_text(state), nl=False)
            return 0
        confirm_where(found_run, "editing", yes=yes)
        text, revision = _from_file(source, state, why) if source else _from_editor(state, why)
        if revision is None:
            click.echo("nothing was changed")
            return 0
        _print_revision(revision)
        if is_plan(state):
            asyncio.run(revise_plan(journal, run_id, text, why, revision, redactor()))
        else:
            send_edit(journal, run_id, text, why, revision)
    finally:
        journal.close()
    click.echo(_effect(state))
    return 0


def _effect(state: "RunState") -> str:
    """When the change takes effect, and the next command."""
    from surefoot.cli.session.status import current_status

    run_id, (status, live, *_) = state.run_id, current_status(state)
    if status == "plan":
        return f"the plan is changed; carry it out: surefoot run --plan {run_id}"
    if live or status == "queued":
        return f"sent to run {run_id}: edit; it takes effect before the next step"
    return f"the edit of run {run_id} is stored; it takes effect when the run is resumed: surefoot resume {run_id}"


def _from_file(source: str, state: "RunState", reason: str) -> "tuple[str, PlanRevised | None]":
    from surefoot.history.requests import require_revision

    try:
        text = sys.stdin.read() if source == "-" else Path(source).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{source} cannot be read: {error}", remedy="name a file with the steps in it") from None
    return text, require_revision(state, text, reason)


def _from_editor(state: "RunState", reason: str) -> "tuple[str, PlanRevised | None]":
    """Let the user edit the steps. After an error the editor can be opened again, with the text as it was saved.

    Returns the text, and the revision of the plan or None if nothing was changed.
    """
    from surefoot.engine.planner.plan_toml import as_text, revision

    text = as_text(state)
    if not sys.stdin.isatty():
        raise UsageError("there is no terminal for an editor", remedy="give the steps with --file, see --print")
    while True:
        edited = click.edit(text, extension=".toml", require_save=True)
        if edited is None or not edited.strip():
            return text, None
        text = edited
        try:
            return text, revision(text, state, reason)
        except PlanError as error:
            click.echo(f"surefoot: {error}" + (f"\n          {error.remedy}" if error.remedy else ""), err=True)
            if not click.confirm("edit it again?", default=True, err=True):
                return text, None


def _print_revision(revision: "PlanRevised") -> None:
    from surefoot.cli.report import formatting as fmt

    for sign, steps in (("+", revision.added), ("~", revision.changed)):
        for step in steps:
            click.echo(f"  {sign} {step.id}: {fmt.line(step.name)}")
    for step_id in revision.removed:
        click.echo(f"  - {fmt.line(step_id)}")
    added = {step.id for step in revision.added}
    for step_id in (step_id for step_id in revision.depends_on if step_id not in added):
        after = [fmt.line(d.depends_on) for d in revision.waits_for if d.step_id == step_id]
        click.echo(f"  ~ {fmt.line(step_id)}: after {fmt.join_limited(after) or 'nothing'}")
