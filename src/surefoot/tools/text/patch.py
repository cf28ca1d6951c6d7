"""Read a patch in the format of `apply_patch`. Pure: text in, values out.

A patch has one section per file. An update has hunks: context lines begin with a space, removed ones with `-`, added
ones with `+`. A line with `@@` begins a hunk and may name a line above it, such as a function's header.
"""

import posixpath
import re
from dataclasses import dataclass, field
from typing import Literal

from surefoot.core.policy.shell_words import NotParsed, split
from surefoot.errors import ToolError

BEGIN, END = "*** Begin Patch", "*** End Patch"
EXAMPLE = (
    f"{BEGIN}\n*** Update File: src/a.py\n@@ def f():\n     kept = 1\n-    removed = 2\n+    added = 3\n"
    f"*** Add File: b.txt\n+its lines\n*** Delete File: c.txt\n{END}"
)

_SECTION = re.compile(r"^\*\*\* (Add|Update|Delete) File:\s*(.+?)\s*$")
_MOVE = re.compile(r"^\*\*\* Move to:\s*(.+?)\s*$")
_END_OF_FILE = re.compile(r"^\*\*\* End of File\s*$")
_NUMBERS = re.compile(r"^(?:-\d+(?:,\d+)? \+\d+(?:,\d+)? @@)\s?")
_COMMANDS = ("apply_patch", "applypatch")
_CALL = re.compile(r"(?<![\w./-])apply_?patch(?![\w./-])")


@dataclass
class Hunk:
    anchors: list[str] = field(default_factory=list)
    """Lines above the hunk, from the outermost inwards."""
    lines: list[tuple[Literal[" ", "-", "+"], str]] = field(default_factory=list)
    at_end: bool = False
    """Whether the hunk's lines are the last ones of the file."""

    @property
    def old(self) -> list[str]:
        return [text for kind, text in self.lines if kind != "+"]

    @property
    def new(self) -> list[str]:
        return [text for kind, text in self.lines if kind != "-"]


@dataclass
class Section:
    kind: Literal["add", "update", "delete"]
    path: str
    move_to: str = ""
    hunks: list[Hunk] = field(default_factory=list)
    content: str = ""
    """The content of a new file."""

    @property
    def paths(self) -> tuple[str, ...]:
        return (self.path, self.move_to) if self.move_to else (self.path,)


def read_patch(text: str) -> list[Section]:
    """Return the sections of a patch. Text around the patch, a here-document and a missing end are tolerated."""
    lines = _patch_lines(text)
    starts = [number for number, line in enumerate(lines) if _SECTION.match(line)]
    if not starts:
        raise ToolError("there is no file section in the patch", argument="patch", remedy=f"write it like:\n{EXAMPLE}")
    sections = []
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        header = _SECTION.match(lines[start])
        assert header is not None
        sections.append(_section(header.group(1), header.group(2), lines[start + 1 : end]))
    return sections


def paths_of(text: str) -> tuple[str, ...]:
    """Return the paths that a patch names, even if the rest of it is malformed."""
    paths = []
    for line in _patch_lines(text):
        if header := _SECTION.match(line):
            paths.append(header.group(2))
        elif moved := _MOVE.match(line):
            paths.append(moved.group(1))
    return tuple(dict.fromkeys(paths))


def patch_in_command(command: str) -> str | None:
    """Return the patch of a shell command that only calls `apply_patch`; None if it does anything else.

    The folder of a `cd` before the call becomes part of the paths.
    """
    if BEGIN not in command or not _CALL.search(command.partition(BEGIN)[0] + command.rpartition(END)[2]):
        return None
    try:
        lines = split(command)
    except (NotParsed, RecursionError):
        return None
    for words in lines.commands:
        if words[0].rpartition("/")[2] in ("bash", "sh", "zsh") and len(words) == 3 and re.fullmatch("-l?c", words[1]):
            return patch_in_command(words[2])
    folder, patches = "", [text for text in lines.inputs if BEGIN in text]
    for words in lines.commands:
        if words[0] == "cd" and len(words) == 2:
            folder = posixpath.join(folder, words[1])
        elif words[0] in _COMMANDS and len(words) <= 2:
            patches += [word for word in words[1:] if BEGIN in word]
        elif words != ["cat"]:
            return None
    if len(patches) != 1 or "\0" in folder or "\1" in folder:
        return None
    return _in_folder(patches[0], folder) if folder else patches[0]


def calls_apply_patch(command: str) -> bool:
    """Whether a shell command calls `apply_patch` with a patch, possibly among other commands."""
    return BEGIN in command and _CALL.search(command.partition(BEGIN)[0]) is not None


