"""Extract the body of one file from an answer.

A model may name the file in the fence, in a comment on the first line or in the sentence above. It may answer with
several files, in several blocks or in one, or omit the fence.
"""

import ast
import json
import re
import tomllib
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from surefoot.models.parsing.blocks import MARKDOWN, Block, blocks
from surefoot.models.parsing.labels import file_kind, label_in_info, may_contain, mentions, named_file, similarity
from surefoot.models.parsing.thinking import without_thinking

_MAX_HEADERS = 50
_PARSERS: dict[str, Callable[[str], Any]] = {
    "py": ast.parse,
    "pyi": ast.parse,
    "json": json.loads,
    "toml": tomllib.loads,
}


@dataclass(frozen=True, slots=True)
class FileBody:
    text: str
    closed: bool
    """False if the closing fence is missing, because the answer was truncated or the model forgot it."""


@dataclass(frozen=True, slots=True)
class _Section:
    """A block, or the part of one file in a block with several files."""

    block: Block
    text: str
    label: str
    """The file named by the fence or a comment, or an empty string."""
    closed: bool


def read_fenced(text: str, path: str | None = None) -> str | None:
    """The body of `path`, or without a path the longest block; None if the answer does not contain it."""
    body = find_body(text, path)
    return body.text if body else None


def find_body(text: str, path: str | None = None) -> FileBody | None:
    """Like `read_fenced`, and also whether the block was closed."""
    answer = without_thinking(text)
    fenced = blocks(answer, expect_markdown=file_kind(path or "") in MARKDOWN)
    if not fenced:
        return _unfenced_file(answer, path) if path else None
    if path is None:
        longest = max(fenced, key=lambda block: len(block.text))
        return FileBody(longest.text, longest.closed)
    sections = [section for block in fenced for section in _sections(block, path)]
    chosen = _named(sections, path) or _announced(sections, path) or _unnamed(sections, path)
    if chosen is None and file_kind(path) in MARKDOWN:
        return _unfenced_file(answer, path)  # all blocks are part of the document
    return FileBody(chosen.text, chosen.closed) if chosen else None


def _named(sections: list[_Section], path: str) -> _Section | None:
    """The section whose label matches best."""
    scored = [(similarity(section.label, path), section) for section in sections if section.label]
    best = max((score for score, _ in scored), default=0)
    return _best_valid([section for score, section in scored if score == best], path) if best else None


def _announced(sections: list[_Section], path: str) -> _Section | None:
    """The section whose preceding sentence names the file."""
    unlabelled = (section for section in sections if not section.label and may_contain(section.block.language, path))
    return _best_valid(
        [
            section
            for section in unlabelled
            if any(similarity(mention, path) for mention in mentions(section.block.above, path))
        ],
        path,
    )


def _unnamed(sections: list[_Section], path: str) -> _Section | None:
    """The longest section that is not named as another file: usage examples are shorter than the file itself."""
    unlabelled = [section for section in sections if not section.label and may_contain(section.block.language, path)]
    unclaimed = [section for section in unlabelled if not mentions(section.block.above, path)]
    return max(
        unclaimed or unlabelled, key=lambda section: (_is_valid(section.text, path), len(section.text)), default=None
    )


def _best_valid(sections: list[_Section], path: str) -> _Section | None:
    """The last section that parses, else the last: models correct themselves."""
    valid = [section for section in sections if _is_valid(section.text, path)]
    return next(reversed(valid or sections), None)


def _sections(block: Block, path: str) -> list[_Section]:
    label = label_in_info(block.info, path)
    # In Markdown, `# a.md` is a heading, not a comment.
    is_markdown = file_kind(path) in MARKDOWN or block.language in MARKDOWN
    boundaries = [] if is_markdown else _boundaries(block, label or path, path)
    if not boundaries:
        return [_Section(block, block.text, label, block.closed)]
    sections = []
    if before := _join(block.lines[: boundaries[0][0]]):
        sections.append(_Section(block, before, label, closed=True))
    for number, (line, label) in enumerate(boundaries):
        is_last = number + 1 == len(boundaries)
        end = len(block.lines) if is_last else boundaries[number + 1][0]
        body = _join(block.lines[line + 1 : end])
        sections.append(_Section(block, body, label, block.closed or not is_last))
    return sections


def _boundaries(block: Block, first_name: str, path: str) -> list[tuple[int, str]]:
    """The comment lines at which a file begins: the label of the block, or the next of several files.

    A comment in the middle counts only if the text on either side of it is a valid file.
    """
    headers = [(number, name) for number, line in enumerate(block.lines) if (name := named_file(line, path))]
    headers = headers[:_MAX_HEADERS]
    ends = [number for number, _ in headers[1:]] + [len(block.lines)]
    boundaries: list[tuple[int, str]] = []
    for (number, name), end in zip(headers, ends, strict=False):
        start, previous_name = (boundaries[-1][0] + 1, boundaries[-1][1]) if boundaries else (0, first_name)
        before = _join(block.lines[start:number])
        if not before and not boundaries:
            boundaries.append((number, name))
            continue
        continues = similarity(previous_name, name) == 3 or block.lines[number - 1].strip()
        checkable = boundaries or file_kind(previous_name) in _PARSERS
        after = _join(block.lines[number + 1 : end])
        if checkable and not continues and _is_valid(before, previous_name) and _is_valid(after, name):
            boundaries.append((number, name))
    return boundaries


def _unfenced_file(answer: str, path: str) -> FileBody | None:
    """An answer that consists only of the file. A fence at its end closes one that the prompt opened."""
    text = answer.replace("\r\n", "\n").rstrip().removesuffix("```").strip("\n").rstrip()
    if not text.strip():
        return None
    kind = file_kind(path)
    if kind in MARKDOWN:
        is_file = re.match(r"#{1,6} \S", text) is not None
    else:
        is_file = kind in _PARSERS and _is_valid(text, path) and _is_substantial(text, kind)
    return FileBody(text + "\n", closed=True) if is_file else None


def _is_substantial(text: str, kind: str) -> bool:
    """`Done` is valid Python and `42` is valid JSON, but neither is a file."""
    if kind == "json":
        return isinstance(json.loads(text), dict | list)
    if kind in ("py", "pyi"):
        return any(not isinstance(statement, ast.Expr) for statement in ast.parse(text).body)
    return True


def _is_valid(text: str, path: str) -> bool:
    """False only if a parser for this kind of file fails."""
    parse = _PARSERS.get(file_kind(path))
    if parse is None:
        return True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # such as invalid escapes in the model's code
            parse(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return False
    return True


def _join(lines: tuple[str, ...]) -> str:
    return "\n".join(lines).strip("\n") + "\n" if any(line.strip() for line in lines) else ""
