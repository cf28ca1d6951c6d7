"""Add imports that Python code clearly lacks: `csv.reader(...)` where nothing is named `csv`. Pure.

Small models use a module and forget to import it. The intent is clear, and asking again takes minutes.
"""

import ast
import builtins
import io

_MODULES = frozenset({
    "argparse", "ast", "asyncio", "base64", "bisect", "calendar", "collections", "configparser", "contextlib",
    "copy", "csv", "dataclasses", "decimal", "difflib", "enum", "fnmatch", "fractions", "functools", "glob",
    "gzip", "hashlib", "heapq", "html", "inspect", "io", "itertools", "json", "logging", "math", "operator",
    "os", "pathlib", "pickle", "platform", "pprint", "random", "re", "secrets", "shlex", "shutil", "sqlite3",
    "statistics", "string", "struct", "subprocess", "sys", "tarfile", "tempfile", "textwrap", "threading",
    "time", "traceback", "typing", "unicodedata", "unittest", "uuid", "zipfile", "zlib",
})  # fmt: skip
"""Modules of the standard library whose import has no side effects."""
_SUBMODULES = {
    ("collections", "abc"): "collections.abc",
    ("concurrent", "futures"): "concurrent.futures",
    ("importlib", "metadata"): "importlib.metadata",
    ("importlib", "util"): "importlib.util",
    ("urllib", "error"): "urllib.error",
    ("urllib", "parse"): "urllib.parse",
    ("urllib", "request"): "urllib.request",
    ("xml", "etree"): "xml.etree.ElementTree",
}
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
"""Names with one meaning, wherever they are used."""
_OF_THE_CLASS = frozenset({"combine", "fromisoformat", "fromtimestamp", "now", "strptime", "today", "utcnow"})
_OF_THE_MODULE = frozenset({"date", "datetime", "time", "timedelta", "timezone"})
"""`datetime` is a module and a class; the attribute in use shows which is meant."""
_ALWAYS_THERE = {*dir(builtins), "__file__", "__name__", "__doc__", "__builtins__", "__spec__", "__package__"}


def with_missing_imports(code: str) -> str:
    """Add missing imports of the standard library. Code that is not valid Python is returned unchanged."""
    try:
        tree = ast.parse(code)
        lines = _missing(tree)
        if not lines:
            return code
        completed = _inserted(code, tree, lines)
        ast.parse(completed)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return code
    return completed


def _missing(tree: ast.Module) -> list[str]:
    known = _ALWAYS_THERE | _bound_in(tree)
    if "*" in known:
        return []  # a star import may bind any name
    nodes = list(ast.walk(tree))
    parts = {(n.value.id, n.attr) for n in nodes if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name)}
    imports = {_import_of(name, part) for name, part in parts if name not in known and name != "datetime"}
    if "datetime" not in known:
        imports.add(_import_of_datetime({part for name, part in parts if name == "datetime"}))
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    imports |= {f"from {_FROM[name]} import {name}" for name in names - known if name in _FROM}
    return sorted(imports - {""}, key=lambda line: (line.startswith("from"), line))


def _import_of(name: str, part: str) -> str:
    module = _SUBMODULES.get((name, part)) or (name if name in _MODULES else "")
    return f"import {module}" if module else ""


def _import_of_datetime(parts: set[str]) -> str:
    if parts and parts <= _OF_THE_CLASS:
        return "from datetime import datetime"
    return "import datetime" if parts and parts <= _OF_THE_MODULE else ""


def _bound_in(tree: ast.Module) -> set[str]:
    """Return every name that is bound anywhere in the module, regardless of scope."""
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
            case ast.Global(names=several) | ast.Nonlocal(names=several):
                names.update(several)
    return names


def _inserted(code: str, tree: ast.Module, imports: list[str]) -> str:
    lines = list(io.StringIO(code, newline=""))  # splits lines exactly as Python does
    place = _end_of_head(tree, lines)
    ending = "\r\n" if lines[0].endswith("\r\n") else "\n"
    return "".join([*lines[:place], *(line + ending for line in imports), *lines[place:]])


def _end_of_head(tree: ast.Module, lines: list[str]) -> int:
    """Count the lines before the first import: the shebang, comments, the docstring, `__future__` imports."""
    place = next((number for number, line in enumerate(lines) if not line.startswith("#")), len(lines))
    for number, node in enumerate(tree.body):
        is_docstring = number == 0 and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        is_head = is_docstring or (isinstance(node, ast.ImportFrom) and node.module == "__future__")
        if not is_head:
            if node.lineno <= place:
                raise ValueError("the first statement is on the line of the docstring")
            break
        place = node.end_lineno or place
    return place
