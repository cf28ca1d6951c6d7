"""The options of `run` about git and the review."""

import click

from surefoot.cli.options import combine

_VALUES = {"--branch": "--branch=", "--commit": "--commit=run"}
"""What an option without a value stands for."""


class WithOptionalValues(click.Command):
    """A command with options whose value is optional. As in git, the value is part of the same word: `--branch=NAME`.

    So the word after `--branch` is never taken for a name.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        end = args.index("--") if "--" in args else len(args)
        return super().parse_args(ctx, [*(_VALUES.get(word, word) for word in args[:end]), *args[end:]])


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
    click.option("--review", is_flag=True, help="Show the whole diff at the end, and keep, edit or undo its parts."),
)
