"""Cut an answer into its fenced blocks, as models write them rather than as Markdown defines them.

Fences may be longer than three marks, nested (a Markdown file has blocks of its own), glued to the last line of
code, or never closed because the answer was cut off.
"""

import re
from dataclasses import dataclass

from surefoot.models.labels import names_only_a_file

MARKDOWN = frozenset({"md", "markdown", "mdx"})
_FENCE = re.compile(r"^(?P<before>[^`~]*)(?P<marks>`{3,}+|~{3,}+)(?P<info>[^`]*)$")
_LOOK_ABOVE = 3
"""Lines above a fence in which its file may be named."""
_MOST_FENCES = 500
"""An answer with more fences is garbage: what comes after them is not looked at."""


@dataclass(frozen=True, slots=True)
class Block:
    info: str
    """What stands behind the opening fence: a language, a path, attributes."""
    lines: tuple[str, ...]
    closed: bool
    above: str
    """The line that leads to the block, or nothing."""

    @property
    def language(self) -> str:
        return re.split(r"[\s:{=,]", self.info, maxsplit=1)[0].lower()

    @property
    def text(self) -> str:
        return "\n".join(self.lines) + "\n"


@dataclass(frozen=True, slots=True)
class _Fence:
    line: int
    before: str
    marks: str
    info: str

    @property
    def opens(self) -> bool:
        """After words a fence opens a block only if a language at most follows; else it is part of a sentence."""
        return not self.before.strip() or re.fullmatch(r"[\w+.-]*", self.info) is not None

    def is_inside(self, opening: "_Fence") -> bool:
        """Whether it may nest in or close the block that `opening` opened."""
        return not self.before.strip() and self.marks.startswith(opening.marks)


def blocks(text: str, *, markdown_asked: bool = False, several_files: bool = False) -> list[Block]:
    """Every block with something in it. `markdown_asked` says that a block without a language is Markdown.
    `several_files`: a line with nothing but a file's name leads to the next file, and not to a block inside of one."""
    lines = text.replace("\r\n", "\n").split("\n")
    fences = _fences(lines)
    found: list[Block] = []
    line = 0
    for number, fence in enumerate(fences):
        if fence.line < line or not fence.opens:
            continue
        inner = [other for other in fences[number + 1 :] if other.is_inside(fence)]
        body, closed, line = _body(lines, fence, inner, markdown_asked, several_files)
        if any(content.strip() for content in body):
            above = fence.before.strip() or _line_above(lines, fence.line)
            found.append(Block(fence.info, tuple(body), closed, above))
    return found


def _fences(lines: list[str]) -> list[_Fence]:
    found: list[_Fence] = []
    for number, line in enumerate(lines):
        if ("```" in line or "~~~" in line) and (fence := _FENCE.match(line)):
            found.append(_Fence(number, fence["before"], fence["marks"], fence["info"].strip()))
            if len(found) == _MOST_FENCES:
                break
    return found


def _body(
    lines: list[str], fence: _Fence, inner: list[_Fence], markdown_asked: bool, several_files: bool
) -> tuple[list[str], bool, int]:
    """The lines of a block, whether it is closed, and the line from which to look on."""
    language = re.split(r"\W", fence.info.lower(), maxsplit=1)[0]
    is_markdown = language in MARKDOWN or (markdown_asked and not language)
    end = _end_of_document(lines, inner, several_files) if is_markdown else _first_at_depth_zero(inner)
    first = fence.line + 1
    if end is not None:
        return _outdented(lines[first:end], fence), True, end + 1
    forgotten = next((other.line for other in inner if other.info), None)
    if forgotten is not None and not is_markdown:
        # The next block begins before this one was closed: it ends there, its fence was forgotten.
        return _outdented(lines[first:forgotten], fence), True, forgotten
    body = _outdented(lines[first:], fence)
    for position, line in enumerate(body):
        if line.rstrip().endswith(fence.marks) and not line.lstrip().startswith(fence.marks):
            return [*body[:position], line.rstrip().removesuffix(fence.marks)], True, first + position + 1
    while body and not body[-1].strip():
        body.pop()
    return body, False, len(lines)


def _first_at_depth_zero(fences: list[_Fence]) -> int | None:
    depth = 0
    for fence in fences:
        if fence.info:
            depth += 1
        elif depth == 0:
            return fence.line
        else:
            depth -= 1
    return None


def _end_of_document(lines: list[str], fences: list[_Fence], several_files: bool) -> int | None:
    """The last bare fence that leaves every block inside closed: inner blocks of Markdown often have no language. Or,
    of several files, the first that leads to the next one."""
    balanced_at: int | None = None
    inside = False
    for number, fence in enumerate(fences):
        if not inside and not fence.info:
            balanced_at = fence.line
            if several_files and number + 1 < len(fences) and _leads_to_a_file(lines, fence, fences[number + 1]):
                break
        if not inside or not fence.info:
            inside = not inside
    return balanced_at


def _leads_to_a_file(lines: list[str], closing: _Fence, opening: _Fence) -> bool:
    """An empty line after the block, and a file's name before the next: what is inside of a block begins at once."""
    between = lines[closing.line + 1 : opening.line]
    return bool(between) and not between[0].strip() and names_only_a_file(_line_above(lines, opening.line))


def _outdented(body: list[str], fence: _Fence) -> list[str]:
    """A block inside a list is indented as a whole: that indent is the fence's, not the file's."""
    indent = "" if fence.before.strip() else fence.before
    return [line.removeprefix(indent) for line in body]


def _line_above(lines: list[str], number: int) -> str:
    for line in reversed(lines[max(0, number - _LOOK_ABOVE) : number]):
        if line.strip():
            return "" if line.strip().startswith(("```", "~~~")) else line.strip()
    return ""
