"""Turns command-line options into a `PreparedRun`: settings, task, checks, and phases taken over from another run."""

import shlex
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import click

from surefoot.cli.options import PHASE_NAMES
from surefoot.cli.report import text as fmt
from surefoot.cli.session.ending import Display
from surefoot.cli.session.foreground import PreparedRun
from surefoot.cli.session.resources import resolve_workspace
from surefoot.cli.session.runs import StoredRun, load_found_run, load_run
from surefoot.cli.session.worktree import offer_changes, worktree_path
from surefoot.config import paths
from surefoot.config.fields import Sourced, validate
from surefoot.config.layers import Settings, load
from surefoot.config.model import SETTING_ALIASES, ExecutionConfig
from surefoot.config.sources import parse_text
from surefoot.core.plan import Check, CommandCheck
from surefoot.core.task import Task
from surefoot.core.transitions import Stage
from surefoot.engine.loop import new_run_id, resume_run, start_run
from surefoot.engine.refusal import refuse_missing_commands
from surefoot.errors import UsageError
from surefoot.history.earlier.continuing import start_continuing
from surefoot.history.earlier.given import EarlierPhases, from_file, of_run
from surefoot.history.worktree import make_worktree
from surefoot.journal.events import Event, Warned
from surefoot.journal.redact import neutralise
from surefoot.journal.state import RunState
from surefoot.models.select import reusable_spec
from surefoot.workspace.sandbox.sandbox import choose_sandbox

_FLAGS = {
    "phases": ("execution.phases", "--phases"),
    "accept": ("execution.accept", "--accept"),
    "baseline": ("execution.baseline", "--baseline"),
    "sandbox": ("execution.sandbox", "--sandbox"),
    "approve": ("execution.approve", "--approve"),
    "network": ("execution.network", "--network"),
    "rollback": ("execution.enable_auto_rollback", "--rollback"),
    "confirm": ("execution.require_confirmation", "--confirm"),
    "questions": ("execution.ask_questions", "--questions"),
    "question_timeout": ("execution.question_timeout_seconds", "--question-timeout"),
    "verbose": ("execution.verbose_logging", "--verbose"),
    "max_time": ("budget.max_seconds", "--max-time"),
    "max_tokens": ("budget.max_tokens", "--max-tokens"),
    "max_cost": ("budget.max_cost_usd", "--max-cost"),
}
"""Options that override a setting: the name of the setting, and the source to name in messages."""

_AFTER_PLANNING = (Stage.EXECUTION, Stage.VALIDATION)
_LIMITS = {"max_time": "max_seconds", "max_tokens": "max_tokens", "max_cost": "max_cost_usd"}


class GivenTask(NamedTuple):
    """A new run as the command line describes it."""

    task: Task
    first: Stage
    given: Sequence[Event]
    """Events to record at the start, such as the results of earlier phases."""
    based_on: str
    """The run that --based-on names; empty without it."""


def given_task(
    words: tuple[str, ...],
    options: Mapping[str, Any],
    folder: Path,
    workspace: Path,
    continued: StoredRun | None = None,
    default_checks: Sequence[str] = (),
) -> GivenTask:
    """The task of a new run in `workspace`: that in `words`, or that of the run that --based-on names.

    Without --check it has the checks of that run, or of the run that it continues, or else `default_checks`.
    """
    base = load_run(options["based_on"], start=folder).state if options.get("based_on") is not None else None
    earlier = _earlier(options.get("given"), base)
    first = _first_stage(options.get("from_phase"), options.get("until_phase"), earlier)
    inherited = continued.state if continued and options.get("inherits_checks", True) else None
    checks = _checks(options["checks"], base or inherited, default_checks)
    task = Task(text=_task_text(words, base), workspace=str(workspace), checks=checks)
    events = [*(earlier.before(first) if earlier and first else ()), *_notes(options)]
    if base is not None and base.context is not None:
        events = [*events, base.context]  # The plan of a follow-up is carried out with the context of the follow-up.
    if options.get("phases") == "plan" and first in _AFTER_PLANNING:
        raise UsageError(f"the run starts with {first}, after planning", remedy="leave out --phases plan")
    return GivenTask(task, first or Stage.UNDERSTANDING, events, base.run_id if base else "")


