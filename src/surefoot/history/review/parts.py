"""The change of one text file, split into parts that a person can keep, undo or edit. Pure."""

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

CONTEXT = 3


class Block(NamedTuple):
    """Lines that were replaced: the half-open range in the old text, and in the new text."""

    before: tuple[int, int]
    after: tuple[int, int]


Hunk = tuple[Block, ...]
"""Blocks that are near each other."""


class Replacement(NamedTuple):
    """Lines that replace a range of the new text."""

    start: int
    end: int
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TextChange:
    before: tuple[str, ...]
    after: tuple[str, ...]

    @staticmethod
    def of(before: bytes, after: bytes) -> "TextChange | None":
        """The change between two contents; None if one of them is not text."""
        if b"\0" in before + after:
            return None
        try:
            return TextChange(lines_of(before.decode()), lines_of(after.decode()))
        except UnicodeDecodeError:
            return None

    def hunks(self) -> list[Hunk]:
        matcher = difflib.SequenceMatcher(None, self.before, self.after, autojunk=False)
        return [
            tuple(Block((i1, i2), (j1, j2)) for tag, i1, i2, j1, j2 in group if tag != "equal")
            for group in matcher.get_grouped_opcodes(CONTEXT)
        ]

    def undone(self, hunk: Iterable[Block]) -> list[Replacement]:
        """The replacements that undo a hunk."""
        return [Replacement(*block.after, self.before[slice(*block.before)]) for block in hunk]

    def edited(self, hunk: Hunk, text: str) -> list[Replacement]:
        """The replacement that puts a text in place of a hunk's new lines."""
        return [Replacement(hunk[0].after[0], hunk[-1].after[1], lines_of(text))]

    def new_lines(self, hunk: Hunk) -> str:
        return "".join(self.after[hunk[0].after[0] : hunk[-1].after[1]])

    def with_(self, replacements: Sequence[Replacement]) -> bytes:
        """The new text with these replacements."""
        parts: list[str] = []
        at = 0
        for start, end, lines in sorted(replacements, key=lambda each: (each.start, each.end)):
            parts += [*self.after[at:start], *lines]
            at = end
        return "".join([*parts, *self.after[at:]]).encode()

    def patch(self, hunk: Hunk) -> Iterator[str]:
        """The lines of a hunk as in a unified diff."""
        (first, _), (_, last) = hunk[0].before, hunk[-1].before
        (new_first, _), (_, new_last) = hunk[0].after, hunk[-1].after
        lead, tail = min(CONTEXT, first), min(CONTEXT, len(self.before) - last)
        old = (first - lead + 1, last + tail - first + lead)
        new = (new_first - lead + 1, new_last + tail - new_first + lead)
        yield f"@@ -{old[0]},{old[1]} +{new[0]},{new[1]} @@\n"
        at = first - lead
        for block in hunk:
            yield from (_marked(" ", line) for line in self.before[at : block.before[0]])
            yield from (_marked("-", line) for line in self.before[slice(*block.before)])
            yield from (_marked("+", line) for line in self.after[slice(*block.after)])
            at = block.before[1]
        yield from (_marked(" ", line) for line in self.before[at : last + tail])


def split(hunk: Hunk) -> list[Hunk]:
    """The blocks of a hunk, each as a hunk of its own."""
    return [(block,) for block in hunk]


def lines_of(text: str) -> tuple[str, ...]:
    """The lines of a text with their line endings. Only a line feed ends a line."""
    return tuple(re.findall(r"[^\n]*\n|[^\n]+", text))


def _marked(sign: str, line: str) -> str:
    return sign + (line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n")
