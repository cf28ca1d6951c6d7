"""Merges two versions of a Python file: takes one function from the other version. Pure.

Of several answers that all fail, one may have one function right and the next another. Checks can find that out without
another model call.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class _Piece:
    """A function, a method, an import or a constant, as lines of its file."""

    name: str
    """`Class.method` for a method."""
    first: int
    end: int
    text: str


def merged(base: str, other: str) -> Iterator[str]:
    """Yield versions of `base` with one function or method of `other`, for each that differs.

    The imports and constants that the function needs come along. Yields nothing if either version is invalid Python.
    """
    base_pieces, other_pieces = _pieces(base), _pieces(other)
    if base_pieces is None or other_pieces is None:
        return
    known = {piece.name: piece for piece in base_pieces}
    for piece in other_pieces:
        if piece.name.startswith(_NO_FUNCTION) or piece.text == getattr(known.get(piece.name), "text", None):
            continue
        lines = _with(base.split("\n"), piece, known)
        if lines is None:
            continue
        text = "\n".join([*_needed(piece, other_pieces, known), *lines])
        if _pieces(text) is not None:
            yield text


_NO_FUNCTION = ("import ", "constant ")


def _pieces(source: str) -> list[_Piece] | None:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return None
    lines = source.split("\n")
    return [_piece(name, node, lines) for name, node in _named(tree.body)]


def _named(body: list[ast.stmt], within: str = "") -> Iterator[tuple[str, ast.stmt]]:
    for node in body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield within + node.name, node
            case ast.ClassDef() if not within:
                yield from _named(node.body, f"{node.name}.")
            case ast.Import() | ast.ImportFrom() if not within:
                yield f"import {ast.unparse(node)}", node
            case ast.Assign(targets=[ast.Name(id=name)]) if not within:
                yield f"constant {name}", node


def _piece(name: str, node: ast.stmt, lines: list[str]) -> _Piece:
    decorators = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(decorator.lineno for decorator in decorators)]) - 1
    end = node.end_lineno or node.lineno
    return _Piece(name, first, end, "\n".join(lines[first:end]))


def _with(lines: list[str], piece: _Piece, known: dict[str, _Piece]) -> list[str] | None:
    if old := known.get(piece.name):
        return [*lines[: old.first], piece.text, *lines[old.end :]]
    owner, dot, _ = piece.name.rpartition(".")
    if not dot:
        return [*lines, "", "", piece.text, ""]
    siblings = [other for name, other in known.items() if name.startswith(f"{owner}.")]
    if not siblings:
        return None
    end = max(sibling.end for sibling in siblings)
    return [*lines[:end], "", piece.text, *lines[end:]]


def _needed(piece: _Piece, theirs: list[_Piece], known: dict[str, _Piece]) -> list[str]:
    """Return the imports, constants and functions that the piece mentions and the target file lacks."""
    words = set(re.findall(r"\w+", piece.text))
    definitions = []
    for other in theirs:
        if other.name in known or other is piece or "." in other.name.removeprefix("import "):
            continue
        provides = set(re.findall(r"\w+", other.name)) - {"import", "constant", "from", "as"}
        if provides & words:
            definitions.append(other.text)
    return definitions
