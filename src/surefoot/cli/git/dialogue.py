"""The dialogue of a review: each file and each of its hunks is shown, and a person keeps, undoes or edits it."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

import click
from rich.text import Text

from surefoot.cli.git.whole import hunk_lines, overview, show_paged, title, whole_diff
from surefoot.cli.report import formatting as fmt
from surefoot.cli.report.stdout import print_lines
from surefoot.cli.views.keyboard import wait_for_line
from surefoot.history.review.parts import Hunk, Replacement, TextChange, split
from surefoot.history.review.review import ChangedFile, Decision

HELP = """\
  k  keep this part               K  keep the rest of this file
  u  undo this part               U  undo this whole file
  e  edit the new lines in an editor
  s  split this part into smaller ones
  d  show the whole diff of all files
  q  keep this and everything that is left
  ?  this help
Ctrl-C leaves the review: then everything is kept.
"""


class _Quit(Exception):
    """The person wants no more questions; everything that is left is kept."""


def ask_about(files: Sequence[ChangedFile]) -> dict[str, Decision]:
    """Ask a person about each file. Returns the decisions by path; files that are kept have none."""
    decisions: dict[str, Decision] = {}
    all_files = _WholeDiff(files)
    print_lines(overview(files))
    try:
        for number, file in enumerate(files, 1):
            click.echo()
            print_lines([Text.assemble((f"file {number} of {len(files)}: ", "dim"), title(file))])
            dialogue = _FileDialogue(file, all_files)
            try:
                dialogue.ask()
            finally:
                if (decision := dialogue.decision()) is not None:
                    decisions[file.path] = decision
    except _Quit:
        if not all_files.was_shown and (unseen := _unseen(dialogue, files[number:])):
            click.echo(f"keeps {unseen}")
    except (EOFError, KeyboardInterrupt):
        click.echo("\nreview left", err=True)
        return {}
    return decisions


@dataclass(slots=True)
class _WholeDiff:
    """The diff of all files."""

    files: Sequence[ChangedFile]
    was_shown: bool = False

    def show(self) -> None:
        show_paged(whole_diff(self.files))
        self.was_shown = True


def _unseen(dialogue: "_FileDialogue", later: Sequence[ChangedFile]) -> str:
    """Name the parts of the current file and the later files that were not shown. Empty if there are none."""
    parts = f"{fmt.count(dialogue.left, 'part')} of {fmt.path(dialogue.file.path)}" if dialogue.left else ""
    if not later:
        return f"{parts} unseen" if parts else ""
    named = fmt.join_limited([fmt.path(file.path) for file in later])
    return f"{f'{parts} and ' if parts else ''}{fmt.count(len(later), 'file')} unseen: {named}"


@dataclass(slots=True)
class _FileDialogue:
    """The questions about one file."""

    file: ChangedFile
    all_files: _WholeDiff
    undo_whole: bool = False
    left: int = 0
    """The number of its parts that were not shown yet."""
    replacements: list[Replacement] = field(default_factory=list)

    def decision(self) -> Decision | None:
        if self.undo_whole:
            return Decision()
        if self.replacements and self.file.text is not None:
            return Decision(self.file.text.with_(self.replacements))
        return None

    def ask(self) -> None:
        hunks = self.file.hunks
        if self.file.text is None or not hunks:
            self._ask_whole()
            return
        self.left = total = len(hunks)
        number = 0
        while hunks:
            hunk = hunks.pop(0)
            # Smaller parts of a split one do not count as unseen: it was shown as a whole.
            number, self.left = number + 1, min(self.left, len(hunks))
            print_lines(hunk_lines(self.file.text, hunk))
            match self._choose(f"part {number} of {total}", "kuesKUdq?" if len(hunk) > 1 else "kueKUdq?"):
                case "u":
                    self.replacements += self.file.text.undone(hunk)
                case "U":
                    self.undo_whole = True
                    return
                case "K":
                    return
                case "s":
                    hunks[:0] = split(hunk)
                    total, number = total + len(hunk) - 1, number - 1
                case "e":
                    self._edit(self.file.text, hunk)

    def _ask_whole(self) -> None:
        """Ask about a file that has no parts: a new one, a deleted one, or one that is not text."""
        change = self.file.text
        hunks = change.hunks() if change is not None else []
        if change is not None:
            print_lines(line for hunk in hunks for line in hunk_lines(change, hunk))
        may_edit = change is not None and hunks and self.file.kind == "added"
        match self._choose("this file", "kuedq?" if may_edit else "kudq?"):
            case "u":
                self.undo_whole = True
            case "e" if change is not None:
                self._edit(change, hunks[0])

    def _edit(self, change: TextChange, hunk: Hunk) -> None:
        """Let the person edit the new lines of a hunk. The hunk is kept if nothing is saved."""
        edited = click.edit(change.new_lines(hunk), extension=PurePosixPath(self.file.path).suffix or ".txt")
        if edited is None:
            click.echo("not changed in the editor: kept as it is")
        else:
            self.replacements += change.edited(hunk, edited)

    def _choose(self, subject: str, keys: str) -> str:
        """Ask until one of the keys is given, or the word for it. Shows the diff on `d`; raises `_Quit` on `q`."""
        words = {"keep": "k", "undo": "u", "edit": "e", "split": "s", "diff": "d", "quit": "q", "help": "?"}
        while True:
            click.echo(f"{subject} [{','.join(keys)}]? ", nl=False)
            typed = wait_for_line(sys.stdin).strip()
            answer = words.get(typed.lower(), typed)
            if answer == "q":
                raise _Quit
            if answer == "d":
                self.all_files.show()
                continue
            if answer and answer in keys and answer != "?" and len(answer) == 1:
                return str(answer)
            click.echo(HELP, nl=False)
