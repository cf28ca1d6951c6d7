"""The code that a task names: its definitions, the tests of them, the lines that use them, and documents about them.

Everything is quoted once. Pure.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from surefoot.project.code.quotes import Span, count_lines, first_lines, quote_document, quote_spans
from surefoot.project.code.ranking import MAX_FILES, Read, code_words
from surefoot.project.code.symbols import Symbol, symbols
from surefoot.project.folder import is_test

NAMED_CHARS = 14_000
"""How much code that the task names is quoted."""
TESTS_CHARS = 5_000
"""How much of the tests of that code is quoted, if the task asks for tests."""
ONE_NAME_CHARS = 7_000
"""How much of one definition is quoted."""
SMALL_FILE_CHARS = 6_000
"""A file that is no longer than this is quoted whole if most of it is quoted anyway."""
HEAD_LINES = 25
"""How many lines of a long class are quoted before its first definition that is quoted by itself."""
MAX_TESTS = 2
"""How many tests of what the task names are quoted if it asks for tests."""
MAX_USES = 24
"""How many lines that use a name of the task are listed."""
MAX_DOCUMENTS = 8
"""How many documents that mention a name of the task are listed."""
MAX_DOCUMENTS_READ = 300
DOCUMENT_CHARS = 3_000
"""How much of the document that has most to do with the task is quoted, if it asks for documentation."""

_DOCUMENT = re.compile(r"\.(?:md|rst|adoc|txt)$", re.IGNORECASE)
_LIST_OF_CHANGES = re.compile(r"(?:^|/)(?:change(?:s|log)?|news|history|releases?|release[-_ ]?notes)\b", re.IGNORECASE)
_PROSE = re.compile(r'^(?:#|//|/?\*|--|""")|``|:\w+:`')
"""A comment, or a line of a docstring that mentions a name."""

Sources = Sequence[tuple[str, str]]
"""Paths and texts of source files, the most relevant first."""
Definition = tuple[str, Symbol, str]
"""The path of a file, a symbol that it defines, and its text."""
Quoted = Mapping[str, Sequence[Span]]
"""The lines of files that are quoted."""


def definitions_of(names: Collection[str], sources: Sources, task: str) -> list[Definition]:
    """Return the definitions of the names outside tests, in the order of the files. If the task says whose method it
    means, such as `Signer.unsign`, and there is one, methods of that name elsewhere are left out."""
    by_name: dict[str, list[tuple[Definition, bool]]] = {}
    for path, text in sources[:MAX_FILES]:
        defined = symbols(path, text) if not is_test(path) else []
        for symbol in defined:
            if symbol.name in names:
                owned = _class_around(symbol, defined) in _owners(symbol.name, task)
                by_name.setdefault(symbol.name, []).append(((path, symbol, text), owned))
    meant = {name for name, having in by_name.items() if any(owned for _, owned in having)}
    chosen = [item for name, having in by_name.items() for item, owned in having if owned or name not in meant]
    order = {path: number for number, (path, _) in enumerate(sources)}
    return sorted(chosen, key=lambda item: (order[item[0]], item[1].line))


def tests_of(names: Collection[str], sources: Sources) -> list[Definition]:
    """Return the tests that are named after the names, for a task that asks for more of them: `ChunkedTests` and
    `test_chunked_strict` for `chunked`. Those that have no other word in their name come first."""
    plain_names = {plain(name) for name in names if len(name) > 3}
    tests = [
        (path, symbol, text)
        for path, text in sources[:MAX_FILES]
        if is_test(path)
        for symbol in symbols(path, text)
        if not symbol.depth and _tested(symbol).startswith(tuple(plain_names))
    ]
    tests.sort(key=lambda item: _tested(item[1]) not in plain_names)
    return tests[:MAX_TESTS]


def quote_definitions(definitions: Sequence[Definition], limit: int) -> tuple[str, dict[str, list[Span]]]:
    """Quote definitions in at most about `limit` characters, and return which lines they are. Of a long definition its
    beginning is quoted; of a long class its head and those of its methods that are among the definitions. The imports
    of their files come with them, because a change may need another one."""
    spans: dict[str, list[Span]] = {}
    texts: dict[str, str] = {}
    for path, symbol, text in definitions:
        lines = text.split("\n")
        first, last = _wanted_lines(symbol, [s for other, s, _ in definitions if other == path], lines)
        if is_quoted((first, last), spans.get(path, ())):
            continue
        last = _fitting(lines, first, last, min(limit, ONE_NAME_CHARS))
        if last <= first:
            continue
        if path not in spans:
            spans[path] = _imports(path, text)
        limit -= sum(len(line) + 1 for line in lines[first:last])
        spans[path].append((first, last))
        texts[path] = text
    for path, spans_of_path in spans.items():
        if _is_nearly_whole(spans_of_path, texts[path]):
            spans[path] = [(0, count_lines(texts[path]))]
    return "".join(quote_spans(path, texts[path], spans_of_path) for path, spans_of_path in spans.items()), spans


def is_quoted(span: Span, quoted: Sequence[Span]) -> bool:
    """Whether all lines of a span are quoted."""
    return any(first <= span[0] and span[1] <= last for first, last in quoted)


def uses_of(definitions: Sequence[Definition], sources: Sources, quoted: Quoted) -> str:
    """List the lines outside tests that use a definition which the task names, apart from lines that are quoted. Code
    comes before comments and docstrings."""
    names = sorted({symbol.name for _, symbol, _ in definitions})
    if not names:
        return ""
    word = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, names))})(?!\w)")
    places = {(path, symbol.line) for path, symbol, _ in definitions}
    uses = [
        (f"{path}:{number}: {line.strip()[:120]}", line.strip())
        for path, text in sources
        if not is_test(path) and word.search(text)
        for number, line in enumerate(text.split("\n"), 1)
        if word.search(line) and (path, number) not in places
        if not is_quoted((number - 1, number), quoted.get(path, ()))
    ]
    if not uses:
        return ""
    uses.sort(key=lambda item: _PROSE.search(item[1]) is not None)
    more = f"\nand {len(uses) - MAX_USES} more" if len(uses) > MAX_USES else ""
    rows = "\n".join(row for row, _ in uses[:MAX_USES])
    where = "outside tests and the code above" if quoted else "outside tests"
    return f"\n# Uses of {', '.join(names)} {where}\n{rows}{more}\n"


def documents_about(task: str, files: Sequence[str], read: Read, *, quoting: bool) -> str:
    """List the documents that mention names of the task, those with the rarest names first. Lists of changes are left
    out: they tell what was. `quoting`: quote the first of them, because the task asks for documentation."""
    paths = [path for path in files if _DOCUMENT.search(path) and not _LIST_OF_CHANGES.search(path)]
    texts = {path: text for path in paths[:MAX_DOCUMENTS_READ] if (text := read(path))}
    having: dict[str, list[str]] = {}
    for name in code_words(task):
        word = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
        having[name] = [path for path, text in texts.items() if word.search(text)]
    scores = {path: sum(1 / len(documents) for documents in having.values() if path in documents) for path in texts}
    best = sorted((path for path in texts if scores[path]), key=lambda path: (-scores[path], path))[:MAX_DOCUMENTS]
    if not best:
        return ""
    listed = f"\n# Documents that mention names of the task\n{', '.join(best)}\n"
    return listed + (_quote_document(best[0], texts[best[0]], task) if quoting else "")


def _quote_document(path: str, text: str, task: str) -> str:
    """Quote a document; of a long one its beginning and the lines around the names of the task."""
    if len(text) <= DOCUMENT_CHARS:
        return quote_spans(path, text, [(0, count_lines(text))])
    return quote_document(path, text, task, DOCUMENT_CHARS)


def plain(name: str) -> str:
    """Return a name without what differs between styles: `numericrange` for `numeric_range` and `NumericRange`."""
    return name.replace("_", "").lower()


def _owners(name: str, task: str) -> set[str]:
    """Return the names before the dot, where the task has a name as `Owner.name`."""
    return set(re.findall(rf"(?<!\w)(\w+)\.{re.escape(name)}(?!\w)", task))


def _class_around(symbol: Symbol, defined: Sequence[Symbol]) -> str:
    """Return the name of the innermost class that a definition is in; empty if it is in none."""
    around = [other for other in defined if other.depth < symbol.depth and other.line <= symbol.line <= other.end]
    return max(around, key=lambda other: other.depth).name if around else ""


def _tested(symbol: Symbol) -> str:
    """What a test or a class of tests is named after: `chunked` for `ChunkedTests`."""
    return re.sub(r"^test|tests?(?:case)?$", "", plain(symbol.name))


def _wanted_lines(symbol: Symbol, chosen: Sequence[Symbol], lines: Sequence[str]) -> Span:
    """Return the lines of a definition; of a class that is too long, if some of its methods are chosen, its head."""
    first, last = symbol.line - 1, symbol.end
    inner = [other.line - 1 for other in chosen if first < other.line - 1 < last and other.depth > symbol.depth]
    if not inner or sum(len(line) + 1 for line in lines[first:last]) <= ONE_NAME_CHARS:
        return first, last
    return first, min(first + HEAD_LINES, *inner)


def _is_nearly_whole(spans: Sequence[Span], text: str) -> bool:
    """Whether spans have most of a small file, so that the rest of it is worth more than its place."""
    return len(text) <= SMALL_FILE_CHARS and sum(last - first for first, last in spans) > count_lines(text) / 2


def _imports(path: str, text: str) -> list[Span]:
    """Return the lines before the first definition of a file, if they are few."""
    (first, last), *_ = first_lines(text)
    defined = min((symbol.line - 1 for symbol in symbols(path, text)), default=0)
    return [(first, defined)] if first < defined <= last else []


def _fitting(lines: Sequence[str], first: int, last: int, limit: int) -> int:
    """Return the end of the lines from `first` on that have at most `limit` characters."""
    for number, size in enumerate(_sizes(lines[first:last]), first):
        if size > limit:
            return number
    return last


def _sizes(lines: Sequence[str]) -> Iterator[int]:
    """The number of characters up to the end of each line."""
    size = 0
    for line in lines:
        size += len(line) + 1
        yield size
