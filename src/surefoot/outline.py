"""A source file without the code that is wrong. Pure.

Asked to write a file anew, a small model copies what it is shown, mistake and all. What it is not shown it has to
write.
"""

import ast
import re

LEFT_OUT = "..."


def outline(source: str, evidence: str) -> str:
    """The source with the bodies of those functions left out that the evidence names, and of those that Python calls
    by itself (`__init__`); nothing where there is nothing to leave out, or where it is no Python."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return ""
    words = set(re.findall(r"\w+", evidence))
    bodies = sorted({_body(node) for node in ast.walk(tree) if _is_named(node, words)})
    lines, kept, done = source.split("\n"), list[str](), 0
    for first, end, indent in bodies:
        if first < done:
            continue  # a function inside one that is left out already
        kept += [*lines[done:first], " " * indent + LEFT_OUT]
        done = end
    return "\n".join([*kept, *lines[done:]]) if kept else ""


def _is_named(node: ast.AST, words: set[str]) -> bool:
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    is_called_by_python = node.name.startswith("__") and node.name.endswith("__")
    return is_called_by_python or node.name in words


def _body(node: ast.AST) -> tuple[int, int, int]:
    """First line, end and indentation of what a function does, without its description."""
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    body = node.body[1:] if ast.get_docstring(node) is not None and len(node.body) > 1 else node.body
    return body[0].lineno - 1, body[-1].end_lineno or body[-1].lineno, body[0].col_offset
