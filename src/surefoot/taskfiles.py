"""What the words of a task say about files: which it names, the one it is about, which are results of others. Pure."""

import re
from collections.abc import Collection

_MAKES = re.compile(
    r"\b(?:writ(?:e|es|ing)|sav(?:e|es|ing)|stor(?:e|es|ing)|puts?|creat(?:e|es|ing)|mak(?:e|es|ing)|generates?|produces?|"
    r"exports?|outputs?|builds?|goes|called|named|as|to|into)\b|写|存|生成|输出|成|导出|新建|创建|加到|到",
    re.IGNORECASE,
)
"""Words in front of a file that is to be made."""
_FILE_NAME = re.compile(r"(?<![\w/.-])((?:[\w-]+/)*[\w-][\w.-]*\.[A-Za-z][A-Za-z0-9]{0,4})(?![\w/])")
_NOT_FILES = frozenset({"e.g", "i.e", "etc", "vs", "Node.js", "node.js"})


def files_named_in(text: str) -> list[str]:
    """File names in running text, in order, each once: `src/app.py`, `README.md`; not `e.g.` and not URLs."""
    found: list[str] = []
    for match in _FILE_NAME.finditer(re.sub(r"\w+://\S+", " ", text)):
        name = match.group(1).rstrip(".")
        if name not in found and not _is_no_file(name):
            found.append(name)
    return found


def _is_no_file(name: str) -> bool:
    """Versions, ranges such as `0..9`, initials such as `A.K.L`, and what else has a dot in it."""
    parts = name.split(".")
    return name in _NOT_FILES or "" in parts[1:] or max(map(len, parts)) < 2 or bool(re.fullmatch(r"v?[\d.]+\w?", name))


def plain_target(task: str, existing: Collection[str], protected: Collection[str]) -> str:
    """The one file that the task is about, where its words and the folder leave no choice; else nothing."""
    known = {*existing, *(path.rsplit("/", 1)[-1] for path in existing)}
    # `customers.id` is a field of customers.csv and no file: what is not there must look like one.
    named = [f for f in files_named_in(task) if f not in protected and (f in known or _kind(f) in _KINDS)]
    new = [path for path in named if path not in known]
    sources = [path for path in existing if _kind(path) in _CODE and path not in protected]
    if len(new) == 1 and _kind(new[0]) in _CODE and all(_kind(path) in _PROSE for path in named if path not in new):
        return new[0]
    if len(new) == 1 and is_computed(new[0], task, existing):
        return new[0]
    return sources[0] if len(sources) == 1 and set(named) <= set(sources) else ""


def is_computed(path: str, text: str, others: Collection[str]) -> bool:
    """Whether a new file is a result of others that the task speaks of: then a program should make it. A model that
    types in what it should have computed gets it wrong as soon as there is more than a little of it."""
    if _kind(path) in _CODE or _kind(path) in _SETTINGS:
        return False
    if _kind(path) not in _PROSE and re.search(r"\bhttps?://", text):
        return True  # what is said to be somewhere else cannot be typed in either
    sources = [source for source in others if _is_spoken_of(source, text)]
    if _kind(path) in _PROSE:
        # Prose about code is written; prose about data is a report.
        return any(_kind(source) not in _CODE and _kind(source) not in _PROSE for source in sources)
    return bool(sources)


def is_source(path: str, text: str) -> bool:
    """Whether the task speaks of a data file only as of something that is there: `the amounts in sales.csv`, and never
    `write sales.csv` or `save it as sales.csv`. Where it is missing, it must not be made up."""
    if _kind(path) not in _DATA or path not in text:
        return False
    clauses = re.split(r"[,;，。；！？\n]|[.!?]\s|\band\b|\bthen\b|并|然后|再", text)
    return not any(_MAKES.search(clause.partition(path)[0]) for clause in clauses if path in clause)


def _is_spoken_of(path: str, text: str) -> bool:
    folder, _, name = path.rpartition("/")
    return name in text or (bool(folder) and f"{folder.split('/')[0]}/" in text)


def _kind(path: str) -> str:
    name = path.rsplit("/", 1)[-1]
    return name.rpartition(".")[2].lower() if "." in name[1:] else ""


_CODE = frozenset((
    "py", "pyi", "sh", "bash", "js", "mjs", "jsx", "ts", "tsx", "rb", "go", "rs", "c", "cc", "cpp", "h", "hpp", "java",
    "kt", "swift", "php", "lua", "pl", "r", "css", "scss", "vue", "sql",
))  # fmt: skip
_PROSE = frozenset(("md", "txt", "rst", "html"))
_SETTINGS = frozenset(("toml", "ini", "cfg", "yaml", "yml", "env", "lock"))
_DATA = frozenset((
    "json", "jsonl", "csv", "tsv", "xml", "db", "sqlite", "log", "dat", "bin", "zip", "tar", "gz", "tgz", "xlsx", "pdf",
    "png", "jpg", "svg",
))  # fmt: skip
_KINDS = _CODE | _PROSE | _SETTINGS | _DATA
