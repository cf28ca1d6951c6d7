"""A simulated terminal, which interprets the output of the live view so that a test can inspect the screen.

It supports only the sequences that the view may use; any other fails the test.
"""

import re

from rich.cells import cell_len

_SEQUENCE = re.compile(r"\x1b\[(\??)([0-9;]*)([A-Za-z])")


class Terminal:
    def __init__(self, columns: int = 80, rows: int = 24) -> None:
        self.columns, self.rows = columns, rows
        self.lines: list[list[str]] = [[]]
        """All rows, of which the last `rows` are visible; one string per cell, "" for the second half of a wide one."""
        self.row = self.column = 0
        self.modes: set[str] = set()
        self.erased = 0

    def feed(self, data: str) -> None:
        position = 0
        while position < len(data):
            if match := _SEQUENCE.match(data, position):
                self._execute(match[1], match[2], match[3])
                position = match.end()
            else:
                self._print(data[position])
                position += 1

    @property
    def text(self) -> list[str]:
        return ["".join(line).rstrip() for line in self.lines]

    @property
    def top(self) -> int:
        return max(len(self.lines) - self.rows, 0)

    def _execute(self, private: str, argument: str, letter: str) -> None:
        if private:
            assert argument in ("25", "2026"), argument
            (self.modes.add if letter == "h" else self.modes.discard)(argument)
            return
        match letter:
            case "A":
                self.row = max(self.row - int(argument or 1), self.top)
            case "K":
                self.erased += 1
                del self.lines[self.row][self.column :]
            case "J":
                del self.lines[self.row][self.column :]
                del self.lines[self.row + 1 :]
            case "m":
                pass
            case _:
                raise AssertionError(f"unsupported sequence: ESC [ {argument}{letter}")

    def _print(self, character: str) -> None:
        if character == "\r":
            self.column = 0
        elif character == "\n":
            self.row += 1
            while len(self.lines) <= self.row:
                self.lines.append([])
        else:
            assert character >= " ", f"a control character reached the terminal: {character!r}"
            width = cell_len(character)
            if self.column + width > self.columns:
                self._print("\r")
                self._print("\n")
            line = self.lines[self.row]
            line += [" "] * (self.column - len(line))
            line[self.column : self.column + width] = [character, *[""] * (width - 1)]
            self.column += width

    def resize(self, columns: int, rows: int) -> None:
        """Wrap lines that no longer fit, and keep the cursor at its text, as most terminals do."""
        lines: list[list[str]] = []
        for index, line in enumerate(self.lines):
            if index == self.row:
                self.row = len(lines)
            text = "".join(line).rstrip()
            pieces = [text[i : i + columns] for i in range(0, len(text), columns)] or [""]
            lines += [list(piece) for piece in pieces]
        self.lines, self.columns, self.rows = lines, columns, rows
