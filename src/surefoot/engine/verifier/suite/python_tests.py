"""The tests of a Python file as comparable values, from its syntax tree. Pure.

A test is compared with everything in its file that decides what it does: its decorators and body, its class with bases,
fixtures and attributes, and the functions, constants and imports that it uses. Comments, layout and docstrings do not
count. New tests, new cases of a parametrized test, and new helpers that no existing test uses, leave the existing tests
as they were.
"""

import ast
import unittest
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_LOADED_BY_NAME = frozenset({
    "pytestmark", "pytest_plugins", "collect_ignore", "collect_ignore_glob", "load_tests", "__test__",
    "setUpModule", "tearDownModule", "setup_module", "teardown_module", "setup_function", "teardown_function",
})  # fmt: skip
"""Names at module level that a test runner looks for."""
_TEST_CASE = frozenset(dir(unittest.TestCase)) | {
    "setup_method", "teardown_method", "setup_class", "teardown_class", "pytestmark", "__test__",
}  # fmt: skip
"""Members of a class of tests that change what its tests do."""
SHARED = "(shared code)"
"""Stands for the code of a file that has no test of its own, such as a conftest.py."""


@dataclass(frozen=True, slots=True)
class PythonTest:
    content: str
    """Equal for two versions of a test that do the same."""
    skips: int
    """How often its own code mentions skipping or an expected failure."""


def python_tests(source: str) -> dict[str, PythonTest] | None:
    """Return the tests of a file by name (`TestApi::test_get`); None if it cannot be parsed."""
    try:
        module = _Module(ast.parse(source))
    except (SyntaxError, ValueError, RecursionError):
        return None
    return dict(module.tests())


def extended_tests(before: str, after: str) -> tuple[dict[str, PythonTest], dict[str, PythonTest]] | None:
    """Return the tests of a file before and after a change; None if one version cannot be parsed.

    Additions of the new version that the old tests do not use are left out of the comparison.
    """
    try:
        trees = ast.parse(before), ast.parse(after)
        _drop_added_cases(*trees)
        old, new = map(_Module, trees)
    except (SyntaxError, ValueError, RecursionError):
        return None
    return dict(old.tests()), dict(new.tests(known=old))


def _drop_added_cases(before: ast.Module, after: ast.Module) -> None:
    """Leave out of the new version the cases that it adds to parametrized tests, if all the old ones are there."""
    old = dict(_definitions(before))
    for name, definition in _definitions(after):
        known = old.get(name)
        if known is None or len(known.decorator_list) != len(definition.decorator_list):
            continue
        for was, now in zip(known.decorator_list, definition.decorator_list, strict=True):
            if isinstance(was, ast.Call) and isinstance(now, ast.Call) and _is_parametrize(was):
                _drop_added_elements(was, now)


def _definitions(tree: ast.Module) -> Iterator[tuple[str, _Function | ast.ClassDef]]:
    for node in tree.body:
        if isinstance(node, _Function | ast.ClassDef):
            yield node.name, node
        if isinstance(node, ast.ClassDef):
            yield from (
                (f"{node.name}::{member.name}", member) for member in node.body if isinstance(member, _Function)
            )


