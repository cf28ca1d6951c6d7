"""The type of the `run` fixture, which calls a tool in the test's workspace."""

from collections.abc import Awaitable, Callable

from surefoot.tools import ToolResult

Run = Callable[..., Awaitable[ToolResult]]
