"""The test server as a configured server."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from surefoot.config.mcp import ConfiguredServer, McpServer

SCRIPT = Path(__file__).parents[2] / "support" / "mcp_server.py"
Configure = Callable[..., ConfiguredServer]


def configured(*variant: str, name: str = "own", **settings: Any) -> ConfiguredServer:
    program = {"command": sys.executable, "args": (str(SCRIPT), *variant), "start_seconds": 300.0}
    return ConfiguredServer(name, McpServer(**{**program, **settings}), "config.toml:1")


@pytest.fixture
def configure() -> Configure:
    return configured
