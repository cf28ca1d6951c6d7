"""Find the definitions in a source file with tree-sitter and its grammars, if the extra `map` is installed."""

import importlib
import re
import warnings
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Query

MAX_TEXT = 120
MAX_MICROSECONDS = 500_000
"""How long the parsing of one file may take."""
MAX_DEPTH = 500
"""How deep brackets may be nested: the time for unclosed ones grows with the square of their number."""


class Definition(NamedTuple):
    name: str
    line: int
    end: int
    text: str
    depth: int


_GRAMMARS = {
    **dict.fromkeys(("py", "pyi"), ("tree_sitter_python", "language")),
    **dict.fromkeys(("js", "mjs", "cjs", "jsx"), ("tree_sitter_javascript", "language")),
    "ts": ("tree_sitter_typescript", "language_typescript"),
    "tsx": ("tree_sitter_typescript", "language_tsx"),
    "go": ("tree_sitter_go", "language"),
    "rs": ("tree_sitter_rust", "language"),
    "java": ("tree_sitter_java", "language"),
    "c": ("tree_sitter_c", "language"),
    **dict.fromkeys(("cc", "cpp", "cxx", "hh", "hpp", "h"), ("tree_sitter_cpp", "language")),
    "rb": ("tree_sitter_ruby", "language"),
    "cs": ("tree_sitter_c_sharp", "language"),
    "php": ("tree_sitter_php", "language_php"),
    **dict.fromkeys(("sh", "bash"), ("tree_sitter_bash", "language")),
}
_CONTAINERS = (
    "class_definition", "class_declaration", "abstract_class_declaration", "interface_declaration", "class_specifier",
    "struct_specifier", "union_specifier", "enum_specifier", "struct_declaration", "record_declaration",
    "enum_declaration", "trait_declaration", "trait_item", "impl_item", "struct_item", "enum_item", "mod_item",
    "union_item", "internal_module", "class", "module", "type_spec", "annotation_type_declaration",
    "namespace_definition", "namespace_declaration",
)  # fmt: skip
_FUNCTIONS = (
    "function_definition", "function_declaration", "generator_function_declaration", "method_definition",
    "method_declaration", "constructor_declaration", "function_item", "function_signature_item", "macro_definition",
    "method_signature", "abstract_method_signature", "method", "singleton_method", "property_declaration",
    "type_alias_declaration", "type_item", "type_definition", "preproc_function_def", "delegate_declaration",
)  # fmt: skip
_NO_BRACKETS = re.compile(r"[^()\[\]{}]+")
_LAMBDAS = "(variable_declarator value: [(arrow_function) (function_expression)]) @found"
_NAMESPACES = frozenset({"namespace_definition", "namespace_declaration"})
"""They are not listed, and their content counts as top-level."""
_DECLARED_BY_BODY = frozenset({"class_specifier", "struct_specifier", "union_specifier", "enum_specifier"})
"""`struct point *p` uses a struct; only one with a body defines it."""


def definitions(suffix: str, text: str) -> tuple[list[Definition], bool] | None:
    """Return the definitions in a file, in order, and whether all of it could be parsed.

    None if there is no grammar for it, or it would take too long.
    """
    grammar = _query(suffix)
    if grammar is None or _depth(text) > MAX_DEPTH:
        return None
    from tree_sitter import Parser, QueryCursor

    language, query = grammar
    with warnings.catch_warnings():
        # Newer versions have a callback instead.
        warnings.simplefilter("ignore", DeprecationWarning)
        parser = Parser(language, timeout_micros=MAX_MICROSECONDS)
    try:
        tree = parser.parse(text.encode("utf-8", "replace"))
    except ValueError:
        return None
    if tree is None:
        return None
    captures = QueryCursor(query).captures(tree.root_node)
    nodes = sorted(captures.get("found", []), key=lambda node: (node.start_byte, -node.end_byte))
    return list(_listed(nodes, text.split("\n"))), not tree.root_node.has_error


def _depth(text: str) -> int:
    """How deep brackets are nested, wherever they stand."""
    depth = deepest = 0
    for bracket in _NO_BRACKETS.sub("", text):
        depth = depth + 1 if bracket in "([{" else max(0, depth - 1)
        deepest = max(deepest, depth)
    return deepest


@cache
def _query(suffix: str) -> "tuple[Language, Query] | None":
    if suffix not in _GRAMMARS:
        return None
    module, function = _GRAMMARS[suffix]
    try:
        from tree_sitter import Language, Query

        language = Language(getattr(importlib.import_module(module), function)())
    except (ImportError, AttributeError, ValueError):
        # Not installed, or in an incompatible version: the lines are scanned instead.
        return None
    kinds = [kind for kind in (*_CONTAINERS, *_FUNCTIONS) if language.id_for_node_kind(kind, True)]
    patterns = [f"({kind}) @found" for kind in kinds]
    has_lambdas = all(language.id_for_node_kind(kind, True) for kind in ("arrow_function", "variable_declarator"))
    patterns += [_LAMBDAS] if has_lambdas else []
    return language, Query(language, "\n".join(patterns))


def _listed(nodes: "list[Node]", lines: list[str]) -> Iterator[Definition]:
    """Yield the definitions, except those inside functions. Those inside classes have depth 1."""
    around: list[tuple[int, bool]] = []
    for node in nodes:
        while around and around[-1][0] <= node.start_byte:
            around.pop()
        is_function = node.type not in _CONTAINERS
        if any(inner for _, inner in around):
            continue
        if node.type in _NAMESPACES:
            continue
        name = _name(node)
        if name is None or (node.type in _DECLARED_BY_BODY and node.child_by_field_name("body") is None):
            continue
        row = name.start_point.row
        text = lines[row].strip().rstrip("{:").strip()[:MAX_TEXT]
        end = node.end_point.row + (node.end_point.column > 0)
        yield Definition(_text(name), node.start_point.row + 1, max(end, row + 1), text, int(bool(around)))
        around.append((node.end_byte, is_function))


def _name(node: "Node") -> "Node | None":
    """The node of the name. In C it is inside declarators; an `impl` is named by its type."""
    if node.type == "impl_item":
        return node.child_by_field_name("type")
    name = node.child_by_field_name("name")
    inner: Node | None = node
    while name is None and inner is not None:
        inner = inner.child_by_field_name("declarator")
        if inner is not None and inner.child_by_field_name("declarator") is None:
            name = inner
    return name


def _text(name: "Node") -> str:
    text = (name.text or b"").decode("utf-8", "replace")
    return text.partition("<")[0].rpartition("::")[2] or text
