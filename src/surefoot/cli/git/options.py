"""The options of `run` about git and the review."""

import re
from itertools import pairwise
from pathlib import Path

import click

from surefoot.cli.options import combine
from surefoot.errors import UsageError

_VALUES = {"--branch": "--branch=", "--commit": "--commit=run"}
"""The meaning of an option that is given without a value."""


class WithOptionalValues(click.Command):
    """A command with options whose value is optional. As in git, the value is part of the same word: `--branch=NAME`.

    The word after `--branch` is treated as a name only if it is unlikely to be part of the task: the task is one quoted
    text, and the word looks like a name. Any other word beside a quoted task is refused.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        end = args.index("--") if "--" in args else len(args)
        words = [*(_VALUES.get(word, word) for word in args[:end]), *args[end:]]
        task: tuple[str, ...] = self.make_parser(ctx).parse_args(list(words))[0].get("task") or ()
        for place, (option, value) in enumerate(pairwise(args[:end])):
            # The task is a quoted text, and this is a word beside it: it was meant as the value.
            if option not in _VALUES or value not in task or " " in value or not any(" " in word for word in task):
                continue
            if option == "--branch" and len(task) == 2 and _looks_like_branch(value):
                words[place : place + 2] = [f"--branch={value}"]
                break
            raise UsageError(
                f"{value!r} after {option} would become part of the task",
                remedy=f"for the value of the option: {option}={value}; else write the task as one quoted text",
            )
        return super().parse_args(ctx, words)


def _looks_like_branch(word: str) -> bool:
    """Whether a word looks like `fix/minus` or `issue-12`: neither a word of a sentence nor a file."""
    return bool(re.search(r"[/_\d-]", word)) and not Path(word).exists()


git_options = combine(
    click.option(
        "--branch",
        metavar="[=NAME]",
        help="Make a git branch and switch to it first; without =NAME it is named after the task.",
    ),
    click.option(
        "--commit",
        metavar="[=run|step]",
        type=click.Choice(("run", "step")),
        help="Commit what a verified run changed: all at once, or step by step.",
    ),
    click.option("--review", is_flag=True, help="Go through the diff at the end, and keep, edit or undo its parts."),
)
