"""Lines of text: their indentation, their similarity, and replacing some of them. Pure."""

import difflib
from collections import Counter
from itertools import pairwise
from typing import NamedTuple

MAX_COMPARED_LINES = 4_000

_PUNCTUATION = str.maketrans(
    {
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
        **dict.fromkeys("\u2018\u2019\u201a\u201b", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f", '"'),
        **dict.fromkeys("\u00a0\u2002\u2003\u2009\u200a\u202f\u205f\u3000", " "),
        "\u2026": "...",
    }
)


class Match(NamedTuple):
    first: int
    last: int
    """Exclusive."""
    lines: list[str]
    """The replacement."""


class Edited(NamedTuple):
    text: str
    ways: tuple[str, ...] = ()
    """How lines were found that do not match exactly, such as "apart from spacing"."""


def reindent(search: list[str], actual: list[str], replace: list[str]) -> list[str]:
    """Indent `replace` for the file, in the way in which the `actual` lines of the file differ from `search`."""
    indents: dict[str, str] = {}
    for search_line, actual_line in zip(search, actual, strict=True):
        if search_line.strip():
            indents.setdefault(indent_of(search_line), indent_of(actual_line))
    if not indents:
        return replace
    known = sorted(indents, key=len)
    tab = spaces_per_tab(indents)
    result = []
    for line in replace:
        indent = indent_of(line)
        base = next((prefix for prefix in reversed(known) if indent.startswith(prefix)), None)
        if not line.strip():
            result.append("")
        elif base is not None:
            deeper = indent[len(base) :]
            if tab and "\t" not in deeper:
                deeper = "\t" * (len(deeper) // tab)
            result.append(indents[base] + deeper + line.lstrip())
        else:
            # Less indented than any line of the search: shift it as the shallowest line was shifted.
            less = len(known[0]) - len(indent)
            result.append(indents[known[0]][: max(0, len(indents[known[0]]) - less)] + line.lstrip())
    return result


def spaces_per_tab(indents: dict[str, str]) -> int:
    """Return how many spaces the search has for each tab of the file; 0 if the file uses no tabs there."""
    if not any("\t" in actual for actual in indents.values()):
        return 0
    widths = sorted((len(searched.expandtabs(4)), len(actual)) for searched, actual in indents.items())
    for (spaces, tabs), (next_spaces, next_tabs) in pairwise([(0, 0), *widths] if len(widths) == 1 else widths):
        if next_spaces > spaces and next_tabs > tabs:
            return max(1, (next_spaces - spaces) // (next_tabs - tabs))
    return 4


def splice(raw: list[str], match: Match) -> str:
    """Put the replacement into the file, with the line ending that most of its lines have."""
    endings = Counter(line.endswith("\r") for line in raw[:-1])
    ending = "\r" if endings[True] > endings[False] else ""
    at_end = match.last == len(raw)
    new = [line + ending for line in match.lines]
    if at_end and new:
        new[-1] = match.lines[-1]
    if at_end and not new and match.first > 0:
        # The last line was removed, and the file had no final newline: keep it without one.
        raw = [*raw[: match.first - 1], raw[match.first - 1].removesuffix("\r"), *raw[match.first :]]
    return "\n".join([*raw[: match.first], *new, *raw[match.last :]])


def nearest(lines: list[str], search: list[str]) -> int | None:
    """Return the start of the region with most of the searched lines, else the one around the line that is most similar
    to the longest of them; None if no line is similar."""
    collapsed = [collapse(line) for line in search]
    starts: Counter[int] = Counter()
    positions: dict[str, list[int]] = {}
    for index, line in enumerate(lines):
        positions.setdefault(collapse(line), []).append(index)
    for offset, line in enumerate(collapsed):
        if len(line) > 1:
            starts.update(max(0, index - offset) for index in positions.get(line, ())[:50])
    if starts:
        return min(starts, key=lambda start: (-starts[start], start))
    longest = max(range(len(collapsed)), key=lambda index: len(collapsed[index]))
    candidates = list(positions)[:MAX_COMPARED_LINES]
    close = difflib.get_close_matches(collapsed[longest][:200], candidates, n=1, cutoff=0.5)
    return max(0, positions[close[0]][0] - longest) if close else None


def numbered(lines: list[str], first: int, last: int) -> str:
    first = max(first, 0)
    return "\n".join(f"{number}| {line}" for number, line in enumerate(lines[first:last], start=first + 1))


def collapse(line: str) -> str:
    return " ".join(line.split())


def indent_of(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def plain_punctuation(line: str) -> str:
    """Return the line with ASCII quotation marks, dashes and spaces, and its spacing collapsed."""
    return collapse(line.translate(_PUNCTUATION))


def missing_line(lines: list[str], search: list[str]) -> str:
    """Return the first of the searched lines that is nowhere in the file, regardless of spacing; empty if none is."""
    known = {collapse(line) for line in lines}
    return next((line for line in search if line.strip() and collapse(line) not in known), "")
