"""The layers laid over each other. A project's own config counts only once it is trusted."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from surefoot import paths
from surefoot.config import ExecutionConfig
from surefoot.models.choose import ModelSettings
from surefoot.settings.fields import NESTED, SECTIONS, Sourced, checked, known_fields
from surefoot.settings.sources import from_environment, from_toml, read
from surefoot.trust import TrustStore


@dataclass(frozen=True, slots=True)
class Settings:
    execution: ExecutionConfig
    model: ModelSettings
    """Which model the files name. SUREFOOT_MODEL and -m are for `choose_model`: it must be able to tell a model that
    is named for one run from the configured one, because a key configured for one place must not go to another."""
    listed: Mapping[str, Sourced]
    """Every setting by its full name, such as `budget.max_tokens`."""
    notices: tuple[str, ...] = ()
    """What the user should know about where settings did not come from."""

    def source(self, name: str) -> str:
        return self.listed[name].source


def load(
    workspace: Path, flags: Mapping[str, Sourced] | None = None, environ: Mapping[str, str] = os.environ
) -> Settings:
    """Read all layers for a run in `workspace`. `flags` holds full names and what was given for them."""
    given: dict[str, Sourced] = {}
    notices: list[str] = []
    user = paths.user_config(environ)
    if (content := read(user)) is not None:
        given |= from_toml(user, content)
    project, notice = trusted_project(workspace, environ)
    if "model.model" in project or "model.base_url" in project:
        # A project that names a place of its own does not get the key that the user has for another.
        given = {name: item for name, item in given.items() if not name.startswith("model.")}
    given |= project
    notices += [notice] if notice else []
    in_files = given.get("model.model")
    given |= from_environment(environ)
    given |= {name: Sourced(checked(name, item, strict=False), item.source) for name, item in (flags or {}).items()}
    return _assembled(given, in_files.value if in_files else None, tuple(notices))


def _assembled(given: Mapping[str, Sourced], model: str | None, notices: tuple[str, ...]) -> Settings:
    values: dict[str, dict[str, Any]] = {section: {} for section in SECTIONS}
    listed: dict[str, Sourced] = {}
    for name, field in known_fields():
        section, _, key = name.partition(".")
        listed[name] = given.get(name) or Sourced(field.get_default(call_default_factory=True), "default")
        values[section][key] = listed[name].value
    nested = {section: SECTIONS[section](**values[section]) for section in NESTED}
    return Settings(
        execution=ExecutionConfig(**values["execution"], **nested),
        model=ModelSettings(**{**values["model"], "model": model}),
        listed=listed,
        notices=notices,
    )


# -- the project's own file ----------------------------------------------------------------------------------------


def trusted_project(workspace: Path, environ: Mapping[str, str]) -> tuple[dict[str, Sourced], str]:
    """The project's settings if they are trusted, else nothing and the line that says so."""
    config = find_project_config(workspace, environ)
    content = read(config) if config else None
    if config is None or content is None:
        return {}, ""
    trust = TrustStore(paths.trust_file(paths.state_home(environ)))
    if trust.holds(config, content):
        return from_toml(config, content), ""
    folder = config.parent.parent if config.parent.name == ".surefoot" else config.parent
    why = "has changed since it was trusted" if trust.knows(config) else "is not trusted"
    return {}, f"{config} {why} and is ignored; to use it: surefoot trust {folder}"


def find_project_config(workspace: Path, environ: Mapping[str, str] = os.environ) -> Path | None:
    for folder in _project_folders(workspace.resolve(), paths.user_home(environ)):
        for name in paths.PROJECT_CONFIGS:
            if (folder / name).is_file():
                return folder / name
    return None


def _project_folders(workspace: Path, home: Path) -> list[Path]:
    """The workspace and what is above it up to the repository's root, else up to the user's home.

    Outside both only the workspace itself counts: who knows who may write to the folders above it.
    """
    upwards = [workspace, *workspace.parents]
    for index, folder in enumerate(upwards):
        if (folder / ".git").exists():
            return upwards[: index + 1]
    home = home.resolve()
    return upwards[: upwards.index(home) + 1] if home in upwards else upwards[:1]
