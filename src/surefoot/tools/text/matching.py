"""Search and replace that tolerates the usual mistakes of models. Pure: text in, text out.

The text to replace must occur exactly once. It is searched as whole lines, then as a substring, then regardless of
formatting: spacing (the file's own indentation is kept), line numbers copied from a listing, escapes, punctuation.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from surefoot.errors import ToolError
from surefoot.tools.text.lines import (
    Edited,
    Match,
    collapse,
    missing_line,
    nearest,
    numbered,
    plain_punctuation,
    reindent,
    splice,
)

MAX_SHOWN_MATCHES = 4
MAX_LISTED_MATCHES = 50

_START = re.compile(r"^\s*<{5,9}\s?\w*\s*$")
_MIDDLE = re.compile(r"^\s*={5,9}\s*$")
_END = re.compile(r"^\s*>{5,9}\s?\w*\s*$")
_ESCAPE = re.compile(r"""\\([nt"'\\])""")
_UNESCAPED = {"n": "\n", "t": "\t"}
_NUMBERED = re.compile(r"^\s*(\d+)\s?[|:>→\-]\s?")

BLOCK_EXAMPLE = "<<<<<<< SEARCH\nlines as they are now\n=======\nlines as they shall be\n>>>>>>> REPLACE"


class Edit(NamedTuple):
    search: str
    replace: str


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


def apply_edits(name: str, text: str, edits: list[Edit]) -> Edited:
    """Apply all edits to `text`, or raise a `ToolError`. Line endings are preserved."""
    ways: list[str] = []
    for number, edit in enumerate(edits, start=1):
        prefix = f"edit {number} of {len(edits)}: " if len(edits) > 1 else ""
        text, way = _apply(name, text, edit, prefix)
        ways += [prefix + way] if way else []
    return Edited(text, tuple(ways))


def _apply(name: str, text: str, edit: Edit, prefix: str) -> tuple[str, str]:
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
    match, way = _find(name, lines, search, replace, prefix)
    if match.lines == lines[match.first : match.last]:
        raise ToolError(
            f"{prefix}the replacement is the same as what is there: nothing would change",
            argument="replace",
            remedy="give a replacement that differs",
        )
    return splice(raw, match), way


def _find(name: str, lines: list[str], search: list[str], replace: list[str], prefix: str) -> tuple[Match, str]:
    """Return the only match, and how it was found; empty for an exact match."""
    ambiguous: list[Match] = []
    for way, matches in _ways(lines, search, replace):
        if len(matches) == 1:
            return matches[0], way
        # A substring of several lines may still equal exactly one whole line, apart from spacing.
        ambiguous = ambiguous or matches
    if ambiguous:
        raise _ambiguous_error(name, lines, ambiguous, prefix)
    raise _missing_error(name, lines, search, replace, prefix)


def _ways(lines: list[str], search: list[str], replace: list[str]) -> Iterator[tuple[str, list[Match]]]:
    yield "", _match_lines(lines, search, replace)
    yield "", _match_substring(lines, search, replace)
    yield "apart from spacing", _match_spacing(lines, search, replace)
    if unnumbered := _strip_line_numbers(search):
        yield "without the line numbers", _match_spacing(lines, unnumbered, _strip_line_numbers(replace))
    if escapes := frozenset(_ESCAPE.findall("\n".join(search))):
        plain = [_unescape(part, escapes) for part in (search, replace)]
        yield "without the escapes", _match_lines(lines, *plain) or _match_substring(lines, *plain)
    yield "apart from quotation marks and dashes", _match_punctuation(lines, search, replace)


def _match_lines(lines: list[str], search: list[str], replace: list[str]) -> list[Match]:
    size = len(search)
    return [
        Match(start, start + size, replace)
        for start in range(len(lines) - size + 1)
        if lines[start] == search[0] and lines[start : start + size] == search
    ]


def _match_substring(lines: list[str], search: list[str], replace: list[str]) -> list[Match]:
    """Match a substring: the first and last line of the search may be parts of lines."""
    substring = "\n".join(search)
    text = "\n".join(lines)
    matches: list[Match] = []
    start = text.find(substring)
    while start >= 0:
        end = start + len(substring)
        first, last = text.count("\n", 0, start), text.count("\n", 0, end)
        before = text[text.rfind("\n", 0, start) + 1 : start]
        after = text[end : end + len(text[end:].split("\n", 1)[0])]
        matches.append(Match(first, last + 1, (before + "\n".join(replace) + after).split("\n")))
        if len(matches) > MAX_LISTED_MATCHES:
            break
        start = text.find(substring, start + 1)
    return matches


def _match_spacing(lines: list[str], search: list[str], replace: list[str]) -> list[Match]:
    """Match lines that differ only in spacing. The replacement adopts the file's indentation."""
    search, replace = _strip_blank_ends(search), _strip_blank_ends(replace)
    collapsed_search = [collapse(line) for line in search]
    collapsed = [collapse(line) for line in lines]
    matches: list[Match] = []
    for start in range(len(lines) - len(collapsed_search) + 1):
        if (
            collapsed[start] == collapsed_search[0]
            and collapsed[start : start + len(collapsed_search)] == collapsed_search
        ):
            actual = lines[start : start + len(collapsed_search)]
            matches.append(Match(start, start + len(collapsed_search), reindent(search, actual, replace)))
    return matches


def _match_punctuation(lines: list[str], search: list[str], replace: list[str]) -> list[Match]:
    """Match lines that differ only in typographic quotation marks, dashes and spaces. Lines that are both in the search
    and in the replacement stay as they are in the file."""
    plain_search = [plain_punctuation(line) for line in search]
    plain = [plain_punctuation(line) for line in lines]
    matches: list[Match] = []
    for match in _match_lines(plain, plain_search, []):
        actual = lines[match.first : match.last]
        actual_by_search = dict(zip(search, actual, strict=True))
        new = reindent(search, actual, replace)
        new = [actual_by_search.get(written, line) for written, line in zip(replace, new, strict=True)]
        matches.append(Match(match.first, match.last, new))
    return matches


def _unescape(lines: list[str], escapes: frozenset[str]) -> list[str]:
    """Resolve these escapes, for a text that was escaped once too often."""

    def resolved(match: re.Match[str]) -> str:
        letter = match.group(1)
        return _UNESCAPED.get(letter, letter) if letter in escapes else match.group()

    return _ESCAPE.sub(resolved, "\n".join(lines)).split("\n") if lines else []


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


def _ambiguous_error(name: str, lines: list[str], matches: list[Match], prefix: str) -> ToolError:
    excerpts = "\n".join(numbered(lines, match.first - 1, match.last + 1) for match in matches[:MAX_SHOWN_MATCHES])
    count = f"{len(matches)}" if len(matches) <= MAX_LISTED_MATCHES else f"more than {MAX_LISTED_MATCHES}"
    where = ", ".join(str(match.first + 1) for match in matches[:MAX_LISTED_MATCHES])
    return ToolError(
        f"{prefix}the text is found in {count} places of {name}, at the lines {where}:\n{excerpts}",
        argument="search",
        remedy="quote more of the lines around the one that is meant, so that it is found once",
    )


def _missing_error(name: str, lines: list[str], search: list[str], replace: list[str], prefix: str) -> ToolError:
    if any(line.strip() for line in replace) and len(_match_lines(lines, replace, [])) == 1:
        return ToolError(
            f"{prefix}the text is not in {name}, but the replacement is: this edit has been made already;",
            argument="search",
            remedy="continue with the next change",
        )
    start = nearest(lines, search)
    if start is None:
        return ToolError(
            f"{prefix}the text is not in {name}, nor anything like it",
            argument="search",
            remedy=f"read {name} first and copy the lines to replace exactly",
        )
    excerpt = numbered(lines, start - 2, start + len(search) + 2)
    differs = f"\nThis line is nowhere in the file: {missing}" if (missing := missing_line(lines, search)) else ""
    return ToolError(
        f"{prefix}the text is not in {name}. The nearest lines are:\n{excerpt}{differs}",
        argument="search",
        remedy="copy the lines exactly as they are, without the numbers",
    )


def _lines(text: str) -> list[str]:
    """Split into lines; a final newline adds no empty line, and empty text has no lines."""
    if not text:
        return []
    lines = text.replace("\r\n", "\n").split("\n")
    return lines[:-1] if lines[-1] == "" else lines
