"""Opens a session: reads a line, carries it out, and reads the next, until the user ends it."""

import click

from surefoot.cli.interactive.commands import Quit, dispatch
from surefoot.cli.interactive.prompt import choose_reader
from surefoot.cli.interactive.session import ReportError, Session
from surefoot.cli.interactive.welcome import welcome
from surefoot.cli.report.stdout import print_lines
from surefoot.cli.report.text import count
from surefoot.cli.session.resources import resolve_workspace

HINT = "Ctrl-D or /quit ends the session"


def open_session(group: click.Group, report_error: ReportError) -> int:
    """Run a session in the current folder. Returns the exit code."""
    folder = resolve_workspace(".")
    start = welcome(folder)
    print_lines(start.lines)
    session = Session(group, report_error, folder, model_name=start.model_name, found_checks=start.checks)
    reader = choose_reader(session)
    while True:
        click.echo()
        try:
            line = reader.read()
            if line:
                carry_out(session, line)
        except (EOFError, Quit):
            break
        except KeyboardInterrupt:
            click.echo(HINT)
    if session.usage:
        click.echo(f"{count(len(session.usage), 'run')}, {session.total}")
    return 0


WORDS = {"exit": "/quit", "quit": "/quit", "help": "/help", "?": "/help"}
"""Lines that are commands in most programs, and no tasks."""


def carry_out(session: Session, line: str) -> None:
    """Carry out a command or a task. Errors are printed, and the session goes on."""
    try:
        if line.startswith("/"):
            dispatch(session, line)
        elif line.strip() in WORDS:
            dispatch(session, WORDS[line.strip()])
        else:
            session.run_task(line)
    except Quit:
        raise
    except (Exception, KeyboardInterrupt) as error:
        session.report_error(error)
