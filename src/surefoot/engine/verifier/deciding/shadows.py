"""Finds new files that shadow something else by their name. Pure.

Examples are a `unittest.py`, a package `json/`, an extension module beside a source file, and a file with the name of a
make target.
"""

import ast
import re
import sys
from collections.abc import Collection, Iterable

from surefoot.engine.verifier.deciding.names import folders, in_test_folder, is_test_file, suffix, tool_of
from surefoot.engine.verifier.deciding.scripts import Read

_RUNNERS = frozenset((
    "pytest", "_pytest", "pluggy", "iniconfig", "py", "nose", "nose2", "coverage", "hypothesis", "mock",
    "sitecustomize", "usercustomize", "xdist", "pytest_cov", "pytest_asyncio", "anyio", "tox", "nox", "behave",
    "doctest",
))  # fmt: skip
_STANDARD = sys.stdlib_module_names - {"test", "this", "antigravity"}
_MODULE = re.compile(r"^(?P<name>[A-Za-z_]\w*)(?:\.[\w-]+)*?\.(?:py|pyc|pyo|so|pyd)$")
_TARGET = re.compile(r"^([^\s#:=.$%][^\s#:=$%]*(?: +[^\s#:=$%]+)*) *::?(?!=)", re.MULTILINE)
_REQUIREMENT = re.compile(r"^\s*[\"']?([A-Za-z][\w.-]*)", re.MULTILINE)


class Shadows:
    """The names in the tree before the run that new files must not shadow."""

    def __init__(self, before: Collection[str], now: Collection[str], named: Iterable[str], read: Read) -> None:
        self._given, self._now = before, now
        self._roots = _search_folders(before, named)
        tests = [path for path in before if suffix(path) == "py" and (is_test_file(path) or in_test_folder(path))]
        support = {_module_name(path.rpartition("/")[2]) for path in tests} - {"__init__"}
        self._taken = _STANDARD | _RUNNERS | support | _requirements(before, read)
        self._targets = {
            target
            for path in before
            if tool_of(path) == "make"
            for names in _TARGET.findall(read(path))
            for target in names.split()
        }

    def hides(self, path: str) -> str:
        """Return what a new file shadows; empty if nothing."""
        name = path.rpartition("/")[2]
        if path in self._targets or not self._targets.isdisjoint(_above(path)):
            return "a target of make"
        if suffix(path) in ("so", "pyd"):
            module = f"{path.removesuffix(name)}{_module_name(name)}.py"
            if module in self._given or module in self._now:
                return module
        for root in self._roots:
            if root and not path.startswith(f"{root}/"):
                continue
            first, _, rest = path.removeprefix(f"{root}/" if root else "").partition("/")
            folder = f"{root}/{first}" if root else first
            if rest and not self._becomes_package(folder):
                continue
            module = first if rest else _module_name(first)
            if module in self._taken and folder not in self._given:
                return f"the module {module}"
        return ""

    def _becomes_package(self, folder: str) -> bool:
        """Whether a folder has a new `__init__`. Without one it hides no other module."""
        starts = [f"{folder}/__init__.{kind}" for kind in ("py", "pyc", "so")]
        return any(start in self._now and start not in self._given for start in starts)


def is_harmless_init(text: str) -> bool:
    """Whether an `__init__.py` does nothing: it has at most a docstring, `pass` and imports from `__future__`."""
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError):
        return False
    return all(
        isinstance(node, ast.Pass)
        or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        or (isinstance(node, ast.ImportFrom) and node.module == "__future__")
        for node in body
    )


def _search_folders(before: Collection[str], named: Iterable[str]) -> set[str]:
    """Return the folders in which Python looks for modules when a check runs: the root, and of tests and scripts."""
    search_folders = {"", "src", "lib", *named}
    for path in before:
        if suffix(path) == "py" and (is_test_file(path) or in_test_folder(path)):
            parts = folders(path)
            search_folders.add("/".join(parts))
            while parts and f"{'/'.join(parts)}/__init__.py" in before:
                parts.pop()
            search_folders.add("/".join(parts))
    return search_folders


def _module_name(name: str) -> str:
    match = _MODULE.match(name)
    return match["name"] if match else ""


def _above(path: str) -> list[str]:
    parts = folders(path)
    return ["/".join(parts[: n + 1]) for n in range(len(parts))]


def _requirements(before: Collection[str], read: Read) -> set[str]:
    """Return the import names of declared dependencies, as far as they follow from the names of the packages."""
    names: set[str] = set()
    for path in before:
        name = path.rpartition("/")[2]
        if re.fullmatch(r"requirements[\w.-]*\.(?:txt|in)", name):
            names |= set(_REQUIREMENT.findall(read(path)))
        elif name == "pyproject.toml":
            for listed in re.findall(r"dependencies[\w.-]*\s*=\s*\[(.*?)\]", read(path), re.DOTALL):
                names |= set(re.findall(r"[\"']\s*([A-Za-z][\w.-]*)", listed))
    return {re.sub(r"[-.]+", "_", name).lower() for name in names}
