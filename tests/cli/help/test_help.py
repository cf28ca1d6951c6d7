"""The help: groups of commands, examples that are real command lines, topics."""

import os
import re
import shlex
from collections.abc import Iterator
from unittest.mock import patch

import click
import pytest

from cli.conftest import Surefoot
from surefoot.cli.app import EXIT_CODES, cli
from surefoot.cli.help.examples import EXAMPLES
from surefoot.cli.help.listing import GROUPS
from surefoot.cli.help.topics import TOPICS


def commands(prefix: str = "", group: click.Group = cli) -> Iterator[tuple[str, click.Command]]:
    for name, command in group.commands.items():
        yield f"{prefix}{name}", command
        if isinstance(command, click.Group):
            yield from commands(f"{prefix}{name} ", command)


def parse(line: str) -> click.Context:
    """Read a command line with the real parser. Nothing is carried out."""
    words = shlex.split(re.split(r" [<>|&]", line)[0])
    assert words.pop(0) == "surefoot", line
    command: click.Command = cli
    while isinstance(command, click.Group) and words and words[0] in command.commands:
        command = command.commands[words.pop(0)]
    # Some options are handed on to processes by variables.
    with patch.dict(os.environ):
        return command.make_context(command.name, words)


@pytest.mark.parametrize(("name", "command"), list(commands()))
def test_every_command_has_examples_that_are_right(name: str, command: click.Command) -> None:
    shown = command.get_help(click.Context(command, info_name=name))
    _, _, examples = shown.partition("Examples:\n")
    lines = [line.strip() for line in examples.splitlines() if line.strip().startswith("surefoot ")]
    assert lines, f"surefoot {name} has no examples"
    assert any(line.startswith(f"surefoot {name}") for line in lines)
    for line in lines:
        parse(line)
    assert max(map(len, shown.splitlines())) <= 110


def test_no_example_is_of_a_command_that_does_not_exist() -> None:
    assert set(EXAMPLES) == {name for name, _ in commands()}


def test_a_wrong_example_would_be_noticed() -> None:
    with pytest.raises(click.UsageError):
        parse("surefoot run 'a task' --no-such-option")
    with pytest.raises(click.UsageError):
        parse("surefoot undo")


def test_the_commands_are_listed_in_groups(surefoot: Surefoot) -> None:
    listed = [name for names in GROUPS.values() for name in names]
    assert sorted(listed) == sorted(cli.commands), "every command is in one group"
    shown = surefoot("--help").out
    titles = re.findall(r"^(\S.*):$", shown, re.MULTILINE)
    assert titles == ["Options", *GROUPS]
    assert re.search(r"^Steer:\n  answer +answer the questions", shown, re.MULTILINE)
    rows = [row for row in shown.splitlines() if row.startswith("  ") and row.split()[0] in cli.commands]
    assert len(rows) >= len(listed)
    assert not any(row.endswith("...") for row in rows)


def test_topics(surefoot: Surefoot) -> None:
    overview = surefoot("help").out
    assert overview.startswith(surefoot("--help").out.rstrip())
    for name, (title, text) in TOPICS.items():
        assert f"  {name}" in overview
        assert title in overview
        shown = surefoot("help", name)
        assert (shown.code, shown.err) == (0, "")
        assert shown.out.strip() == text.strip()
    codes = re.findall(r"^ +(\d+) ", EXIT_CODES, re.MULTILINE)
    assert codes
    assert all(re.search(rf"^ +{code} ", surefoot("help", "exit-codes").out, re.MULTILINE) for code in codes[:3])


def test_examples_in_topics_are_right() -> None:
    lines = [line.strip() for _, text in TOPICS.values() for line in text.splitlines() if line.startswith("    ")]
    examples = [line for line in lines if line.startswith("surefoot ")]
    assert len(examples) >= 5
    for line in examples:
        parse(line)


def test_the_help_of_a_command(surefoot: Surefoot) -> None:
    assert surefoot("help", "run").out == surefoot("run", "--help").out
    assert surefoot("help", "mcp", "accept").out == surefoot("mcp", "accept", "--help").out
    wrong = surefoot("help", "exit")
    assert (wrong.code, wrong.out) == (2, "")
    assert "exit-codes" in wrong.err
