"""The reference pages agree with the program: options, settings, exit codes, examples."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from support.pages import DOCS, snippets
from surefoot.cli.app import EXIT_CODES, cli
from surefoot.cli.setup.config import as_text
from surefoot.config.fields import SECTIONS, describe, known_fields
from surefoot.config.sources import OTHER_VARIABLES, from_environment, from_toml
from surefoot.core.outcome import EXIT_CODES as VERDICT_CODES

COMMANDS = (DOCS / "cli.md").read_text()
CONFIGURATION = (DOCS / "configuration.md").read_text()


def commands(name: str = "surefoot", command: click.Command = cli) -> Iterator[tuple[str, click.Command]]:
    yield name, command
    if isinstance(command, click.Group):
        for own, sub in command.commands.items():
            yield from commands(f"{name} {own}", sub)


def section(page: str, title: str) -> str:
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", page, re.DOTALL | re.MULTILINE)
    assert found, f"there is no section {title!r}"
    return found[1]


def rows(text: str) -> list[list[str]]:
    """The cells of the rows of a table, without its header."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines[2:]]


def format_option(option: click.Option, command: click.Command) -> str:
    """An option in the notation of the pages."""
    names = [f"`{name}`" for name in option.opts]
    if not option.is_flag:
        names[-1] = f"`{option.opts[-1]} {option.make_metavar(click.Context(command))}`"
    positive = ", ".join(names)
    return f"{positive} / `{option.secondary_opts[0]}`" if option.secondary_opts else positive


@pytest.mark.parametrize(("name", "command"), list(commands()))
def test_every_option_is_listed_with_its_command(name: str, command: click.Command) -> None:
    listed = [row[0] for row in rows(section(COMMANDS, name))]
    options = [parameter for parameter in command.params if isinstance(parameter, click.Option)]
    assert listed == [format_option(option, command) for option in options if not option.hidden]
    assert command.help


def test_the_pages_describe_exactly_the_existing_commands() -> None:
    titles = re.findall(r"^## (surefoot.*)$", COMMANDS, re.MULTILINE)
    assert sorted(titles) == sorted(name for name, _ in commands())


def test_the_exit_codes_are_listed() -> None:
    listed = {int(row[0]) for row in rows(section(COMMANDS, "Exit codes"))}
    assert listed == {*VERDICT_CODES.values(), 2}
    assert listed == {int(code) for code in re.findall(r"^ +(\d+) ", EXIT_CODES, re.MULTILINE)}


@pytest.mark.parametrize("part", list(SECTIONS))
def test_every_setting_is_listed_in_its_section(part: str) -> None:
    real = []
    for name, field in known_fields():
        if name.startswith(f"{part}."):
            default = field.get_default(call_default_factory=True)
            real.append([f"`{name.partition('.')[2]}`", as_text(default), describe(field)])
    assert [row[:3] for row in rows(section(CONFIGURATION, part))] == real


def test_the_environment_variables_are_listed() -> None:
    listed = {row[0].strip("`") for row in rows(section(CONFIGURATION, "Variables"))}
    # SUREFOOT_COMMAND is for the commands that a run starts, not for people.
    assert listed == {*OTHER_VARIABLES, "NO_COLOR"} - {"SUREFOOT_COMMAND"}


def test_every_config_example_is_valid() -> None:
    texts = snippets("configuration.md", "toml") + snippets("guides/project-setup.md", "toml")
    assert texts
    for text in texts:
        assert from_toml(Path("surefoot.toml"), text.encode())
    exported = dict(
        shlex.split(line.removeprefix("export "))[0].split("=", 1)
        for text in snippets("configuration.md", "sh")
        for line in text.splitlines()
        if line.startswith("export ")
    )
    assert len(from_environment(exported)) == len(exported) == 4


def test_every_link_has_a_target() -> None:
    for page in (DOCS / "cli.md", DOCS / "configuration.md", DOCS / "guides" / "project-setup.md"):
        for target in re.findall(r"\]\(([^)]+)\)", page.read_text()):
            file, _, anchor = target.partition("#")
            text = (page.parent / file if file else page).read_text()
            titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
            anchors = {re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-") for title in titles}
            assert not anchor or anchor in anchors, target
