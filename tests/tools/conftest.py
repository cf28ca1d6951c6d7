"""Fixtures: a workspace in a temporary folder, and a function that calls tools in it as the engine does."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from support.calling import Run
from surefoot.tools import Tool, ToolContext, ToolResult, call


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


@pytest.fixture
def context(root: Path) -> ToolContext:
    return ToolContext(root=root, command_timeout=60, action_id="a7")


@pytest.fixture
def run(context: ToolContext) -> Run:
    async def _run(tool: Tool, arguments: Mapping[str, Any] | None = None, /, **more: Any) -> ToolResult:
        return await call(tool, context, {**(arguments or {}), **more})

    return _run
