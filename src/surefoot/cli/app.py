"""The command group, and error reporting: one line, the remedy, an exit code.

Importing a command module only declares its options; a command imports the rest when it is called.
"""

import os
import sys
import traceback
from collections.abc import Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING

import click

from surefoot._version import __version__
from surefoot.cli.commands.answer import answer
from surefoot.cli.commands.control import cancel, pause, skip
from surefoot.cli.commands.doctor import doctor
from surefoot.cli.commands.edit import edit
from surefoot.cli.commands.fork import fork, recover
from surefoot.cli.commands.inspect import list_runs, show, stats
from surefoot.cli.commands.mcp import mcp
from surefoot.cli.commands.model import model
from surefoot.cli.commands.replay import replay
from surefoot.cli.commands.report import report
from surefoot.cli.commands.retry import retry
from surefoot.cli.commands.run import plan, resume, run
from surefoot.cli.commands.serve import acp, schema, serve, watch
from surefoot.cli.commands.undo import apply, diff, gc, undo
from surefoot.cli.demo.command import demo
from surefoot.cli.git.command import commit, pr, review
from surefoot.cli.git.push import push
from surefoot.cli.help.completion import completion
from surefoot.cli.help.examples import add_examples
from surefoot.cli.help.listing import write_commands
from surefoot.cli.help.topics import EXIT_CODES as EXIT_CODES
from surefoot.cli.help.topics import help_command
from surefoot.cli.options import database_option, is_debugging
from surefoot.cli.remote.worker import worker
from surefoot.cli.setup import config_change as config_change
from surefoot.cli.setup import model_test as model_test
from surefoot.cli.setup.config import config, trust, untrust
from surefoot.cli.setup.init import init
from surefoot.errors import ConfigError, NoModel, SurefootError, UsageError

if TYPE_CHECKING:
    from surefoot.cli.views.error_line import Problem

_USAGE_ERRORS = (UsageError, ConfigError, NoModel)


WITH_JOURNAL = (
    run, plan, resume, retry, edit, skip, pause, cancel, answer, list_runs, show, stats, watch, serve, report, diff,
    undo, replay, fork, apply, gc, config, doctor, worker, review, commit, push, pr,
)  # fmt: skip
"""Commands that open the journal or report on it. They take --database."""


