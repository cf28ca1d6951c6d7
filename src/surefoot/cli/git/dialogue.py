"""The dialogue of a review: each file and each of its hunks is shown, and a person keeps, undoes or edits it."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

import click
from rich.text import Text

from surefoot.cli.report import formatting as fmt
from surefoot.cli.report.diff import diff_lines
from surefoot.cli.report.stdout import print_lines
from surefoot.cli.views.keyboard import wait_for_line
from surefoot.history.review.parts import Hunk, Replacement, TextChange, split
from surefoot.history.review.review import ChangedFile, Decision

_KINDS = {"added": "new", "removed": "deleted", "modified": "changed", "mode": "mode changed", "type": "replaced"}
HELP = """\
  k  keep this part               K  keep the rest of this file
  u  undo this part               U  undo this whole file
  e  edit the new lines in an editor
  s  split this part into smaller ones
  q  keep this and everything that is left
  ?  this help
Ctrl-C leaves the review: then everything is kept.
"""


class _Left(Exception):
    """The person wants no more questions."""


def title(file: ChangedFile) -> Text:
    """What happened to a file, in one line."""
    note = "" if file.text or file.kind in ("added", "removed") else "  (only as a whole)"
    return Text.assemble((fmt.path(file.path), "bold"), f"  {_KINDS.get(file.kind, file.kind)}", (note, "dim"))


def hunk_lines(change: TextChange, hunk: Hunk) -> Iterator[Text]:
    return diff_lines("".join(change.patch(hunk)))


def ask_about(files: Sequence[ChangedFile]) -> dict[str, Decision]:
    """What a person wants of each file; files that stay as they are, are not among it."""
    decisions: dict[str, Decision] = {}
    try:
        for number, file in enumerate(files, 1):
            click.echo()
            print_lines([Text.assemble((f"file {number} of {len(files)}: ", "dim"), title(file))])
            talk = _Talk(file)
            try:
                talk.ask()
            finally:
                if (decision := talk.decision()) is not None:
                    decisions[file.path] = decision
    except _Left:
        pass
    except (EOFError, KeyboardInterrupt):
        click.echo("\nreview left", err=True)
        return {}
    return decisions


@dataclass(slots=True)
class _Talk:
    """The questions about one file."""

    file: ChangedFile
    whole: bool = False
    """Whether the whole file is undone."""
    replacements: list[Replacement] = field(default_factory=list)

    def decision(self) -> Decision | None:
        if self.whole:
            return Decision()
        if self.replacements and self.file.text is not None:
            return Decision(self.file.text.with_(self.replacements))
        return None

    def ask(self) -> None:
        hunks = self.file.hunks
        if self.file.text is None or not hunks:
            self._ask_whole()
            return
        total, number = len(hunks), 0
        while hunks:
            hunk = hunks.pop(0)
            number += 1
            print_lines(hunk_lines(self.file.text, hunk))
            match self._choose(f"part {number} of {total}", "kuesKUq?" if len(hunk) > 1 else "kueKUq?"):
                case "u":
                    self.replacements += self.file.text.undone(hunk)
                case "U":
                    self.whole = True
                    return
                case "K":
                    return
                case "s":
                    hunks[:0] = split(hunk)
                    total, number = total + len(hunk) - 1, number - 1
                case "e":
                    self._edit(self.file.text, hunk)

    def _ask_whole(self) -> None:
        """Ask about a file that has no parts: a new or a deleted one, or one that is not text."""
        change = self.file.text
        hunks = change.hunks() if change is not None else []
        if change is not None:
            print_lines(line for hunk in hunks for line in hunk_lines(change, hunk))
        may_edit = change is not None and hunks and self.file.kind == "added"
        match self._choose("this file", "kueq?" if may_edit else "kuq?"):
            case "u":
                self.whole = True
            case "e" if change is not None:
                self._edit(change, hunks[0])

    def _edit(self, change: TextChange, hunk: Hunk) -> None:
        """Let the person write other lines for a hunk. It is kept as it is if they save nothing."""
        edited = click.edit(change.new_lines(hunk), extension=PurePosixPath(self.file.path).suffix or ".txt")
        if edited is None:
            click.echo("not changed in the editor: kept as it is")
        else:
            self.replacements += change.edited(hunk, edited)

    def _choose(self, what: str, keys: str) -> str:
        """One of the keys that are possible here; the words for them are understood too."""
        words = {"keep": "k", "undo": "u", "edit": "e", "split": "s", "quit": "q", "help": "?"}
        while True:
            click.echo(f"{what} [{','.join(keys)}]? ", nl=False)
            given = wait_for_line(sys.stdin).strip()
            answer = words.get(given.lower(), given)
            if answer == "q":
                raise _Left
            if answer and answer in keys and answer != "?" and len(answer) == 1:
                return str(answer)
            click.echo(HELP, nl=False)
