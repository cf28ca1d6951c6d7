"""`retry`: one step of a run again, with other parameters or another tool, and on from there."""

import json
from typing import Any

import click

from surefoot.cli.options import model_option, watching_options
from surefoot.errors import UsageError


@click.command()
@click.argument("run_id", metavar="RUN")
@click.argument("step_id", metavar="STEP")
@click.option("--set", "changes", multiple=True, metavar="KEY=VALUE", help="Another value for one of its parameters.")
@click.option("--tool", metavar="NAME", default="", help="Another tool for the step.")
@model_option
@watching_options
def retry(run_id: str, step_id: str, changes: tuple[str, ...], tool: str, model: str | None, **watching: Any) -> int:
    """Do STEP of a run again, and go on from there.

    RUN is the beginning of its id, or last. STEP is an id, or a number as `surefoot show` tells it. The step gets all
    its tries back; the others stay as they are. A run that is at work does it itself, at once.
    """
    from surefoot.cli.places import at_work, open_journal
    from surefoot.cli.run import same_model, settings_for
    from surefoot.cli.session import Showing, carry_out, isolation_line
    from surefoot.engine import retry_step
    from surefoot.fold import fold
    from surefoot.machine import WORKING
    from surefoot.phases.overriding import overridden
    from surefoot.tools.registry import default_toolbox

    parameters = dict(parameter(change) for change in changes)
    journal = open_journal(read_only=True)
    run_id = journal.find(run_id)
    before = list(journal.read(run_id))
    journal.close()
    state = fold(before)
    assert state.task is not None
    step_id = step_named(step_id, list(state.steps))
    if state.outcome is None and state.stage in WORKING and at_work(run_id, state.task.folder):
        return _asked(run_id, step_id, bool(parameters or tool))
    # What cannot be is told before a model is looked for.
    overridden(state, default_toolbox(), step_id, parameters, tool)
    showing = Showing(
        **watching,
        verbose=state.config.verbose_logging,
        isolation=isolation_line(state.config.sandbox, state.task.folder, state.config.network),
    )
    settings = settings_for(str(state.task.folder), {})
    return carry_out(
        lambda s: retry_step(s, run_id, step_id, parameters, tool),
        model or same_model(state.model),
        settings.model,
        showing,
        before,
    )


def _asked(run_id: str, step_id: str, changed: bool) -> int:
    from surefoot.cli.control import send

    if changed:
        raise UsageError(f"run {run_id} is at work", remedy=f"stop it first: surefoot pause {run_id}")
    return send(run_id, "retry", step_id=step_id)


def step_named(name: str, ids: list[str]) -> str:
    """The step with this id; a plain number counts the steps of the plan from 1."""
    return ids[int(name) - 1] if name not in ids and name.isdecimal() and 0 < int(name) <= len(ids) else name


def parameter(change: str) -> tuple[str, Any]:
    """`rows=3` is a number, `names=["a"]` a list, `path=a.txt` text: what is JSON is read as such."""
    name, equals, value = change.partition("=")
    if not name.strip() or not equals:
        raise UsageError(f"--set {change} is no KEY=VALUE", remedy="say for example: --set path=report.py")
    try:
        return name.strip(), json.loads(value)
    except ValueError:
        return name.strip(), value
