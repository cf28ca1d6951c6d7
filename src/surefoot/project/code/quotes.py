"""Quote parts of a file for prompts, with the path and the line numbers. Pure."""

import builtins
import re
from collections.abc import Iterable, Sequence

from surefoot.project.code.ranking import code_words

FIRST_LINES = 25
LAST_LINES = 15
RELEVANT_CHARS = 6_000
"""How much is quoted of a long file that the task names: the lines around the names in the task."""
LINES_BEFORE, LINES_AFTER = 3, 12
"""How many lines are quoted around a line with a name from the task."""
SMALL_GAP = 5
"""Parts with no more lines between them than this are quoted as one."""

_BUILTINS = frozenset(dir(builtins))
_COMMENT = re.compile(r"\s*(#|//|/\*|\*|--|;)")
_LICENCE = re.compile(r"copyright|licen[cs]e|SPDX-", re.IGNORECASE)

Span = tuple[int, int]
"""A range of lines: the first, counted from 0, and the one after the last."""


def quote_spans(path: str, text: str, spans: Iterable[Span]) -> str:
    """Quote parts of a file in order. Parts that touch, or nearly so, are quoted as one."""
    lines, merged = text.split("\n"), list[Span]()
    for first, last in sorted(spans):
        if merged and first <= merged[-1][1] + SMALL_GAP:
            merged[-1] = (merged[-1][0], max(merged[-1][1], last))
        else:
            merged.append((first, last))
    return "".join(
        f"\n# {path}, lines {first + 1} to {last} of {count_lines(text)}\n```\n"
        + "\n".join(lines[first:last]).rstrip()
        + "\n```\n"
        for first, last in merged
    )


def first_lines(text: str) -> list[Span]:
    """The beginning of a file, such as the newest entries of a changelog; of code, the lines after its licence."""
    lines = text.rstrip("\n").split("\n")
    first = _after_licence(lines)
    return [(first, min(first + FIRST_LINES, len(lines)))]


def last_lines(text: str) -> list[Span]:
    """The end of a file, where more of the same can be added."""
    count = count_lines(text)
    return [(max(0, count - LAST_LINES), count)]


def relevant_lines(text: str, task: str, limit: int = RELEVANT_CHARS) -> list[Span]:
    """The lines around names from the task, at most `limit` characters; none if the text has none of the names.

    Names of builtins do not count.
    """
    lines, names = text.split("\n"), code_words(task) - _BUILTINS
    spans, end = list[Span](), 0
    for number, line in enumerate(lines):
        if number < end or not any(name in line for name in names):
            continue
        first, end = max(end, number - LINES_BEFORE), min(len(lines), number + LINES_AFTER)
        limit -= sum(len(row) + 1 for row in lines[first:end])
        if limit < 0:
            break
        spans.append((first, end))
    return spans


def quote_document(path: str, text: str, task: str, limit: int) -> str:
    """Quote the beginning of a document, and at most `limit` characters around the names of the task."""
    return quote_spans(path, text, [*first_lines(text), *relevant_lines(text, task, limit)])


def count_lines(text: str) -> int:
    return text.count("\n") + (not text.endswith("\n"))


def _after_licence(lines: Sequence[str]) -> int:
    """The number of the first line after the comment at the top, if that is about copyright; else 0."""
    end = next((number for number, line in enumerate(lines) if line.strip() and not _COMMENT.match(line)), len(lines))
    about = any(_LICENCE.search(line) for line in lines[:end])
    return end if about and end < len(lines) else 0
