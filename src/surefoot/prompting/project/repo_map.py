"""A map of a repository for a task: its folders, and the files and symbols that matter, most relevant first.

It is built once per run and never refreshed, because it is part of the beginning of every request, which servers cache.
"""

import builtins
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from surefoot.prompting.project.folder import is_test
from surefoot.prompting.project.symbols import SOURCE_SUFFIXES, Symbol, symbols
from surefoot.prompting.project.task_text import is_named_in

MAX_CHARS = 6_000
"""About 2,000 tokens."""
MAX_FOLDERS = 40
MAX_FILES = 25
MAX_SYMBOLS = 24
"""How many symbols of one file are listed."""
NAMED_CHARS = 12_000
"""How much code that the task names is quoted."""
ONE_NAME_CHARS = 5_000
"""How much of one definition is quoted."""
MAX_READ = 6_000
"""How many files are searched for the words of the task."""
MAX_LISTED = 20_000
"""How many files of a folder are looked at."""
MAX_SOURCE_CHARS = 400_000
"""A longer file is not read for the map."""
MAX_WORDS = 10
"""For how many words of the task all files are searched."""
IMPORT_CHARS = 3_000
"""How much of a file is searched for imports."""
NAMED_SCORE = 1_000.0
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

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{2,}")
_COMMON = frozenset((
    "the", "and", "for", "with", "that", "this", "from", "must", "should", "file", "code", "into", "all", "are", "has",
    "have", "not", "its", "can", "will", "add", "new", "use", "used", "make", "when", "where", "which", "then", "than",
    "also", "test", "tests", "fix", "bug", "error", "function", "class", "method", "argument", "default", "value",
    "return", "returns", "update", "change", "docs", "entry",
))  # fmt: skip

_BUILTINS = frozenset(dir(builtins))

Read = Callable[[str], str | None]


def repo_map(files: Sequence[str], task: str, read: Read, limit: int = MAX_CHARS) -> str:
    """Describe a folder in at most about `limit` characters, and quote the code that the task names."""
    if not files:
        return "(empty)"
    parts = [_folders(files)]
    room = limit - len(parts[0])
    ranked = _ranked(files, task, read)
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


def code_words(task: str) -> set[str]:
    """Return the words of a task that are names in code: by their form, by what stands around them, or because the rest
    of the text is in another script."""
    chinese = re.search(r"[\u4e00-\u9fff]", task) is not None
    found = set()
    for match in _IDENTIFIER.finditer(task):
        word, before, after = match.group(), task[: match.start()][-1:], task[match.end() :][:1]
        shaped = "_" in word.strip("_") or re.search(r"[a-z][A-Z]|[A-Z]{2,}[a-z]|\d", word)
        if shaped or before in ("`", ".") or after in ("(", "`") or (chinese and after != "."):
            found.add(word)
    return found


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


def _words(task: str) -> set[str]:
    return {word for word in _IDENTIFIER.findall(task) if word.lower() not in _COMMON}


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


def _ranked(files: Sequence[str], task: str, read: Read) -> list[tuple[str, str]]:
    """Order source files by how much they have to do with a task: those that it names, those that have its words, and
    those that these import; then by how often others import them."""
    sources = [path for path in files if path.rpartition(".")[2].lower() in SOURCE_SUFFIXES][:MAX_READ]
    texts = {path: text for path in sources if (text := read(path))}
    words = _words(task)
    scores = _word_scores(texts, words, code_words(task))
    for path in texts:
        scores[path] += 4.0 * sum(part in words for part in re.split(r"[/._-]", path))
        scores[path] *= 0.4 if is_test(path) else 1.0
        scores[path] += NAMED_SCORE * is_named_in(path, task)
    imports = _imports(texts)
    times = Counter(other for imported in imports.values() for other in imported)
    best = sorted((path for path in texts if scores[path]), key=lambda path: -scores[path])[:MAX_FILES]
    near = dict.fromkeys(texts, 0.0)
    for path in best:
        for other in imports[path]:
            near[other] = max(near[other], 0.2 * scores[path] / len(imports[path]))
    order = sorted(texts, key=lambda path: (-scores[path] - near[path], -times[path], len(path), path))
    return [(path, texts[path]) for path in order]


def _word_scores(texts: Mapping[str, str], words: set[str], names: set[str]) -> dict[str, float]:
    """Weigh files by the words of the task that they have. Names of code are looked for everywhere; other words, if
    there are such names, only in the files that have one of them."""
    scores = dict.fromkeys(texts, 0.0)
    chosen = sorted(words & names, key=lambda word: (-len(word), word))[:MAX_WORDS]
    _add_scores(scores, texts, chosen)
    few = {path: text for path, text in texts.items() if scores[path]}
    others = sorted(words - names, key=lambda word: (-len(word), word))[:MAX_WORDS]
    _add_scores(scores, few or texts, others)
    return scores


def _add_scores(scores: dict[str, float], texts: Mapping[str, str], words: Sequence[str]) -> None:
    for word in words:
        having = [path for path, text in texts.items() if word in text]
        for path in having:
            scores[path] += _weight(word, len(having), len(texts))


def _imports(texts: Mapping[str, str]) -> dict[str, set[str]]:
    """Map each file to the files that it seems to import, by the last part of their names."""
    by_stem: dict[str, list[str]] = {}
    for path in texts:
        by_stem.setdefault(_stem(path), []).append(path)
    found: dict[str, set[str]] = {}
    for path, text in texts.items():
        names = {_last_part(name) for match in _IMPORTED.findall(text[:IMPORT_CHARS]) for name in match if name}
        found[path] = {other for name in names for other in by_stem.get(name, ()) if other != path}
    return found


_IMPORTED = re.compile(
    r"^[ \t]*(?:from[ \t]+\.*([\w.]+)[ \t]+import"
    r"|(?:import|export|const|var|let|require\w*)\b[^\n'\"]{0,80}['\"]([\w@./-]+)['\"]"
    r"|(?:import|use|mod|using)[ \t]+(?:static[ \t]+)?([\w.:\\]+)"
    r"|#[ \t]*include[ \t]+[\"<]([\w./-]+)"
    r"|\"([\w./-]+)\"$)",
    re.MULTILINE,
)
_SUFFIX = re.compile(r"\.(?:h|hh|hpp|[cm]?js|jsx|ts|tsx|rb|php|py|sh)$")


def _last_part(name: str) -> str:
    return re.split(r"[./:\\]+", _SUFFIX.sub("", name).rstrip("./:"))[-1]


def _weight(word: str, having: int, of: int) -> float:
    """Weigh a word: one that few files have says more than one that most have."""
    return (3.0 if "_" in word or not word.islower() else 1.0) * math.sqrt(1.0 + of / having)


def _stem(path: str) -> str:
    name = path.rpartition("/")[2].partition(".")[0]
    return path.rpartition("/")[0].rpartition("/")[2] if name in ("__init__", "index", "mod") else name


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
    rows = [f"{path} ({_count(text)} lines, {len(found)} definitions)"]
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
