"""`config set`, `config unset`, `config get` and `config edit`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from surefoot.cli.setup.config import as_object, as_text, config, safe_value
from surefoot.errors import ConfigError, UsageError

if TYPE_CHECKING:
    from surefoot.cli.setup.config_file import ConfigFile

NEW_FILE = "# Settings of Surefoot. `surefoot config` lists all of them; docs/configuration.md explains them.\n"
_PROJECT = click.option("--project", is_flag=True, help="In the project's config file, not in the user's.")
_WORKSPACE = click.option("-C", "--workspace", metavar="DIR", help="The folder whose project config is meant.")
_NAME = click.argument("name")


@config.command("set")
@_NAME
@click.argument("values", nargs=-1, required=True, metavar="VALUE...")
@_PROJECT
@_WORKSPACE
@click.pass_context
def set_setting(
    context: click.Context, name: str, values: tuple[str, ...], project: bool, workspace: str | None
) -> int:
    """Set a setting in the user's config file, or in the project's. A list takes several values.

    Comments and everything else in the file stay as they are. A project's file that you trust stays trusted.

    \b
      surefoot config set budget.max_cost_usd 1.50
      surefoot config set --project execution.checks "pytest -q" "ruff check ."
    """
    from surefoot.cli.setup.config_file import SOURCE, parse_values, with_setting
    from surefoot.config.fields import require_setting

    folder = _folder(context, workspace)
    name = require_setting(SOURCE, name)
    value, file = parse_values(name, values), _file(project, folder)
    before = _valid_content(file)
    trusted = file.write(with_setting(before or NEW_FILE.encode(), name, value), before)
    _say(f"{name} = {as_text(safe_value(name, value))} in {file.path}")
    _say_trust(file, trusted)
    _say_effect(file, name, folder)
    return 0


@config.command("unset")
@_NAME
@_PROJECT
@_WORKSPACE
@click.pass_context
def unset_setting(context: click.Context, name: str, project: bool, workspace: str | None) -> int:
    """Remove a setting from the user's config file, or from the project's."""
    from surefoot.cli.setup.config_file import without_setting
    from surefoot.config.fields import require_setting
    from surefoot.config.layers import load

    folder = _folder(context, workspace)
    name = require_setting("config unset", name)
    file = _file(project, folder)
    before = _valid_content(file)
    after = without_setting(before, name) if before is not None else None
    if after is None or after == before:
        _say(f"{name} is not set in {file.path}")
        return 0
    trusted = file.write(after, before)
    item = load(folder).listed[name]
    _say(f"removed {name} from {file.path}; it is now {as_text(safe_value(name, item.value))} ({item.source})")
    _say_trust(file, trusted)
    return 0


@config.command("get")
@_NAME
@_WORKSPACE
@click.option("--json", "as_json", is_flag=True, help="As one JSON object, with the source.")
@click.pass_context
def get_setting(context: click.Context, name: str, workspace: str | None, as_json: bool) -> int:
    """Print the value of a setting as a run would use it. A list has one line for each entry."""
    import json

    from surefoot.cli.report.hiding import redactor
    from surefoot.config.fields import require_setting
    from surefoot.config.layers import load

    name = require_setting("config get", name)
    settings = load(_folder(context, workspace))
    for notice in settings.notices:
        _say(notice)
    item, hide = settings.listed[name], redactor().redact
    if as_json:
        click.echo(hide(json.dumps({"name": name, **as_object(name, item)})))
        return 0
    value = safe_value(name, item.value)
    for entry in value if isinstance(value, list) else [value]:
        click.echo(_safe(as_text(entry)))
    return 0


@config.command("edit")
@_PROJECT
@_WORKSPACE
@click.pass_context
def edit_config(context: click.Context, project: bool, workspace: str | None) -> int:
    """Open the user's config file, or the project's, in your editor ($VISUAL or $EDITOR).

    The file is replaced only if what you saved is valid; otherwise you are asked whether to edit it again.
    """
    file = _file(project, _folder(context, workspace))
    before = file.read()
    if not sys.stdin.isatty():
        raise UsageError(
            "there is no terminal for an editor", remedy="change single settings with: surefoot config set NAME VALUE"
        )
    text = before.decode(errors="surrogateescape") if before is not None else NEW_FILE
    while True:
        edited = click.edit(text, extension=".toml", require_save=True)
        if edited is None or edited == text:
            _say("nothing was changed")
            return 0
        text = edited
        try:
            trusted = file.write(text.encode(errors="surrogateescape"), before)
        except ConfigError as error:
            _say(f"surefoot: {error}" + (f"\n          {error.remedy}" if error.remedy else ""))
            if not click.confirm("edit it again?", default=True, err=True):
                _say("nothing was changed")
                return 2
            continue
        _say(f"changed: {file.path}")
        _say_trust(file, trusted)
        return 0


def _folder(context: click.Context, workspace: str | None) -> Path:
    """The folder given with -C, before or after the name of the subcommand."""
    option = workspace if workspace is not None else context.parent and context.parent.params.get("workspace")
    folder = Path(option or ".").expanduser()
    if not folder.is_dir():
        raise UsageError(f"{folder} is not a folder", remedy="name a folder with -C")
    return folder


def _file(project: bool, folder: Path) -> "ConfigFile":
    from surefoot.cli.setup.config_file import ConfigFile

    return ConfigFile.of_project(folder) if project else ConfigFile.of_user()


def _valid_content(file: "ConfigFile") -> bytes | None:
    """The content of the file; None if there is none. Raises ConfigError if it is not valid: such a file stays."""
    content = file.read()
    if content is not None:
        file.settings(content)
    return content


def _say_trust(file: "ConfigFile", trusted: bool | None) -> None:
    if trusted is False:
        _say(f"{file.path} is not trusted and is ignored; to use it: surefoot trust {file.folder}")


def _say_effect(file: "ConfigFile", name: str, folder: Path) -> None:
    """Print a note if another layer of the settings overrides the value here."""
    from surefoot.config.layers import load

    source = load(folder).listed[name].source
    if not source.startswith(f"{file.path}:") and source != "default":
        _say(f"it has no effect here, because {source} sets it too")


def _say(text: str) -> None:
    click.echo(_safe(text), err=True)


def _safe(text: str) -> str:
    from surefoot.cli.report.hiding import safe

    return safe(text)
