"""A map of a repository for a task: its folders, and the files and symbols that matter, most relevant first.

It is built once per run and never refreshed, because it is part of the beginning of every request, which servers cache.
"""

import builtins
import re
from collections import Counter
from collections.abc import Sequence

from surefoot.prompting.project.folder import is_test
from surefoot.prompting.project.ranking import MAX_FILES, Read, code_words, ranked_files
from surefoot.prompting.project.symbols import Symbol, symbols
from surefoot.prompting.project.task_text import is_named_in

MAX_CHARS = 6_000
"""About 2,000 tokens."""
MAX_FOLDERS = 40
MAX_SYMBOLS = 24
"""How many symbols of one file are listed."""
NAMED_CHARS = 12_000
"""How much code that the task names is quoted."""
ONE_NAME_CHARS = 5_000
"""How much of one definition is quoted."""
MAX_LISTED = 20_000
"""How many files of a folder are looked at."""
MAX_SOURCE_CHARS = 400_000
"""A longer file is not read for the map."""
BEGINNING_LINES = 25
RELEVANT_CHARS = 6_000
"""How much of a long file that the task names is quoted."""
RELEVANT_LINES = 12
"""How many lines are quoted on both sides of a line that has a word of the task."""
MAX_UNRELATED = 8
"""How many files are listed in which nothing has a name from the task."""
MAX_USES = 24
"""How many lines that use a name of the task are listed."""
LISTED_WHOLE = 40
"""A folder with no more files than this is listed whole."""

_BUILTINS = frozenset(dir(builtins))


def repo_map(files: Sequence[str], task: str, read: Read, limit: int = MAX_CHARS) -> str:
    """Describe a folder in at most about `limit` characters, and quote the code that the task names."""
    if not files:
        return "(empty)"
    parts = [_folders(files)]
    room = limit - len(parts[0])
    ranked = ranked_files(files, task, read)
    names = code_words(task)
    unrelated = 0
    for path, text in ranked[:MAX_FILES]:
        rows = _described(path, text, names, whole=is_named_in(path, task))
        unrelated += "\n" not in rows
        if "\n" not in rows and unrelated > MAX_UNRELATED:
            continue
        if len(rows) > room:
            break
        room -= len(rows) + 1
        parts.append(rows)
    return "\n".join(parts) + _named_code(ranked[:MAX_FILES], names) + _uses(ranked, names)


def beginning(path: str, text: str, lines: int = BEGINNING_LINES) -> str:
    """Quote the first lines of a long document, such as the newest entries of a changelog."""
    rows = text.split("\n")
    return _quoted(path, 1, min(lines, len(rows)), text, "\n".join(rows[:lines]))


def ending(path: str, text: str, lines: int = 15) -> str:
    """Quote the last lines of a long file, where more of the same can be added."""
    rows = text.rstrip("\n").split("\n")
    first = max(0, len(rows) - lines)
    return _quoted(path, first + 1, len(rows), text, "\n".join(rows[first:]))


