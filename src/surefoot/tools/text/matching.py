"""Search and replace that tolerates the usual mistakes of models. Pure: text in, text out.

The text to replace must occur exactly once. It is searched as whole lines, then as a substring, then as lines with
different spacing (the file's own indentation is kept), then without line numbers copied from a listing.
"""

import difflib
import re
from collections import Counter
from itertools import pairwise
from typing import NamedTuple

from surefoot.errors import ToolError

MAX_SHOWN_MATCHES = 4
MAX_COMPARED_LINES = 4_000

_START = re.compile(r"^\s*<{5,9}\s?\w*\s*$")
_MIDDLE = re.compile(r"^\s*={5,9}\s*$")
_END = re.compile(r"^\s*>{5,9}\s?\w*\s*$")
_NUMBERED = re.compile(r"^\s*(\d+)\s?[|:>→\-]\s?")

BLOCK_EXAMPLE = "<<<<<<< SEARCH\nlines as they are now\n=======\nlines as they shall be\n>>>>>>> REPLACE"


class Edit(NamedTuple):
    search: str
    replace: str


class _Match(NamedTuple):
    first: int
    last: int
    """Exclusive."""
    lines: list[str]
    """The replacement."""


def read_blocks(text: str) -> list[Edit]:
    """Parse the search/replace blocks in `text`, ignoring text between them."""
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
    """Apply all edits to `text`, or raise a `ToolError`. Line endings are preserved."""
    for number, edit in enumerate(edits, start=1):
        prefix = f"edit {number} of {len(edits)}: " if len(edits) > 1 else ""
        text = _apply(name, text, edit, prefix)
    return text


def _apply(name: str, text: str, edit: Edit, prefix: str) -> str:
    search = _lines(edit.search)
    replace = _lines(edit.replace)
    if not any(line.strip() for line in search):
        raise ToolError(
            f"{prefix}the text to search for is empty",
            argument="search",
            remedy=f"quote the lines of {name} to replace, or write the whole file with write_file",
        )
    raw = text.split("\n")
    lines = [line.removesuffix("\r") for line in raw]
    match = _find(name, lines, search, replace, prefix)
    if match.lines == lines[match.first : match.last]:
        raise ToolError(
            f"{prefix}the replacement is the same as what is there: nothing would change",
            argument="replace",
            remedy="say what shall be different",
        )
    return _splice(raw, match)


def _find(name: str, lines: list[str], search: list[str], replace: list[str], prefix: str) -> _Match:
    unnumbered_search, unnumbered_replace = _strip_line_numbers(search), _strip_line_numbers(replace)
    ambiguous: list[_Match] = []
    for matches in (
        _match_lines(lines, search, replace),
        _match_substring(lines, search, replace),
        _match_spacing(lines, search, replace),
        _match_spacing(lines, unnumbered_search, unnumbered_replace) if unnumbered_search else [],
    ):
        if len(matches) == 1:
            return matches[0]
        # A substring of several lines may still equal exactly one whole line, apart from spacing.
        ambiguous = ambiguous or matches
    if ambiguous:
        raise _ambiguous_error(name, lines, ambiguous, prefix)
    raise _missing_error(name, lines, search, replace, prefix)


def _match_lines(lines: list[str], search: list[str], replace: list[str]) -> list[_Match]:
    size = len(search)
    return [
        _Match(start, start + size, replace)
        for start in range(len(lines) - size + 1)
        if lines[start] == search[0] and lines[start : start + size] == search
    ]


def _match_substring(lines: list[str], search: list[str], replace: list[str]) -> list[_Match]:
    """Match a substring: the first and last line of the search may be parts of lines."""
    wanted = "\n".join(search)
    text = "\n".join(lines)
    matches: list[_Match] = []
    start = text.find(wanted)
    while start >= 0:
        end = start + len(wanted)
        first, last = text.count("\n", 0, start), text.count("\n", 0, end)
        before = text[text.rfind("\n", 0, start) + 1 : start]
        after = text[end : end + len(text[end:].split("\n", 1)[0])]
        matches.append(_Match(first, last + 1, (before + "\n".join(replace) + after).split("\n")))
        if len(matches) > MAX_SHOWN_MATCHES:
            break
        start = text.find(wanted, start + 1)
    return matches


def _match_spacing(lines: list[str], search: list[str], replace: list[str]) -> list[_Match]:
    """Match lines that differ only in spacing. The replacement adopts the file's indentation."""
    search, replace = _strip_blank_ends(search), _strip_blank_ends(replace)
    wanted = [_collapse(line) for line in search]
    collapsed = [_collapse(line) for line in lines]
    matches: list[_Match] = []
    for start in range(len(lines) - len(wanted) + 1):
        if collapsed[start] == wanted[0] and collapsed[start : start + len(wanted)] == wanted:
            actual = lines[start : start + len(wanted)]
            matches.append(_Match(start, start + len(wanted), _reindent(search, actual, replace)))
    return matches