def _in_folder(patch: str, folder: str) -> str:
    def joined(match: re.Match[str]) -> str:
        return match.group(1) + posixpath.normpath(posixpath.join(folder, match.group(2).strip()))

    return re.sub(r"(?m)^(\*\*\* (?:(?:Add|Update|Delete) File|Move to):\s*)(.+)$", joined, patch)


def _patch_lines(text: str) -> list[str]:
    """Return the lines between begin and end. Without a begin, the patch starts at the first section."""
    lines = text.replace("\r\n", "\n").split("\n")
    plain = [line.strip() for line in lines]
    if BEGIN in plain:
        begin = plain.index(BEGIN)
    else:
        begin = next((number for number, line in enumerate(plain) if _SECTION.match(line)), 0) - 1
    # The whole patch may be indented, as in a list.
    indent = lines[begin][: len(lines[begin]) - len(lines[begin].lstrip())] if begin >= 0 else ""
    end = plain.index(END, begin + 1) if END in plain[begin + 1 :] else len(lines)
    inside = [line.removeprefix(indent) for line in lines[begin + 1 : end]]
    if end == len(lines):
        inside = _without_wrapper(lines[: begin + 1], inside)
    return inside


def _without_wrapper(before: list[str], inside: list[str]) -> list[str]:
    """Remove the end of a here-document or of a fence that was opened before the patch, and blank lines."""
    opened = re.search(r"<<-?\s*['\"]?(\w+)", "\n".join(before))
    closing = {opened.group(1) if opened else "", "```" if any("```" in line for line in before) else "", ""}
    while inside and inside[-1].strip() in closing:
        inside = inside[:-1]
    return inside


def _section(kind: str, path: str, lines: list[str]) -> Section:
    path = _clean(path)
    if kind == "Delete":
        if any(line.strip() for line in lines):
            raise _malformed(path, f"a deleted file has no lines, and there is {lines[0]!r}")
        return Section("delete", path)
    if kind == "Add":
        body = _without_blank_end(lines)
        for number, line in enumerate(body, 1):
            if not line.startswith("+"):
                raise _malformed(path, f"line {number} of the new file does not begin with +: {line!r}")
        return Section("add", path, content="".join(line[1:] + "\n" for line in body))
    move_to = ""
    if lines and (moved := _MOVE.match(lines[0])):
        move_to, lines = _clean(moved.group(1)), lines[1:]
    if len(lines) > 1 and lines[0].startswith("--- ") and lines[1].startswith("+++ "):
        lines = lines[2:]
    hunks = _hunks(lines)
    if not hunks and not move_to:
        raise _malformed(path, "the update has no lines")
    for number, hunk in enumerate(hunks, 1):
        if all(kind == " " for kind, _ in hunk.lines):
            raise _malformed(path, f"hunk {number} neither removes nor adds a line")
    return Section("update", path, move_to, hunks)


def _hunks(lines: list[str]) -> list[Hunk]:
    hunks: list[Hunk] = []
    for line in _without_blank_end(lines):
        if line.startswith("@@"):
            if not hunks or hunks[-1].lines:
                hunks.append(Hunk())
            if anchor := _NUMBERS.sub("", line[2:].removeprefix(" ")).removesuffix("@@").rstrip():
                hunks[-1].anchors.append(anchor)
        elif _END_OF_FILE.match(line):
            if hunks:
                hunks[-1].at_end = True
        elif line.startswith("\\ No newline"):
            continue
        else:
            if not hunks or hunks[-1].at_end:
                hunks.append(Hunk())
            # A line without a sign is a context line: models forget the space, above all on empty lines.
            sign: Literal[" ", "-", "+"] = "-" if line.startswith("-") else "+" if line.startswith("+") else " "
            hunks[-1].lines.append((sign, line[1:] if line[:1] in (" ", "-", "+") else line))
    for hunk in hunks:
        _drop_blank_end(hunk)
    return [hunk for hunk in hunks if hunk.lines]


def _drop_blank_end(hunk: Hunk) -> None:
    """Remove the blank line that separates a hunk from the next one."""
    while len(hunk.lines) > 1 and hunk.lines[-1] == (" ", ""):
        hunk.lines.pop()


def _without_blank_end(lines: list[str]) -> list[str]:
    end = len(lines)
    while end and not lines[end - 1].strip():
        end -= 1
    return lines[:end]


def _clean(path: str) -> str:
    return path.strip().strip("`'\"").removeprefix("./")


def _malformed(path: str, problem: str) -> ToolError:
    return ToolError(f"{path}: {problem}. Nothing was changed", argument="patch", remedy=f"write it like:\n{EXAMPLE}")
