"""The whole result of a run for a review: an overview of its files, and the diff of all of them in a pager."""

import os
import shlex
import signal
import subprocess
from collections.abc import Iterable, Iterator, Sequence

from rich.text import Text

from surefoot.cli.report import formatting as fmt
from surefoot.cli.report.diff import Count, count_lines, diff_lines
from surefoot.cli.report.stdout import print_lines, styled
from surefoot.history.review.parts import Hunk, TextChange
from surefoot.history.review.review import ChangedFile
from surefoot.workspace.process.programs import find_program

_KINDS = {"added": "new", "removed": "deleted", "modified": "changed", "mode": "mode changed", "type": "replaced"}
_LESS = "FRX"
"""The default of git: end at once if the text fits the screen, show colours, and leave the text on the screen."""


def overview(files: Sequence[ChangedFile]) -> Iterator[Text]:
    """One line for each file with the numbers of its added and removed lines, and one with the totals."""
    return count_lines([_count(file) for file in files])


def _count(file: ChangedFile) -> Count:
    name = fmt.path(file.path)
    if file.text is None:
        return Count(name, note=f"{_kind(file)}, not as lines")
    blocks = [block for hunk in file.text.hunks() for block in hunk]
    added = sum(block.after[1] - block.after[0] for block in blocks)
    removed = sum(block.before[1] - block.before[0] for block in blocks)
    return Count(name, added, removed, note="" if blocks else f"{_kind(file)}, empty")


def title(file: ChangedFile) -> Text:
    """The path of a file and the kind of its change, on one line."""
    note = "" if file.text or file.kind in ("added", "removed") else "  (only as a whole)"
    return Text.assemble((fmt.path(file.path), "bold"), f"  {_kind(file)}", (note, "dim"))


def _kind(file: ChangedFile) -> str:
    return _KINDS.get(file.kind, file.kind)


def hunk_lines(change: TextChange, hunk: Hunk) -> Iterator[Text]:
    return diff_lines("".join(change.patch(hunk)))


def whole_diff(files: Sequence[ChangedFile], *, numbered: bool = False) -> Iterator[Text]:
    """Every file with its hunks. With `numbered`, each hunk has the name that --undo takes."""
    for file in files:
        yield title(file)
        for number, hunk in enumerate(file.text.hunks() if file.text else (), 1):
            assert file.text is not None
            if numbered and file.hunks:
                yield Text(f"{fmt.path(file.path)}:{number}")
            yield from hunk_lines(file.text, hunk)


def show_paged(lines: Iterable[Text]) -> None:
    """Show lines in the user's pager (`PAGER`, else `less`). Without a pager or a capable terminal, print them."""
    try:
        words = shlex.split(os.environ.get("PAGER", "less"))
    except ValueError:
        words = []
    is_dumb = os.environ.get("TERM", "dumb") in ("", "dumb")
    program = find_program(words[0]) if words and words != ["cat"] and not is_dumb else None
    if program is None:
        print_lines(lines)
        return
    # Ctrl-C is for the pager.
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        environ = {**os.environ, "LESS": os.environ.get("LESS", _LESS)}
        subprocess.run([program, *words[1:]], input=styled(lines).encode(errors="replace"), env=environ, check=False)
    finally:
        signal.signal(signal.SIGINT, before)
