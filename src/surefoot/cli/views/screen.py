"""A block of lines at the bottom of the terminal, redrawn in place without flicker.

Only changed lines are written, in a single write, and a line is never erased before it is drawn. After a resize the
terminal may have wrapped the old lines, so the top of the block is computed from the rows that they occupy now.
"""

import os
from collections.abc import Sequence
from typing import TextIO

from rich.console import Console
from rich.text import Span, Text

_BEGIN, _END = "\x1b[?2026h", "\x1b[?2026l"  # synchronised output; terminals without it ignore these
_HIDE_CURSOR, _SHOW_CURSOR = "\x1b[?25l", "\x1b[?25h"


class Screen:
    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.console = Console(file=stream, force_terminal=True, highlight=False, markup=False, emoji=False)
        self._lines: list[str] = []
        self._cells: list[int] = []
        self._painted = False
        """Whether a frame was painted since the last `clear`, so that the cursor is hidden."""
        self._rendered: dict[tuple[str, str, tuple[Span, ...]], str] = {}
        self._size = self.size()

    def size(self) -> tuple[int, int]:
        """Columns and rows. Assumes 80 by 24 for a terminal that does not know its size."""
        try:
            columns, rows = os.get_terminal_size(self.stream.fileno())
        except (OSError, ValueError):
            columns, rows = 0, 0
        return columns or 80, rows or 24

    def paint(self, lines: Sequence[Text]) -> None:
        size = self.size()
        drawn = self._render(lines[: size[1] - 1])
        if drawn == self._lines and size == self._size:
            return
        out = [_BEGIN, _HIDE_CURSOR]
        if size == self._size:
            out += self._difference(drawn)
        else:
            out += [self._back_to_top(size), "\x1b[J", *(f"{line}\r\n" for line in drawn)]
        self._write("".join([*out, _END]))
        self._lines, self._cells, self._size = drawn, [line.cell_len for line in lines], size
        self._painted = True

    def _difference(self, drawn: Sequence[str]) -> list[str]:
        out = [self._back_to_top(self._size)]
        for index, line in enumerate(drawn):
            same = index < len(self._lines) and self._lines[index] == line
            out.append("\r\n" if same else f"{line}\x1b[K\r\n")
        if len(drawn) < len(self._lines):
            out.append("\x1b[J")
        return out

    def _back_to_top(self, size: tuple[int, int]) -> str:
        columns, rows = size
        occupied = sum(max(-(-cells // columns), 1) for cells in self._cells[: len(self._lines)])
        return f"\x1b[{min(occupied, rows - 1)}A\r" if occupied else "\r"

    def clear(self) -> None:
        """Erase the block, so that something else can be written in its place."""
        if self._painted:
            self._write(f"{self._back_to_top(self.size())}\x1b[J{_SHOW_CURSOR}")
        self._lines, self._cells, self._size, self._painted = [], [], self.size(), False

    def forget(self) -> None:
        """Paint the next frame below the cursor, because other text was printed while the job was stopped."""
        self._lines, self._cells = [], []

    def _render(self, lines: Sequence[Text]) -> list[str]:
        """Convert lines to text with ANSI codes. Lines that were in the last frame are not rendered again."""
        keys = [(line.plain, str(line.style), tuple(line.spans)) for line in lines]
        previous = self._rendered
        self._rendered = {
            key: previous[key] if key in previous else self._ansi(line) for key, line in zip(keys, lines, strict=True)
        }
        return [self._rendered[key] for key in keys]

    def _ansi(self, line: Text) -> str:
        with self.console.capture() as capture:
            self.console.print(line, end="", soft_wrap=True)
        return capture.get()

    def _write(self, text: str) -> None:
        try:
            self.stream.write(text)
            self.stream.flush()
        except OSError:
            # The terminal is gone; the run continues without it.
            pass
