"""Compares test files of languages with braces, block by block: whether existing tests stay as they are. Pure.

A block is one line, or the lines from an opening bracket to the closing one. A file was only extended if every block is
still there, in order, and the new blocks cannot switch off others. Blocks with the same first line are compared by what
is inside them.
"""

import difflib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

BRACES = frozenset((
    "c", "cc", "cpp", "cjs", "cs", "cts", "cxx", "dart", "go", "h", "hpp", "java", "js", "jsx", "kt", "kts", "mjs",
    "mts", "php", "rs", "scala", "swift", "ts", "tsx",
))  # fmt: skip
_QUOTES = frozenset(("cjs", "cts", "dart", "js", "jsx", "mjs", "mts", "php", "ts", "tsx"))
"""Languages in which ' begins a string. In others it begins a character, or a lifetime of Rust."""
_TEMPLATES = _QUOTES | {"go"}
"""Languages in which ` begins a string."""

_OPENING, _CLOSING = "([{", ")]}"
_CHARACTER = re.compile(r"'(?:\\.[^'\n]*|[^'\\\n])'")
_BEFORE_REGEX = re.compile(r"(?:^|[(,=:\[!&|?{};])\s*$|\breturn\s*$")
_REGEX = re.compile(r"/(?![/*])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\[\n])+/")

_ENDS_ALL = re.compile(
    r"\.only\b|\bf(?:it|describe|context)\s*\(|(?<![\w.])(?:exit|abort|die|_exit)\s*\("
    r"|\bprocess\s*\.\s*(?:exit|abort|kill)\b|\bos\.Exit\b|\bSystem\.exit\b|\bprocess::(?:exit|abort)\b"
    r"|\bEnvironment\.Exit\b|\bRuntime\.getRuntime\b"
)
"""Text that keeps other tests from running, wherever it is."""
_SKIPS = re.compile(
    r"\bskip\w*|\b(?:pending|todo|fixme)\b|#!?\[(?:ignore|cfg(?!\(test\)))|@(?:Disabled|Ignore|Tag)\b|\bmarkTest\w+|\bDISABLED"
    r"|^\s*#\s*(?:if|else|elif|endif|define|undef|pragma)",
    re.IGNORECASE,
)
"""Text that keeps the test that it is in from running."""
_LEAVES = re.compile(r"^\s*(?:return|throw|break|continue|panic)\b")
"""A line that keeps the lines after it from running."""
_CONTROLS = re.compile(r"^\s*(?:\}?\s*(?:if|else|for|while|switch|select|case|try|do|match|loop)\b|\{)")
"""The first line of a block that belongs to the code around it, unlike the body of a function."""
_SKIP_CALL = re.compile(r"\b(?:skip\w*|pending)\s*\(", re.IGNORECASE)
_HOOK = re.compile(
    r"^\s*(?:@?(?:before|after)\w*|setup\w*|teardown\w*|suiteSetup|TestMain)\b|\b(?:func\s+(?:TestMain|init)\s*\()"
    r"|@(?:Before|After|Rule|ClassRule|RegisterExtension|ExtendWith|RunWith)\w*",
    re.IGNORECASE,
)
"""The first line of code that runs for all tests."""
_IMPORTS = re.compile(r"^(?:import|use|using|from)\b|^(?:const|let|var)\b.*\brequire\s*\(")
_DEFINES = re.compile(
    r"^\s*(?:export\s+|default\s+|pub(?:\([^)]*\))?\s+|async\s+|static\s+|final\s+|public\s+|private\s+|protected\s+)*"
    r"(?:(?:x?it|x?test|x?describe|x?context|x?specify|suite|TEST\w*)\b|(?:func|fn|fun|function|class|interface|struct|enum"
    r"|type|impl|mod|namespace|trait|record|import|using|use|package|const|let|var|val|void|int|template)\b|@Test\b"
    r"|#!?\[(?:test|tokio::test|cfg\(test\)|derive|rstest|case|allow|warn|deny)|#include\b)"
)
"""The first line of a definition, such as a test: its content is its own matter."""


@dataclass(frozen=True, slots=True)
class Block:
    lines: tuple[str, ...]
    bare: tuple[str, ...]
    """The lines without the content of strings."""

    @property
    def head(self) -> str:
        return self.lines[0].strip()

    @property
    def words(self) -> list[str]:
        return re.findall(r"[\w@./:-]+", " ".join(self.lines))

    @property
    def text(self) -> str:
        return "\n".join(line.strip().rstrip(",;") for line in self.lines)


@dataclass(frozen=True, slots=True)
class Comparison:
    added: tuple[str, ...]
    """The new lines."""
    is_lost: bool
    """A block is gone or was changed."""
    switching_off: str
    """The new line that can keep existing tests from running; empty if there is none."""


def compare_blocks(path: str, old: str, new: str) -> Comparison | None:
    """Compare two versions of a file; None if it is of another kind, or its brackets do not match."""
    suffix = path.rpartition(".")[2].lower()
    if suffix not in BRACES:
        return None
    before, after = _blocks(old, suffix), _blocks(new, suffix)
    return None if before is None or after is None else _compare(before, after, suffix, inside=False)


