"""Changed files as a diff, as statistics, or as a list of paths."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from rich.cells import cell_len
from rich.text import Text

from surefoot.cli.report import formatting as fmt
from surefoot.cli.report.stdout import print_lines
from surefoot.engine.verifier.deciding.names import is_cache
from surefoot.journal.redact import neutralise
from surefoot.workspace.errors import printable
from surefoot.workspace.snapshots.diff import Change

_SIGNS = {"added": ("+", "green"), "removed": ("-", "red")}
_MAX_LISTED = 40
_HEADERS = ("old mode ", "new mode ", "new file mode ", "deleted file mode ", "owner ", "--- ", "+++ ", "Binary files ",
            "Files ")  # fmt: skip
"""Lines that belong to the `diff --git` line before them."""
_NOTES = {
    "Binary files ": "binary",
    "Files ": "too long to show",
    "new file ": "new, empty",
    "deleted file ": "deleted, was empty",
    "owner ": "owner",
}
SHORT = 200
"""After a run with --worktree, a diff of up to this many lines is printed in full."""


def print_diff(text: str) -> None:
    """Print a diff: in colour and neutralised on a terminal, byte for byte in a pipe, for `git apply`."""
    if sys.stdout.isatty():
        print_lines(diff_lines(text))
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))


def without_caches(text: str) -> tuple[str, int]:
    """The diff without the caches of tools, and the number of paths left out."""
    parts = list(_parts(text.split("\n")[:-1]))
    kept = [part for part in parts if not is_cache(_name(part[0]).removeprefix("Folder "))]
    return "".join(f"{line}\n" for part in kept for line in part), len(parts) - len(kept)


def diff_lines(text: str) -> Iterator[Text]:
    in_hunk = False
    for line in text.split("\n")[:-1]:
        in_hunk = _is_in_hunk(line, in_hunk)
        # Other line separators are part of the line; they are made visible.
        yield Text(neutralise(line).replace("\t", "    "), style=_style(line, in_hunk))


def _is_in_hunk(line: str, before: bool) -> bool:
    return line.startswith("@@ ") or (before and line[:1] in (" ", "+", "-", "\\"))


def _style(line: str, in_hunk: bool) -> str:
    if not in_hunk:
        return "bold"
    return {"+": "green", "-": "red", "@": "cyan", "\\": "dim"}.get(line[:1], "")


def stat_lines(text: str) -> Iterator[Text]:
    """One line for each file with the numbers of added and removed lines, and one with the totals."""
    return count_lines([_count(part) for part in _parts(text.split("\n")[:-1])])


class Count(NamedTuple):
    """The numbers of lines that were added to a file and removed from it."""

    name: str
    added: int = 0
    removed: int = 0
    note: str = ""
    """Describes a change that has no lines."""


def count_lines(counts: Sequence[Count]) -> Iterator[Text]:
    """One line for each file, and one with the totals."""
    width = max((cell_len(count.name) for count in counts), default=0)
    for count in counts:
        numbers = Text.assemble((f"+{count.added}", "green"), " ", (f"-{count.removed}", "red"))
        content = Text(count.note, style="dim") if count.note else numbers
        yield Text.assemble(count.name + " " * (width - cell_len(count.name) + 2), content)
    if counts:
        added, removed = sum(count.added for count in counts), sum(count.removed for count in counts)
        yield Text(f"{fmt.count(len(counts), 'change')}, {fmt.count(added, 'line')} added, {removed:,} removed")


def _parts(lines: Sequence[str]) -> Iterator[list[str]]:
    """The lines of a diff, grouped by path."""
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


def _count(part: list[str]) -> Count:
    head = neutralise(part[0])
    name = fmt.line(_name(head))
    if not head.startswith("diff --git "):
        return Count(name, note=fmt.line(head.partition(": ")[2]))
    start = next((number for number, line in enumerate(part) if line.startswith("@@ ")), len(part))
    if start == len(part):
        return Count(name, note=next((note for line in reversed(part) if (note := _note(line))), "mode"))
    return Count(name, sum(line[0] == "+" for line in part[start:]), sum(line[0] == "-" for line in part[start:]))


def _name(head: str) -> str:
    """The path that the first line of a part names."""
    if not head.startswith("diff --git "):
        return head.partition(": ")[0]  # a change that git cannot express, such as a folder
    return head.rpartition(" b/")[2] if " b/" in head else head.removeprefix("diff --git ")


def _note(line: str) -> str:
    return next((note for prefix, note in _NOTES.items() if line.startswith(prefix)), "")


def change_lines(changes: Iterable[Change], limit: int = _MAX_LISTED) -> Iterator[Text]:
    """The files and folders that will change, each with a sign. Caches are only counted."""
    found = [change for change in changes if change.path != "."]
    listed = [change for change in found if not is_cache(change.path)]
    for change in listed[:limit]:
        sign, style = _SIGNS.get(change.kind, ("~", "yellow"))
        note = "  (mode)" if change.kind == "mode" else ""
        name = printable(change.path) + ("/" if change.is_folder else "")
        yield Text.assemble(f"  {sign} ", (fmt.line(name, 300), style), (note, "dim"))
    if len(listed) > limit:
        yield Text(f"  and {len(listed) - limit} more", style="dim")
    if caches := len(found) - len(listed):
        yield Text(f"  and {fmt.count(caches, 'path')} in caches of tools", style="dim")