def _notes(options: Mapping[str, Any]) -> list[Event]:
    """Warnings to record at the start."""
    return [Warned(message=note) for note in options.get("notes", ())]


def continued_run(options: Mapping[str, Any], folder: Path) -> StoredRun | None:
    """The run that --continue names; None without it.

    Raises UsageError if it worked in another folder: its context must not leave that folder.
    """
    if options.get("continues") is None:
        return None
    for other in ("based_on", "given", "from_phase"):
        if options.get(other) is not None:
            flag = f"--{other.replace('_', '-')}"
            raise UsageError(f"--continue cannot be combined with {flag}", remedy="give one of them")
    found, stored = load_found_run(options["continues"], start=folder)
    if found.folder != str(folder):
        raise UsageError(
            f"run {found.run_id} worked in {fmt.folder(found.folder)}; its context cannot be used in another folder",
            remedy=f"continue it there: -C {shlex.quote(found.folder)}; or start a new run without --continue",
        )
    return stored


def prepare_start(words: tuple[str, ...], options: Mapping[str, Any]) -> PreparedRun:
    """Prepare a new run of the task in `words`, or of the task of the run that --based-on names."""
    folder, run_id = resolve_workspace(options["workspace"]), new_run_id()
    settings = load_settings(folder, options)
    config = settings.execution
    in_copy = options.get("worktree", False)
    earlier = continued_run(options, folder)
    where = worktree_path(folder, run_id) if in_copy else folder
    new = given_task(words, options, folder, where, earlier, config.checks)
    # Refused before a copy is made or a model is chosen.
    refuse_missing_commands(new.task.with_(workspace=str(folder)))
    copy = partial(make_worktree, folder, new.task.folder, paths.state_home(), run_id, config)
    return PreparedRun(
        run_id=run_id,
        drive=partial(
            partial(start_continuing, earlier=earlier.records, folder=folder) if earlier else start_run,
            task=new.task,
            config=config,
            run_id=run_id,
            first=new.first,
            last=_stage(options.get("until_phase")),
            given=new.given,
            based_on=new.based_on,
        ),
        model_spec=options["model"],
        model_settings=settings.model,
        alerts=settings.alerts,
        integrations=settings.integrations,
        display=Display(
            live=options["live"],
            as_json=options["as_json"],
            yes=options["yes"],
            cassette=options["cassette"],
            verbose=config.verbose_logging,
            isolation=describe_isolation(config, folder),
            hints=options.get("hints", True),
        ),
        task=new.task,
        folder=new.task.folder,
        mcp_servers=tuple(settings.mcp_servers.values()),
        before=copy if in_copy else None,
        after=partial(offer_changes, run_id, folder) if in_copy and not options["as_json"] else None,
    )


def prepare_resume(
    run: StoredRun, model: str | None, options: Mapping[str, Any], *, until_phase: str | None = None
) -> PreparedRun:
    """Prepare to continue a run. Limits in `options` and prices in the config files replace those of the run."""
    assert run.state.task is not None
    settings = load_settings(run.state.task.folder)
    config = _with_limits(run.state.config, options, settings.execution)
    return PreparedRun(
        run_id=run.run_id,
        drive=partial(resume_run, run_id=run.run_id, last=_stage(until_phase), config=config),
        model_spec=model or reusable_spec(run.state.model, run.state.model_address),
        model_settings=settings.model,
        alerts=settings.alerts,
        integrations=settings.integrations,
        display=display_of(run.state, options),
        folder=run.state.task.folder,
        mcp_servers=tuple(settings.mcp_servers.values()),
        records=run.records,
    )


def display_of(state: RunState, options: Mapping[str, Any]) -> Display:
    """The display of a run that exists already."""
    assert state.task is not None
    return Display(
        **{name: value for name, value in options.items() if name not in _LIMITS},
        verbose=state.config.verbose_logging,
        isolation=describe_isolation(state.config, state.task.folder),
    )


def load_settings(folder: Path, options: Mapping[str, Any] | None = None) -> Settings:
    """All settings for a run in this folder. Notices, such as an untrusted project config, are printed."""
    settings = load(folder, _flags(options or {}))
    for notice in settings.notices:
        click.echo(neutralise(notice), err=True)
    return settings


