"""Rank the files of a repository by relevance to a task: by its words, the names of files, and imports."""

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from surefoot.project.code.symbols import SOURCE_SUFFIXES
from surefoot.project.folder import is_test
from surefoot.project.task_text import is_named_in

MAX_FILES = 25
"""How many of the most relevant files are considered."""
MAX_READ = 6_000
"""How many files are searched for the words of the task."""
MAX_WORDS = 10
"""How many words of the task are searched for."""
IMPORT_CHARS = 3_000
"""How much of a file is searched for imports."""
NAMED_SCORE = 1_000.0

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{2,}")
_COMMON = frozenset((
    "the", "and", "for", "with", "that", "this", "from", "must", "should", "file", "code", "into", "all", "are", "has",
    "have", "not", "its", "can", "will", "add", "new", "use", "used", "make", "when", "where", "which", "then", "than",
    "also", "test", "tests", "fix", "bug", "error", "function", "class", "method", "argument", "default", "value",
    "return", "returns", "update", "change", "docs", "entry",
))  # fmt: skip

Read = Callable[[str], str | None]


def ranked_files(files: Sequence[str], task: str, read: Read) -> list[tuple[str, str]]:
    """Return source files with their texts, the most relevant to the task first: those that it names, those that
    contain its words, and those that these import; then by how often others import them."""
    sources = [path for path in files if path.rpartition(".")[2].lower() in SOURCE_SUFFIXES][:MAX_READ]
    texts = {path: text for path in sources if (text := read(path))}
    words = words_of(task)
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
    """Score files by the words of the task that they contain. Names in code are searched for in all files; other words
    only in the files that contain such a name, if there are any."""
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
    imports: dict[str, set[str]] = {}
    for path, text in texts.items():
        names = {_last_part(name) for match in _IMPORTED.findall(text[:IMPORT_CHARS]) for name in match if name}
        imports[path] = {other for name in names for other in by_stem.get(name, ()) if other != path}
    return imports


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
    """Return the weight of a word: the fewer files contain it, the more it says."""
    return (3.0 if "_" in word or not word.islower() else 1.0) * math.sqrt(1.0 + of / having)


def _stem(path: str) -> str:
    name = path.rpartition("/")[2].partition(".")[0]
    return path.rpartition("/")[0].rpartition("/")[2] if name in ("__init__", "index", "mod") else name


def code_words(task: str) -> set[str]:
    """Return the words of a task that are names in code: by their form, by the characters around them, or because the
    rest of the text is in another script."""
    chinese = re.search(r"[\u4e00-\u9fff]", task) is not None
    words = set()
    for match in _IDENTIFIER.finditer(task):
        word, before, after = match.group(), task[: match.start()][-1:], task[match.end() :][:1]
        shaped = "_" in word.strip("_") or re.search(r"[a-z][A-Z]|[A-Z]{2,}[a-z]|\d", word)
        if shaped or before in ("`", ".") or after in ("(", "`") or (chinese and after != "."):
            words.add(word)
    return words


def words_of(task: str) -> set[str]:
    return {word for word in _IDENTIFIER.findall(task) if word.lower() not in _COMMON}
