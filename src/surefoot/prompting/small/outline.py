"""Remove the wrong code from a source file. Pure.

Asked to rewrite a file, a small model copies what it is shown, with its mistakes. It has to write what it is not
shown.
"""

import ast
import re

LEFT_OUT = "..."


def outline(source: str, evidence: str) -> str:
    """Return the source without the bodies of the functions that the evidence names, and of special methods.

    Empty if there is nothing to leave out, or if it is not valid Python.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return ""
    words = set(re.findall(r"\w+", evidence))
    bodies = sorted({_body(node) for node in ast.walk(tree) if _is_named(node, words)})
    lines, parts, next_line = source.split("\n"), list[str](), 0
    for first, end, indent in bodies:
        if first < next_line:
            continue  # a function inside one that is left out already
        parts += [*lines[next_line:first], " " * indent + LEFT_OUT]
        next_line = end
    return "\n".join([*parts, *lines[next_line:]]) if parts else ""


def _is_named(node: ast.AST, words: set[str]) -> bool:
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    is_special = node.name.startswith("__") and node.name.endswith("__")
    return is_special or node.name in words


def _body(node: ast.AST) -> tuple[int, int, int]:
    """Return the first line, the end and the indentation of a function's body without its docstring."""
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    body = node.body[1:] if ast.get_docstring(node) is not None and len(node.body) > 1 else node.body
    return body[0].lineno - 1, body[-1].end_lineno or body[-1].lineno, body[0].col_offset
