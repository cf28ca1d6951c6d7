"""`config`, `trust` and `untrust`: the settings with their sources, and the projects that may set them."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from surefoot.cli.options import workspace_option

if TYPE_CHECKING:
    from surefoot.config.fields import Sourced

_FOLDER = click.argument("folder", metavar="[DIR]", default=".")


@click.group(invoke_without_command=True)
@workspace_option
@click.option("--changed", is_flag=True, help="Only the settings that differ from the default.")
@click.option("--json", "as_json", is_flag=True, help="As one JSON object.")
@click.pass_context
def config(context: click.Context, workspace: str, changed: bool, as_json: bool) -> int:
    """Show every setting with its value and its source; or change one."""
    if context.invoked_subcommand:
        return 0
    import json

    from surefoot.cli.report.hiding import redactor
    from surefoot.config import paths
    from surefoot.config.layers import load
    from surefoot.journal.redact import neutralise

    hide = redactor().redact
    settings = load(Path(workspace).expanduser())
    for notice in settings.notices:
        click.echo(neutralise(notice), err=True)
    listed = {name: item for name, item in settings.listed.items() if not changed or _is_changed(name, item)}
    if as_json:
        click.echo(hide(json.dumps({name: as_object(name, item) for name, item in listed.items()})))
        return 0
    widest = max((len(name) for name in listed), default=0)
    for name, item in listed.items():
        click.echo(neutralise(hide(f"{name:<{widest}}  {as_text(safe_value(name, item.value)):<12}  {item.source}")))
    if changed:
        if not listed:
            click.echo("no setting differs from the default")
        return 0
    click.echo()
    for title, path in (
        ("user config", paths.user_config()),
        ("state", paths.state_home()),
        ("cache", paths.cache_home()),
    ):
        click.echo(f"{title:<{widest}}  {path}{'' if path.exists() else '  (does not exist yet)'}")
    return 0


def _is_changed(name: str, item: "Sourced") -> bool:
    """Whether a value differs from the default. Prices and MCP servers have no default."""
    from surefoot.config.fields import known_fields

    field = dict(known_fields()).get(name)
    return field is None or item.value != field.get_default(call_default_factory=True)


def as_object(name: str, item: "Sourced") -> dict[str, object]:
    """The value, the source and the environment variable of a setting, for JSON."""
    from surefoot.config.mcp import McpServer
    from surefoot.config.model import Price
    from surefoot.config.sources import variable_of

    if isinstance(item.value, Price | McpServer):
        return {"value": item.value.model_dump(exclude_unset=True), "source": item.source, "variable": None}
    return {"value": safe_value(name, item.value), "source": item.source, "variable": variable_of(name)}


@click.command()
@_FOLDER
def trust(folder: str) -> int:
    """Use the settings in a project's config file. It must be trusted again after a change."""
    from surefoot.cli.setup.config_file import trust_store
    from surefoot.config.layers import project_settings
    from surefoot.config.trust import project_config
    from surefoot.journal.redact import neutralise

    path = project_config(Path(folder).expanduser().resolve())
    content = path.read_bytes()
    # Parsed first, so that an invalid file is refused here and not by the next run.
    settings = project_settings(path, content)
    trust_store().add(path, content)
    click.echo(neutralise(f"trusted: {path}"))
    for name, item in settings.items():
        click.echo(neutralise(f"  {name} = {as_text(item.value)}"))
    return 0


@click.command()
@_FOLDER
def untrust(folder: str) -> int:
    """Ignore the settings in a project's config file again."""
    from surefoot.cli.setup.config_file import trust_store
    from surefoot.journal.redact import neutralise

    store = trust_store()
    trusted = store.under(Path(folder).expanduser().resolve())
    for path in trusted:
        store.remove(path)
        click.echo(neutralise(f"no longer trusted: {path}"))
    if not trusted:
        click.echo("the project was not trusted")
    return 0


def safe_value(name: str, value: object) -> object:
    """A value as it is printed. URLs and the targets of alerts are cut to the part that is not secret."""
    if name == "redis.url" and isinstance(value, str):
        from surefoot.config.integrations import shown_url

        return shown_url(value)
    if name.startswith("alerts.on_") and isinstance(value, str):
        from surefoot.config.model import shown_target

        return f"{shown_target(value)} ..."
    if name == "storage.database" and isinstance(value, str):
        from surefoot.config.storage import shown_database

        return shown_database(value)
    return list(value) if isinstance(value, tuple) else value


def as_text(value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    return "[" + ", ".join(map(str, value)) + "]" if isinstance(value, tuple | list) else str(value)