def relevant_part(path: str, text: str, task: str, limit: int = RELEVANT_CHARS, after: int = 0) -> str:
    """Quote the lines of a long file around the names of the task; empty if it has none of them.

    `after`: how many lines at the beginning are shown already. Names that every program has say nothing.
    """
    lines, names = text.split("\n"), code_words(task) - _BUILTINS
    hits = [number for number, line in enumerate(lines) if any(name in line for name in names)]
    parts, shown = "", after
    for number in hits:
        if number < shown:
            continue
        first, last = max(shown, number - RELEVANT_LINES // 4), min(len(lines), number + RELEVANT_LINES)
        part = _quoted(path, first + 1, last, text, "\n".join(lines[first:last]))
        if len(parts) + len(part) > limit:
            break
        parts, shown = parts + part, last
    return parts


def _named_code(ranked: Sequence[tuple[str, str]], names: set[str]) -> str:
    """Quote the definitions of the names, of sources before tests; of a long one its beginning."""
    room, parts = NAMED_CHARS, []
    for path, text in ranked:
        for symbol in symbols(path, text) if not is_test(path) else ():
            if symbol.name not in names or room <= 0:
                continue
            lines = text.split("\n")[symbol.line - 1 : symbol.end]
            body = "\n".join(lines)
            if len(body) > min(room, ONE_NAME_CHARS):
                body = body[: min(room, ONE_NAME_CHARS)].rpartition("\n")[0] + "\n[...]"
            room -= len(body)
            parts.append(
                f"\n# {path}, lines {symbol.line} to {symbol.end} of {_count(text)}\n```\n{body.rstrip()}\n```\n"
            )
    return "\n" + "".join(parts) if parts else ""


def _uses(ranked: Sequence[tuple[str, str]], names: set[str]) -> str:
    """List the lines outside tests that use a definition which the task names, apart from the definition itself."""
    defined: dict[str, set[tuple[str, int]]] = {}
    for path, text in ranked[:MAX_FILES]:
        for symbol in symbols(path, text) if not is_test(path) else ():
            if symbol.name in names:
                defined.setdefault(symbol.name, set()).add((path, symbol.line))
    if not defined:
        return ""
    word = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, sorted(defined)))})(?!\w)")
    places = set().union(*defined.values())
    found = [
        f"{path}:{number}: {line.strip()[:120]}"
        for path, text in ranked
        if not is_test(path) and word.search(text)
        for number, line in enumerate(text.split("\n"), 1)
        if word.search(line) and (path, number) not in places
    ]
    if not found:
        return ""
    more = f"\nand {len(found) - MAX_USES} more lines" if len(found) > MAX_USES else ""
    return f"\n# Uses of {', '.join(sorted(defined))}\n" + "\n".join(found[:MAX_USES]) + more + "\n"


def _quoted(path: str, first: int, last: int, text: str, part: str) -> str:
    return f"\n# {path}, lines {first} to {last} of {_count(text)}\n```\n{part.rstrip()}\n```\n"


def _count(text: str) -> int:
    return text.count("\n") + (not text.endswith("\n"))


def _folders(files: Sequence[str]) -> str:
    """List all files of a small folder; of a larger one its folders with the number of their files."""
    if len(files) <= LISTED_WHOLE:
        return "\n".join(f"- {path}" for path in files)
    for depth in (3, 2, 1):
        counts = Counter("/".join(path.split("/")[:-1][:depth]) for path in files)
        if len(counts) <= MAX_FOLDERS:
            break
    top = [f"- {path}" for path in files if "/" not in path][:MAX_FOLDERS]
    rows = [f"- {folder}/ ({count} {'file' if count == 1 else 'files'})" for folder, count in counts.items() if folder]
    more = f"\n- and {len(rows) - MAX_FOLDERS} more folders" if len(rows) > MAX_FOLDERS else ""
    return "\n".join([*top, *rows[:MAX_FOLDERS]]) + more


def _described(path: str, text: str, names: set[str], *, whole: bool = False) -> str:
    """List the definitions of a file that the names are about, with their lines; of other files only how many.

    `whole`: the task names the file. If none of its definitions is named, those at its top are listed.
    """
    found = symbols(path, text)
    chosen = [symbol for symbol in found if _is_about(symbol, names)]
    if whole and not chosen:
        chosen = [symbol for symbol in found if not symbol.depth]
        names = set()
    classes = [symbol for symbol in chosen if names and symbol.text.startswith("class ")]
    inside = [s for s in found if s.depth and any(c.line < s.line <= c.end for c in classes)]
    rows = [f"{path} ({_count(text)} lines, {len(found)} definition{'' if len(found) == 1 else 's'})"]
    listed = sorted({*chosen, *inside}, key=lambda symbol: symbol.line)
    for symbol in listed[:MAX_SYMBOLS]:
        rows.append(f"  {symbol.line}-{symbol.end} {'  ' * symbol.depth}{symbol.text}"[:140])
    if len(listed) > MAX_SYMBOLS:
        rows.append(f"  and {len(listed) - MAX_SYMBOLS} more about it")
    return "\n".join(rows)


def _is_about(symbol: Symbol, names: set[str]) -> bool:
    """`NumericRangeTests` is about `numeric_range`."""
    plain = _plain(symbol.name)
    return any(symbol.name == name or (len(name) > 3 and _plain(name) in plain) for name in names)


def _plain(name: str) -> str:
    return name.replace("_", "").lower()
