"""The tools of a server as a person accepted them. A person is asked again about tools that it changes or adds later.

When a server is used for the first time, all its tools are pinned: the user has just configured it. The definitions are
stored whole, so that a later run can offer the tools without starting the server.
"""

import json
import os
import tempfile
from pathlib import Path

from pydantic import Field, ValidationError

from surefoot.config.mcp import ConfiguredServer
from surefoot.config.paths import mcp_pins
from surefoot.core.values import Value
from surefoot.errors import ConfigError
from surefoot.tools.mcp.definition import ToolDefinition


class _Stored(Value):
    server: str
    pinned: dict[str, ToolDefinition] = Field(default_factory=dict)
    """The accepted tools, by the server's name of the tool."""
    seen: dict[str, ToolDefinition] = Field(default_factory=dict)
    """The tools that the server offered last."""


class Pins:
    """The pins of one server, in a file of the state folder."""

    def __init__(self, home: Path, server: ConfiguredServer) -> None:
        self._server = server
        self._path = mcp_pins(home) / f"{server.name}-{server.settings.fingerprint[:16]}.json"

    def known(self) -> dict[str, ToolDefinition]:
        """Return the tools that the server offered last; empty if it was never used."""
        stored = self._read()
        return dict(stored.seen) if stored else {}

    def see(self, tools: dict[str, ToolDefinition]) -> None:
        """Record the tools that the server offers now. The first time, all of them are pinned."""
        stored = self._read()
        pinned = tools if stored is None else stored.pinned
        seen = _Stored(server=self._server.name, pinned=pinned, seen=tools)
        if seen != stored:
            self._write(seen)

    def pinned(self, name: str) -> ToolDefinition | None:
        stored = self._read()
        return stored.pinned.get(name) if stored else None

    def changed(self) -> list[str]:
        """Return the names of the tools that the server changed or added since they were pinned."""
        stored = self._read()
        if stored is None:
            return []
        return [name for name, tool in stored.seen.items() if stored.pinned.get(name) != tool]

    def accept(self, tool: ToolDefinition) -> None:
        stored = self._read() or _Stored(server=self._server.name)
        self._write(stored.with_(pinned={**stored.pinned, tool.name: tool}))

    def _read(self) -> _Stored | None:
        try:
            return _Stored.model_validate_json(self._path.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValidationError) as error:
            raise ConfigError(
                f"{self._path}, with the tools of the MCP server {self._server.name}, cannot be read",
                remedy="remove that file; the tools are then accepted as they are at the next run",
            ) from error

    def _write(self, stored: _Stored) -> None:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with tempfile.NamedTemporaryFile("w", dir=self._path.parent, prefix=".pins-", delete=False) as file:
                json.dump(stored.model_dump(), file, indent=1)
            os.replace(file.name, self._path)  # noqa: PTH105 - the temporary file's name is a str
        except OSError as error:
            raise ConfigError(
                f"cannot write {self._path}: {error.strerror}", remedy="check the folder, or set SUREFOOT_HOME"
            ) from error
