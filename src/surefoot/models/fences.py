"""Take one file's body out of an answer.

A model that was asked for one file may name it in the fence, in a comment on the first line or in the sentence
above; may answer with several files, in several blocks or in one; or may forget the fence altogether.
"""

import ast
import json
import re
import tomllib
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from surefoot.models.blocks import MARKDOWN, Block, blocks
from surefoot.models.labels import file_kind, header, label_in_info, may_hold, mentions, sameness
from surefoot.models.thinking import without_thinking

_MOST_HEADERS = 50
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
    """False when the fence never closes: the answer was cut off, or the model forgot to close it."""


@dataclass(frozen=True, slots=True)
class _Section:
    """A block, or one file's part of a block that holds several."""

    block: Block
    text: str
    label: str
    """The file that the fence or a comment names; empty when none does."""
    closed: bool


def read_fenced(text: str, path: str | None = None) -> str | None:
    """The body of `path` (of the only file, if none is named), or None when the answer does not hold it."""
    body = find_body(text, path)
    return body.text if body else None


def find_body(text: str, path: str | None = None) -> FileBody | None:
    """Like `read_fenced`, and tells whether the block was closed."""
    answer = without_thinking(text)
    found = blocks(answer, markdown_asked=file_kind(path or "") in MARKDOWN)
    if not found:
        return _whole_text(answer, path) if path else None
    if path is None:
        longest = max(found, key=lambda block: len(block.text))
        return FileBody(longest.text, longest.closed)
    sections = [section for block in found for section in _sections(block, path)]
    chosen = _named(sections, path) or _announced(sections, path) or _unnamed(sections, path)
    if chosen is None and file_kind(path) in MARKDOWN:
        return _whole_text(answer, path)  # every block belongs to the document
    return FileBody(chosen.text, chosen.closed) if chosen else None


def _named(sections: list[_Section], path: str) -> _Section | None:
    """The section whose label says so."""
    matching = [(sameness(section.label, path), section) for section in sections if section.label]
    best = max((degree for degree, _ in matching), default=0)
    return _soundest([section for degree, section in matching if degree == best], path) if best else None


def _announced(sections: list[_Section], path: str) -> _Section | None:
    """The section that the sentence above announces."""
    free = (section for section in sections if not section.label and may_hold(section.block.language, path))
    return _soundest(
        [
            section
            for section in free
            if any(sameness(mention, path) for mention in mentions(section.block.above, path))
        ],
        path,
    )


def _unnamed(sections: list[_Section], path: str) -> _Section | None:
    """The longest section that nobody claims for another file: usage examples are shorter than the file itself."""
    free = [section for section in sections if not section.label and may_hold(section.block.language, path)]
    unclaimed = [section for section in free if not mentions(section.block.above, path)]
    possible = unclaimed or free
    return max(possible, key=lambda section: (_is_sound(section.text, path), len(section.text)), default=None)


def _soundest(sections: list[_Section], path: str) -> _Section | None:
    """The last that parses, else the last: models correct themselves."""
    sound = [section for section in sections if _is_sound(section.text, path)]
    return next(reversed(sound or sections), None)


def _sections(block: Block, path: str) -> list[_Section]:
    label = label_in_info(block.info, path)
    # In Markdown `# a.md` is a title.
    is_markdown = file_kind(path) in MARKDOWN or block.language in MARKDOWN
    seams = [] if is_markdown else _seams(block, label or path, path)
    if not seams:
        return [_Section(block, block.text, label, block.closed)]
    sections = []
    if before := _joined(block.lines[: seams[0][0]]):
        sections.append(_Section(block, before, label, closed=True))
    for number, (line, named) in enumerate(seams):
        is_last = number + 1 == len(seams)
        end = len(block.lines) if is_last else seams[number + 1][0]
        body = _joined(block.lines[line + 1 : end])
        sections.append(_Section(block, body, named, block.closed or not is_last))
    return sections


def _seams(block: Block, first_name: str, path: str) -> list[tuple[int, str]]:
    """The comment lines that name the file which begins there: the block's label, or the next of several files.

    A comment in the middle may just be a comment: what is on either side must be a file of its own."""
    named_lines = [(number, name) for number, line in enumerate(block.lines) if (name := header(line, path))]
    named_lines = named_lines[:_MOST_HEADERS]
    ends = [number for number, _ in named_lines[1:]] + [len(block.lines)]
    seams: list[tuple[int, str]] = []
    for (number, name), end in zip(named_lines, ends, strict=False):
        start, name_before = (seams[-1][0] + 1, seams[-1][1]) if seams else (0, first_name)
        before = _joined(block.lines[start:number])
        if not before and not seams:
            seams.append((number, name))
            continue
        continues = sameness(name_before, name) == 3 or block.lines[number - 1].strip()
        provable = seams or file_kind(name_before) in _PARSERS
        after = _joined(block.lines[number + 1 : end])
        if provable and not continues and _is_sound(before, name_before) and _is_sound(after, name):
            seams.append((number, name))
    return seams


def _whole_text(answer: str, path: str) -> FileBody | None:
    """An answer that is nothing but the file. A fence at its very end is the one that a prompt had opened."""
    text = answer.replace("\r\n", "\n").rstrip().removesuffix("```").strip("\n").rstrip()
    if not text.strip():
        return None
    kind = file_kind(path)
    if kind in MARKDOWN:
        is_file = re.match(r"#{1,6} \S", text) is not None
    else:
        is_file = kind in _PARSERS and _is_sound(text, path) and _says_something(text, kind)
    return FileBody(text + "\n", closed=True) if is_file else None


def _says_something(text: str, kind: str) -> bool:
    """`Done` is sound Python and `42` is sound JSON; neither is a file."""
    if kind == "json":
        return isinstance(json.loads(text), dict | list)
    if kind in ("py", "pyi"):
        return any(not isinstance(statement, ast.Expr) for statement in ast.parse(text).body)
    return True


def _is_sound(text: str, path: str) -> bool:
    """False only where a parser for this kind of file says no."""
    parse = _PARSERS.get(file_kind(path))
    if parse is None:
        return True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an odd escape in the model's code is not ours to report
            parse(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return False
    return True


def _joined(lines: tuple[str, ...]) -> str:
    return "\n".join(lines).strip("\n") + "\n" if any(line.strip() for line in lines) else ""