def with_settings(config: ExecutionConfig, changes: Sequence[str]) -> ExecutionConfig:
    """Replace values in the settings of a run. Each change has the form `section.name=value`."""
    for change in changes:
        name, equals, value = change.partition("=")
        name = SETTING_ALIASES.get(name.strip(), name.strip())
        if not equals or "." not in name or name.startswith(("model.", "alerts.", "telemetry.", "redis.")):
            raise UsageError(f"{change!r} sets nothing", remedy="write it as --set execution.dynamic=false")
        section, _, key = name.partition(".")
        checked = validate(name, Sourced(parse_text(value), "--set"), strict=False)
        if section == "execution":
            config = config.with_(**{key: checked})
        else:
            config = config.with_(**{section: getattr(config, section).with_(**{key: checked})})
    return config


def describe_isolation(config: ExecutionConfig, workspace: Path) -> str:
    """How commands are isolated, in a few words. Raises if the required isolation is not available."""
    sandbox, description = choose_sandbox(config.sandbox, workspace, state_folders=[paths.state_home()])
    if sandbox is None:
        return description
    return f"sandbox {sandbox.name}, {'network on' if config.network else 'no network'}"


def _flags(options: Mapping[str, Any]) -> dict[str, Sourced]:
    flags = {}
    for option, (name, source) in _FLAGS.items():
        value = options.get(option)
        if value is not None:
            flags[name] = Sourced(value, source.replace("--", "--no-") if value is False else source)
    if (static := options.get("static")) is not None:
        flags["execution.dynamic"] = Sourced(not static, "--static" if static else "--dynamic")
    return flags


def _with_limits(
    config: ExecutionConfig, options: Mapping[str, Any], current: ExecutionConfig
) -> ExecutionConfig | None:
    """The settings of a run with the given limits and the current prices; None if nothing changes."""
    limits = {name: value for option, name in _LIMITS.items() if (value := options.get(option)) is not None}
    changed = config.with_(budget=config.budget.with_(**limits), prices={**config.prices, **current.prices})
    return changed if changed != config else None


def _task_text(words: tuple[str, ...], base: RunState | None) -> str:
    if not words and base is not None:
        return base.task.text if base.task else ""
    if words != ("-",):
        return " ".join(words)
    if sys.stdin.isatty():
        click.echo("type the task; Ctrl-D on a line of its own ends it", err=True)
    # The limit is above the maximum length of a task, so that a task that is too long is refused and not cut.
    return sys.stdin.buffer.read(2_000_000).decode(errors="replace")


def _checks(commands: Sequence[str], base: RunState | None, default: Sequence[str]) -> tuple[Check, ...]:
    """The checks given on the command line, else those of the run that this one is based on, else the default ones."""
    if not commands and base is not None and base.task:
        return base.task.checks
    if not all(command.strip() for command in commands):
        raise UsageError("a --check is empty", remedy='give a command, such as --check "pytest -q"')
    return tuple(CommandCheck(command=command, origin="user") for command in commands or default)


# -- starting in the middle ----------------------------------------------------------------------------------------


def _stage(phase: str | None) -> Stage | None:
    return Stage(phase) if phase else None


def _earlier(file: str | None, base: RunState | None) -> EarlierPhases | None:
    """The results of earlier phases, from a file or from another run; None if there are none."""
    if file is not None and base is not None:
        raise UsageError("--given and --based-on cannot be combined", remedy="give one of them")
    if file is not None:
        return from_file(Path(file).expanduser())
    return of_run(base) if base is not None else None


def _first_stage(first: str | None, until: str | None, earlier: EarlierPhases | None) -> Stage | None:
    if earlier is None:
        if first not in (None, "understanding"):
            raise UsageError(
                f"starting with {first} needs the results of the phases before it",
                remedy="name the run to take them from: --based-on RUN, or a file: --given FILE",
            )
        return None
    if first is None:
        first = earlier.first_missing()
    if until and PHASE_NAMES.index(until) < PHASE_NAMES.index(first):
        raise UsageError(f"{until} comes before {first}", remedy="let --until-phase come after --from-phase")
    return _stage(first)
