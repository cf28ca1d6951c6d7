"""Find file names in fences, comment lines and sentences."""

import re
from pathlib import PurePosixPath

_EXTENSIONS = frozenset({
    "bash", "bat", "c", "cc", "cfg", "conf", "cpp", "cs", "css", "csv", "dart", "env", "ex", "exs", "go", "gradle",
    "h", "hpp", "hs", "html", "ini", "ipynb", "java", "js", "json", "jsx", "kt", "less", "lock", "lua", "md", "mjs",
    "ml", "php", "pl", "proto", "ps1", "py", "pyi", "r", "rb", "rs", "rst", "scala", "scss", "sh", "sql", "svg",
    "swift", "tex", "toml", "ts", "tsv", "tsx", "txt", "vue", "xml", "yaml", "yml", "zig",
})  # fmt: skip
_KNOWN_NAMES = frozenset({"dockerfile", "makefile", "license", "readme", "procfile", "jenkinsfile", "gemfile"})
_LANGUAGE_FAMILIES = (
    {"py", "python", "python3", "pyi"},
    {"js", "javascript", "jsx", "mjs", "node"},
    {"ts", "typescript", "tsx"},
    {"sh", "bash", "shell", "zsh", "console"},
    {"yml", "yaml"},
    {"md", "markdown", "mdx"},
    {"rs", "rust"},
    {"rb", "ruby"},
    {"txt", "text", "plaintext"},
    {"cpp", "cc", "c++", "hpp", "c", "h"},
    {"html", "htm", "xml", "svg", "vue"},
    {"json", "json5", "jsonc", "ipynb"},
    {"toml"},
    {"css", "scss", "less"},
    {"sql"},
    {"go", "golang"},
    {"java"},
    {"cs", "csharp"},
    {"diff", "patch"},
)
# Possessive, so that a line of ten thousand dashes does not cause backtracking.
_PATH = r"[\w.@/\\][\w.@+/\\-]*+"
_HEADER = re.compile(
    rf"^(?:#++|//++|--|;++|%++|/\*++|<!--)[\s=*~-]*+(?:(?:file|filename|path|文件)\s*+[:：]\s*+)?[`*\"]*+(?P<path>{_PATH})"
    r"[`*\"]*+[\s=*~-]*+:?\s*+[/>]?\s*+$",
    re.IGNORECASE,
)
_MENTION = re.compile(rf"(?<![\w/]){_PATH}")
_MAX_LINE_CHARS = 300


def file_kind(path: str) -> str:
    return _pure(path).suffix[1:].lower()


def similarity(label: str, path: str) -> int:
    """3: the same path; 2: one is a suffix of the other; 1: only the same name; 0: different files."""
    first, second = _parts(label), _parts(path)
    if not first or not second or first[-1].lower() != second[-1].lower():
        return 0
    if first == second:
        return 3
    shorter = min(len(first), len(second))
    return 2 if first[-shorter:] == second[-shorter:] else 1


def named_file(line: str, expected: str) -> str | None:
    """The file named by a comment line that contains nothing else: `# a.py`, `// File: src/a.js`."""
    match = _HEADER.match(line) if len(line) <= _MAX_LINE_CHARS else None
    return match["path"] if match and _is_path(match["path"], expected) else None


def names_only_a_file(line: str) -> bool:
    """Whether a line consists only of a file name: `path/a.py`, `**a.py**:`, `### a.py`."""
    return named_file(line, "") is not None or named_file(f"# {line}", "") is not None


def label_in_info(info: str, expected: str) -> str:
    """The file in the info of a fence: `python path=a.py`, `python a.py`, `a.py`, `python:a.py`, `title="a.py"`."""
    for word in re.split(r"[\s,{}]+|(?<=[a-z]):(?=[\w./])", info[:_MAX_LINE_CHARS]):
        value = re.sub(r"^\w+=", "", word).strip("\"'`()[]")
        if value and _is_path(value, expected):
            return value
    return ""


def mentions(sentence: str, expected: str) -> list[str]:
    words = (word.rstrip(".") for word in _MENTION.findall(sentence[:_MAX_LINE_CHARS]))
    return [word for word in words if _is_path(word, expected)]


def may_contain(language: str, path: str) -> bool:
    """Whether a block of this language may contain the file: a shell session is not a Python file."""
    family = next((family for family in _LANGUAGE_FAMILIES if language in family), None)
    kind = file_kind(path)
    if family is None or kind in family:
        return True
    # An unknown kind of file may come in any block except a shell session.
    return not any(kind in other for other in _LANGUAGE_FAMILIES) and "sh" not in family


def _is_path(word: str, expected: str) -> bool:
    pure = _pure(word)
    if pure.name == _pure(expected).name or pure.name.lower() in _KNOWN_NAMES:
        return True
    if re.match(r"\.\w{2}", pure.name) and not pure.suffix:  # `.gitignore`, but not an ellipsis
        return True
    return pure.suffix[1:].lower() in _EXTENSIONS and bool(pure.stem)


def _parts(path: str) -> tuple[str, ...]:
    return tuple(part for part in _pure(path).parts if part not in (".", "/"))


def _pure(path: str) -> PurePosixPath:
    return PurePosixPath(path.replace("\\", "/"))
