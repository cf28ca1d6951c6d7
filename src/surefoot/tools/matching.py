"""Search and replace that forgives what models get wrong and nothing else. Pure: text in, text out.

The text to replace must be found exactly once. It is looked for as whole lines, then as a piece of text, then as
lines whose spacing differs (the file's own indentation is kept), then without line numbers copied from a listing.
"""

import difflib
import re
from collections import Counter
from itertools import pairwise
from typing import NamedTuple

from surefoot.errors import ToolError

SHOWN_PLACES = 4
COMPARED_LINES = 4_000

_START = re.compile(r"^\s*<{5,9}\s?\w*\s*$")
_MIDDLE = re.compile(r"^\s*={5,9}\s*$")
_END = re.compile(r"^\s*>{5,9}\s?\w*\s*$")
_NUMBERED = re.compile(r"^\s*(\d+)\s?[|:>→\-]\s?")

BLOCK_EXAMPLE = "<<<<<<< SEARCH\nlines as they are now\n=======\nlines as they shall be\n>>>>>>> REPLACE"


class Edit(NamedTuple):
    search: str
    replace: str


class _Place(NamedTuple):
    first: int
    last: int
    """The line after the last one that is replaced."""
    lines: list[str]
    """What comes instead."""


def read_blocks(text: str) -> list[Edit]:
    """The search/replace blocks in `text`; whatever stands between them (fences, remarks) is passed over."""
    edits: list[Edit] = []
    search: list[str] = []
    replace: list[str] = []
    part = ""
    for line in text.replace("\r\n", "\n").split("\n"):
        if part == "" and _START.match(line):
            part, search, replace = "search", [], []
        elif part == "search" and _MIDDLE.match(line):
            part = "replace"
        elif part == "replace" and _END.match(line):
            part = ""
            edits.append(Edit("\n".join(search), "\n".join(replace)))
        elif part:
            (search if part == "search" else replace).append(line)
    if part or not edits:
        problem = "the last search/replace block has no end" if part else "there is no search/replace block"
        raise ToolError(problem, argument="edits", remedy=f"write each change like this:\n{BLOCK_EXAMPLE}")
    return edits


def apply_edits(name: str, text: str, edits: list[Edit]) -> str:
    """`text` with every edit made, or an error and nothing changed. Line endings stay as they are."""
    for number, edit in enumerate(edits, start=1):
        which = f"edit {number} of {len(edits)}: " if len(edits) > 1 else ""
        text = _apply(name, text, edit, which)
    return text


def _apply(name: str, text: str, edit: Edit, which: str) -> str:
    search = _lines(edit.search)
    replace = _lines(edit.replace)
    if not any(line.strip() for line in search):
        raise ToolError(
            f"{which}the text to search for is empty",
            argument="search",
            remedy=f"quote the lines of {name} to replace, or write the whole file with write_file",
        )
    raw = text.split("\n")
    lines = [line.removesuffix("\r") for line in raw]
    place = _find(name, lines, search, replace, which)
    if place.lines == lines[place.first : place.last]:
        raise ToolError(
            f"{which}the replacement is the same as what is there: nothing would change",
            argument="replace",
            remedy="say what shall be different",
        )
    return _spliced(raw, place)


def _find(name: str, lines: list[str], search: list[str], replace: list[str], which: str) -> _Place:
    bare_search, bare_replace = _without_numbers(search), _without_numbers(replace)
    unclear: list[_Place] = []
    for places in (
        _as_lines(lines, search, replace),
        _as_text(lines, search, replace),
        _as_spaced(lines, search, replace),
        _as_spaced(lines, bare_search, bare_replace) if bare_search else [],
    ):
        if len(places) == 1:
            return places[0]
        # Parts of several lines may still be the whole of one line, but for its spacing.
        unclear = unclear or places
    if unclear:
        raise _ambiguous(name, lines, unclear, which)
    raise _missing(name, lines, search, replace, which)


def _as_lines(lines: list[str], search: list[str], replace: list[str]) -> list[_Place]:
    size = len(search)
    return [
        _Place(start, start + size, replace)
        for start in range(len(lines) - size + 1)
        if lines[start] == search[0] and lines[start : start + size] == search
    ]


def _as_text(lines: list[str], search: list[str], replace: list[str]) -> list[_Place]:
    """Also inside a line: the first and last line of the search may be parts of lines."""
    wanted = "\n".join(search)
    text = "\n".join(lines)
    places: list[_Place] = []
    at = text.find(wanted)
    while at >= 0:
        end = at + len(wanted)
        first, last = text.count("\n", 0, at), text.count("\n", 0, end)
        before = text[text.rfind("\n", 0, at) + 1 : at]
        after = text[end : end + len(text[end:].split("\n", 1)[0])]
        places.append(_Place(first, last + 1, (before + "\n".join(replace) + after).split("\n")))
        if len(places) > SHOWN_PLACES:
            break
        at = text.find(wanted, at + 1)
    return places


def _as_spaced(lines: list[str], search: list[str], replace: list[str]) -> list[_Place]:
    """Lines that are equal but for their spacing. The replacement takes over the file's indentation."""
    search, replace = _without_blank_ends(search), _without_blank_ends(replace)
    wanted = [_squeezed(line) for line in search]
    squeezed = [_squeezed(line) for line in lines]
    places: list[_Place] = []
    for start in range(len(lines) - len(wanted) + 1):
        if squeezed[start] == wanted[0] and squeezed[start : start + len(wanted)] == wanted:
            found = lines[start : start + len(wanted)]
            places.append(_Place(start, start + len(wanted), _reindented(search, found, replace)))
    return places


