"""`config`, `trust` and `untrust`: every setting with its source, and which projects may set any."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from surefoot.cli.options import workspace_option

if TYPE_CHECKING:
    from surefoot.trust import TrustStore

_FOLDER = click.argument("folder", metavar="[DIR]", default=".")


@click.command()
@workspace_option
@click.option("--json", "as_json", is_flag=True, help="As one JSON object.")
def config(workspace: str, as_json: bool) -> int:
    """Show every setting, its value and where that came from."""
    import json

    from surefoot import paths
    from surefoot.redact import neutralise
    from surefoot.settings import load, variable_of

    settings = load(Path(workspace).expanduser())
    for notice in settings.notices:
        click.echo(neutralise(notice), err=True)
    if as_json:
        told = {
            name: {"value": _plain(item.value), "source": item.source, "variable": variable_of(name)}
            for name, item in settings.listed.items()
        }
        click.echo(json.dumps(told))
        return 0
    widest = max(len(name) for name in settings.listed)
    for name, item in settings.listed.items():
        click.echo(neutralise(f"{name:<{widest}}  {as_text(item.value):<12}  {item.source}"))
    click.echo()
    for title, place in (
        ("user config", paths.user_config()),
        ("state", paths.state_home()),
        ("cache", paths.cache_home()),
    ):
        click.echo(f"{title:<{widest}}  {place}{'' if place.exists() else '  (not there yet)'}")
    return 0


@click.command()
@_FOLDER
def trust(folder: str) -> int:
    """Use the settings of a project's own config file. It must be trusted again when it changes."""
    from surefoot.redact import neutralise
    from surefoot.settings.sources import from_toml
    from surefoot.trust import project_config

    path = project_config(Path(folder).expanduser().resolve())
    content = path.read_bytes()
    # Read before it is trusted: a file that cannot be used is refused here and not at the next run.
    found = from_toml(path, content)
    _store().add(path, content)
    click.echo(neutralise(f"trusted: {path}"))
    for name, item in found.items():
        click.echo(neutralise(f"  {name} = {as_text(item.value)}"))
    return 0


@click.command()
@_FOLDER
def untrust(folder: str) -> int:
    """Ignore the settings of a project's own config file again."""
    from surefoot.redact import neutralise

    store = _store()
    found = store.under(Path(folder).expanduser().resolve())
    for path in found:
        store.remove(path)
        click.echo(neutralise(f"no longer trusted: {path}"))
    if not found:
        click.echo("it was not trusted")
    return 0


def _store() -> "TrustStore":
    from surefoot import paths
    from surefoot.trust import TrustStore

    return TrustStore(paths.trust_file(paths.state_home()))


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def as_text(value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    return "[" + ", ".join(map(str, value)) + "]" if isinstance(value, tuple) else str(value)
