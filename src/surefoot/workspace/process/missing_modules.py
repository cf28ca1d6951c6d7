"""Finds the module of a `python -m NAME` that the interpreter reported as missing."""

import difflib
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from surefoot.core.policy.shell_words import NotParsed, split

_PYTHON = re.compile(r"(?:.*/)?(?:python|pypy)[\d.]*")
_ERROR = re.compile(r"\bNo module named '?([\w.]+)'?")
_TOOLS = (
    "black", "build", "coverage", "django", "doctest", "flake8", "isort", "mypy", "nox", "pip", "pylint", "pyright",
    "pytest", "ruff", "tox", "twine", "unittest",
)  # fmt: skip
"""Modules that checks often name, whether they are installed or not."""
_SOURCE_FOLDERS = (".", "src", "lib")
_WITH_VALUE = ("-W", "-X")


class MissingModule(NamedTuple):
    name: str
    instead: str
    """The most similar known name; empty if there is none."""


def find_missing_module(line: str, output: str, root: Path) -> MissingModule | None:
    """Return the module that a command line passes to -m, if its interpreter did not find it and the project in `root`
    has nothing of that name; else None."""
    not_found = {name.partition(".")[0] for name in _ERROR.findall(output)}
    for name in _modules(line) if not_found else ():
        top = name.partition(".")[0]
        if top in not_found and not any(
            (root / folder / top).with_suffix(s).exists() for folder in _SOURCE_FOLDERS for s in ("", ".py")
        ):
            known = sorted({*sys.stdlib_module_names, *_TOOLS, *_own_modules(root)})
            return MissingModule(name, next(iter(difflib.get_close_matches(top, known, n=1, cutoff=0.75)), ""))
    return None


def _modules(line: str) -> Iterator[str]:
    """Yield the modules that a shell command line passes to Python interpreters with -m."""
    try:
        commands = split(line).commands
    except (NotParsed, RecursionError):
        return
    for words in commands:
        starts = (position for position, word in enumerate(words) if _PYTHON.fullmatch(word))
        if (start := next(starts, None)) is not None and (name := _module_of(words[start + 1 :])):
            yield name


def _module_of(words: Sequence[str]) -> str:
    """Return the value of -m among the options of an interpreter; empty if it runs something else."""
    position = 0
    while position < len(words) and words[position].startswith("-"):
        word = words[position]
        if word == "-m":
            return words[position + 1] if position + 1 < len(words) else ""
        position += 2 if word in _WITH_VALUE else 1
    return ""


def _own_modules(root: Path) -> Iterator[str]:
    for folder in _SOURCE_FOLDERS:
        try:
            entries = list((root / folder).iterdir())
        except OSError:
            continue
        yield from (entry.stem for entry in entries if entry.suffix == ".py" or (entry / "__init__.py").is_file())
