"""`run`, `plan` and `resume`: what is asked for on the command line becomes one run of the engine."""

import sys
from typing import TYPE_CHECKING, Any

import click

from surefoot.cli.options import (
    PHASE_NAMES,
    isolation_options,
    limit_options,
    model_option,
    phase_options,
    phases_option,
    step_options,
    telling_options,
    together,
    watching_options,
    workspace_option,
    worktree_option,
)
from surefoot.errors import UsageError

if TYPE_CHECKING:
    from surefoot.config import ExecutionConfig
    from surefoot.events import Event
    from surefoot.machine import Stage
    from surefoot.run import Services
    from surefoot.settings import Sourced
    from surefoot.state import RunState

_FLAGS = {
    "phases": ("execution.phases", "--phases"),
    "sandbox": ("execution.sandbox", "--sandbox"),
    "approve": ("execution.approve", "--approve"),
    "network": ("execution.network", "--network"),
    "rollback": ("execution.enable_auto_rollback", "--rollback"),
    "confirm": ("execution.require_confirmation", "--confirm"),
    "question_timeout": ("execution.question_timeout_seconds", "--question-timeout"),
    "verbose": ("execution.verbose_logging", "--verbose"),
    "max_time": ("budget.max_seconds", "--max-time"),
    "max_tokens": ("budget.max_tokens", "--max-tokens"),
    "max_cost": ("budget.max_cost_usd", "--max-cost"),
}
"""Options that set a setting: the setting's name, and what the source is called."""

task_options = together(
    workspace_option,
    model_option,
    click.option("--check", "checks", multiple=True, metavar="CMD", help="A command that must succeed at the end."),
)
common_options = together(isolation_options, telling_options, limit_options, watching_options)


@click.command()
@click.argument("task", nargs=-1)
@task_options
@worktree_option
@phases_option
@phase_options
@step_options
@common_options
def run(task: tuple[str, ...], **options: Any) -> int:
    """Carry out TASK, given in plain words; - reads it from standard input.

    A --check that fails before the run and passes after it is what proves the task.
    """
    return _start(task, options)


@click.command()
@click.argument("task", nargs=-1)
@task_options
@common_options
def plan(task: tuple[str, ...], **options: Any) -> int:
    """Make the plan for TASK, print it, and change nothing."""
    return _start(task, {**options, "phases": "plan"}, with_plan=True)


@click.command()
@click.argument("run_id", metavar="[RUN]", required=False)
@click.option("--last", is_flag=True, help="The newest run.")
@click.option("--until-phase", type=click.Choice(PHASE_NAMES), help="Stop when this phase is done.")
@model_option
@limit_options
@watching_options
def resume(run_id: str | None, last: bool, until_phase: str | None, model: str | None, **options: Any) -> int:
    """Go on with a run where it stopped. RUN is the beginning of its id; without one it is the newest.

    Limits given here replace those that the run has had; they count from its start.
    """
    if run_id and last:
        raise UsageError("--last and an id say two different things", remedy="give one of them")
    return go_on_with(run_id or "last", until_phase, model, options)


def go_on_with(name: str, until_phase: str | None, model: str | None, options: dict[str, Any]) -> int:
    from surefoot.cli.places import open_journal
    from surefoot.cli.session import Showing, already_ended, carry_out, isolation_line
    from surefoot.engine import resume_run
    from surefoot.fold import fold
    from surefoot.machine import Stage

    journal = open_journal(read_only=True)
    run_id = journal.find(name)
    before = list(journal.read(run_id))
    journal.close()
    state = fold(before)
    assert state.task is not None
    config = _with_limits(state.config, options)
    showing = Showing(
        **{name: value for name, value in options.items() if name not in _LIMITS},
        verbose=state.config.verbose_logging,
        isolation=isolation_line(state.config.sandbox, state.task.folder, state.config.network),
        until=until_phase or "",
    )
    if state.stage is Stage.COMPLETED and state.outcome is not None:
        return already_ended(state, showing)
    settings = settings_for(str(state.task.folder), {})
    stage = _stage(until_phase)
    spec = model or same_model(state.model)
    return carry_out(lambda s: resume_run(s, run_id, last=stage, config=config), spec, settings.model, showing, before)


_LIMITS = {"max_time": "max_seconds", "max_tokens": "max_tokens", "max_cost": "max_cost_usd"}


def _with_limits(config: "ExecutionConfig", options: dict[str, Any]) -> "ExecutionConfig | None":
    """The run's own settings with other limits; None where none were given."""
    given = {name: value for option, name in _LIMITS.items() if (value := options.get(option)) is not None}
    return config.with_(budget=config.budget.with_(**given)) if given else None


def same_model(name: str) -> str | None:
    """The model that the run has used so far, where its name is enough to find it again and no other is asked for."""
    import os

    from surefoot.models.choose import PROVIDERS, VARIABLE

    known = name.partition("/")[0] in (*PROVIDERS, "local")
    return name if known and not os.environ.get(VARIABLE) else None


