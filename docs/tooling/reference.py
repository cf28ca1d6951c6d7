"""The reference pages that are made from the code when the site is built. They are not kept in the repository.

python docs/tooling/reference.py FOLDER     writes them there, to look at
"""

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click
from pydantic.fields import FieldInfo

import surefoot
from surefoot import errors
from surefoot.cli.app import cli
from surefoot.cli.setup.config import as_text
from surefoot.config.fields import SECTIONS, describe, known_fields
from surefoot.journal.events import KINDS
from surefoot.journal.events.aliases import ALIASES

MADE = "This page is made from the code.\n"
LESS_IN_SEARCH = "---\nsearch:\n  boost: 0.3\n---\n"
"""Pages that explain something come first in the results of a search."""


def pages() -> dict[str, str]:
    """The pages, by their place in the site."""
    made = {
        "reference/commands.md": commands(),
        "reference/settings.md": settings(),
        "reference/event-types.md": event_types(),
        "reference/errors.md": error_tree(),
        "reference/api.md": api(),
    }
    return {uri: LESS_IN_SEARCH + text for uri, text in made.items()}


def commands() -> str:
    """Every command as its `--help` prints it."""
    parts = ["# All commands\n", MADE, "[The command line](../cli.md) explains them.\n"]
    for name, command in _commands("surefoot", cli):
        with click.Context(command, info_name=name, terminal_width=100) as context:
            parts.append(f"## {name}\n\n```text\n{command.get_help(context)}\n```\n")
    return "\n".join(parts)


def _commands(name: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    yield name, command
    if isinstance(command, click.Group):
        for own, sub in sorted(command.commands.items()):
            if not sub.hidden:
                yield from _commands(f"{name} {own}", sub)


def settings() -> str:
    """Every setting with its default, and the variable that sets it."""
    parts = ["# All settings\n", MADE, "[Configuration](../configuration.md) explains them, and where they are set.\n"]
    for section in SECTIONS:
        fields = [(name, field) for name, field in known_fields() if name.startswith(f"{section}.")]
        rows = [_setting(name, field) for name, field in fields]
        parts.append(_table(section, ("setting", "variable", "default", "may be"), rows))
    return "\n".join(parts)


def _setting(name: str, field: FieldInfo) -> tuple[str, ...]:
    default = as_text(field.get_default(call_default_factory=True))
    return f"`{name}`", f"`SUREFOOT_{name.upper().replace('.', '__')}`", default, describe(field)


def event_types() -> str:
    """Every event of the journal with its fields."""
    parts = ["# All events\n", MADE, "[Events](events.md) explains them. Each has `seq`, `at` and `type` as well.\n"]
    for event, kind in sorted(KINDS.items(), key=lambda item: item[1]):
        rows = [
            (f"`{name}`", f"`{_type(field.annotation)}`", "" if field.is_required() else "yes")
            for name, field in event.model_fields.items()
            if name != "type"
        ]
        also = f"Also called `{ALIASES[event]}`. " if event in ALIASES else ""
        text = also + (inspect.getdoc(event) if event.__dict__.get("__doc__") else "")
        parts.append(_table(kind, ("field", "type", "optional"), rows, text))
    return "\n".join(parts)


def _type(annotation: object) -> str:
    text = annotation.__name__ if isinstance(annotation, type) and not hasattr(annotation, "__origin__") else ""
    text = text or str(annotation)
    return re.sub(r"\b(?:typing|collections\.abc|surefoot(?:\.\w+)+|builtins)\.", "", text).replace("|", "\\|")


def error_tree() -> str:
    """The tree of errors, as errors.py describes it, and what each has besides the message."""
    doc = inspect.getdoc(errors) or ""
    tree, after = doc.partition("    SurefootError\n")[2].rpartition("\n\n")[::2]
    parts = ["# All errors\n", MADE, "[Troubleshooting](../troubleshooting.md) says what to do about them.\n"]
    parts.append(f"```text\nSurefootError\n{_dedented(tree)}\n```\n\n{after}\n")
    rows = []
    for name, error in vars(errors).items():
        if inspect.isclass(error) and issubclass(error, errors.SurefootError):
            own = [each for each in inspect.signature(error).parameters if each not in ("message", "remedy", "problem")]
            temporary = "yes" if error.temporary else ""
            rows.append((f"`{name}`", f"`{error.__mro__[1].__name__}`", temporary, ", ".join(f"`{e}`" for e in own)))
    parts.append(_table("Classes", ("error", "is a", "temporary", "arguments beside message and remedy"), rows))
    return "\n".join(parts)


def _dedented(text: str) -> str:
    return "\n".join(line.removeprefix("    ") for line in text.splitlines())


def api() -> str:
    """The public names, by mkdocstrings from their docstrings."""
    parts = ["# The Python API\n", MADE, "[The guide](../guides/library.md) shows how they are used.\n"]
    for name in sorted(surefoot.__all__):
        if not name.startswith("__"):
            value = getattr(surefoot, name)
            home = getattr(value, "__module__", "")
            if home.startswith("surefoot"):
                parts.append(f"::: {home}.{name}\n")
    return "\n".join(parts)


def _table(title: str, head: tuple[str, ...], rows: list[tuple[str, ...]], text: str = "") -> str:
    lines = [f"## {title}\n"] + ([f"{text}\n"] if text.strip() else [])
    if rows:
        lines += [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
        lines += [f"| {' | '.join(cell.replace(chr(10), ' ') for cell in row)} |" for row in rows]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    for uri, text in pages().items():
        path = Path(sys.argv[1], uri)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
