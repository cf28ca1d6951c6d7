"""All commands in one group, and how whatever goes wrong in them ends: one clear line, the remedy, an exit code.

The command modules declare options and nothing more at import; what is heavy is loaded by the command that runs.
"""

import os
import sys
import traceback
from collections.abc import Sequence
from difflib import get_close_matches
from typing import NoReturn

import click

from surefoot._version import __version__
from surefoot.cli.answering import answer
from surefoot.cli.control import cancel, pause, skip
from surefoot.cli.doctor import doctor
from surefoot.cli.edit import edit
from surefoot.cli.fork import fork
from surefoot.cli.inspect import list_runs, show
from surefoot.cli.model import model
from surefoot.cli.retry import retry
from surefoot.cli.run import plan, resume, run
from surefoot.cli.settings import config, trust, untrust
from surefoot.cli.undo import apply, diff, gc, undo
from surefoot.errors import ConfigError, NoModel, SurefootError, UsageError

EXIT_CODES = """\b
Exit codes:
  0    verified: checks that failed before pass now
  1    failed, or an error
  2    wrong use: arguments, settings, no model
  3    finished, but nothing proves it
  4    waiting for a person
  5    a budget is spent
  6    stopped: it was going in circles
  124  out of time
  130  interrupted; resume goes on
"""
_USAGE_ERRORS = (UsageError, ConfigError, NoModel)


class Commands(click.Group):
    """A group that answers a misspelt command with the nearest one."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            nearest = get_close_matches(args[0], self.list_commands(ctx), n=1)
            hint = f"Did you mean {nearest[0]!r}?" if nearest else f"A task goes after run: surefoot run {args[0]!r}"
            raise click.UsageError(f"No such command {args[0]!r}. {hint}", ctx)
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.group(cls=Commands, epilog=EXIT_CODES, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", prog_name="surefoot", message="%(prog)s %(version)s")
def cli() -> None:
    """An agent that proves every step, and gets back up when it slips.

    Give it a task in plain words and a command that tells whether it is done:

    \b
      surefoot run "add a --json flag to report.py" --check "pytest -q"
    """


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
    diff,
    undo,
    fork,
    apply,
    gc,
    config,
    trust,
    untrust,
    doctor,
    model,
):
    cli.add_command(command)


def run_cli(arguments: Sequence[str]) -> int:
    """Carry out the command line; the exit code."""
    _settle_streams()
    debug = os.environ.get("SUREFOOT_DEBUG", "") not in ("", "0")
    try:
        result = cli.main(list(arguments), prog_name="surefoot", standalone_mode=False)
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return 2
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx else "surefoot"
        return _failed(error.format_message(), f"see: {path} --help", 2)
    except click.ClickException as error:
        return _failed(error.format_message(), "", 1)
    except (click.Abort, KeyboardInterrupt):
        return 130
    except BrokenPipeError:
        _leave_pipe()
    except SurefootError as error:
        if debug:
            traceback.print_exc()
        code = 2 if isinstance(error, _USAGE_ERRORS) else 1
        return _failed(str(error), "; ".join((error.remedy, *_notes(error))).removeprefix("; "), code)
    except Exception as error:
        if debug:
            traceback.print_exc()
        known = isinstance(error, OSError)
        said = str(error) if known else f"unexpected error: {type(error).__name__}: {error}"
        return _failed(said, "; ".join(("SUREFOOT_DEBUG=1 shows where it happened", *_notes(error))), 1)


def _notes(error: Exception) -> list[str]:
    """What was added to an error on its way, such as how to go on with the run that it stopped."""
    return list(getattr(error, "__notes__", ()))


def _failed(message: str, remedy: str, code: int) -> int:
    from surefoot.redact import neutralise

    print(f"surefoot: {' '.join(neutralise(message).split())}", file=sys.stderr)
    for line in neutralise(remedy).splitlines():
        print(f"          {line}", file=sys.stderr)
    return code


def _settle_streams() -> None:
    """No text may break the program because the terminal cannot show it, and no library may write into the view."""
    import logging

    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure:
            reconfigure(errors="replace")
    if os.environ.get("SUREFOOT_DEBUG", "") in ("", "0"):
        logging.getLogger().addHandler(logging.NullHandler())
        logging.captureWarnings(True)


def _leave_pipe() -> NoReturn:
    """Whoever read our output has gone. Python would complain once more when it flushes, so standard output goes."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(141)
