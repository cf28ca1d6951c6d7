"""The project configs that the user trusts, by the hash of their content: a changed file must be trusted again. Each
MCP server in such a config is trusted separately.

A workspace may come from anybody, so its settings have no effect until they are trusted.
"""

import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from surefoot.config.mcp import ConfiguredServer
from surefoot.config.paths import PROJECT_CONFIGS
from surefoot.core.values import now
from surefoot.errors import ConfigError, UsageError


class TrustStore:
    def __init__(self, path: Path) -> None:
        self.path = path

    def holds(self, config: Path, content: bytes) -> bool:
        """Whether this content of this file is trusted."""
        entry = self._read().get(_key(config))
        return entry is not None and entry.get("sha256") == _hash(content)

    def knows(self, config: Path) -> bool:
        """Whether any content of this file was trusted, this one or an older one."""
        return _key(config) in self._read()

    def add(self, config: Path, content: bytes) -> None:
        entries = self._read()
        entries[_key(config)] = {"sha256": _hash(content), "at": now().isoformat(timespec="seconds")}
        self._write(entries)

    def holds_server(self, config: Path, server: ConfiguredServer) -> bool:
        """Whether this MCP server is trusted exactly as the file defines it."""
        entry = self._read().get(_server_key(config, server.name))
        return entry is not None and entry.get("sha256") == server.settings.definition

    def add_server(self, config: Path, server: ConfiguredServer) -> None:
        entries = self._read()
        at = now().isoformat(timespec="seconds")
        entries[_server_key(config, server.name)] = {"sha256": server.settings.definition, "at": at}
        self._write(entries)

    def remove(self, config: Path) -> bool:
        """Revoke the trust in this file and its MCP servers. Returns whether the file was trusted."""
        entries = self._read()
        known = entries.pop(_key(config), None) is not None
        for name in [name for name in entries if name.startswith(_server_key(config, ""))]:
            del entries[name]
        if known:
            self._write(entries)
        return known

    def under(self, folder: Path) -> list[Path]:
        """Return the trusted configs of a folder, including deleted ones."""
        names = {_key(folder / name) for name in PROJECT_CONFIGS}
        return [Path(name) for name in self._read() if name in names]

    def _read(self) -> dict[str, dict[str, Any]]:
        try:
            entries = json.loads(self.path.read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except (OSError, ValueError) as error:
            raise ConfigError(
                f"{self.path} cannot be read: {error}", remedy="remove that file and trust your projects again"
            ) from error
        if not isinstance(entries, dict) or not all(isinstance(entry, dict) for entry in entries.values()):
            raise ConfigError(
                f"{self.path} is not a list of trusted projects",
                remedy="remove that file and trust your projects again",
            )
        return entries

    def _write(self, entries: dict[str, dict[str, Any]]) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with tempfile.NamedTemporaryFile("w", dir=self.path.parent, prefix="trust-", delete=False) as file:
                json.dump(entries, file, indent=1)
            os.replace(file.name, self.path)  # noqa: PTH105 - the temporary file's name is a str
        except OSError as error:
            raise ConfigError(
                f"cannot write {self.path}: {error.strerror}", remedy="check the folder, or set SUREFOOT_HOME"
            ) from error


def project_config(folder: Path) -> Path:
    """Return the config file in this folder itself. Raises UsageError if there is none."""
    for name in PROJECT_CONFIGS:
        if (folder / name).is_file():
            return folder / name
    raise UsageError(
        f"there is nothing to trust in {folder}: it has no {' and no '.join(PROJECT_CONFIGS)}",
        remedy="give the folder that contains the project's config",
    )


def _key(config: Path) -> str:
    return str(config.resolve())


def _server_key(config: Path, name: str) -> str:
    return f"{_key(config)}#mcp.{name}"


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
