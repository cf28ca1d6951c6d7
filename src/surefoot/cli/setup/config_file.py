"""Changes config files: the user's, or a project's. Comments, order and everything else in a file stay as they are."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, get_args

from surefoot.config import paths
from surefoot.config.fields import Sourced, known_fields, validate
from surefoot.config.layers import find_project_config, project_settings
from surefoot.config.model import SETTING_ALIASES
from surefoot.config.sources import from_toml, parse_text, read, variable_of
from surefoot.config.trust import TrustStore
from surefoot.errors import ConfigError, UsageError

SOURCE = "config set"


def trust_store() -> TrustStore:
    return TrustStore(paths.trust_file(paths.state_home()))


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """A config file that may not exist yet. `folder` is the project that it belongs to; None for the user's file."""

    path: Path
    folder: Path | None = None

    @classmethod
    def of_user(cls) -> "ConfigFile":
        return cls(paths.user_config())

    @classmethod
    def of_project(cls, workspace: Path) -> "ConfigFile":
        """The file that a run in this folder would read; if there is none, a new file in the folder itself."""
        path = find_project_config(workspace) or workspace.resolve() / paths.PROJECT_CONFIGS[0]
        folder = path.parent.parent if path.parent.name == ".surefoot" else path.parent
        return cls(path, folder)

    def read(self) -> bytes | None:
        """The content; None if there is no such file. Raises ConfigError if a project's file is a link."""
        if self.folder is not None and (self.path.is_symlink() or self.path.parent.is_symlink()):
            raise ConfigError(
                f"{self.path} is a link, and a project's config is not changed through one",
                remedy="change the file that it leads to, or replace the link by a file",
            )
        return read(self.path)

    def is_trusted(self, content: bytes) -> bool:
        return trust_store().holds(self.path, content)

    def trust(self, content: bytes) -> None:
        trust_store().add(self.path, content)

    def settings(self, content: bytes) -> Mapping[str, Sourced]:
        """The settings in this content. Raises ConfigError if it is not valid for this file."""
        return from_toml(self.path, content) if self.folder is None else project_settings(self.path, content)

    def write(self, content: bytes, before: bytes | None, *, trust_new: bool = True) -> bool | None:
        """Validate the content and write it. Returns whether a project's file is trusted now; None for the user's file.

        A file that was trusted stays trusted. A new one is trusted with `trust_new`: only the user has written to it.
        """
        from surefoot.tools.fs.fileio import write_bytes

        self.settings(content)
        trusted = self.folder is not None and (trust_new if before is None else self.is_trusted(before))
        target = self.path if self.folder is not None else Path(os.path.realpath(self.path))
        try:
            target.parent.mkdir(parents=True, exist_ok=True, mode=0o700 if self.folder is None else 0o777)
            write_bytes(self.folder or target.parent, target, content)
        except OSError as error:
            raise ConfigError(
                f"{self.path} cannot be written: {error.strerror}", remedy="check the permissions of the folder"
            ) from error
        if trusted:
            self.trust(content)
        return None if self.folder is None else trusted


def parse_values(name: str, texts: Sequence[str]) -> Any:
    """Parse the value of a setting from the command line: one text, or several for a list."""
    field = dict(known_fields())[name]
    is_list = str(field.annotation).startswith("tuple[")
    if len(texts) > 1 and not is_list:
        raise UsageError(f"{name} has one value, not {len(texts)}", remedy="put a value with spaces into quotes")
    value = parse_text(texts[0])
    if is_list and not isinstance(value, list):
        value = list(texts)
    if value is None and texts[0] in get_args(next(iter(get_args(field.annotation)), None)):
        value = texts[0]  # A setting such as effort, which can be "none".
    if value is None:
        raise ConfigError(
            f"TOML has no null, so {name} cannot be set to none in a config file",
            remedy=f"remove it with `surefoot config unset {name}`, or set {variable_of(name)}=none",
        )
    checked = validate(name, Sourced(value, SOURCE), strict=False)
    return list(checked) if isinstance(checked, tuple) else checked.value if isinstance(checked, Enum) else checked


def with_setting(content: bytes, name: str, value: Any) -> bytes:
    """The content with one setting replaced or added. An entry under another name of the setting is removed."""
    import tomlkit

    document = tomlkit.parse(without_setting(content, name, keep=name).decode())
    section, _, key = name.partition(".")
    if section not in document:
        if document.as_string().strip():
            document.add(tomlkit.nl())
        document.add(section, tomlkit.table())
    item = tomlkit.item(value)
    if isinstance(value, list) and len(value) > 1:
        item.multiline(True)
    table: Any = document[section]
    table[key] = item
    return document.as_string().encode()


def without_setting(content: bytes, name: str, *, keep: str = "") -> bytes:
    """The content without a setting, under any of its names except `keep`."""
    import tomlkit

    document = tomlkit.parse(content.decode())
    names = {name, *(alias for alias, other in SETTING_ALIASES.items() if other == name)}
    for section, _, key in (other.partition(".") for other in sorted(names - {keep})):
        table: Any = document.get(section)
        if table is not None and key in table:
            del table[key]
    return document.as_string().encode()
