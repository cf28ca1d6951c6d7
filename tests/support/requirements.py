"""The requirements of docs/requirements.md, and the tests that are marked with them."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "requirements.md"
_ROW = re.compile(r"^\| ([A-Z]\d+) \| (.+) \| (built|not built yet) \|$", re.MULTILINE)


class Requirement(NamedTuple):
    id: str
    text: str
    is_built: bool


def requirements() -> list[Requirement]:
    return [Requirement(row[1], row[2], row[3] == "built") for row in _ROW.finditer(PAGE.read_text("utf-8"))]


@cache
def marked_tests() -> dict[str, list[str]]:
    """Requirement ids with the tests that are marked with them. Read from the source, so also tests that do not run."""
    found: dict[str, list[str]] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for name, ids in _marks(ast.parse(path.read_text("utf-8"))):
            for requirement in ids:
                found.setdefault(requirement, []).append(f"{path.relative_to(ROOT)}::{name}")
    return found


def _marks(tree: ast.Module) -> Iterator[tuple[str, list[str]]]:
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name, [name for decorator in node.decorator_list for name in _ids(decorator)]
            case ast.Assign(targets=[ast.Name(id="pytestmark")], value=value):
                yield "*", [name for call in ast.walk(value) for name in _ids(call)]
            case ast.Call(func=ast.Attribute(attr="param"), keywords=keywords):
                yield "*", [name for keyword in keywords for call in ast.walk(keyword.value) for name in _ids(call)]


def _ids(node: ast.AST) -> list[str]:
    match node:
        case ast.Call(func=ast.Attribute(attr="req"), args=args):
            return [arg.value for arg in args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
    return []
