"""One server: started when it is first needed, shared by all steps of a run, started again after it died or hung.

The library's contexts must be left by the task that entered them. Each connection therefore has a task of its own,
and the tasks of calls use its client.
"""

import asyncio
import contextlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surefoot._version import __version__
from surefoot.config.mcp import ConfiguredServer
from surefoot.errors import ToolError, ToolTimeout, ToolUnavailable
from surefoot.tools.mcp.definition import ToolDefinition
from surefoot.tools.mcp.transport import (
    Complaints,
    ended_reason,
    http_transport,
    missing_variables,
    stdio_transport,
)

if TYPE_CHECKING:
    import mcp_types
    from mcp import Client

MAX_TOOLS = 200
_MAX_PAGES = 20
_UNKNOWN_EFFECT = "find out first whether it had an effect; it may have happened"


class _Live:
    """A connection that is up."""

    def __init__(self, client: "Client", tools: dict[str, ToolDefinition], stop: asyncio.Event) -> None:
        self.client, self.tools, self.stop = client, tools, stop


class Connection:
    def __init__(self, server: ConfiguredServer, root: Path, environ: Mapping[str, str] | None = None) -> None:
        self.server, self._root = server, root
        self._environ = os.environ if environ is None else environ
        self._live: _Live | None = None
        self._task: asyncio.Task[None] | None = None
        self._starting = asyncio.Lock()
        self._complaints = Complaints()
        self.starts = 0
        """How often a connection to the server was started."""

    async def tools(self) -> dict[str, ToolDefinition]:
        """Return the tools that the server offers. Starts it if needed."""
        return (await self._connected()).tools

    async def call(self, definition: ToolDefinition, arguments: dict[str, Any]) -> "mcp_types.CallToolResult":
        """Call a tool. Failures are raised as `ToolError`; a server that did not answer is started by the next call."""
        from mcp.shared.exceptions import MCPError
        from mcp_types import CONNECTION_CLOSED, REQUEST_TIMEOUT

        live, settings = await self._connected(), self.server.settings
        repeatable = definition.read_only or definition.idempotent
        try:
            async with asyncio.timeout(settings.call_seconds):
                return await live.client.call_tool(definition.name, arguments)
        except TimeoutError:
            await self._drop(live)
            raise self._lost(
                f"did not answer within {settings.call_seconds:g} seconds", repeatable, ToolTimeout
            ) from None
        except MCPError as error:
            if error.code not in (CONNECTION_CLOSED, REQUEST_TIMEOUT):
                raise ToolError(
                    f"the MCP server {self.server.name} refused the call: {ended_reason(error)}",
                    remedy="try other arguments or another tool",
                ) from error
            await self._drop(live)
            raise self._lost("ended during the call", repeatable, ToolUnavailable) from error
        except ToolError:
            raise
        except Exception as error:
            # Errors of the library and of HTTP: the answer violates the protocol, or there was none.
            await self._drop(live)
            raise self._lost(f"gave no usable answer: {ended_reason(error)}", repeatable, ToolUnavailable) from error

    async def aclose(self) -> None:
        """End the server and everything that it has started."""
        if self._live is not None:
            self._live.stop.set()
        if self._task is not None:
            if self._live is None:
                self._task.cancel()
            await asyncio.wait({self._task})

    def _lost(self, problem: str, repeatable: bool, kind: type[ToolError]) -> ToolError:
        details = self._complaints.text
        message = f"the MCP server {self.server.name} {problem}" + (f" ({details})" if details else "")
        if repeatable:
            return kind(message, remedy="try again: the server is restarted")
        # Not a temporary error, so that the call is not repeated automatically.
        return ToolError(message, remedy=f"{_UNKNOWN_EFFECT}. The server is restarted with the next call")

    async def _connected(self) -> _Live:
        async with self._starting:
            if self._live is None:
                await self._start()
            assert self._live is not None
            return self._live

    async def _start(self) -> None:
        self.starts += 1
        self._complaints = Complaints()
        ready: asyncio.Future[_Live] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._serve(ready))
        seconds = self.server.settings.start_seconds
        try:
            async with asyncio.timeout(seconds):
                self._live = await asyncio.shield(ready)
        except TimeoutError:
            await self._abandon()
            raise self._not_started(f"was not ready within {seconds:g} seconds") from None
        except asyncio.CancelledError:
            await self._abandon()
            raise

    async def _abandon(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})
            self._task = None

    async def _drop(self, live: _Live) -> None:
        """Close a connection that can no longer be used. Another call may have closed it already."""
        live.stop.set()
        if self._live is live and self._task is not None:
            self._live = None
            await asyncio.shield(asyncio.wait({self._task}))

    async def _serve(self, ready: "asyncio.Future[_Live]") -> None:
        """Open one connection, and keep it open until it is stopped or the server ends."""
        from mcp import Client
        from mcp_types import Implementation

        live: _Live | None = None
        try:
            async with Client(
                _as_transport(self._transport()),
                client_info=Implementation(name="surefoot", version=__version__),
                cache=None,
            ) as client:
                live = _Live(client, await _list_tools(client), asyncio.Event())
                ready.set_result(live)
                await _first_of(live.stop, self._complaints.ended)
        except asyncio.CancelledError:
            if not ready.done():
                ready.cancel()
            raise
        except BaseException as error:
            if not ready.done():
                known = isinstance(error, ToolError)
                ready.set_exception(error if known else self._not_started(f"could not be used: {ended_reason(error)}"))
        finally:
            if self._live is live:
                self._live = None
            # If the start was abandoned, nobody else retrieves its exception.
            with contextlib.suppress(asyncio.CancelledError, Exception):
                if ready.done():
                    ready.exception()

    def _transport(self) -> Any:
        if self.server.settings.kind == "http":
            return http_transport(self.server, self._environ)
        return stdio_transport(self.server, self._root, self._environ, self._complaints)

    def _not_started(self, problem: str) -> ToolUnavailable:
        details = self._complaints.text
        missing = missing_variables(self.server, self._environ)
        unset = f"; these variables are not set: {', '.join(missing)}" if missing else ""
        return ToolUnavailable(
            f"the MCP server {self.server.name} {problem}" + (f" ({details})" if details else "") + unset,
            remedy=f"see `surefoot mcp tools`, and its settings: {self.server.source}",
        )


async def _first_of(*events: asyncio.Event) -> None:
    waiting = [asyncio.create_task(event.wait()) for event in events]
    try:
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in waiting:
            task.cancel()


def _as_transport(context: Any) -> Any:
    """Hide the type of a context manager: the library takes any that yields the two streams."""
    return context


async def _list_tools(client: "Client") -> dict[str, ToolDefinition]:
    definitions: dict[str, ToolDefinition] = {}
    cursor: str | None = None
    for _ in range(_MAX_PAGES):
        page = await client.list_tools(cursor=cursor)
        for tool in page.tools[: MAX_TOOLS - len(definitions)]:
            hints = tool.annotations
            definitions[tool.name] = ToolDefinition(
                name=tool.name,
                description=tool.description or "",
                input_schema=tool.input_schema,
                read_only=bool(hints and hints.read_only_hint),
                idempotent=bool(hints and hints.idempotent_hint),
            )
        cursor = page.next_cursor
        if not cursor or len(definitions) >= MAX_TOOLS:
            break
    return definitions
