"""Combines the layers of settings: defaults, user config, project config, environment, flags.

A project's own config is used only once the user trusts it.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from surefoot.config import paths
from surefoot.config.fields import NESTED, PRICES, SECTIONS, Sourced, known_fields, validate
from surefoot.config.integrations import Integrations, RedisSettings, TelemetrySettings
from surefoot.config.mcp import SECTION as MCP
from surefoot.config.mcp import ConfiguredServer, servers_in
from surefoot.config.model import AlertSettings, ExecutionConfig, ModelSettings
from surefoot.config.sources import from_environment, from_toml, read, variable_of
from surefoot.config.trust import TrustStore
from surefoot.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Settings:
    execution: ExecutionConfig
    model: ModelSettings
    """The model of the config files. SUREFOOT_MODEL and -m are left to `models/select.py`, which must distinguish a
    model chosen for one run from the configured one: the key of one server must not be sent to another."""
    alerts: AlertSettings
    integrations: Integrations
    listed: Mapping[str, Sourced]
    """Every setting by its full name, such as `budget.max_tokens`, with its source."""
    notices: tuple[str, ...] = ()
    """Messages for the user about configs that were ignored."""

    def source(self, name: str) -> str:
        return self.listed[name].source

    @property
    def mcp_servers(self) -> dict[str, ConfiguredServer]:
        """The MCP servers whose tools runs may use, by name."""
        return servers_in(self.listed)


def load(
    workspace: Path, flags: Mapping[str, Sourced] | None = None, environ: Mapping[str, str] = os.environ
) -> Settings:
    """Read all layers for a run in `workspace`. `flags` are command-line values by full setting name."""
    values: dict[str, Sourced] = {}
    notices: list[str] = []
    user = paths.user_config(environ)
    if (content := read(user)) is not None:
        values |= from_toml(user, content)
    project, ignored = load_trusted_project(workspace, environ)
    if "model.model" in project or "model.base_url" in project:
        # A project with its own server must not get the key that the user has for another one.
        values = {name: item for name, item in values.items() if not name.startswith("model.")}
    values |= project
    notices += ignored
    from_files = values.get("model.model")
    values |= from_environment(environ)
    values |= {name: Sourced(validate(name, item, strict=False), item.source) for name, item in (flags or {}).items()}
    return _assemble(values, from_files.value if from_files else None, tuple(notices))


def _assemble(values: Mapping[str, Sourced], model: str | None, notices: tuple[str, ...]) -> Settings:
    # [storage] and [workers] are only listed here: `storage.py` and `workers.py` read them.
    by_section: dict[str, dict[str, Any]] = {section: {} for section in SECTIONS}
    listed: dict[str, Sourced] = {}
    for name, field in known_fields():
        section, _, key = name.partition(".")
        listed[name] = values.get(name) or Sourced(field.get_default(call_default_factory=True), "default")
        by_section[section][key] = listed[name].value
    prices = {name.partition(".")[2]: item for name, item in values.items() if name.startswith(f"{PRICES}.")}
    listed |= {f"{PRICES}.{model}": item for model, item in prices.items()}
    listed |= {name: item for name, item in values.items() if name.startswith(f"{MCP}.")}
    nested = {section: SECTIONS[section](**by_section[section]) for section in NESTED}
    return Settings(
        execution=ExecutionConfig(
            **by_section["execution"], **nested, prices={model: item.value for model, item in prices.items()}
        ),
        model=ModelSettings(**{**by_section["model"], "model": model}),
        alerts=AlertSettings(**by_section["alerts"]),
        integrations=Integrations(TelemetrySettings(**by_section["telemetry"]), RedisSettings(**by_section["redis"])),
        listed=listed,
        notices=notices,
    )


# -- the project config --------------------------------------------------------------------------------------------


def load_trusted_project(workspace: Path, environ: Mapping[str, str]) -> tuple[dict[str, Sourced], list[str]]:
    """Return the project's settings if they are trusted, and messages about what is ignored.

    Each MCP server must be trusted separately, because it is a program to start or an address to send data to.
    """
    config = find_project_config(workspace, environ)
    content = read(config) if config else None
    if config is None or content is None:
        return {}, []
    trust = TrustStore(paths.trust_file(paths.state_home(environ)))
    if trust.holds(config, content):
        settings = project_settings(config, content)
        untrusted = [s for s in servers_in(settings).values() if not trust.holds_server(config, s)]
        left_out = {f"{MCP}.servers.{server.name}" for server in untrusted}
        return {name: item for name, item in settings.items() if name not in left_out}, [
            f"the MCP server {s.name} of {config} is not trusted and is not used; "
            f"to use it: surefoot mcp trust {s.name} -C {workspace}"
            for s in untrusted
        ]
    folder = config.parent.parent if config.parent.name == ".surefoot" else config.parent
    reason = "has changed since it was trusted" if trust.knows(config) else "is not trusted"
    return {}, [f"{config} {reason} and is ignored; to use it: surefoot trust {folder}"]


def project_settings(config: Path, content: bytes) -> dict[str, Sourced]:
    """Return the settings of a project's config. Raises ConfigError for [storage] and [workers], trusted or not: only
    the user decides where runs are recorded and driven."""
    settings = from_toml(config, content)
    for name, item in settings.items():
        if name.startswith(("storage.", "workers.")):
            section = name.partition(".")[0]
            where = "recorded" if section == "storage" else "driven"
            raise ConfigError(
                f"{item.source}: a project cannot say where runs are {where}",
                remedy=f"move [{section}] to the user's config, or set {variable_of(name)}",
            )
    return settings


def find_project_config(workspace: Path, environ: Mapping[str, str] = os.environ) -> Path | None:
    for folder in _project_folders(workspace.resolve(), paths.user_home(environ)):
        for name in paths.PROJECT_CONFIGS:
            if (folder / name).is_file():
                return folder / name
    return None


def _project_folders(workspace: Path, home: Path) -> list[Path]:
    """Return the workspace and its parents up to the root of the repository, else up to the user's home.

    Outside of both, only the workspace is searched, because other users may be able to write to its parents.
    """
    upwards = [workspace, *workspace.parents]
    for index, folder in enumerate(upwards):
        if (folder / ".git").exists():
            return upwards[: index + 1]
    home = home.resolve()
    return upwards[: upwards.index(home) + 1] if home in upwards else upwards[:1]
