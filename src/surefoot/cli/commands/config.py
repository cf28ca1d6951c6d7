"""`config`, `trust` and `untrust`: the settings with their sources, and which projects may set any."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from surefoot.cli.options import workspace_option

if TYPE_CHECKING:
    from surefoot.config.trust import TrustStore

_FOLDER = click.argument("folder", metavar="[DIR]", default=".")


@click.command()
@workspace_option
@click.option("--json", "as_json", is_flag=True, help="As one JSON object.")
def config(workspace: str, as_json: bool) -> int:
    """Show every setting with its value and its source."""
    import json

    from surefoot.cli.report.hiding import redactor
    from surefoot.config import paths
    from surefoot.config.layers import load
    from surefoot.config.mcp import McpServer
    from surefoot.config.model import Price
    from surefoot.config.sources import variable_of
    from surefoot.journal.redact import neutralise

    hide = redactor().redact
    settings = load(Path(workspace).expanduser())
    for notice in settings.notices:
        click.echo(neutralise(notice), err=True)
    if as_json:
        listed = {
            name: {"value": _shown(name, item.value), "source": item.source, "variable": variable_of(name)}
            if not isinstance(item.value, Price | McpServer)
            else {"value": item.value.model_dump(exclude_unset=True), "source": item.source, "variable": None}
            for name, item in settings.listed.items()
        }
        click.echo(hide(json.dumps(listed)))
        return 0
    widest = max(len(name) for name in settings.listed)
    for name, item in settings.listed.items():
        click.echo(neutralise(hide(f"{name:<{widest}}  {as_text(_shown(name, item.value)):<12}  {item.source}")))
    click.echo()
    for title, path in (
        ("user config", paths.user_config()),
        ("state", paths.state_home()),
        ("cache", paths.cache_home()),
    ):
        click.echo(f"{title:<{widest}}  {path}{'' if path.exists() else '  (does not exist yet)'}")
    return 0


@click.command()
@_FOLDER
def trust(folder: str) -> int:
    """Use the settings in a project's config file. It must be trusted again after a change."""
    from surefoot.config.layers import project_settings
    from surefoot.config.trust import project_config
    from surefoot.journal.redact import neutralise

    path = project_config(Path(folder).expanduser().resolve())
    content = path.read_bytes()
    # Parsed first, so that an invalid file is refused here and not by the next run.
    settings = project_settings(path, content)
    _store().add(path, content)
    click.echo(neutralise(f"trusted: {path}"))
    for name, item in settings.items():
        click.echo(neutralise(f"  {name} = {as_text(item.value)}"))
    return 0


@click.command()
@_FOLDER
def untrust(folder: str) -> int:
    """Ignore the settings in a project's config file again."""
    from surefoot.journal.redact import neutralise

    store = _store()
    trusted = store.under(Path(folder).expanduser().resolve())
    for path in trusted:
        store.remove(path)
        click.echo(neutralise(f"no longer trusted: {path}"))
    if not trusted:
        click.echo("the project was not trusted")
    return 0


def _store() -> "TrustStore":
    from surefoot.config import paths
    from surefoot.config.trust import TrustStore

    return TrustStore(paths.trust_file(paths.state_home()))


def _shown(name: str, value: object) -> object:
    """A value as it is printed. Of an alert's target and a database's URL only the part that is no secret."""
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
