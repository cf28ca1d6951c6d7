"""Imports that a piece of Python clearly lacks: `csv.reader(...)` where nothing is called `csv`. Pure.

Small models use a module and forget to import it; what they meant is beyond doubt, and asking again takes minutes.
"""

import ast
import builtins
import io
import sys

_FROM = {
    name: module
    for module, names in {
        "abc": "ABC abstractmethod",
        "collections": "Counter OrderedDict defaultdict deque namedtuple",
        "contextlib": "contextmanager suppress",
        "dataclasses": "asdict dataclass",
        "decimal": "Decimal ROUND_HALF_UP",
        "enum": "Enum IntEnum",
        "fractions": "Fraction",
        "functools": "lru_cache partial reduce wraps",
        "pathlib": "Path PurePath",
        "typing": "Any Callable Dict Iterable Iterator List Optional Sequence Set Tuple Union",
    }.items()
    for name in names.split()
}
"""Names that mean one thing only, wherever they are used."""
_IN_DATETIME = frozenset({"date", "datetime", "time", "timedelta", "timezone", "tzinfo", "UTC"})
_ALWAYS_THERE = {*dir(builtins), "__file__", "__name__", "__doc__", "__builtins__", "__spec__", "__package__"}


def with_missing_imports(code: str) -> str:
    """The code with the imports of the standard library that it lacks; what is no Python stays as it is."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return code
    lines = _missing(tree)
    if not lines:
        return code
    kept = list(io.StringIO(code, newline=""))  # cut where Python sees lines, and nowhere else
    place = _after_the_head(tree)
    return "".join([*kept[:place], *(f"{line}\n" for line in lines), *kept[place:]])


def _missing(tree: ast.Module) -> list[str]:
    known = _ALWAYS_THERE | _bound_in(tree)
    if "*" in known:
        return []  # what comes with a star cannot be told
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id not in known:
            found.add(_import_of(node.value.id, node.attr))
        elif isinstance(node, ast.Name) and node.id not in known and node.id in _FROM:
            found.add(f"from {_FROM[node.id]} import {node.id}")
    return sorted(found - {""}, key=lambda line: (line.startswith("from"), line))


def _import_of(name: str, attribute: str) -> str:
    if name == "datetime" and attribute not in _IN_DATETIME:
        return "from datetime import datetime"
    return f"import {name}" if name in sys.stdlib_module_names else ""


def _bound_in(tree: ast.Module) -> set[str]:
    """Whatever is given a name anywhere: what is bound in one function and used in another is not looked into."""
    names: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                names.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.arg(arg=name):
                names.add(name)
            case ast.alias(name=path, asname=other):
                names.add(other or path.split(".")[0])
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                names.add(name)
            case ast.MatchMapping(rest=str(name)):
                names.add(name)
    return names


def _after_the_head(tree: ast.Module) -> int:
    """How many lines come first: the docstring, and imports from the future."""
    place = 0
    for number, node in enumerate(tree.body):
        is_docstring = number == 0 and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if not is_docstring and not (isinstance(node, ast.ImportFrom) and node.module == "__future__"):
            break
        place = node.end_lineno or place
    return place