def _reindent(search: list[str], actual: list[str], replace: list[str]) -> list[str]:
    """Translate the indentation of `replace` as that of `search` maps to that of the file's `actual` lines."""
    indents: dict[str, str] = {}
    for search_line, actual_line in zip(search, actual, strict=True):
        if search_line.strip():
            indents.setdefault(_indent(search_line), _indent(actual_line))
    known = sorted(indents, key=len)
    tab = _spaces_per_tab(indents)
    result = []
    for line in replace:
        indent = _indent(line)
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


def _spaces_per_tab(indents: dict[str, str]) -> int:
    """How many spaces the search has for each tab of the file; 0 if the file uses no tabs there."""
    if not any("\t" in actual for actual in indents.values()):
        return 0
    widths = sorted((len(searched.expandtabs(4)), len(actual)) for searched, actual in indents.items())
    for (spaces, tabs), (next_spaces, next_tabs) in pairwise([(0, 0), *widths] if len(widths) == 1 else widths):
        if next_spaces > spaces and next_tabs > tabs:
            return max(1, (next_spaces - spaces) // (next_tabs - tabs))
    return 4


def _splice(raw: list[str], match: _Match) -> str:
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


def _strip_line_numbers(lines: list[str]) -> list[str]:
    """Remove leading line numbers that were copied from a listing; empty if there are none."""
    numbers = [_NUMBERED.match(line) for line in lines]
    if not any(numbers):
        return []
    return [line[number.end() :] if number else line for line, number in zip(lines, numbers, strict=True)]


def _strip_blank_ends(lines: list[str]) -> list[str]:
    start, end = 0, len(lines)
    while start < end and not lines[start].strip():
        start += 1
    while end > start and not lines[end - 1].strip():
        end -= 1
    return lines[start:end]


def _ambiguous_error(name: str, lines: list[str], matches: list[_Match], prefix: str) -> ToolError:
    shown = "\n".join(_numbered(lines, match.first - 1, match.last + 1) for match in matches[:MAX_SHOWN_MATCHES])
    count = f"{len(matches)}" if len(matches) <= MAX_SHOWN_MATCHES else f"more than {MAX_SHOWN_MATCHES}"
    return ToolError(
        f"{prefix}the text is found in {count} places of {name}:\n{shown}",
        argument="search",
        remedy="quote more of the lines around the one that is meant, so that it is found once",
    )


def _missing_error(name: str, lines: list[str], search: list[str], replace: list[str], prefix: str) -> ToolError:
    if any(line.strip() for line in replace) and len(_match_lines(lines, replace, [])) == 1:
        return ToolError(
            f"{prefix}the text is not in {name}, but the replacement is: this edit has been made already",
            argument="search",
            remedy="go on with what comes next",
        )
    start = _nearest(lines, search)
    if start is None:
        return ToolError(
            f"{prefix}the text is not in {name}, nor anything like it",
            argument="search",
            remedy=f"read {name} first and copy the lines to replace exactly",
        )
    shown = _numbered(lines, start - 2, start + len(search) + 2)
    return ToolError(
        f"{prefix}the text is not in {name}. The nearest lines are:\n{shown}",
        argument="search",
        remedy="copy the lines exactly as they are, without the numbers",
    )


def _nearest(lines: list[str], search: list[str]) -> int | None:
    """Start of the region with most of the searched lines, else of the line most similar to the longest one."""
    wanted = [_collapse(line) for line in search]
    starts: Counter[int] = Counter()
    positions: dict[str, list[int]] = {}
    for index, line in enumerate(lines):
        positions.setdefault(_collapse(line), []).append(index)
    for offset, line in enumerate(wanted):
        if len(line) > 1:
            starts.update(max(0, index - offset) for index in positions.get(line, ())[:50])
    if starts:
        return min(starts, key=lambda start: (-starts[start], start))
    longest = max(range(len(wanted)), key=lambda index: len(wanted[index]))
    candidates = list(positions)[:MAX_COMPARED_LINES]
    close = difflib.get_close_matches(wanted[longest][:200], candidates, n=1, cutoff=0.5)
    return max(0, positions[close[0]][0] - longest) if close else None


def _numbered(lines: list[str], first: int, last: int) -> str:
    first = max(first, 0)
    return "\n".join(f"{number}| {line}" for number, line in enumerate(lines[first:last], start=first + 1))


def _lines(text: str) -> list[str]:
    """Split into lines; a final newline adds no empty line, and empty text has no lines."""
    if not text:
        return []
    lines = text.replace("\r\n", "\n").split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _collapse(line: str) -> str:
    return " ".join(line.split())


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]
