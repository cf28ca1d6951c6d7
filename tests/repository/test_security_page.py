"""docs/security.md names a test for every promise, and each of these tests exists."""

import ast
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
PAGE = (TESTS.parent / "docs" / "security.md").read_text()
NAMED = sorted(set(re.findall(r"`(test_\w+\.py)::(test_\w+)`", PAGE)))


def functions_in(name: str) -> set[str]:
    names: set[str] = set()
    for path in TESTS.rglob(name):
        tree = ast.walk(ast.parse(path.read_text()))
        names |= {node.name for node in tree if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    return names


@pytest.mark.parametrize(("file", "test"), NAMED)
def test_every_named_test_exists(file: str, test: str) -> None:
    assert test in functions_in(file)


def test_every_promise_names_a_test() -> None:
    tables = [line for line in PAGE.splitlines() if line.startswith("|")]
    promises = [line for line in tables if not re.match(r"\| (---|promised)", line)]
    assert len(promises) > 30
    assert [line for line in promises if "::test_" not in line] == []


def test_the_page_has_a_section_on_what_is_not_promised() -> None:
    assert "## Not promised" in PAGE


def test_every_named_attack_is_tested() -> None:
    from support.tricks import TRICKS

    named = {"mode", "times", "environment", "parent's environment", "parent's memory", "killing another process"}
    assert named <= {trick.name for trick in TRICKS}
