"""`retry`: repeats one step of a run, with other parameters or another tool, and continues from there."""

import json
from typing import Any

import click

from surefoot.cli.options import all_option, display_options, model_option
from surefoot.errors import UsageError


@click.command()
@click.argument("run_id", metavar="RUN")
@click.argument("step_id", metavar="STEP")
@click.option("--set", "changes", multiple=True, metavar="KEY=VALUE", help="Another value for one of its parameters.")
@click.option("--tool", metavar="NAME", default="", help="Another tool for the step.")
@model_option
@all_option
@display_options
def retry(
    run_id: str,
    step_id: str,
    changes: tuple[str, ...],
    tool: str,
    model: str | None,
    all_folders: bool,
    **options: Any,
) -> int:
    """Repeat STEP of a run, and continue from there.

    RUN is the beginning of its id, or `last` for the newest run of the current folder. STEP is an id, or its number in
    `surefoot show`. The step gets all its attempts back; the other steps are kept. If the run is in progress, it
    repeats the step itself.
    """
    import asyncio
    from functools import partial

    from surefoot.cli.session.control import request_control
    from surefoot.cli.session.foreground import PreparedRun, run_in_foreground
    from surefoot.cli.session.prepare import display_of, load_settings
    from surefoot.cli.session.runs import confirm_where, load_found_run
    from surefoot.cli.session.status import status_when_halted
    from surefoot.config.paths import state_home
    from surefoot.engine.controls import step_again
    from surefoot.engine.loop import retry_step
    from surefoot.history.requests import resolve_step
    from surefoot.models.select import reusable_spec
    from surefoot.tools.mcp.servers import known_toolbox

    parameters = dict(parse_parameter(change) for change in changes)
    found_run, (run_id, records, state) = load_found_run(run_id, all_folders=all_folders)
    assert state.task is not None
    step_id = resolve_step(step_id, list(state.steps))
    if status_when_halted(state).live:
        if parameters or tool:
            raise UsageError(f"run {run_id} is running", remedy=f"stop it first: surefoot pause {run_id}")
        confirm_where(found_run, "repeating a step of", yes=options["yes"])
        return request_control(run_id, "retry", step_id=step_id, as_json=options["as_json"])
    settings = load_settings(state.task.folder)
    servers = tuple(settings.mcp_servers.values())
    # An invalid request is refused before a model is chosen.
    step_again(state, known_toolbox(servers, state.task.folder, state_home()), step_id, parameters, tool)
    confirm_where(found_run, "repeating a step of", yes=options["yes"])
    prepared = PreparedRun(
        run_id=run_id,
        drive=partial(retry_step, run_id=run_id, step_id=step_id, parameters=parameters, tool=tool),
        model_spec=model or reusable_spec(state.model, state.model_address),
        model_settings=settings.model,
        alerts=settings.alerts,
        integrations=settings.integrations,
        display=display_of(state, options),
        folder=state.task.folder,
        mcp_servers=servers,
        records=records,
    )
    return asyncio.run(run_in_foreground(prepared))


def parse_parameter(change: str) -> tuple[str, Any]:
    """Split KEY=VALUE. The value is read as JSON if it is valid JSON, else as text."""
    name, equals, value = change.partition("=")
    if not name.strip() or not equals:
        raise UsageError(f"--set {change} is not of the form KEY=VALUE", remedy="for example: --set path=report.py")
    try:
        return name.strip(), json.loads(value)
    except ValueError:
        return name.strip(), value