class Commands(click.Group):
    """A group that suggests the nearest command for a misspelt one, and lists the commands by purpose."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            nearest = get_close_matches(args[0], self.list_commands(ctx), n=1)
            hint = f"Did you mean {nearest[0]!r}?" if nearest else f"To start a task: surefoot run {args[0]!r}"
            raise click.UsageError(f"No such command {args[0]!r}. {hint}", ctx)
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_commands(self, ctx, formatter)


@click.group(
    cls=Commands,
    epilog=EXIT_CODES,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, "-V", "--version", prog_name="surefoot", message="%(prog)s %(version)s")
@click.pass_context
def cli(context: click.Context) -> int:
    """An agent that proves every step, and gets back up when it slips.

    Give it a task in plain words and a command that checks the result:

    \b
      surefoot run "add a --json flag to report.py" --check "pytest -q"

    Without a command, in a terminal, it opens a session: type one task after the other.
    """
    if context.invoked_subcommand is not None:
        return 0
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise click.exceptions.NoArgsIsHelpError(context)
    from surefoot.cli.interactive.opening import open_session

    return open_session(cli, report_error)


for command in (
    run,
    plan,
    resume,
    retry,
    edit,
    skip,
    pause,
    cancel,
    answer,
    list_runs,
    show,
    stats,
    watch,
    serve,
    acp,
    report,
    demo,
    diff,
    review,
    commit,
    push,
    pr,
    undo,
    replay,
    fork,
    recover,
    apply,
    gc,
    init,
    config,
    trust,
    untrust,
    doctor,
    model,
    mcp,
    schema,
    worker,
    completion,
    help_command,
):
    cli.add_command(command)
add_examples(cli)
for command in WITH_JOURNAL:
    database_option(command)


def prepare_streams() -> None:
    """Replace characters that the terminal cannot encode, and keep logs of libraries out of the output."""
    import logging

    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure:
            reconfigure(errors="replace")
    if not is_debugging():
        logging.getLogger().addHandler(logging.NullHandler())
        logging.captureWarnings(True)


def report_error(error: BaseException, words: Sequence[str] = ()) -> int:
    """Print an error as one line with its remedy. If `words` ask for JSON, also print it as an object on stdout.

    Returns the exit code.
    """
    from surefoot.cli.views.error_line import INTERRUPTED, wants_json, write_problem

    match error:
        case click.exceptions.NoArgsIsHelpError():
            click.echo(error.format_message())
            return 2
        case BrokenPipeError():
            return _leave_pipe()
        case click.Abort() | KeyboardInterrupt():
            problem = INTERRUPTED
        case _:
            problem = _problem(error, words)
            _print_problem(problem)
    if wants_json(words, cli):
        write_problem(problem)
    return problem.exit_code


def _problem(error: BaseException, words: Sequence[str]) -> "Problem":
    from surefoot.cli.views.error_line import Problem, kind_of

    match error:
        case click.UsageError():
            path = error.ctx.command_path if error.ctx else "surefoot"
            misplaced = _misplaced_option_hint(error, words)
            remedy = f"{_newest_run_hint(error, path)}{misplaced}see: {path} --help"
            # click's message would suggest a similar option of the group, which is not meant.
            return Problem(error.message if misplaced else error.format_message(), remedy, "usage_error", 2)
        case click.ClickException():
            return Problem(error.format_message(), "", "error", 1)
    if is_debugging():
        _print_traceback(error)
    if isinstance(error, SurefootError):
        remedy = "; ".join(part for part in (error.remedy, *error.notes) if part)
        return Problem(str(error), remedy, kind_of(error), 2 if isinstance(error, _USAGE_ERRORS) else 1)
    notes: list[str] = getattr(error, "__notes__", [])
    remedy = "; ".join(("SUREFOOT_DEBUG=1 shows the traceback", *notes))
    if isinstance(error, OSError):
        return Problem(str(error), remedy, "system_error", 1)
    from surefoot.core.values import error_in_words

    return Problem(f"unexpected error: {error_in_words(error)}", remedy, "unexpected_error", 1)


def _newest_run_hint(error: click.UsageError, path: str) -> str:
    """How to name the newest run, if the argument RUN is missing; else empty."""
    if not isinstance(error, click.MissingParameter) or not error.ctx or not error.param:
        return ""
    if error.param.metavar != "RUN":
        return ""
    needed = (p for p in error.ctx.command.params if isinstance(p, click.Argument) and p.required)
    rest = [str(p.metavar) for p in needed if p is not error.param]
    return f"the newest run: {' '.join([path, 'last', *rest])}; "


def _misplaced_option_hint(error: click.UsageError, words: Sequence[str]) -> str:
    """The right order, if an option of a command was given before the command; else empty."""
    if not isinstance(error, click.NoSuchOption) or not error.ctx or error.ctx.command is not cli:
        return ""
    command = next((cli.commands[word] for word in words if word in cli.commands), None)
    if command is None or not any(error.option_name in parameter.opts for parameter in command.params):
        return ""
    return f"options come after the command: surefoot {command.name} {error.option_name}; "


def _print_traceback(error: BaseException) -> None:
    from surefoot.cli.report.hiding import redactor

    print(redactor().redact("".join(traceback.format_exception(error))), end="", file=sys.stderr)


def _print_problem(problem: "Problem") -> None:
    from surefoot.cli.report.hiding import safe

    print(f"surefoot: {' '.join(safe(problem.message).split())}", file=sys.stderr)
    for line in safe(problem.remedy).splitlines():
        print(f"          {line}", file=sys.stderr)


def _leave_pipe() -> int:
    """Replace standard output, whose reader is gone: Python flushes it once more at exit. Returns the exit code."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 141
