"""The options of `run` about git and the review."""

from itertools import pairwise

import click

from surefoot.cli.options import combine
from surefoot.errors import UsageError

_VALUES = {"--branch": "--branch=", "--commit": "--commit=run"}
"""What an option without a value stands for."""


class WithOptionalValues(click.Command):
    """A command with options whose value is optional. As in git, the value is part of the same word: `--branch=NAME`.

    So the word after `--branch` is never taken for a name. It is refused if it looks like one.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        end = args.index("--") if "--" in args else len(args)
        rest = super().parse_args(ctx, [*(_VALUES.get(word, word) for word in args[:end]), *args[end:]])
        words: tuple[str, ...] = ctx.params.get("task") or ()
        for option, value in pairwise(args[:end]):
            # The task is one quoted word, and this is another: it was meant as the value.
            if option in _VALUES and value in words and " " not in value and any(" " in word for word in words):
                raise UsageError(
                    f"{value!r} after {option} would be a part of the task",
                    remedy=f"for the value of the option: {option}={value}; else write the task as one quoted text",
                )
        return rest


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
