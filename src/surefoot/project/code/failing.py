"""The code that the output of failing checks points at: tests, frames of tracebacks, and what the tests call. Pure.

A model that fixes a failure reads this code first. If the first prompt quotes it, no tool call is needed for that.
"""

import builtins
import keyword
import re
from collections.abc import Collection, Iterator, Sequence
from types import MappingProxyType
from typing import NamedTuple

from surefoot.project.code.named import Quoted, Sources, is_quoted
from surefoot.project.code.quotes import Span, count_lines, quote_spans
from surefoot.project.code.symbols import symbols
from surefoot.project.folder import is_test

MAX_CHARS = 9_000
ONE_CHARS = 3_000
"""How much of one definition is quoted: around the line that the output names, or its beginning."""
MAX_TESTS, MAX_FRAMES, MAX_CALLED = 3, 4, 4
"""How many definitions of each kind are quoted."""
MAX_NAMES = 30
"""How many called names are looked up."""
MAX_PARSED = 60
"""How many files are parsed to find their definitions."""
MAX_MEANINGS = 2
"""A name with more definitions than this is ambiguous, and left out."""
LINES_BEFORE, LINES_AFTER = 8, 10
"""How many lines are quoted around a line outside any definition, such as in a test that is an argument."""

_PLACE = re.compile(
    r'File "(?P<quoted>[^"\n]+)", line (?P<line>\d+)'
    r"|(?P<path>[\w@./\\+-]*[\w@+-]\.[A-Za-z]\w{0,6})(?:[:(](?P<number>\d+)|(?P<names>(?:::\w+)+))"
)
_CALL = re.compile(r"([A-Za-z_$][\w$]*)\s*\(")
_NO_NAMES = frozenset([*dir(builtins), *keyword.kwlist, "switch", "catch", "function", "func", "fn"])
_DECLARATIONS = (".pyi", ".d.ts", "-d.ts")


class Place(NamedTuple):
    path: str
    text: str
    span: Span
    line: int
    """The line that the output names, from 0."""


def code_of_failures(output: str, sources: Sources, quoted: Quoted = MappingProxyType({})) -> str:
    """Quote the code that the output of failing checks points at, without lines that are quoted already."""
    places = list(_places(output, sources)) if output else []
    tests = _spread(_distinct(place for place in places if is_test(place.path)))[:MAX_TESTS]
    frames = _distinct(place for place in reversed(places) if not is_test(place.path))[:MAX_FRAMES]
    called = _called(tests or frames, sources)
    chosen = [
        place
        for place in _distinct([*tests, *frames, *called])
        if not is_quoted(place.span, quoted.get(place.path, ()))
    ]
    room, spans = MAX_CHARS, dict[tuple[str, str], list[Span]]()
    for place in chosen:
        first, last = _within(place, min(ONE_CHARS, room))
        room -= _size(place.text.split("\n"), first, last)
        if last > first:
            spans.setdefault((place.path, place.text), []).append((first, last))
    if not spans:
        return ""
    quotes = "".join(quote_spans(path, text, spans_of_path) for (path, text), spans_of_path in spans.items())
    return f"\n\n# The code that the failing checks point at{quotes}"


def files_of_failures(output: str, sources: Sources) -> list[str]:
    """Return the files that the output names, in their order."""
    return list(dict.fromkeys(place.path for place in _places(output, sources))) if output else []


def _places(output: str, sources: Sources) -> Iterator[Place]:
    """Find the files and lines that the output names, and the definitions that they are in."""
    texts = dict(sources)
    by_name: dict[str, list[str]] = {}
    for path in texts:
        by_name.setdefault(path.rsplit("/", 1)[-1], []).append(path)
    for match in _PLACE.finditer(output):
        named = (match["quoted"] or match["path"]).replace("\\", "/").removeprefix("./")
        candidates = by_name.get(named.rsplit("/", 1)[-1], [])
        matching = [path for path in candidates if f"/{named}".endswith(f"/{path}") or f"/{path}".endswith(f"/{named}")]
        if not matching:
            continue
        path = max(matching, key=len)
        number, text = match["line"] or match["number"], texts[path]
        place = _at(path, text, int(number)) if number else _by_name(path, text, match["names"])
        if place is not None:
            yield place


