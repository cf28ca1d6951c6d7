"""Finds the files that shell scripts of checks read with `.` or `source`: helpers of tests, and test frameworks.

Such a file often has neither an end of a name nor a first line that says what it is, and its name is often in a
variable: `. "${TH_SHUNIT}"`, with `TH_SHUNIT=${SHUNIT_INC:-lib/shunit2}` in another file. The program under test is
read in the same way. It decides nothing, but it may name more files. Pure.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from surefoot.engine.verifier.deciding.names import CHECKING, is_shell_framework, suffix, tool_of

MAX_READ = 300
"""How many files are read."""
MAX_VALUES = 16
"""How many values of a word with variables are tried."""
_KINDS = frozenset(("", "sh", "bash", "zsh", "ksh", "bats"))
_ENDS = ("", ".bash", ".sh")
_UNKNOWN = "\0"
"""Stands for what only a shell can know."""
_SUBSTITUTED = re.compile(r"\$\([^()]*\)|`[^`\n]*`")
_SOURCES = re.compile(
    r"(?:^|[;&|{(]|\b(?:then|do|else))[ \t]*(?:\.|source|load|bats_load_library|Include)[ \t]+([^;&|\n]+)", re.MULTILINE
)
_ASSIGNS = re.compile(
    r"""(?:^|[;&|{(\s])(?P<name>[A-Za-z_]\w*)=(?P<value>"[^"\n]*"|'[^'\n]*'|[^\s;&|]+)"""
    r"""|\$\{(?P<other>[A-Za-z_]\w*):?=(?P<default>[^}\n]*)\}"""
)
_VARIABLE = re.compile(r"\$(?:(?P<plain>[A-Za-z_]\w*)|\{(?P<name>[A-Za-z_]\w*)(?::?[-=](?P<default>[^{}]*))?\})")
_EXPANDED = re.compile(r"\$(?:\{[^}]*\}|[\w@*#])")
_ASSERTIONS = re.compile(
    r"^\s*(?:function\s+)?_*assert_?(?:equals?|eq|ne|not\w*|same|true|false|contains|match\w*|success|failure|output|line"
    r"|empty|exit\w*|status|null|that)\b\s*(?:\(\)|\{)",
    re.MULTILINE | re.IGNORECASE,
)
"""Definitions of functions with which tests compare."""


def sourced_by(
    scripts: Sequence[str], commands: Iterable[str], files: Collection[str], read: Callable[[str], str]
) -> set[str]:
    """Return those of `files` that the scripts read, directly or not, and that decide what the tests find.

    `commands` may set variables that the scripts use.
    """
    values: dict[str, list[str]] = {}
    by_name: dict[str, list[str]] = {}
    for path in files:
        by_name.setdefault(path.rpartition("/")[2], []).append(path)
    texts = {path: _readable(read(path)) for path in dict.fromkeys(scripts) if suffix(path) in _KINDS}
    of_checks = set(texts)
    for text in (*map(_readable, commands), *texts.values()):
        _assign(text, values)
    deciding: set[str] = set()
    while True:
        bases = {"", *(path.rpartition("/")[0] for path in texts)}
        found: dict[str, bool] = {}
        for path, text in texts.items():
            for other in _sourced(text, bases, values, files, by_name):
                found[other] = found.get(other, False) or path in of_checks
        new = False
        for path, by_check in found.items():
            if path not in texts and len(texts) < MAX_READ:
                texts[path] = _readable(read(path))
                _assign(texts[path], values)
                new = True
            if path not in deciding and (is_shell_framework(path) or (by_check and _checks(path, read(path)))):
                deciding.add(path)
                of_checks.add(path)
                new = True
        if not new:
            return deciding


def joined(folder: str, name: str) -> str:
    """Return the path of a name as seen from a folder."""
    parts = folder.split("/") if folder else []
    for part in name.split("/"):
        if part == ".." and parts:
            parts.pop()
        elif part not in (".", "", ".."):
            parts.append(part)
    return "/".join(parts)


def _checks(path: str, text: str) -> bool:
    if suffix(path) not in _KINDS or tool_of(path):
        return False
    return CHECKING.search(path) is not None or _ASSERTIONS.search(text) is not None


def _readable(text: str) -> str:
    """Return a text without the outputs of commands that it uses, which may contain any character."""
    while True:
        simpler = _SUBSTITUTED.sub(_UNKNOWN, text)
        if simpler == text:
            return text
        text = simpler


def _assign(text: str, values: dict[str, list[str]]) -> None:
    for match in _ASSIGNS.finditer(text):
        known = values.setdefault(match["name"] or match["other"], [])
        value = (match["value"] or match["default"] or "").strip("\"'")
        if value and value not in known and len(known) < MAX_VALUES:
            known.append(value)


def _sourced(
    text: str,
    bases: Iterable[str],
    values: dict[str, list[str]],
    files: Collection[str],
    by_name: dict[str, list[str]],
) -> Iterator[str]:
    for argument in _SOURCES.findall(text):
        for expanded in _expanded(argument, values):
            words = re.sub(r"[\"'\\]", "", expanded).split()
            if not words:
                continue
            before, _, name = words[0].rpartition(_UNKNOWN)
            name = name.strip("/")
            for end in _ENDS if name else ():
                yield from {path for base in bases if (path := joined(base, name + end)) in files}
                if before or words[0].startswith((_UNKNOWN, "/")):  # somewhere that only the shell knows
                    same = by_name.get(name.rpartition("/")[2] + end, ())
                    yield from (path for path in same if f"/{path}".endswith(f"/{name}{end}"))
                    parts = name.split("/")
                    yield from {p for n in range(1, len(parts)) if (p := "/".join(parts[n:]) + end) in files}


def _expanded(word: str, values: dict[str, list[str]]) -> list[str]:
    """Return what a word can be, with the known values of its variables."""
    done: list[str] = []
    pending = [(word, 0)]
    while pending and len(done) < MAX_VALUES:
        text, depth = pending.pop()
        match = _VARIABLE.search(text) if depth < MAX_VALUES else None
        if match is None:
            done.append(_EXPANDED.sub(_UNKNOWN, text))
            continue
        options = [*values.get(match["plain"] or match["name"], ()), *([match["default"]] if match["default"] else [])]
        for option in options or [_UNKNOWN]:
            pending.append((text[: match.start()] + option.strip("\"'") + text[match.end() :], depth + 1))
    return done
