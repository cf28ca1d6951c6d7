"""Split an answer into its fenced blocks, even if it is not valid Markdown.

Fences may be longer than three marks, nested (a Markdown file contains blocks), attached to the last line of code, or
never closed because the answer was truncated.
"""

import re
from dataclasses import dataclass

from surefoot.models.parsing.labels import names_only_a_file

MARKDOWN = frozenset({"md", "markdown", "mdx"})
_FENCE = re.compile(r"^(?P<before>[^`~]*)(?P<marks>`{3,}+|~{3,}+)(?P<info>[^`]*)$")
_LINES_ABOVE = 3
"""How many lines above a fence may name its file."""
_MAX_FENCES = 500
"""Text after this many fences is ignored."""


@dataclass(frozen=True, slots=True)
class Block:
    info: str
    """The rest of the opening fence's line: a language, a path, attributes."""
    lines: tuple[str, ...]
    closed: bool
    above: str
    """The line that introduces the block, or an empty string."""

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
        """Whether this fence may open a block. After other text on its line, at most a language may follow it."""
        return not self.before.strip() or re.fullmatch(r"[\w+.-]*", self.info) is not None

    def may_belong_to(self, opening: "_Fence") -> bool:
        """Whether this fence may close the block of `opening` or be nested in it."""
        return not self.before.strip() and self.marks.startswith(opening.marks)


def blocks(text: str, *, expect_markdown: bool = False, several_files: bool = False) -> list[Block]:
    """Return the blocks that are not empty.

    `expect_markdown`: a block without a language is Markdown. `several_files`: a line with only a file's name
    introduces the next file, not a block nested in a Markdown file.
    """
    lines = text.replace("\r\n", "\n").split("\n")
    fences = _fences(lines)
    result: list[Block] = []
    line = 0
    for number, fence in enumerate(fences):
        if fence.line < line or not fence.opens:
            continue
        inner = [other for other in fences[number + 1 :] if other.may_belong_to(fence)]
        body, closed, line = _body(lines, fence, inner, expect_markdown, several_files)
        if any(content.strip() for content in body):
            above = fence.before.strip() or _line_above(lines, fence.line)
            result.append(Block(fence.info, tuple(body), closed, above))
    return result


def _fences(lines: list[str]) -> list[_Fence]:
    fences: list[_Fence] = []
    for number, line in enumerate(lines):
        if ("```" in line or "~~~" in line) and (match := _FENCE.match(line)):
            fences.append(_Fence(number, match["before"], match["marks"], match["info"].strip()))
            if len(fences) == _MAX_FENCES:
                break
    return fences


def _body(
    lines: list[str], fence: _Fence, inner: list[_Fence], expect_markdown: bool, several_files: bool
) -> tuple[list[str], bool, int]:
    """The lines of a block, whether it is closed, and the line after it."""
    language = re.split(r"\W", fence.info.lower(), maxsplit=1)[0]
    is_markdown = language in MARKDOWN or (expect_markdown and not language)
    end = _end_of_markdown(lines, inner, several_files) if is_markdown else _first_at_depth_zero(inner)
    first = fence.line + 1
    if end is not None:
        return _dedent(lines[first:end], fence), True, end + 1
    next_block = next((other.line for other in inner if other.info), None)
    if next_block is not None and not is_markdown:
        # The closing fence is missing: the block ends where the next one begins.
        return _dedent(lines[first:next_block], fence), True, next_block
    body = _dedent(lines[first:], fence)
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


def _end_of_markdown(lines: list[str], fences: list[_Fence], several_files: bool) -> int | None:
    """The line of the last bare fence that leaves all inner blocks closed. These often have no language.

    With `several_files`, the first such fence that is followed by the name of another file.
    """
    end: int | None = None
    inside = False
    for number, fence in enumerate(fences):
        if not inside and not fence.info:
            end = fence.line
            if several_files and number + 1 < len(fences) and _introduces_file(lines, fence, fences[number + 1]):
                break
        if not inside or not fence.info:
            inside = not inside
    return end


def _introduces_file(lines: list[str], closing: _Fence, opening: _Fence) -> bool:
    """Whether an empty line follows `closing` and a file's name precedes `opening`, unlike for nested blocks."""
    between = lines[closing.line + 1 : opening.line]
    return bool(between) and not between[0].strip() and names_only_a_file(_line_above(lines, opening.line))


def _dedent(body: list[str], fence: _Fence) -> list[str]:
    """Remove the indentation of the fence, such as of a block inside a list."""
    indent = "" if fence.before.strip() else fence.before
    return [line.removeprefix(indent) for line in body]


def _line_above(lines: list[str], number: int) -> str:
    for line in reversed(lines[max(0, number - _LINES_ABOVE) : number]):
        if line.strip():
            return "" if line.strip().startswith(("```", "~~~")) else line.strip()
    return ""
