"""Finds the files that a check goes through: scripts that it runs, directly or not, and files that they compare with.

A check names files in any spelling: `./run_tests.sh`, `bash -c "cd ci && ./check.sh"`, `python -m tools.check`, `make
test`, `npm test`. Not every program that a check runs is a check itself: `python3 report.py | diff - expected.txt` runs
the program under test and compares it with a file. Pure.
"""

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator

from surefoot.engine.verifier.deciding.names import CHECKING, CODE, is_golden, suffix, tool_of
from surefoot.engine.verifier.deciding.sourced import joined, sourced_by
from surefoot.project.test_files import is_test_file

Read = Callable[[str], str]
"""Returns the text of a file; empty if there is none or it is not text."""
MAX_SCRIPTS = 200
"""How many scripts are followed."""
_SPLIT = re.compile(r"[\s;&|<>()=`'\"$,:{}\[\]@]+")
_SHELL = frozenset(("sh", "bash", "zsh", "ksh", "fish", "bats", ""))
_PROGRAMS = frozenset(("py", "js", "mjs", "cjs", "ts", "rb", "pl", "php", "lua", "awk", "jq", *_SHELL))
_MODULE = re.compile(r"\s-m\s+([A-Za-z_][\w.]*)")
_IMPORT = re.compile(r"^\s*(?:from|import)\s+([\w.]+)|\b(?:require|import)\(?\s*['\"](\.[\w./-]+)['\"]", re.MULTILINE)
_COMPARES = re.compile(r"(?<!git )\b(?:diff|cmp|comm|colordiff|jd|(?:sha\d+|md5)sum)\b([^;&|\n]*)")
_CHECKS_IN_SHELL = re.compile(
    r"\b(?:pytest|unittest|npm (?:run )?test|go test|cargo test|ctest|jest|vitest|mocha|rspec|diff|cmp)\b"
)
_CHECKS_IN_CODE = re.compile(
    r"^assert\b|^def test_|^\s*(?:import|from) (?:unittest|pytest|doctest)\b"
    r"|['\"](?:node:)?(?:assert|test)(?:/strict)?['\"]\)",
    re.MULTILINE,
)
"""Marks of a script that checks something."""
_JUDGED_ELSEWHERE = re.compile(r"\||\$\(|`|<\(|\b(?:diff|cmp|grep)\b|\[ | test ")
"""Marks of a command that judges the output of what it runs."""


def scripts_of(commands: Iterable[str], files: Collection[str], folders: Collection[str], read: Read) -> set[str]:
    """Return those of `files` that decide what these commands find."""
    commands = list(commands)
    scripts: set[str] = set()
    pending = [(command, "", True) for command in commands]
    seen: set[str] = set()
    while pending and len(seen) < MAX_SCRIPTS:
        text, base, direct = pending.pop()
        for path in _named(text, base, files, folders):
            if path in scripts or not _decides(path, text, direct, read):
                continue
            scripts.add(path)
        scripts |= _compared(text, base, files, folders)
        if not pending:
            scripts |= sourced_by([*scripts, *_tests_in_shell(files)], commands, files, read)
        for path in (*scripts, *_runners(text, files)):
            if path not in seen:
                seen.add(path)
                pending.append((_commands_in(path, read), path.rpartition("/")[0], False))
                scripts |= {p for p in _imported(path, read(path), files) if CHECKING.search(p)}
    return scripts | sourced_by(sorted(scripts), commands, files, read)


def words_of(commands: Iterable[str]) -> set[str]:
    return {word for command in commands for word in _SPLIT.split(command) if word}


def _named(text: str, base: str, files: Collection[str], folders: Collection[str]) -> Iterator[str]:
    """Yield the files whose names are in a text, as seen from the root, from `base`, or from a folder in the text."""
    words = {word.removeprefix("PWD/").removeprefix("./").rstrip("/.") for word in _SPLIT.split(text)} - {""}
    modules = {name.replace(".", "/") for name in _MODULE.findall(text)}
    words |= {f"{module}{end}" for module in modules for end in (".py", "/__main__.py")}
    bases = {"", base, *(word for word in words if word in folders)}
    for word in words:
        for folder in bases:
            path = joined(folder, word)
            if path in files:
                yield path
        # An absolute path of the workspace ends in a path below it.
        if word.startswith("/"):
            parts = word.strip("/").split("/")
            yield from {p for n in range(1, len(parts)) if (p := "/".join(parts[n:])) in files}


def _tests_in_shell(files: Collection[str]) -> list[str]:
    tests = (path for path in files if suffix(path) in _SHELL and is_test_file(path))
    return sorted(tests, key=lambda path: (path.count("/"), path))[:MAX_SCRIPTS]


def _decides(path: str, text: str, direct: bool, read: Read) -> bool:
    kind = suffix(path)
    if kind not in _PROGRAMS or tool_of(path):
        return False
    if kind == "" and not read(path).startswith("#!"):
        return False
    content = read(path)
    is_shell = (kind in _SHELL and kind != "") or re.match(r"#!.*\b(?:ba|z|k|da)?sh\b", content) is not None
    if CHECKING.search(path) or (_CHECKS_IN_SHELL if is_shell else _CHECKS_IN_CODE).search(content):
        return True
    # A shell script that is the whole check is a check script, whatever its name.
    return direct and is_shell and not _JUDGED_ELSEWHERE.search(text)


def _compared(text: str, base: str, files: Collection[str], folders: Collection[str]) -> set[str]:
    """Return the data files that a command compares something with; only those named as expected, if there are any."""
    compared = set()
    for words in _COMPARES.findall(text):
        operands = {path for path in _named(words, base, files, folders) if suffix(path) not in CODE}
        compared |= {path for path in operands if is_golden(path)} or operands
    return compared


def _runners(text: str, files: Collection[str]) -> Iterator[str]:
    """Yield the settings files in which the commands of a text look up what to run."""
    words = set(_SPLIT.split(text))
    tools = {word for word in words if word in ("make", "just", "task", "rake", "nox", "tox", "gmake")}
    if "gmake" in tools:
        tools.add("make")
    managers = not words.isdisjoint({"npm", "yarn", "pnpm", "bun", "npx"})
    for path in files:
        if tool_of(path) in tools or (managers and path.rpartition("/")[2] == "package.json"):
            yield path


def _commands_in(path: str, read: Read) -> str:
    text = read(path)
    if path.rpartition("/")[2] != "package.json":
        return text
    try:
        scripts = json.loads(text).get("scripts", {})
    except (ValueError, AttributeError):
        return ""
    return "\n".join(map(str, scripts.values())) if isinstance(scripts, dict) else ""


def _imported(path: str, text: str, files: Collection[str]) -> Iterator[str]:
    folder = path.rpartition("/")[0]
    for module, relative in _IMPORT.findall(text):
        name = module.strip(".").replace(".", "/") or relative
        for base in {"", folder}:
            for end in ("", ".py", "/__init__.py", ".js", ".mjs", ".cjs", ".ts", "/index.js"):
                if name and (found := joined(base, name + end)) in files:
                    yield found
