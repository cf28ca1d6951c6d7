"""Which file a piece of an answer says it is: in its fence, in a comment line, or in a sentence."""

import re
from pathlib import PurePosixPath

_EXTENSIONS = frozenset({
    "bash", "bat", "c", "cc", "cfg", "conf", "cpp", "cs", "css", "csv", "dart", "env", "ex", "exs", "go", "gradle",
    "h", "hpp", "hs", "html", "ini", "ipynb", "java", "js", "json", "jsx", "kt", "less", "lock", "lua", "md", "mjs",
    "ml", "php", "pl", "proto", "ps1", "py", "pyi", "r", "rb", "rs", "rst", "scala", "scss", "sh", "sql", "svg",
    "swift", "tex", "toml", "ts", "tsv", "tsx", "txt", "vue", "xml", "yaml", "yml", "zig",
})  # fmt: skip
_NAMES = frozenset({"dockerfile", "makefile", "license", "readme", "procfile", "jenkinsfile", "gemfile"})
_SAME_LANGUAGE = (
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
# Possessive throughout: a line of ten thousand dashes must not be tried in a million ways.
_PATH = r"[\w.@/\\][\w.@+/\\-]*+"
_HEADER = re.compile(
    rf"^(?:#++|//++|--|;++|%++|/\*++|<!--)[\s=*~-]*+(?:(?:file|filename|path|文件)\s*+[:：]\s*+)?[`*\"]*+(?P<path>{_PATH})"
    r"[`*\"]*+[\s=*~-]*+:?\s*+[/>]?\s*+$",
    re.IGNORECASE,
)
_MENTION = re.compile(rf"(?<![\w/]){_PATH}")
_LONGEST_LINE = 300


def file_kind(path: str) -> str:
    return _pure(path).suffix[1:].lower()


def sameness(label: str, path: str) -> int:
    """3 the same path, 2 one is the end of the other, 1 only the same name, 0 another file."""
    one, other = _parts(label), _parts(path)
    if not one or not other or one[-1].lower() != other[-1].lower():
        return 0
    if one == other:
        return 3
    shorter = min(len(one), len(other))
    return 2 if one[-shorter:] == other[-shorter:] else 1


def header(line: str, asked: str) -> str | None:
    """The file that a comment line names, when it does nothing else: `# a.py`, `// File: src/a.js`."""
    found = _HEADER.match(line) if len(line) <= _LONGEST_LINE else None
    return found["path"] if found and _is_path(found["path"], asked) else None


def names_only_a_file(line: str) -> bool:
    """`path/a.py`, `**a.py**:`, `### a.py`: a line that says no more than which file comes next."""
    return header(line, "") is not None or header(f"# {line}", "") is not None


def label_in_info(info: str, asked: str) -> str:
    """`python path=a.py`, `python a.py`, `a.py`, `python:a.py`, `python title="a.py"`."""
    for word in re.split(r"[\s,{}]+|(?<=[a-z]):(?=[\w./])", info[:_LONGEST_LINE]):
        value = re.sub(r"^\w+=", "", word).strip("\"'`()[]")
        if value and _is_path(value, asked):
            return value
    return ""


def mentions(sentence: str, asked: str) -> list[str]:
    found = (word.rstrip(".") for word in _MENTION.findall(sentence[:_LONGEST_LINE]))
    return [word for word in found if _is_path(word, asked)]


def may_hold(language: str, path: str) -> bool:
    """Whether a block of this language may hold that file: a shell session is no Python file."""
    family = next((family for family in _SAME_LANGUAGE if language in family), None)
    kind = file_kind(path)
    if family is None or kind in family:
        return True
    # A kind that nothing is known about may come under any name but a shell's.
    return not any(kind in other for other in _SAME_LANGUAGE) and "sh" not in family


def _is_path(word: str, asked: str) -> bool:
    pure = _pure(word)
    if pure.name == _pure(asked).name or pure.name.lower() in _NAMES:
        return True
    if re.match(r"\.\w{2}", pure.name) and not pure.suffix:  # `.gitignore`; three dots stand for what was left out
        return True
    return pure.suffix[1:].lower() in _EXTENSIONS and bool(pure.stem)


def _parts(path: str) -> tuple[str, ...]:
    return tuple(part for part in _pure(path).parts if part not in (".", "/"))


def _pure(path: str) -> PurePosixPath:
    return PurePosixPath(path.replace("\\", "/"))
