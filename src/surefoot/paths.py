"""Where Surefoot keeps things of its own: state, cache and the user's config. Nothing is made by asking for a path."""

import os
from collections.abc import Mapping
from pathlib import Path

from surefoot.errors import ConfigError

APP = "surefoot"
PROJECT_CONFIGS = ("surefoot.toml", ".surefoot/config.toml")
"""In a workspace or above it; the first one found is the project's."""


def state_home(environ: Mapping[str, str] = os.environ) -> Path:
    """The journal, blobs, snapshots, locks and what is trusted."""
    return _chosen(environ, "SUREFOOT_HOME") or _base(environ, "XDG_DATA_HOME", ".local/share") / APP


def cache_home(environ: Mapping[str, str] = os.environ) -> Path:
    """What can be fetched or worked out again: weights, what servers were found to be able to do."""
    return _chosen(environ, "SUREFOOT_CACHE") or _base(environ, "XDG_CACHE_HOME", ".cache") / APP


def user_config(environ: Mapping[str, str] = os.environ) -> Path:
    return _base(environ, "XDG_CONFIG_HOME", ".config") / APP / "config.toml"


def journal_file(home: Path) -> Path:
    return home / "journal.sqlite"


def trust_file(home: Path) -> Path:
    return home / "trust.json"


def user_home(environ: Mapping[str, str] = os.environ) -> Path:
    if named := environ.get("HOME"):
        return Path(named)
    try:
        return Path.home()
    except RuntimeError as error:
        raise ConfigError(
            "there is no home folder to keep runs in", remedy="set HOME, or SUREFOOT_HOME to a folder of your choice"
        ) from error


def _chosen(environ: Mapping[str, str], variable: str) -> Path | None:
    value = environ.get(variable, "").strip()
    return Path(value).expanduser().absolute() if value else None


def _base(environ: Mapping[str, str], variable: str, otherwise: str) -> Path:
    # The XDG specification says to ignore relative paths here.
    value = environ.get(variable, "")
    return Path(value) if value.startswith("/") else user_home(environ) / otherwise
