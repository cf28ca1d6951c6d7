"""Find out from the wording of a task which files it names, and which are computed from others. Pure."""

import re
from collections.abc import Collection

_MAKES = re.compile(
    r"\b(?:writ(?:e|es|ing)|sav(?:e|es|ing)|stor(?:e|es|ing)|puts?|creat(?:e|es|ing)|mak(?:e|es|ing)|generates?|produces?|"
    r"exports?|outputs?|builds?|goes|called|named|as|to|into)\b|写|存|生成|输出|成|导出|新建|创建|加到|到",
    re.IGNORECASE,
)
"""Words before a file to be made."""
_FETCHED = re.compile(
    r"(?:\b(?:download|fetch|retrieve|scrape|crawl|pull|get|load|read|from)\b|下载|抓取|获取|拉取|读取|从).*?"
    r"(?P<address>\bhttps?://[^\s'\"`<>，。；]*[^\s'\"`<>，。；).])",
    re.IGNORECASE,
)
_CHANGE = r"(?:chang|modif|touch|edit|alter|rewrit|delet|remov)(?:e|y|ing|ying)?"
_NOT_THESE = re.compile(
    rf"\b(?:do not|don['’]t|never|(?:must|may|should) not|without|not to)\s+(?:ever\s+)?{_CHANGE}\b"
    r"|(?:不要|不得|不能|不可|不许|不准|请勿|别|勿)(?:再)?(?:修改|改动|更改|改|动|碰|删除|删)",
    re.IGNORECASE,
)
_STAYS = re.compile(
    r"(?P<what>[^,]*?)\s+(?:must|may|should|can|shall)(?: not|n['’]t|not) be "
    r"(?:chang|modifi|touch|edit|alter|rewrit|delet|remov)"
    r"|\b(?:leave|keep)\s+(?P<object>[^,]*?)\s+(?:alone|untouched|unchanged|as (?:it is|they are|is))\b",
    re.IGNORECASE,
)
_BESIDES = frozenset(
    ("the", "any", "anything", "all", "file", "files", "folder", "directory", "module", "code", "in", "under", "inside",
     "and", "or", "either", "both", "nor")
)  # fmt: skip
"""Words that may appear next to the names of files that must not be changed."""
_FILE_NAME = re.compile(r"(?<![\w/.-])((?:[\w-]+/)*[\w-][\w.-]*\.[A-Za-z][A-Za-z0-9]{0,4})(?![\w/])")
_CAPITALS = r"['\"`]?(?<![A-Za-z0-9_])(?P<{}>[A-Z][A-Z0-9_]{{3,}})(?![A-Za-z0-9_]|[./-]\w)['\"`]?"
_BARE_NAME = re.compile(
    rf"(?:\b[Ff]ile|文件)\s*(?:called |named )?{_CAPITALS.format('after')}"
    rf"|{_CAPITALS.format('before')}(?: file\b|\s*文件)"
)
"""A name without a suffix counts only where it is called a file: `a file SHA256SUMS`."""
_NO_NAMES = frozenset((
    "JSON", "JSONL", "YAML", "TOML", "HTML", "XLSX", "PARQUET", "ASCII", "UTF8", "UTF16",
    "MUST", "SHOULD", "SHALL", "WILL", "ONLY", "ALWAYS", "NEVER", "THAT", "WITH",
))  # fmt: skip
"""Formats, and words written in capitals for emphasis."""
_NOT_FILES = frozenset({"e.g", "i.e", "etc", "vs", "Node.js", "node.js"})


def files_named_in(text: str) -> list[str]:
    """File names in running text, in order, each once: `src/app.py`, `README.md`; not `e.g.` and not URLs."""
    text = re.sub(r"\w+://\S+", " ", text)
    named = [(match.start(), name) for match in _FILE_NAME.finditer(text) if not _is_no_file(name := _name_in(match))]
    bare = ((match.start(), match["after"] or match["before"]) for match in _BARE_NAME.finditer(text))
    named += [(place, name) for place, name in bare if name not in _NO_NAMES]
    return list(dict.fromkeys(name for _, name in sorted(named)))


def _name_in(match: re.Match[str]) -> str:
    return match.group(1).rstrip(".")


def _is_no_file(name: str) -> bool:
    """Whether it is a version, a range such as `0..9`, initials such as `A.K.L`, or another word with a dot."""
    parts = name.split(".")
    return name in _NOT_FILES or "" in parts[1:] or max(map(len, parts)) < 2 or bool(re.fullmatch(r"v?[\d.]+\w?", name))


def is_named_in(path: str, text: str) -> bool:
    """Whether a text contains the name of a file, in any form: `the Makefile`, `./a/b.c`."""
    name = path.rsplit("/", 1)[-1]
    if name not in text:
        return False
    return re.search(rf"(?<![A-Za-z0-9_.-]){re.escape(name)}(?![A-Za-z0-9_-]|\.[A-Za-z0-9])", text) is not None


