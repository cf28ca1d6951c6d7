"""Styled lines on standard output: in colour on a terminal, as plain text in a pipe."""

import sys
from collections.abc import Iterable

from rich.console import Console
from rich.text import Text

from surefoot.cli.report.symbols import Marks, marks_for


def stdout_marks() -> Marks:
    return marks_for(sys.stdout.encoding)


def styled(lines: Iterable[Text]) -> str:
    """The text that `print_lines` would print."""
    console = _console()
    with console.capture() as captured:
        _print(console, lines)
    return captured.get()


def print_lines(lines: Iterable[Text]) -> None:
    """Print lines without wrapping them, so that they can be copied from the terminal as a whole."""
    _print(_console(), lines)


def _console() -> Console:
    return Console(highlight=False, markup=False, emoji=False)


def _print(console: Console, lines: Iterable[Text]) -> None:
    for line in lines:
        line.rstrip()
        console.print(line, soft_wrap=True)