def _reindented(search: list[str], found: list[str], replace: list[str]) -> list[str]:
    indents: dict[str, str] = {}
    for asked, actual in zip(search, found, strict=True):
        if asked.strip():
            indents.setdefault(_indent(asked), _indent(actual))
    known = sorted(indents, key=len)
    tab = _spaces_for_a_tab(indents)
    result = []
    for line in replace:
        indent = _indent(line)
        base = next((asked for asked in reversed(known) if indent.startswith(asked)), None)
        if not line.strip():
            result.append("")
        elif base is not None:
            deeper = indent[len(base) :]
            if tab and "\t" not in deeper:
                deeper = "\t" * (len(deeper) // tab)
            result.append(indents[base] + deeper + line.lstrip())
        else:
            # Less indented than anything in the search: move it by as much as the shallowest line was moved.
            less = len(known[0]) - len(indent)
            result.append(indents[known[0]][: max(0, len(indents[known[0]]) - less)] + line.lstrip())
    return result


def _spaces_for_a_tab(indents: dict[str, str]) -> int:
    """How many spaces were written for each of the file's tabs; 0 when the file has none there."""
    if not any("\t" in actual for actual in indents.values()):
        return 0
    widths = sorted((len(asked.expandtabs(4)), len(actual)) for asked, actual in indents.items())
    for (asked, actual), (next_asked, next_actual) in pairwise([(0, 0), *widths] if len(widths) == 1 else widths):
        if next_asked > asked and next_actual > actual:
            return max(1, (next_asked - asked) // (next_actual - actual))
    return 4


def _spliced(raw: list[str], place: _Place) -> str:
    endings = Counter(line.endswith("\r") for line in raw[:-1])
    ending = "\r" if endings[True] > endings[False] else ""
    at_end = place.last == len(raw)
    new = [line + ending for line in place.lines]
    if at_end and new:
        new[-1] = place.lines[-1]
    if at_end and not new and place.first > 0:
        # The last line went: what is now the last one has no newline either.
        raw = [*raw[: place.first - 1], raw[place.first - 1].removesuffix("\r"), *raw[place.first :]]
    return "\n".join([*raw[: place.first], *new, *raw[place.last :]])


def _without_numbers(lines: list[str]) -> list[str]:
    """Lines without the numbers in front that came along from a listing; nothing if they carry none."""
    found = [_NUMBERED.match(line) for line in lines]
    return (
        [line[match.end() :] if match else line for line, match in zip(lines, found, strict=True)] if any(found) else []
    )


def _without_blank_ends(lines: list[str]) -> list[str]:
    start, end = 0, len(lines)
    while start < end and not lines[start].strip():
        start += 1
    while end > start and not lines[end - 1].strip():
        end -= 1
    return lines[start:end]


def _ambiguous(name: str, lines: list[str], places: list[_Place], which: str) -> ToolError:
    shown = "\n".join(_numbered(lines, place.first - 1, place.last + 1) for place in places[:SHOWN_PLACES])
    count = f"{len(places)}" if len(places) <= SHOWN_PLACES else f"more than {SHOWN_PLACES}"
    return ToolError(
        f"{which}the text is found in {count} places of {name}:\n{shown}",
        argument="search",
        remedy="quote more of the lines around the one that is meant, so that it is found once",
    )


def _missing(name: str, lines: list[str], search: list[str], replace: list[str], which: str) -> ToolError:
    if any(line.strip() for line in replace) and len(_as_lines(lines, replace, [])) == 1:
        return ToolError(
            f"{which}the text is not in {name}, but the replacement is: this edit has been made already",
            argument="search",
            remedy="go on with what comes next",
        )
    start = _nearest(lines, search)
    if start is None:
        return ToolError(
            f"{which}the text is not in {name}, nor anything like it",
            argument="search",
            remedy=f"read {name} first and copy the lines to replace exactly",
        )
    shown = _numbered(lines, start - 2, start + len(search) + 2)
    return ToolError(
        f"{which}the text is not in {name}. The nearest lines are:\n{shown}",
        argument="search",
        remedy="copy the lines exactly as they are, without the numbers",
    )


def _nearest(lines: list[str], search: list[str]) -> int | None:
    """Where most of the wanted lines stand together, or where the most telling one has its likeness."""
    wanted = [_squeezed(line) for line in search]
    starts: Counter[int] = Counter()
    where: dict[str, list[int]] = {}
    for index, line in enumerate(lines):
        where.setdefault(_squeezed(line), []).append(index)
    for offset, line in enumerate(wanted):
        if len(line) > 1:
            starts.update(max(0, index - offset) for index in where.get(line, ())[:50])
    if starts:
        return min(starts, key=lambda start: (-starts[start], start))
    longest = max(range(len(wanted)), key=lambda index: len(wanted[index]))
    candidates = list(where)[:COMPARED_LINES]
    close = difflib.get_close_matches(wanted[longest][:200], candidates, n=1, cutoff=0.5)
    return max(0, where[close[0]][0] - longest) if close else None


def _numbered(lines: list[str], first: int, last: int) -> str:
    first = max(first, 0)
    return "\n".join(f"{number}| {line}" for number, line in enumerate(lines[first:last], start=first + 1))


def _lines(text: str) -> list[str]:
    """The lines of a piece of text; a newline at its end adds none, no text at all has none."""
    if not text:
        return []
    lines = text.replace("\r\n", "\n").split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _squeezed(line: str) -> str:
    return " ".join(line.split())


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]
