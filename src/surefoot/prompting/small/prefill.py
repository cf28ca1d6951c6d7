"""Write the beginning of a small model's answer, for servers that let the model continue it. Pure.

Asked for a module next to its tests, a small model answers with the tests again. Asked to fix a file, it copies the
code before the mistake, and then the mistake. With the first lines given, it writes only the rest.
"""

import ast
import re
from collections.abc import Iterable
from pathlib import PurePosixPath

from surefoot.prompting.small.outline import LEFT_OUT


def prefill_new(path: str, others: Iterable[str]) -> str:
    """Begin a new file with a docstring of the names that other sources import from it. Without it, models often write
    the file that uses the module instead."""
    names = sorted({name for source in others for name in _names_used_from(path, source)})
    return prefill_existing(path) + (f'"""{", ".join(names)}"""\n\n' if names else "")


def prefill_outline(path: str, rest: str) -> str:
    """Begin with the file as it is, up to the first body that was left out."""
    before, *_ = re.split(rf"^[ \t]*{re.escape(LEFT_OUT)}$", rest, maxsplit=1, flags=re.MULTILINE)
    return prefill_existing(path) + before.removesuffix("\n")


def prefill_existing(path: str) -> str:
    return f"`{path}`\n```python\n"


def _names_used_from(path: str, source: str) -> set[str]:
    """Return the names that a Python source imports from the file's module or uses as its attributes."""
    module = PurePosixPath(path).stem
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError, RecursionError):
        return set()
    imports = [node for node in nodes if isinstance(node, ast.ImportFrom)]
    names = {one.name for node in imports if (node.module or "").split(".")[-1] == module for one in node.names}
    for node in nodes:
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=used) if name == module:
                names.add(used)
    return names - {"*"}
