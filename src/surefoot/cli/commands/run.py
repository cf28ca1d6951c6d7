"""`run`, `plan` and `resume`: start or continue a run."""

from typing import Any

import click
from click.core import ParameterSource

from surefoot.cli.git.options import WithOptionalValues, git_options
from surefoot.cli.options import (
    PHASE_NAMES,
    all_option,
    combine,
    continue_option,
    display_options,
    interaction_options,
    isolation_options,
    limit_options,
    model_option,
    phase_options,
    phases_option,
    proof_options,
    queue_option,
    remote_options,
    step_options,
    temporal_option,
    workspace_option,
    worktree_option,
)
from surefoot.errors import UsageError

task_options = combine(
    workspace_option,
    model_option,
    click.option("--check", "checks", multiple=True, metavar="CMD", help="A command that must succeed at the end."),
)
common_options = combine(isolation_options, interaction_options, limit_options, display_options)


@click.command(cls=WithOptionalValues)
@click.argument("task", nargs=-1)
@task_options
@continue_option
@proof_options
@git_options
@worktree_option
@phases_option
@phase_options
@step_options
@remote_options
@common_options
@click.option("--no-hints", "hints", is_flag=True, flag_value=False, default=True, hidden=True)
def run(task: tuple[str, ...], **options: Any) -> int:
    """Carry out TASK, given in plain words; - reads it from standard input.

    A --check that fails before the run and passes after it proves that the task is done. With --plan the task and the
    checks are those of the plan.
    """
    import asyncio

    if options["plan"] is not None:
        from surefoot.cli.session.planned import carrying_out

        source = click.get_current_context().get_parameter_source("workspace")
        options = carrying_out(task, options, in_current_folder=source is ParameterSource.DEFAULT)
    if options["remote"] or options["git"]:
        if options["continues"] is not None:
            raise UsageError("--continue works on this machine only", remedy="leave out --remote and --git")
        from surefoot.cli.remote.starting import run_remotely

        return run_remotely(task, options)
    from surefoot.cli.git.session import with_git
    from surefoot.cli.session.foreground import run_in_foreground
    from surefoot.cli.session.prepare import prepare_start

    return asyncio.run(run_in_foreground(with_git(prepare_start(task, options), options)))


@click.command()
@click.argument("task", nargs=-1)
@task_options
@continue_option
@common_options
def plan(task: tuple[str, ...], **options: Any) -> int:
    """Make a plan for TASK and print it, without changing anything.

    `surefoot edit` changes the plan, and `surefoot run --plan` carries it out. A --check is not run here: it is a check
    of the run that carries the plan out.
    """
    import asyncio

    from surefoot.cli.session.foreground import run_in_foreground
    from surefoot.cli.session.prepare import prepare_start

    return asyncio.run(run_in_foreground(prepare_start(task, {**options, "phases": "plan"})))


@click.command()
@click.argument("run_id", metavar="[RUN]", required=False)
@click.option("--last", is_flag=True, help="The newest run of the current folder, the same as no id.")
@all_option
@click.option("--until-phase", type=click.Choice(PHASE_NAMES), help="Stop when this phase is done.")
@model_option
@limit_options
@display_options
@temporal_option
@queue_option
def resume(
    run_id: str | None, last: bool, all_folders: bool, until_phase: str | None, model: str | None, **options: Any
) -> int:
    """Continue a run where it stopped.

    RUN is the beginning of its id; the default is the newest run of the current folder. Limits given here replace those
    of the run; they count from its start.
    """
    import asyncio

    from surefoot.cli.session.ending import report_finished
    from surefoot.cli.session.foreground import run_in_foreground
    from surefoot.cli.session.prepare import display_of, prepare_resume
    from surefoot.cli.session.runs import confirm_where, load_found_run
    from surefoot.cli.session.status import require_free
    from surefoot.core.transitions import Stage

    if run_id and last:
        raise UsageError("--last cannot be combined with an id", remedy="give one of them")
    found_run, stored = load_found_run(run_id or "last", all_folders=all_folders)
    require_free(stored.state)
    if stored.state.stage is Stage.COMPLETED and stored.state.outcome is not None and not stored.state.alerts:
        return report_finished(stored.state, display_of(stored.state, options))
    if stored.state.remote:
        from surefoot.cli.remote.starting import resume_remotely

        return resume_remotely(stored.state, until_phase=until_phase, model=model, as_json=options["as_json"])
    confirm_where(found_run, "continuing", yes=options["yes"])
    return asyncio.run(run_in_foreground(prepare_resume(stored, model, options, until_phase=until_phase)))
