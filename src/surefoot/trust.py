"""Which project configs the user has agreed to, by the hash of their content: a changed file must be agreed to again.

A workspace may come from anybody. Until its own settings are trusted they change nothing.
"""

import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from surefoot.errors import ConfigError, UsageError
from surefoot.paths import PROJECT_CONFIGS
from surefoot.values import now


class TrustStore:
    def __init__(self, path: Path) -> None:
        self.path = path

    def holds(self, config: Path, content: bytes) -> bool:
        """Whether exactly this content of this file was agreed to."""
        entry = self._read().get(_name(config))
        return entry is not None and entry.get("sha256") == _hash(content)

    def knows(self, config: Path) -> bool:
        """Whether some content of this file was agreed to, be it this one or an older one."""
        return _name(config) in self._read()

    def add(self, config: Path, content: bytes) -> None:
        entries = self._read()
        entries[_name(config)] = {"sha256": _hash(content), "at": now().isoformat(timespec="seconds")}
        self._write(entries)

    def remove(self, config: Path) -> bool:
        entries = self._read()
        known = entries.pop(_name(config), None) is not None
        if known:
            self._write(entries)
        return known

    def under(self, folder: Path) -> list[Path]:
        """The trusted configs of a folder, also those whose file is gone."""
        names = {_name(folder / name) for name in PROJECT_CONFIGS}
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
    """The config that lies in this very folder."""
    for name in PROJECT_CONFIGS:
        if (folder / name).is_file():
            return folder / name
    raise UsageError(
        f"there is nothing to trust in {folder}: it has no {' and no '.join(PROJECT_CONFIGS)}",
        remedy="name the folder that holds the project's config",
    )


def _name(config: Path) -> str:
    return str(config.resolve())


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
