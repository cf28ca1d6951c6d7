"""`edit`: change the steps that are still to come, in an editor or from a file, while the run is at work or stopped."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from surefoot.cli.control import why_option
from surefoot.errors import PlanError, UsageError

if TYPE_CHECKING:
    from surefoot.events import PlanRevised
    from surefoot.state import RunState


@click.command()
@click.argument("run_id", metavar="[RUN]", default="last")
@click.option("--file", "source", metavar="FILE", help="Take the steps from a file, or from standard input with -.")
@click.option("--print", "only_print", is_flag=True, help="Print the steps as they are, to be changed and given back.")
@why_option
def edit(run_id: str, source: str | None, only_print: bool, why: str) -> int:
    """Change the steps of a run that have not begun: other words, checks, order, dependencies, new steps, fewer steps.

    Without --file they are opened in your editor ($VISUAL or $EDITOR). A run that is at work takes the change over
    before it begins its next step, a stopped one when it is resumed.
    """
    from surefoot.cli.control import who
    from surefoot.cli.places import open_journal
    from surefoot.editing import as_text
    from surefoot.fold import fold
    from surefoot.machine import Stage

    journal = open_journal()
    try:
        run_id = journal.find(run_id)
        state = fold(journal.read(run_id))
        if state.stage is Stage.COMPLETED or state.plan is None:
            what = "is finished" if state.plan else "has no plan yet"
            raise UsageError(f"run {run_id} {what}", remedy=f"see what became of it: surefoot show {run_id}")
        if only_print:
            click.echo(as_text(state), nl=False)
            return 0
        text, made = _from_file(source, state, why) if source else _in_editor(state, why)
        if made is None:
            click.echo("nothing is changed")
            return 0
        _show(made)
        journal.send(run_id, {"type": "control", "command": "edit", "by": who(), "why": why, "plan": text})
    finally:
        journal.close()
    click.echo(f"asked run {run_id}: edit; it is heeded before the next step, or when the run is resumed")
    return 0


def _from_file(source: str, state: "RunState", why: str) -> "tuple[str, PlanRevised | None]":
    from surefoot.editing import revision

    try:
        text = sys.stdin.read() if source == "-" else Path(source).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{source} cannot be read: {error}", remedy="name a file with the steps in it") from None
    try:
        return text, revision(text, state, why)
    except PlanError as error:
        raise UsageError(str(error), remedy=error.remedy) from None


def _in_editor(state: "RunState", why: str) -> "tuple[str, PlanRevised | None]":
    """As often as it takes: what was written is not lost to a slip of the pen."""
    from surefoot.editing import as_text, revision

    text = as_text(state)
    if not sys.stdin.isatty():
        raise UsageError("there is no terminal for an editor", remedy="give the steps with --file, see --print")
    while True:
        changed = click.edit(text, extension=".toml", require_save=True)
        if changed is None or not changed.strip():
            return text, None
        text = changed
        try:
            return text, revision(text, state, why)
        except PlanError as error:
            click.echo(f"surefoot: {error}" + (f"\n          {error.remedy}" if error.remedy else ""), err=True)
            if not click.confirm("edit it again?", default=True, err=True):
                return text, None


def _show(made: "PlanRevised") -> None:
    from surefoot.cli import words

    for sign, steps in (("+", made.added), ("~", made.changed)):
        for step in steps:
            click.echo(f"  {sign} {step.id}: {words.line(step.name)}")
    for step_id in made.removed:
        click.echo(f"  - {words.line(step_id)}")
    new = {step.id for step in made.added}
    for step_id in (step_id for step_id in made.depends_on if step_id not in new):
        after = [d.depends_on for d in made.waits_for if d.step_id == step_id]
        click.echo(f"  ~ {words.line(step_id)}: after {words.few([words.line(name) for name in after]) or 'nothing'}")