def _compare(before: Sequence[Block], after: Sequence[Block], suffix: str, *, inside: bool) -> Comparison:
    """`inside`: the blocks are the body of an existing test, or of a group of them."""
    added: list[Block] = []
    lines: list[str] = []
    is_lost, switching_off = False, ""
    matcher = difflib.SequenceMatcher(None, [b.text for b in before], [b.text for b in after], autojunk=False)
    for kind, i, j, k, m in matcher.get_opcodes():
        if kind == "equal":
            continue
        rest = list(after[k:m])
        for block in before[i:j]:
            if longer := next((other for other in rest if _is_longer_import(block, other)), None):
                rest.remove(longer)
                continue
            same = next((other for other in rest if other.head == block.head and len(other.lines) > 1), None)
            inner = _compare_inside(block, same, suffix) if same is not None else None
            if same is None or inner is None:
                is_lost = True
                continue
            rest.remove(same)
            lines += inner.added
            is_lost, switching_off = is_lost or inner.is_lost, switching_off or inner.switching_off
        added += rest
    lines += [line for block in added for line in block.lines]
    switching_off = switching_off or next(filter(None, (_switching_off(block, inside=inside) for block in added)), "")
    return Comparison(tuple(lines), is_lost, switching_off)


def _compare_inside(old: Block, new: Block, suffix: str) -> Comparison | None:
    """Compare the lines between the first and the last of two blocks; None if these are not all that differs."""
    if len(old.lines) < 2 or old.lines[-1].strip().rstrip(",;") != new.lines[-1].strip().rstrip(",;"):
        return None
    before, after = (_blocks("\n".join(block.lines[1:-1]), suffix) for block in (old, new))
    return None if before is None or after is None else _compare(before, after, suffix, inside=True)


def _is_longer_import(old: Block, new: Block) -> bool:
    """Whether an import names the same as before, and perhaps more."""
    imports = all(_IMPORTS.search(block.head) for block in (old, new))
    return imports and old.words[-1:] == new.words[-1:] and not Counter(old.words) - Counter(new.words)


def _switching_off(block: Block, *, inside: bool) -> str:
    """Return the line of a new block that can keep existing tests from running. A new test may skip itself."""
    head = block.bare[0]
    is_definition = _DEFINES.search(head) is not None and not _HOOK.search(head)
    leaves = len(block.lines) == 1 or _CONTROLS.search(head) is not None
    for line, bare in zip(block.lines, block.bare, strict=True):
        if _ENDS_ALL.search(bare):
            return line
        if is_definition:
            if inside and len(block.lines) == 1 and _SKIP_CALL.search(bare):
                return line
        elif _SKIPS.search(bare) or (leaves and _LEAVES.search(bare)):
            return line
    return ""


def _blocks(text: str, suffix: str) -> list[Block] | None:
    """Split a text into blocks, without blank lines and comments; None if brackets do not match."""
    blocks: list[Block] = []
    lines: list[str] = []
    bare: list[str] = []
    depth = 0
    for line in _code_lines(text, suffix):
        if line is None or depth + line.lowest < 0:
            return None
        depth += line.change
        if line.text.strip():
            lines.append(line.text)
            bare.append(line.bare)
        if depth == 0 and lines:
            blocks.append(Block(tuple(lines), tuple(bare)))
            lines, bare = [], []
    return None if depth or lines else blocks


@dataclass(slots=True)
class _Line:
    """A line without comments. A string or a comment of several lines is one line."""

    text: str = ""
    bare: str = ""
    """The text without the content of strings, except of templates, which may contain code."""
    change: int = 0
    """How it changes the depth of brackets."""
    lowest: int = 0
    """The lowest depth on the way."""

    def add(self, character: str) -> None:
        self.text += character
        self.bare += character
        self.change += (character in _OPENING) - (character in _CLOSING)
        self.lowest = min(self.lowest, self.change)


def _code_lines(text: str, suffix: str) -> Iterator[_Line | None]:
    """Yield the lines of code; None at last if a string or a comment is not closed."""
    line, at = _Line(), 0
    while at < len(text):
        end = _end_of_literal(text, at, line.text, suffix)
        if end is None:
            yield None
            return
        if end > at:
            if not text.startswith(("//", "/*"), at):
                literal = text[at:end].replace("\n", "\\n")
                line.text += literal
                line.bare += literal if literal[0] == "`" else literal[0] * 2
            at = end
        elif text[at] == "\n":
            yield line
            line, at = _Line(), at + 1
        else:
            line.add(text[at])
            at += 1
    yield line


def _end_of_literal(text: str, at: int, before: str, suffix: str) -> int | None:
    """Return the end of the string, character, pattern or comment that begins here: `at` if none does, None if it is
    not closed. `before` is the code before it on the line."""
    character = text[at]
    if text.startswith("//", at):
        return text.find("\n", at) if "\n" in text[at:] else len(text)
    if text.startswith("/*", at):
        return text.find("*/", at + 2) + 2 if "*/" in text[at + 2 :] else None
    if character == '"' or (character == "'" and suffix in _QUOTES):
        return _end_of_string(text, at, "\n")
    if character == "`" and suffix in _TEMPLATES:
        return _end_of_string(text, at, "")
    if character == "'" and (match := _CHARACTER.match(text, at)):
        return match.end()
    if character == "/" and suffix in _QUOTES and _BEFORE_REGEX.search(before) and (match := _REGEX.match(text, at)):
        return match.end()
    return at


def _end_of_string(text: str, at: int, stop: str) -> int | None:
    """Return the end of a string that begins here. A string ends with its line, if `stop` is the end of a line."""
    position = at + 1
    while position < len(text):
        if text[position] == "\\":
            position += 2
            continue
        if text[position] == text[at]:
            return position + 1
        if stop and text[position] == stop:
            return position
        position += 1
    return None
