"""The tools of all configured servers, for one run. Servers start when they are needed and end with the run."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from surefoot.config.extras import install_remedy
from surefoot.config.mcp import ConfiguredServer
from surefoot.errors import SurefootError, ToolError
from surefoot.journal.redact import is_secret_name
from surefoot.tools.context import ToolContext
from surefoot.tools.mcp.connection import Connection
from surefoot.tools.mcp.definition import (
    ToolDefinition,
    differences,
    full_name,
    shown_description,
    shown_parameters,
    summary,
)
from surefoot.tools.mcp.pins import Pins
from surefoot.tools.mcp.results import tool_result
from surefoot.tools.registry import Toolbox, default_toolbox
from surefoot.tools.tool import Tool, ToolResult, Writes

Notify = Callable[[str], None]


@asynccontextmanager
async def mcp_toolbox(
    servers: Iterable[ConfiguredServer],
    root: Path,
    home: Path,
    *,
    notify: Notify = lambda _: None,
    toolbox: Toolbox | None = None,
) -> AsyncIterator[Toolbox]:
    """Yield the built-in tools, or those of `toolbox`, together with those of the servers.

    `notify` is called with a message about each server or tool that cannot be used. A server that was used before is
    started by the first call of one of its tools; any other at once, to list its tools.
    """
    own = toolbox or default_toolbox()
    connected = [Server(server, root, home) for server in servers]
    try:
        if connected:
            require_library()
        lists = await asyncio.gather(*(_tools_of(server, notify) for server in connected))
        yield Toolbox(_with_references([*own, *(tool for tools in lists for tool in tools)], notify))
    finally:
        await asyncio.gather(*(server.connection.aclose() for server in connected))


def known_toolbox(servers: Iterable[ConfiguredServer], root: Path, home: Path) -> Toolbox:
    """Return the built-in tools, and those that the servers offered last. No server is started."""
    tools = list(default_toolbox())
    for configured in servers:
        server = Server(configured, root, home)
        tools += filter(None, map(server.tool, server.pins.known().values()))
    return Toolbox(_with_references(tools, lambda _: None))


def require_library() -> None:
    try:
        import mcp  # noqa: F401
    except ImportError as error:
        raise ToolError(
            "MCP needs a package that is not installed: mcp", remedy=f"{install_remedy('mcp')}; or remove [mcp.servers]"
        ) from error


class Server:
    """A configured server with its pins and its connection."""

    def __init__(self, server: ConfiguredServer, root: Path, home: Path) -> None:
        self.server = server
        self.pins = Pins(home, server)
        self.connection = Connection(server, root)

    async def refresh(self) -> dict[str, ToolDefinition]:
        """Return the tools that the server offers now, and record them. Starts it if needed."""
        tools = await self.connection.tools()
        self.pins.see(tools)
        return tools

    async def known(self) -> dict[str, ToolDefinition]:
        """Return the tools that the server offered last. Starts the server only if it was never used."""
        return self.pins.known() or await self.refresh()

    def tool(self, definition: ToolDefinition) -> Tool | None:
        """Return the tool for models; None if it cannot be called."""
        settings, name = self.server.settings, self.server.name
        parameters = shown_parameters(definition)
        if parameters is None:
            return None
        reads = definition.read_only and settings.trust_annotations
        return Tool(
            name=full_name(name, definition.name),
            description=shown_description(name, definition),
            parameters=parameters,
            run=self._runner(definition),
            # Otherwise its effects, in the workspace or elsewhere, are unknown.
            writes=Writes.NONE if reads else Writes.FREE,
            external=not reads,
            alternatives=tuple(map(self._reference, settings.alternatives.get(definition.name, ()))),
            compensate=self._reference(settings.compensate.get(definition.name, "")) or None,
            consent=_Consent(self, definition),
        )

    def _reference(self, tool: str) -> str:
        """Return the full name of a tool that the settings name, which may be one of this server."""
        return full_name(self.server.name, tool) if tool in self.pins.known() else tool

    def _runner(self, definition: ToolDefinition) -> Callable[..., Any]:
        async def run(context: ToolContext, /, **arguments: Any) -> ToolResult:
            current = (await self.refresh()).get(definition.name)
            if current is None:
                raise ToolError(
                    f"the MCP server {self.server.name} has no tool {definition.name!r} any more",
                    remedy="use another tool",
                )
            if self.pins.pinned(definition.name) != current:
                # The change came between the approval and the call, so nobody was asked.
                raise ToolError(
                    f"the MCP server {self.server.name} has changed its tool {definition.name!r} since it was accepted",
                    remedy="call it again, so that the user is asked; or use another tool",
                )
            result = await self.connection.call(current, arguments)
            return tool_result(full_name(self.server.name, definition.name), context, result)

        return run


class _Consent:
    """Asks a person about a tool that differs from its pin."""

    def __init__(self, server: Server, definition: ToolDefinition) -> None:
        self._server, self._definition = server, definition
        self._asked_about: ToolDefinition | None = None

    async def question(self) -> str:
        """Return what to ask before the tool is used, whatever the rules allow; empty if nothing."""
        self._asked_about = None
        try:
            current = (await self._server.refresh()).get(self._definition.name)
        except SurefootError:
            # The call itself raises the error that says why the server cannot be used.
            return ""
        pinned = self._server.pins.pinned(self._definition.name)
        if current is None or current == pinned:
            return ""
        self._asked_about = current
        verb = "changed" if pinned else "added"
        rows = [f"the MCP server {self._server.server.name} has {verb} this tool since its tools were accepted:"]
        return "\n".join([*rows, differences(pinned, current) if pinned else summary(current)])

    def given(self) -> None:
        """Pin the tool that the last question was about, because the person said yes."""
        if self._asked_about is not None:
            self._server.pins.accept(self._asked_about)


async def _tools_of(server: Server, notify: Notify) -> list[Tool]:
    name, selected = server.server.name, server.server.settings.tools
    try:
        definitions = await server.known()
    except SurefootError as error:
        notify(f"{error}; its tools are missing in this run" + (f" ({error.remedy})" if error.remedy else ""))
        return []
    if unknown := [tool for tool in selected if tool not in definitions]:
        notify(f"the MCP server {name} has no tool {', '.join(unknown)}")
    chosen = [d for d in definitions.values() if not selected or d.name in selected]
    tools = {definition.name: server.tool(definition) for definition in chosen}
    if unusable := [tool for tool, made_tool in tools.items() if made_tool is None]:
        notify(
            f"the MCP server {name} has tools that cannot be used, because the name of a required parameter is not "
            f"valid: {len(unusable)}"
        )
    return [tool for tool in tools.values() if tool is not None]


def _with_references(tools: list[Tool], notify: Notify) -> list[Tool]:
    """Drop references to tools that do not exist, so that a wrong setting does not stop a run."""
    from dataclasses import replace

    names = {tool.name for tool in tools}
    result = []
    for tool in tools:
        missing = [n for n in (*tool.alternatives, *filter(None, [tool.compensate])) if n not in names]
        if missing and tool.consent is not None:
            notify(f"the settings of {tool.name} name tools that do not exist: {', '.join(missing)}")
            alternatives = tuple(name for name in tool.alternatives if name in names)
            compensate = tool.compensate if tool.compensate in names else None
            tool = replace(tool, alternatives=alternatives, compensate=compensate)
        result.append(tool)
    return result


def secrets_for(servers: Iterable[ConfiguredServer], environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the secrets that servers are given, by the names of their variables. They are redacted in records."""
    source = os.environ if environ is None else environ
    secrets: dict[str, str] = {}
    for server in servers:
        headers = server.settings.headers_env.values()
        for name in (*headers, *filter(is_secret_name, server.settings.pass_env)):
            if value := source.get(name, ""):
                # In a header such as `Bearer TOKEN`, the token alone is a secret too.
                secrets |= {name: value, f"{name} ": value.split()[-1]}
    return secrets