def _is_parametrize(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "parametrize"


def _drop_added_elements(was: ast.Call, now: ast.Call) -> None:
    """Cut the lists of cases and of their ids to the old elements, if these are all in the new one, in their order."""
    old_keywords = {keyword.arg: keyword.value for keyword in was.keywords}
    pairs = [(old_keywords.get(k.arg), k.value) for k in now.keywords if k.arg in ("argvalues", "ids")]
    # The names of the arguments and `indirect` decide what the old cases do, so they are not touched.
    for old, new in [*zip(was.args[1:2], now.args[1:2], strict=False), *pairs]:
        if isinstance(old, ast.List | ast.Tuple) and isinstance(new, ast.List | ast.Tuple):
            old_elements = [ast.dump(element) for element in old.elts]
            rest = iter([ast.dump(element) for element in new.elts])
            if all(element in rest for element in old_elements):
                new.elts = old.elts


class _Module:
    def __init__(self, tree: ast.Module) -> None:
        self.bindings: dict[str, list[ast.stmt]] = {}
        """The statements that bind each name at module level, in order."""
        self.loose: list[ast.stmt] = []
        """Statements that bind no single name: they run whenever the file is loaded."""
        for statement in _without_docstring(tree.body):
            names = list(_bound_names(statement))
            for name in names:
                self.bindings.setdefault(name, []).append(statement)
            if not names and not _is_main_guard(statement):
                self.loose.append(statement)

    def tests(self, known: "_Module | None" = None) -> Iterator[tuple[str, PythonTest]]:
        has_tests = False
        for name, statements in self.bindings.items():
            last = statements[-1]
            if isinstance(last, _Function) and _is_test(name):
                has_tests = True
                yield name, self._test(name, [last], "", known)
            elif isinstance(last, ast.ClassDef) and (_is_test_class(last) or _has_tests(last)):
                for method in last.body:
                    if isinstance(method, _Function) and _is_test(method.name):
                        has_tests = True
                        context = _class_content(last, _class_of(known, name))
                        yield f"{name}::{method.name}", self._test(name, _all_named(last, method.name), context, known)
        if not has_tests or (known is not None and SHARED in dict(known.tests())):
            names = [name for name in (known or self).bindings if not _is_test(name)]
            shared = [statement for name in names for statement in self.bindings.get(name, [])]
            yield SHARED, self._test("", shared, "", known)

    def _test(self, own_name: str, parts: list[ast.stmt], context: str, known: "_Module | None") -> PythonTest:
        """Return one test. `own_name` is the name at module level that it belongs to."""
        used = self._used_by(parts, own_name)
        always = [name for name, statements in self.bindings.items() if _is_always_loaded(name, statements)]
        used |= {name: self._dump(name) for name in always if name != own_name}
        owner = _class_of(self, own_name)
        if owner is not None:
            used |= self._used_by([_head(owner)], own_name)
        content = [context, *(_dump(part) for part in parts), *(f"{k}={v}" for k, v in sorted(used.items()))]
        content += [_dump(statement) for statement in self.loose]
        return PythonTest("\n".join(content), sum(map(_skips, parts)) + _skips_in_class(owner))

    def _used_by(self, parts: Iterable[ast.stmt], own_name: str) -> dict[str, str]:
        """Return the definitions at module level that the statements use, also indirectly."""
        used: dict[str, str] = {}
        waiting = [name for part in parts for name in _names_in(part)]
        while waiting:
            name = waiting.pop()
            if name in used or name == own_name or name not in self.bindings:
                continue
            used[name] = self._dump(name)
            waiting += [other for statement in self.bindings[name] for other in _names_in(statement)]
        return used

    def _dump(self, name: str) -> str:
        return "\n".join(_dump_binding(statement, name) for statement in self.bindings[name])


def _class_of(module: "_Module | None", name: str) -> ast.ClassDef | None:
    last = module.bindings.get(name, [None])[-1] if module is not None else None
    return last if isinstance(last, ast.ClassDef) else None


def _class_content(node: ast.ClassDef, known: ast.ClassDef | None) -> str:
    """Return the parts of a class that affect each of its tests. Helpers that a new version adds do not count."""
    old_names = {name for member in known.body for name in _bound_names(member)} if known else None
    members = []
    for member in _without_docstring(node.body):
        names = set(_bound_names(member))
        if names and all(_is_test(name) for name in names):
            continue
        added = old_names is not None and names and not names & old_names
        if added and isinstance(member, _Function) and not names & _TEST_CASE and not member.decorator_list:
            continue
        members.append(_dump(member))
    return "\n".join([_dump(_head(node)), *members])


def _head(node: ast.ClassDef) -> ast.ClassDef:
    """Return a class without its members."""
    return ast.ClassDef(
        name=node.name, bases=node.bases, keywords=node.keywords, body=[], decorator_list=node.decorator_list
    )


def _all_named(node: ast.ClassDef, name: str) -> list[ast.stmt]:
    return [member for member in node.body if isinstance(member, _Function) and member.name == name]


def _bound_names(statement: ast.stmt) -> Iterator[str]:
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            yield statement.name
        case ast.Import() | ast.ImportFrom():
            yield from (alias.asname or alias.name.partition(".")[0] for alias in statement.names if alias.name != "*")
        case ast.Assign():
            for target in statement.targets:
                yield from (node.id for node in ast.walk(target) if isinstance(node, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name)):
            yield name


def _names_in(node: ast.AST) -> Iterator[str]:
    """Yield the names that code uses. Arguments are included, because those of a test name fixtures."""
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            yield part.id
        elif isinstance(part, ast.arg):
            yield part.arg
        elif isinstance(part, ast.Constant) and isinstance(part.value, str) and part.value.isidentifier():
            yield part.value  # usefixtures("database"), getfixturevalue("database")


def _is_always_loaded(name: str, statements: list[ast.stmt]) -> bool:
    if name in _LOADED_BY_NAME or name.startswith("pytest_"):
        return True
    return any(
        isinstance(statement, _Function)
        and any("autouse" in ast.dump(decorator) for decorator in statement.decorator_list)
        for statement in statements
    )


def _is_main_guard(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.If) and "'__main__'" in ast.dump(statement.test)


def _is_test(name: str) -> bool:
    return name.startswith("test")


def _is_test_class(node: ast.ClassDef) -> bool:
    return node.name.startswith("Test") or any("TestCase" in ast.dump(base) for base in node.bases)


def _has_tests(node: ast.ClassDef) -> bool:
    return any(isinstance(member, _Function) and _is_test(member.name) for member in node.body)


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    return body[1:] if body and _is_docstring(body[0]) else body


def _is_docstring(statement: ast.stmt) -> bool:
    value = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def _dump(node: ast.AST) -> str:
    if isinstance(node, _Function | ast.ClassDef) and node.body and _is_docstring(node.body[0]):
        node = type(node)(**{**dict(ast.iter_fields(node)), "body": node.body[1:] or [ast.Pass()]})
    return ast.dump(node)


def _dump_binding(statement: ast.stmt, name: str) -> str:
    """Dump a statement. Of an import, dump only the part that binds the name: other names in it do not count."""
    if isinstance(statement, ast.Import | ast.ImportFrom):
        aliases = [a for a in statement.names if (a.asname or a.name.partition(".")[0]) == name]
        return f"import {getattr(statement, 'module', None)} {getattr(statement, 'level', 0)} " + " ".join(
            sorted(f"{a.name} as {a.asname}" for a in aliases)
        )
    return _dump(statement)


_SKIPPING = ("skip", "xfail", "expectedfailure", "__test__")


def _skips(node: ast.AST) -> int:
    words = [
        part.attr if isinstance(part, ast.Attribute) else part.id if isinstance(part, ast.Name) else ""
        for part in ast.walk(node)
    ]
    return sum(any(mark in word.lower() for mark in _SKIPPING) for word in words)


def _skips_in_class(node: ast.ClassDef | None) -> int:
    if node is None:
        return 0
    others = [m for m in node.body if not (isinstance(m, _Function) and _is_test(m.name))]
    return sum(map(_skips, [*node.decorator_list, *others]))


def speaks_of_skipping(source: str) -> bool:
    """Whether a test file itself may skip tests or expect them to fail."""
    lowered = source.lower()
    return any(mark in lowered for mark in (*_SKIPPING, "importorskip", "ignore", "todo", "pending", "disabled"))
