"""The type of the `run` fixture: calls a tool in the test's workspace as the engine does."""

from collections.abc import Awaitable, Callable

from surefoot.tools import ToolResult

Run = Callable[..., Awaitable[ToolResult]]
