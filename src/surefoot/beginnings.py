"""How the answer begins, written for a small model where the server lets it go on from there. Pure.

Asked for a module beside its tests, a small model answers with the tests again, and asked to mend a file it copies what
is in front of the mistake, and then the mistake. With the first lines given there is only the rest to write: what is
wanted, and less of it.
"""

import ast
import re
from collections.abc import Iterable
from pathlib import PurePosixPath

from surefoot.outline import LEFT_OUT

END = "\n```"
"""Where an answer that was begun ends: everything after the file is talk."""


def of_new_file(path: str, others: Iterable[str]) -> str:
    """With a first line that names what the other sources take from it: a file that is not begun that way is often
    taken for the one that uses it."""
    names = sorted({name for source in others for name in _taken_from(path, source)})
    return of_file(path) + (f'"""{", ".join(names)}"""\n\n' if names else "")


def of_outline(path: str, rest: str) -> str:
    """As the file is, up to the first body that is left out."""
    before, *_ = re.split(rf"^[ \t]*{re.escape(LEFT_OUT)}$", rest, maxsplit=1, flags=re.MULTILINE)
    return of_file(path) + before.removesuffix("\n")


def of_file(path: str) -> str:
    return f"`{path}`\n```python\n"


def _taken_from(path: str, source: str) -> set[str]:
    """What a Python source imports from the file's module, or uses of it."""
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
