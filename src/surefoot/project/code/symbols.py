"""Find the definitions in a source file: in its syntax tree if there is a grammar for it, else line by line. Pure."""

import ast
import re
from functools import lru_cache
from typing import NamedTuple

from surefoot.project.code.syntax_trees import definitions


class Symbol(NamedTuple):
    name: str
    line: int
    end: int
    """The last line. In a file that is not parsed, the line before the next symbol."""
    text: str
    """The line that defines it, such as `def add(a, b)`."""
    depth: int = 0
    """0: at the top level; 1: inside a class."""


def symbols(path: str, text: str) -> list[Symbol]:
    """Return the definitions in a file, in order; empty if its language is not known."""
    return list(_symbols(path.rpartition(".")[2].lower(), text))


@lru_cache(maxsize=256)
def _symbols(suffix: str, text: str) -> tuple[Symbol, ...]:
    if suffix in ("py", "pyi"):
        try:
            return tuple(_python(ast.parse(text), 0))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            pass
    pattern = _LANGUAGES.get(suffix)
    if pattern is None:
        return ()
    parsed, complete = definitions(suffix, text) or ([], False)
    scanned = [] if complete else _scanned(text, pattern)
    # The tree of a file with syntax errors may lack definitions.
    return tuple(scanned if len(scanned) > len(parsed) else [Symbol(*definition) for definition in parsed])


def _python(parent: ast.Module | ast.ClassDef, depth: int) -> list[Symbol]:
    symbols_of_file: list[Symbol] = []
    for node in parent.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            kind = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
            text = f"{kind} {node.name}({_arguments(node.args)})"
            symbols_of_file.append(Symbol(node.name, _first_line(node), node.end_lineno or node.lineno, text, depth))
        elif isinstance(node, ast.ClassDef):
            bases = ", ".join(ast.unparse(base) for base in node.bases)
            text = f"class {node.name}({bases})" if bases else f"class {node.name}"
            symbols_of_file.append(Symbol(node.name, _first_line(node), node.end_lineno or node.lineno, text, depth))
            symbols_of_file += _python(node, depth + 1)
    return symbols_of_file


def _first_line(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def _arguments(arguments: ast.arguments) -> str:
    names = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
    names += [f"*{arguments.vararg.arg}"] if arguments.vararg else ["*"] if arguments.kwonlyargs else []
    names += [argument.arg for argument in arguments.kwonlyargs]
    names += [f"**{arguments.kwarg.arg}"] if arguments.kwarg else []
    return ", ".join(names)


def _scanned(text: str, pattern: re.Pattern[str]) -> list[Symbol]:
    lines = text.split("\n")
    starts = [(number, match) for number, line in enumerate(lines, 1) if (match := pattern.match(line))]
    ends = [*(number - 1 for number, _ in starts[1:]), len(lines)][: len(starts)]
    return [
        Symbol(
            next(filter(None, match.groups())),
            number,
            end,
            lines[number - 1].strip().rstrip("{:").strip()[:120],
            int(lines[number - 1][:1].isspace()),
        )
        for (number, match), end in zip(starts, ends, strict=True)
    ]


_WORD = r"([A-Za-z_$][\w$]*)"
_PYTHON = re.compile(rf"\s*(?:async\s+)?(?:def|class)\s+{_WORD}")
_JAVASCRIPT = re.compile(
    rf"\s*(?:export\s+)?(?:default\s+)?(?:(?:async\s+)?function\*?\s+{_WORD}|(?:abstract\s+)?class\s+{_WORD}"
    rf"|(?:interface|type|enum|namespace)\s+{_WORD}"
    rf"|(?:const|let|var)\s+{_WORD}\s*(?::[^=]+)?=\s*(?:async\s*)?(?:\(|function|\w+\s*=>))"
)
_GO = re.compile(rf"(?:func\s+(?:\([^)]*\)\s*)?{_WORD}|type\s+{_WORD})")
_RUST = re.compile(
    rf"\s*(?:pub(?:\([^)]*\))?\s+)?(?:async\s+|const\s+|unsafe\s+)*(?:fn|struct|enum|trait|mod|type|macro_rules!)\s+{_WORD}"
    r"|\s*impl(?:<[^>]*>)?\s+([\w:]+)"
)
_JVM = re.compile(
    r"\s*(?:@\w+\s+)*(?:(?:public|protected|private|internal|static|final|abstract|sealed|override|open|data|partial|"
    r"async|virtual)\s+)*"
    rf"(?:(?:class|interface|enum|record|object|struct|fun|trait)\s+{_WORD}|[\w<>\[\],.?]+\s+{_WORD}\s*\([^;]*$)"
)
_C = re.compile(
    rf"(?:(?:struct|class|enum|union|namespace)\s+{_WORD}"
    r"|[A-Za-z_][\w\s*&:<>,~]*?[\s*&]([A-Za-z_~][\w:~]*)\s*\([^;]*$)"
)
_RUBY = re.compile(r"\s*(?:def\s+(?:self\.)?([\w?!=]+)|(?:class|module)\s+([\w:]+))")
_PHP = re.compile(
    rf"\s*(?:(?:public|protected|private|static|abstract|final)\s+)*(?:function\s+&?{_WORD}|(?:class|interface|trait|enum)\s+{_WORD})"
)
_SHELL = re.compile(r"(?:function\s+)?([A-Za-z_][\w-]*)\s*\(\)\s*\{?")
_LANGUAGES = {
    **dict.fromkeys(("py", "pyi"), _PYTHON),
    **dict.fromkeys(("js", "mjs", "cjs", "jsx", "ts", "tsx", "vue", "svelte"), _JAVASCRIPT),
    "go": _GO,
    "rs": _RUST,
    **dict.fromkeys(("java", "kt", "kts", "cs", "scala", "swift"), _JVM),
    **dict.fromkeys(("c", "cc", "cpp", "cxx", "h", "hpp", "hh", "m"), _C),
    "rb": _RUBY,
    "php": _PHP,
    **dict.fromkeys(("sh", "bash"), _SHELL),
}
SOURCE_SUFFIXES = frozenset(_LANGUAGES)