def to_be_left_alone(task: str, existing: Collection[str]) -> set[str]:
    """Return the files that the task says not to change, by their own or their folder's name: `don't touch vendor/`."""
    spans: list[str] = []
    for sentence in re.split(r"(?<=[.!?])\s+|[;。；！？\n]", task):
        for match in _NOT_THESE.finditer(sentence):
            after = re.split(r"[,，]|\bbut\b", sentence[match.end() :])[0].strip(" .")
            before = [clause for clause in re.split(r"[,，]", sentence[: match.start()]) if clause.strip()]
            spans.append(after or (before[-1] if before else ""))
        spans += [match["what"] or match["object"] or "" for match in _STAYS.finditer(sentence)]
    names = {name for span in spans for name in _leading_names(span, existing)}
    return {path for path in existing if any(_is_or_is_in(path, name) for name in names)}


def _leading_names(span: str, existing: Collection[str]) -> list[str]:
    """Return the names that a text begins with: two in `vendor/ or a.py`, none in `the behaviour of a.py`."""
    names = []
    for word in re.findall(r"[A-Za-z0-9_./-]+", span):
        name = word.strip("./")
        if any(_is_or_is_in(path, name) for path in existing):
            names.append(name)
        elif word.lower() not in _BESIDES:
            break
    return names


def _is_or_is_in(path: str, name: str) -> bool:
    return bool(name) and (path == name or path.startswith(f"{name}/") or ("." in name and path.endswith(f"/{name}")))


def is_computed(path: str, text: str, others: Collection[str]) -> bool:
    """Whether a new file is computed from others that the task mentions, so that a program should make it. A model
    that writes a result by hand gets it wrong unless it is very short."""
    if _kind(path) in _CODE or _kind(path) in _SETTINGS:
        return False
    if _kind(path) not in _PROSE and re.search(r"\bhttps?://", text):
        return True  # remote data cannot be written by hand either
    sources = [source for source in others if _is_mentioned(source, text)]
    if _kind(path) in _PROSE:
        # Prose about code is written; prose about data is a report.
        return any(_kind(source) not in _CODE and _kind(source) not in _PROSE for source in sources)
    return bool(sources)


def is_source(path: str, text: str) -> bool:
    """Whether the task mentions a data file only as one that exists: `the amounts in sales.csv`, and never `write
    sales.csv` or `save it as sales.csv`. If it is missing, it must not be made up."""
    if _kind(path) not in _DATA or path not in text:
        return False
    clauses = re.split(r"[,;，。；！？\n]|[.!?]\s|\band\b|\bthen\b|并|然后|再", text)
    return not any(_MAKES.search(clause.partition(path)[0]) for clause in clauses if path in clause)


def fetched_from(text: str, existing: Collection[str]) -> str:
    """Return the address that a task says to get its data from: `download https://...`, and not `a page with a link to
    https://...`. Empty if there is none, or if the task mentions an existing file."""
    if any(_is_mentioned(path, text) for path in existing):
        return ""
    matches = (_FETCHED.search(clause) for clause in re.split(r"[;，。；！？\n]|,\s|[.!?]\s", text))
    return next((match["address"] for match in matches if match), "")


def _is_mentioned(path: str, text: str) -> bool:
    folder, _, name = path.rpartition("/")
    return name in text or (bool(folder) and f"{folder.split('/')[0]}/" in text)


def is_code(path: str) -> bool:
    return _kind(path) in _CODE


def is_prose(path: str) -> bool:
    return _kind(path) in _PROSE


def is_file_like(name: str) -> bool:
    """Whether a name has a known file suffix, or none."""
    return _kind(name) in _KINDS


def _kind(path: str) -> str:
    name = path.rsplit("/", 1)[-1]
    if name in _PROSE_NAMES:
        return "txt"
    return name.rpartition(".")[2].lower() if "." in name[1:] else ""


_CODE = frozenset((
    "py", "pyi", "sh", "bash", "js", "mjs", "jsx", "ts", "tsx", "rb", "go", "rs", "c", "cc", "cpp", "h", "hpp", "java",
    "kt", "swift", "php", "lua", "pl", "r", "css", "scss", "vue", "sql",
))  # fmt: skip
_PROSE_NAMES = frozenset(("README", "LICENSE", "COPYING", "NOTICE", "AUTHORS", "CHANGELOG", "CONTRIBUTING"))
_PROSE = frozenset(("md", "txt", "rst", "html"))
_SETTINGS = frozenset(("toml", "ini", "cfg", "yaml", "yml", "env", "lock"))
_DATA = frozenset((
    "json", "jsonl", "csv", "tsv", "xml", "db", "sqlite", "log", "dat", "bin", "zip", "tar", "gz", "tgz", "xlsx", "pdf",
    "png", "jpg", "svg",
))  # fmt: skip
_KINDS = _CODE | _PROSE | _SETTINGS | _DATA | {""}
