"""Changed files as a diff, as statistics, or as a list of paths."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from rich.cells import cell_len
from rich.text import Text

from surefoot.cli.report import formatting as fmt
from surefoot.cli.report.stdout import print_lines
from surefoot.journal.redact import neutralise
from surefoot.tools.fs.tool_files import is_listed, places_of
from surefoot.view.patches import diff_parts, is_in_hunk, name_of
from surefoot.workspace.errors import printable
from surefoot.workspace.snapshots.diff import Change

_SIGNS = {"added": ("+", "green"), "removed": ("-", "red")}
_MAX_LISTED = 40
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


def print_left_out(paths: Sequence[str], run_id: str) -> None:
    """Say on stderr how many changed paths a diff leaves out, and how to see them."""
    where = f"{fmt.count(len(paths), 'path')} in {places_of(paths)}"
    print(f"{where} left out; to see all: surefoot diff {run_id} --everything", file=sys.stderr)


def diff_lines(text: str) -> Iterator[Text]:
    in_hunk = False
    for line in text.split("\n")[:-1]:
        in_hunk = is_in_hunk(line, in_hunk)
        # Other line separators are part of the line; they are made visible.
        yield Text(neutralise(line).replace("\t", "    "), style=_style(line, in_hunk))


def _style(line: str, in_hunk: bool) -> str:
    if not in_hunk:
        return "bold"
    return {"+": "green", "-": "red", "@": "cyan", "\\": "dim"}.get(line[:1], "")


def stat_lines(text: str) -> Iterator[Text]:
    """One line for each file with the numbers of added and removed lines, and one with the totals."""
    return count_lines([_count(part) for part in diff_parts(text)])


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


def _count(part: list[str]) -> Count:
    head = neutralise(part[0])
    name = fmt.line(name_of(head))
    if not head.startswith("diff --git "):
        return Count(name, note=fmt.line(head.partition(": ")[2]))
    start = next((number for number, line in enumerate(part) if line.startswith("@@ ")), len(part))
    if start == len(part):
        return Count(name, note=next((note for line in reversed(part) if (note := _note(line))), "mode"))
    return Count(name, sum(line[0] == "+" for line in part[start:]), sum(line[0] == "-" for line in part[start:]))


def _note(line: str) -> str:
    return next((note for prefix, note in _NOTES.items() if line.startswith(prefix)), "")


def change_lines(changes: Iterable[Change], limit: int = _MAX_LISTED) -> Iterator[Text]:
    """The files and folders that will change, each with a sign. Files of version control and of tools are only
    counted."""
    found = [change for change in changes if change.path != "."]
    listed = [change for change in found if is_listed(change.path)]
    for change in listed[:limit]:
        sign, style = _SIGNS.get(change.kind, ("~", "yellow"))
        note = "  (mode)" if change.kind == "mode" else ""
        name = printable(change.path) + ("/" if change.is_folder else "")
        yield Text.assemble(f"  {sign} ", (fmt.line(name, 300), style), (note, "dim"))
    if len(listed) > limit:
        yield Text(f"  and {len(listed) - limit} more", style="dim")
    if others := [change.path for change in found if not is_listed(change.path)]:
        yield Text(f"  and {fmt.count(len(others), 'path')} in {places_of(others)}", style="dim")
