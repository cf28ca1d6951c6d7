"""How changes of files are shown: as a diff, as a count of lines, as a list of what will be put back."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from rich.text import Text

from surefoot.cli import words
from surefoot.redact import neutralise
from surefoot.workspace.diff import Change
from surefoot.workspace.faults import shown

_SIGNS = {"added": ("+", "green"), "removed": ("-", "red")}
_MOST_LISTED = 40
_HEADERS = ("old mode ", "new mode ", "new file mode ", "deleted file mode ", "owner ", "--- ", "+++ ", "Binary files ",
            "Files ")  # fmt: skip
"""Lines that belong to the path of the `diff --git` before them."""
_NOTES = {
    "Binary files ": "binary",
    "Files ": "too long to show",
    "new file ": "new, empty",
    "deleted file ": "deleted, was empty",
    "owner ": "owner",
}
SHORT = 200
"""Lines of a diff that are still shown without being asked for."""


def print_diff(text: str) -> None:
    """In colour on a terminal, which must not obey what a file holds; byte for byte in a pipe, for `git apply`."""
    from surefoot.cli.stdout import print_lines

    if sys.stdout.isatty():
        print_lines(diff_lines(text))
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))


def diff_lines(text: str) -> Iterator[Text]:
    in_hunk = False
    for line in text.split("\n")[:-1]:
        in_hunk = _is_in_hunk(line, in_hunk)
        # Only a line feed ends a line of a diff; all else is part of it and is made visible.
        yield Text(neutralise(line).replace("\t", "    "), style=_style(line, in_hunk))


def _is_in_hunk(line: str, before: bool) -> bool:
    return line.startswith("@@ ") or (before and line[:1] in (" ", "+", "-", "\\"))


def _style(line: str, in_hunk: bool) -> str:
    if not in_hunk:
        return "bold"
    return {"+": "green", "-": "red", "@": "cyan", "\\": "dim"}.get(line[:1], "")


def stat_lines(text: str) -> Iterator[Text]:
    """One line a file: how many lines came and went."""
    counts = [_count(part) for part in _parts(text.split("\n")[:-1])]
    width = max((len(count.name) for count in counts), default=0)
    for count in counts:
        numbers = Text.assemble((f"+{count.added}", "green"), " ", (f"-{count.removed}", "red"))
        yield Text.assemble(f"{count.name:<{width}}  ", Text(count.note, style="dim") if count.note else numbers)
    if counts:
        added, removed = sum(count.added for count in counts), sum(count.removed for count in counts)
        yield Text(f"{words.count(len(counts), 'change')}, {words.count(added, 'line')} added, {removed:,} removed")


class _Count(NamedTuple):
    name: str
    added: int = 0
    removed: int = 0
    note: str = ""
    """What happened where no lines tell it."""


def _parts(lines: Sequence[str]) -> Iterator[list[str]]:
    """A diff, cut into what it says of each path."""
    part: list[str] = []
    in_hunk = False
    for line in lines:
        in_hunk = _is_in_hunk(line, in_hunk)
        if part and not in_hunk and not line.startswith(_HEADERS):
            yield part
            part = []
        part.append(line)
    if part:
        yield part


def _count(part: list[str]) -> _Count:
    head = neutralise(part[0])
    if not head.startswith("diff --git "):
        # Something that git has no words for, such as a folder.
        name, _, note = head.partition(": ")
        return _Count(words.line(name), note=words.line(note))
    name = words.line(head.rpartition(" b/")[2] if " b/" in head else head.removeprefix("diff --git "))
    start = next((number for number, line in enumerate(part) if line.startswith("@@ ")), len(part))
    if start == len(part):
        return _Count(name, note=next((note for line in reversed(part) if (note := _note(line))), "mode"))
    return _Count(name, sum(line[0] == "+" for line in part[start:]), sum(line[0] == "-" for line in part[start:]))


def _note(line: str) -> str:
    return next((note for beginning, note in _NOTES.items() if line.startswith(beginning)), "")


def change_lines(changes: Iterable[Change], most: int = _MOST_LISTED) -> Iterator[Text]:
    """What will happen to which file; folders only where they come or go."""
    listed = [change for change in changes if change.path != "."]
    for change in listed[:most]:
        sign, style = _SIGNS.get(change.kind, ("~", "yellow"))
        what = "  (mode)" if change.kind == "mode" else ""
        name = shown(change.path) + ("/" if change.is_folder else "")
        yield Text.assemble(f"  {sign} ", (words.line(name, 300), style), (what, "dim"))
    if len(listed) > most:
        yield Text(f"  and {len(listed) - most} more", style="dim")