def _at(path: str, text: str, number: int) -> Place | None:
    """The innermost definition around a line, or else some lines around it. None if there is no such line."""
    count = count_lines(text)
    if not 0 < number <= count:
        return None
    around = [symbol for symbol in symbols(path, text) if symbol.line <= number <= symbol.end]
    if around:
        inner = max(around, key=lambda symbol: (symbol.line, -symbol.end))
        return Place(path, text, (inner.line - 1, inner.end), number - 1)
    return Place(path, text, (max(0, number - 1 - LINES_BEFORE), min(count, number + LINES_AFTER)), number - 1)


def _by_name(path: str, text: str, names: str) -> Place | None:
    """The definition of a test with an id such as `tests/test_a.py::TestA::test_b`; None if there is none."""
    name = names.rsplit("::", 1)[-1]
    definition = next((symbol for symbol in symbols(path, text) if symbol.name == name), None)
    return Place(path, text, (definition.line - 1, definition.end), definition.line - 1) if definition else None


def _called(places: Sequence[Place], sources: Sources) -> list[Place]:
    """Return the definitions outside tests that these places call, most relevant first.

    A long definition, such as a class, is left out: it says little about the failure.
    """
    by_name: dict[str, list[Place]] = {name: [] for name in _called_names(places)[:MAX_NAMES]}
    for path, text in _defining(by_name, sources) if by_name else ():
        for symbol in symbols(path, text):
            if symbol.name in by_name:
                by_name[symbol.name].append(Place(path, text, (symbol.line - 1, symbol.end), symbol.line - 1))
    clear = [place for meanings in by_name.values() if len(meanings) <= MAX_MEANINGS for place in meanings]
    return [place for place in clear if _size(place.text.split("\n"), *place.span) <= ONE_CHARS][:MAX_CALLED]


def _called_names(places: Sequence[Place]) -> list[str]:
    """Return the names that places call: those on the named lines first, then those that a test is named after, then
    the rest. Long names come before short ones, which are more often helpers of the tests."""
    ranks: dict[str, tuple[bool, bool, int]] = {}
    for place in places:
        lines = place.text.split("\n")
        body = lines[slice(*place.span)]
        about = f"{place.path} {next((line for line in body if 'test' in line), '')}"
        for name in _CALL.findall("\n".join(body)):
            if name not in _NO_NAMES:
                rank = (f"{name}(" not in lines[place.line], name.strip("_") not in about, -len(name))
                ranks[name] = min(ranks.get(name, rank), rank)
    return sorted(ranks, key=lambda name: ranks[name])


def _defining(names: Collection[str], sources: Sources) -> list[tuple[str, str]]:
    """Return the files outside tests that seem to define one of the names: it follows a word such as `def`, or begins a
    line."""
    words = "|".join(map(re.escape, names))
    before = r"[ \t]*(?:[\w<>\[\]]+[ \t]+){0,4}(?:\([^()\n]*\)[ \t]*)?(?:self\.)?"
    looks_defined = re.compile(rf"^{before}(?:{words})\b", re.MULTILINE)
    files = [
        (path, text)
        for path, text in sources
        if not is_test(path) and not path.endswith(_DECLARATIONS) and looks_defined.search(text)
    ]
    return files[:MAX_PARSED]


def _size(lines: Sequence[str], first: int, last: int) -> int:
    return sum(len(line) + 1 for line in lines[first:last])


def _spread(places: Sequence[Place]) -> list[Place]:
    """Put the first place of each file before the others: tests of one file often fail for one reason."""
    first = list({place.path: place for place in reversed(places)}.values())[::-1]
    return [*first, *(place for place in places if place not in first)]


def _distinct(places: Iterator[Place] | Sequence[Place]) -> list[Place]:
    return list({(place.path, place.span): place for place in places}.values())


def _within(place: Place, limit: int) -> Span:
    """The part of a place that has at most `limit` characters: all of it, or lines around the named one."""
    lines = place.text.split("\n")
    first, last = place.span
    if _size(lines, first, last) <= limit:
        return first, last
    start = end = place.line
    used = 0
    while end < last and used + len(lines[end]) < limit // 2:
        used += len(lines[end]) + 1
        end += 1
    while start > first and used + len(lines[start - 1]) < limit:
        start -= 1
        used += len(lines[start]) + 1
    while end < last and used + len(lines[end]) < limit:
        used += len(lines[end]) + 1
        end += 1
    return start, end
