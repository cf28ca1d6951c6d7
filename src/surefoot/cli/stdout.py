"""Styled lines on standard output: with colour on a terminal, as plain text in a pipe."""

import sys
from collections.abc import Iterable

from rich.console import Console
from rich.text import Text

from surefoot.cli.marks import Marks, marks_for


def stdout_marks() -> Marks:
    return marks_for(sys.stdout.encoding)


def print_lines(lines: Iterable[Text]) -> None:
    """Long lines are left to the terminal to wrap, so that they can be copied whole."""
    console = Console(highlight=False, markup=False, emoji=False)
    for line in lines:
        line.rstrip()
        console.print(line, soft_wrap=True)
