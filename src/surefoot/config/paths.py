"""Where Surefoot keeps its state, its cache and the user's config. These functions create nothing."""

import os
from collections.abc import Mapping
from pathlib import Path

from surefoot.errors import ConfigError

APP = "surefoot"
PROJECT_CONFIGS = ("surefoot.toml", ".surefoot/config.toml")
"""Searched in a workspace and the folders above it; the first match is used."""


def state_home(environ: Mapping[str, str] = os.environ) -> Path:
    """The folder of the journal, blobs, snapshots, locks and trusted configs."""
    return _folder_from(environ, "SUREFOOT_HOME") or _xdg_folder(environ, "XDG_DATA_HOME", ".local/share") / APP


def cache_home(environ: Mapping[str, str] = os.environ) -> Path:
    """The folder of data that can be recreated: model weights, detected capabilities of servers."""
    return _folder_from(environ, "SUREFOOT_CACHE") or _xdg_folder(environ, "XDG_CACHE_HOME", ".cache") / APP


def user_config(environ: Mapping[str, str] = os.environ) -> Path:
    return _xdg_folder(environ, "XDG_CONFIG_HOME", ".config") / APP / "config.toml"


def journal_file(home: Path) -> Path:
    return home / "journal.sqlite"


def worktree_records(home: Path) -> Path:
    """The folder with one file for each run that works in a copy of a folder."""
    return home / "worktrees"


def trust_file(home: Path) -> Path:
    return home / "trust.json"


def mcp_pins(home: Path) -> Path:
    """The folder with one file for each MCP server: its tools at the time they were accepted."""
    return home / "mcp"


def user_home(environ: Mapping[str, str] = os.environ) -> Path:
    if home := environ.get("HOME"):
        return Path(home)
    try:
        return Path.home()
    except RuntimeError as error:
        raise ConfigError(
            "there is no home folder to keep runs in", remedy="set HOME, or set SUREFOOT_HOME to a folder"
        ) from error


def _folder_from(environ: Mapping[str, str], variable: str) -> Path | None:
    value = environ.get(variable, "").strip()
    return Path(value).expanduser().absolute() if value else None


def _xdg_folder(environ: Mapping[str, str], variable: str, default: str) -> Path:
    # The XDG specification says to ignore relative paths here.
    value = environ.get(variable, "")
    return Path(value) if value.startswith("/") else user_home(environ) / default
