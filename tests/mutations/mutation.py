"""Mutations: each switches one guard off, in a copy of the source, and names the tests that have to notice it.

The table is in `table/*.toml`, a file for each part of docs/security.md. `old` is a text that occurs exactly once in
`file`, a path below `src/surefoot`; `new` replaces it. `tests` are ids of tests, relative to `tests`. Only tests belong
there that do no harm when the guard is off. A test that hangs without the guard gets `seconds`.
"""

import ast
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
SOURCE = Path("src", "surefoot")
"""Relative to the root of the repository."""


@dataclass(frozen=True, slots=True)
class Mutation:
    guard: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    seconds: float = 900.0
    """Tests that take longer hang, because the guard is off."""

    def applied_to(self, text: str) -> str:
        """Return the source with the guard off. Raises ValueError if it is not the source that this was written for."""
        found = text.count(self.old)
        if found != 1:
            raise ValueError(f"{self.file} has this text {found} times instead of once: {self.old!r}")
        return text.replace(self.old, self.new)


def mutations() -> Iterator[Mutation]:
    for table in sorted((Path(__file__).parent / "table").glob("*.toml")):
        for row in tomllib.loads(table.read_text())["mutation"]:
            yield Mutation(**{**row, "tests": tuple(row["tests"])})


def unknown_tests(names: Iterable[str]) -> list[str]:
    """Return the ids whose file has no such test function."""
    return [name for name in names if _function(name) not in _functions(name.partition("::")[0])]


def _function(name: str) -> str:
    return name.partition("[")[0].rpartition("::")[2]


@cache
def _functions(file: str) -> frozenset[str]:
    path = TESTS / file
    tree = ast.walk(ast.parse(path.read_text())) if path.is_file() else ()
    return frozenset(node.name for node in tree if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