def _start(words: tuple[str, ...], options: dict[str, Any], *, with_plan: bool = False) -> int:
    from surefoot.cli.copying import copy_place, offer_changes
    from surefoot.cli.places import usable_folder
    from surefoot.cli.session import Showing, carry_out, isolation_line
    from surefoot.engine import new_run_id, start_run
    from surefoot.machine import Stage
    from surefoot.plan import CommandCheck
    from surefoot.task import Task
    from surefoot.worktree import make_worktree

    folder, run_id = usable_folder(options["workspace"]), new_run_id()
    settings = settings_for(str(folder), options)
    base = _base_run(options.get("based_on"))
    text = _task_text(words) if words or base is None else base.task.text if base.task else ""
    checks = tuple(CommandCheck(command=command, origin="user") for command in options["checks"])
    if base is not None and base.task and not checks:
        checks = tuple(check for check in base.task.checks if isinstance(check, CommandCheck))
    in_copy = options.get("worktree", False)
    task = Task(text=text, workspace=str(copy_place(folder, run_id) if in_copy else folder), checks=checks)
    first = _first_stage(options.get("from_phase"), options.get("until_phase"), base)
    given = taken_over(base, first) if base else []
    config = settings.execution
    showing = Showing(
        live=options["live"],
        as_json=options["as_json"],
        yes=options["yes"],
        cassette=options["cassette"],
        verbose=config.verbose_logging,
        isolation=isolation_line(config.sandbox, folder, config.network),
        with_plan=with_plan,
        until=options.get("until_phase") or "",
    )
    last = _stage(options.get("until_phase"))
    basis = base.run_id if base else ""

    async def drive(services: "Services") -> "RunState":
        if in_copy:
            make_worktree(folder, task.folder, services.home, run_id, excludes=config.snapshot_excludes)
        begin = first or Stage.UNDERSTANDING
        return await start_run(
            services, task, config, run_id=run_id, first=begin, last=last, given=given, based_on=basis
        )

    code = carry_out(drive, options["model"], settings.model, showing, [])
    if in_copy and not showing.as_json:
        offer_changes(run_id, folder)
    return code


def settings_for(folder: str, options: dict[str, Any]) -> Any:
    """All settings for a run in this folder; what was ignored is said at once."""
    from pathlib import Path

    from surefoot.settings import load

    settings = load(Path(folder), flags_of(options))
    for notice in settings.notices:
        from surefoot.redact import neutralise

        click.echo(neutralise(notice), err=True)
    return settings


def flags_of(options: dict[str, Any]) -> "dict[str, Sourced]":
    from surefoot.settings import Sourced

    flags = {}
    for option, (name, source) in _FLAGS.items():
        value = options.get(option)
        if value is not None:
            flags[name] = Sourced(value, source.replace("--", "--no-") if value is False else source)
    if (static := options.get("static")) is not None:
        flags["execution.dynamic"] = Sourced(not static, "--static" if static else "--dynamic")
    return flags


def _task_text(words: tuple[str, ...]) -> str:
    if words != ("-",):
        return " ".join(words)
    # More than a task can be, so that one that is too long is told as such.
    return sys.stdin.buffer.read(2_000_000).decode(errors="replace")


# -- beginning in the middle ---------------------------------------------------------------------------------------


def _base_run(run_id: str | None) -> "RunState | None":
    if run_id is None:
        return None
    from surefoot.cli.places import open_journal
    from surefoot.fold import fold

    journal = open_journal(read_only=True)
    state = fold(journal.read(journal.find(run_id)))
    journal.close()
    return state


def _stage(phase: str | None) -> "Stage | None":
    from surefoot.machine import Stage

    return Stage(phase) if phase else None


def _first_stage(first: str | None, until: str | None, base: "RunState | None") -> "Stage | None":
    if base is None:
        if first not in (None, "understanding"):
            raise UsageError(
                f"beginning with {first} needs the results of what comes before it",
                remedy="name the run to take them from: --based-on RUN",
            )
        return None
    if first is None:
        done = [base.understanding, base.approach, base.plan]
        first = PHASE_NAMES[next((i for i, result in enumerate(done) if result is None), 3)]
    if until and PHASE_NAMES.index(until) < PHASE_NAMES.index(first):
        raise UsageError(f"{until} comes before {first}", remedy="let --until-phase come after --from-phase")
    return _stage(first)


def taken_over(base: "RunState", first: "Stage | None") -> "list[Event]":
    """What earlier phases of another run found, as events of the new one."""
    from surefoot import events as e
    from surefoot.machine import Stage

    wanted = PHASE_NAMES[: PHASE_NAMES.index(first or Stage.UNDERSTANDING)]
    given: list[Event] = []
    for phase in wanted[:3]:
        match phase:
            case "understanding" if base.understanding:
                given.append(e.Understood(result=base.understanding))
            case "approach" if base.approach:
                given.append(e.ApproachChosen(result=base.approach))
            case "planning" if base.planning and base.plan:
                given.append(e.PlanMade(result=base.planning.with_(output=base.plan)))
            case _:
                raise UsageError(
                    f"run {base.run_id} has no result of {phase} that could be taken over",
                    remedy=f"begin earlier: --from-phase {phase}",
                )
    return given
