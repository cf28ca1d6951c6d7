"""Options shared by several commands, and their parameter types."""

import os
import re
from collections.abc import Callable
from typing import Any

import click

from surefoot.core.transitions import PHASE_NAMES as PHASE_NAMES


class Duration(click.ParamType[float]):
    """A duration such as `90`, `90s`, `10m`, `1h30m` or `14d`, converted to seconds."""

    name = "time"
    _PATTERN = re.compile("".join(rf"(?:(\d+(?:\.\d+)?){unit})?" for unit in ("d", "h", "m", "s?")))

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, (int, float)):
            return float(value)
        match = self._PATTERN.fullmatch(value.strip().lower())
        if not match or not any(match.groups()):
            self.fail(f"{value!r} is not a duration; write 90s, 10m or 1h30m", param, ctx)
        days, hours, minutes, seconds = (float(part or 0) for part in match.groups())
        total = days * 86400 + hours * 3600 + minutes * 60 + seconds
        if total <= 0:
            self.fail("must be above 0", param, ctx)
        return total


class Amount(click.ParamType[int]):
    """A whole number such as `50000`, `50k` or `2m`."""

    name = "number"
    _PATTERN = re.compile(r"(\d+(?:\.\d+)?)([km]?)")

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        match = self._PATTERN.fullmatch(value.strip().lower().replace(",", "").replace("_", ""))
        if not match:
            self.fail(f"{value!r} is not a number; write 50000, 50k or 2m", param, ctx)
        total = int(float(match[1]) * {"": 1, "k": 1_000, "m": 1_000_000}[match[2]])
        if total < 1:
            self.fail("must be at least 1", param, ctx)
        return total


Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def combine(*decorators: Decorator) -> Decorator:
    """Combine options into one decorator. The help lists them in this order."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


workspace_option = click.option(
    "-C",
    "--workspace",
    metavar="DIR",
    default=".",
    show_default="the current folder",
    help="The folder to work in. File tools, and commands in a sandbox, write nothing outside it.",
)
model_option = click.option(
    "-m",
    "--model",
    metavar="MODEL",
    help="The model to use: local, openai/NAME, ollama/NAME, http://HOST/v1#NAME, ...",
)

display_options = combine(
    click.option("--json", "as_json", is_flag=True, help="Print every event as a JSON object, one per line."),
    click.option(
        "--live/--plain",
        "live",
        default=None,
        help="Show the live view, or plain lines. The default is live on a terminal, plain elsewhere.",
    ),
    click.option("-y", "--yes", is_flag=True, help="Answer every confirmation with yes."),
    click.option("--record", "cassette", metavar="FILE", help="Record all model calls to a cassette file."),
)

limit_options = combine(
    click.option("--max-time", type=Duration(), help="Stop after this time, such as 90s, 10m or 1h30m."),
    click.option("--max-tokens", type=Amount(), help="Stop after this many tokens, such as 50k."),
    click.option("--max-cost", type=float, metavar="USD", help="Stop at this cost; needs a model with a known price."),
)

phases_option = click.option(
    "--phases",
    type=click.Choice(("auto", "full", "plan")),
    help="auto skips phases that a simple task does not need, full runs all, plan stops after planning.",
)
worktree_option = click.option(
    "--worktree", is_flag=True, help="Work in a copy of the folder; `surefoot apply` applies the changes."
)
continue_option = click.option(
    "--continue",
    "continues",
    metavar="RUN",
    help="Continue an earlier run of this folder: its conversation, results and checks are the context.",
)
proof_options = combine(
    click.option(
        "--accept",
        type=click.Choice(("given-checks", "own-tests")),
        help="What makes the exit code 0: a given check that failed before, or also a test that the run wrote.",
    ),
    click.option(
        "--baseline",
        metavar="auto|off|CMD",
        help="How the project's tests are compared before and after: auto finds their command.",
    ),
)
isolation_options = combine(
    click.option(
        "--sandbox",
        type=click.Choice(("auto", "strict", "off")),
        help="Isolation of commands: the best available, full isolation or refuse, or none.",
    ),
    click.option("--network/--no-network", default=None, help="Whether commands may reach the network."),
)
step_options = combine(
    click.option(
        "--static/--dynamic",
        "static",
        default=None,
        help="Execute the plan exactly, one action per step; or choose actions step by step.",
    ),
    click.option("--rollback/--no-rollback", default=None, help="Whether to undo a failed step."),
    click.option(
        "--approve",
        type=click.Choice(("ask", "auto-edit", "auto", "never")),
        help="What needs approval: all writes and commands, commands, or only effects outside the workspace.",
    ),
)
interaction_options = combine(
    click.option("--confirm/--no-confirm", default=None, help="Ask for confirmation after every phase."),
    click.option(
        "--questions/--no-questions",
        "questions",
        default=None,
        help="Whether to ask what the task leaves open, or to continue with a stated assumption.",
    ),
    click.option(
        "--question-timeout",
        type=Duration(),
        help="Time after which an open question counts as no, such as 30m or 2d. The default is no limit.",
    ),
    click.option("-v", "--verbose", is_flag=True, default=None, help="Print more: reasoning, answers, tokens."),
)


def _use_database(_context: click.Context, _parameter: click.Parameter, url: str | None) -> None:
    """Make this process and its child processes use the database. Commands of a run do not see the variable."""
    if url is not None:
        from surefoot.config.storage import DATABASE_REMEDY, DATABASE_VARIABLE, database_problem
        from surefoot.errors import ConfigError

        if problem := database_problem(url):
            raise ConfigError(f"--database must be {problem}", remedy=DATABASE_REMEDY)
        os.environ[DATABASE_VARIABLE] = url


database_option = click.option(
    "--database",
    metavar="URL",
    expose_value=False,
    callback=_use_database,
    help="The PostgreSQL database with the journal, as postgresql://USER@HOST/NAME, instead of a file.",
)


def _set_variable(name: str) -> Callable[[click.Context, click.Parameter, str | None], None]:
    def use(_context: click.Context, _parameter: click.Parameter, value: str | None) -> None:
        if value is not None:
            os.environ[name] = value

    return use


objects_option = click.option(
    "--objects",
    metavar="URL",
    expose_value=False,
    callback=_set_variable("SUREFOOT_OBJECTS"),
    help="Where large content of a database goes: file:///DIR or s3://BUCKET.",
)
temporal_option = click.option(
    "--temporal",
    metavar="HOST:PORT",
    expose_value=False,
    callback=_set_variable("SUREFOOT_TEMPORAL"),
    help="The Temporal server that gives runs to workers.",
)
queue_option = click.option(
    "--queue",
    metavar="NAME",
    expose_value=False,
    callback=_set_variable("SUREFOOT_WORKERS__QUEUE"),
    help="The task queue of the workers, by default surefoot.",
)
remote_options = combine(
    click.option("--remote", is_flag=True, help="Let workers drive the run, with a copy of the folder."),
    click.option("--git", metavar="URL", help="With --remote: begin with a clone of this repository, not the folder."),
    click.option("--ref", default="", metavar="NAME", help="With --git: a branch or tag."),
    objects_option,
    temporal_option,
    queue_option,
)

all_option = click.option(
    "--all", "all_folders", is_flag=True, help="Without an id: the newest run of all folders, not of the current one."
)
reason_option = click.option("--why", default="", metavar="TEXT", help="The reason, recorded with the run.")

phase_options = combine(
    click.option(
        "--from-phase",
        type=click.Choice(PHASE_NAMES),
        help="Start here, with the results of earlier phases from --based-on or --given.",
    ),
    click.option("--until-phase", type=click.Choice(PHASE_NAMES), help="Stop when this phase is done."),
    click.option("--plan", metavar="RUN", help="Carry out a plan of `surefoot plan`; `last` is the newest one."),
    click.option("--based-on", metavar="RUN", help="Use the task and the earlier phases of another run."),
    click.option("--given", metavar="FILE", help="Use the earlier phases in a JSON file, as printed by show --json."),
)


def is_debugging() -> bool:
    """Whether SUREFOOT_DEBUG asks for tracebacks and for the logs of libraries."""
    return os.environ.get("SUREFOOT_DEBUG", "") not in ("", "0")
