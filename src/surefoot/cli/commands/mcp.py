"""`mcp`: Surefoot as an MCP server, and the MCP servers whose tools runs use."""

from typing import TYPE_CHECKING

import click

from surefoot.cli.options import model_option, workspace_option
from surefoot.errors import UsageError

if TYPE_CHECKING:
    from surefoot.config.mcp import ConfiguredServer
    from surefoot.tools.mcp.definition import ToolDefinition
    from surefoot.tools.mcp.servers import Server

_NAME = click.argument("name", metavar="SERVER")


@click.group(invoke_without_command=True)
@workspace_option
@model_option
@click.option(
    "--approvals/--no-approvals",
    "approvals",
    default=True,
    help="Whether the client may approve actions with its tool `answer`. If it can, it asks its user in any case.",
)
@click.pass_context
def mcp(context: click.Context, workspace: str, model: str | None, approvals: bool) -> int:
    """Serve the runs of one folder to an MCP client, over standard input and output.

    The subcommands show and accept the tools of the MCP servers that runs use (settings [mcp.servers.NAME]).
    """
    if context.invoked_subcommand is not None:
        return 0
    import asyncio

    from surefoot.cli.session.prepare import load_settings
    from surefoot.cli.session.resources import open_journal, resolve_workspace
    from surefoot.config import paths
    from surefoot.server.mcp.serve import serve
    from surefoot.tools.mcp.servers import require_library

    require_library()
    folder = resolve_workspace(workspace)
    # Wrong settings are reported now, and not by every run.
    load_settings(folder)
    # Creates the journal if there is none yet.
    open_journal().close()
    asyncio.run(serve(paths.state_home(), folder, model or "", approvals=approvals))
    return 0


@mcp.command()
@workspace_option
@click.option("--json", "as_json", is_flag=True, help="One JSON object per tool.")
def tools(workspace: str, as_json: bool) -> int:
    """Start the configured MCP servers and list their tools. Nothing is called.

    A tool that has changed or is new since it was accepted is marked; see `surefoot mcp accept`.
    """
    import asyncio

    from surefoot.cli.views.error_line import Problem, kind_of, write_problem
    from surefoot.errors import SurefootError

    servers = _servers(workspace)
    if not servers:
        click.echo("no MCP server is configured; see docs/guides/mcp.md", err=True)
        return 0
    failed = False

    async def list_all() -> None:
        nonlocal failed
        for server in servers:
            try:
                _print_tools(server, await server.refresh(), as_json=as_json)
            except SurefootError as error:
                failed = True
                if as_json:
                    write_problem(Problem(f"{server.server.name}: {error}", error.remedy, kind_of(error), 1))
                else:
                    _print_line(f"{server.server.name}: {error}", error.remedy)
            finally:
                await server.connection.aclose()

    asyncio.run(list_all())
    return 1 if failed else 0


@mcp.command()
@_NAME
@workspace_option
def trust(name: str, workspace: str) -> int:
    """Allow an MCP server that the project's config file defines to be started. The file must be trusted too."""
    from surefoot.cli.session.resources import resolve_workspace
    from surefoot.config import paths
    from surefoot.config.layers import find_project_config
    from surefoot.config.mcp import servers_in
    from surefoot.config.sources import from_toml
    from surefoot.config.trust import TrustStore

    folder = resolve_workspace(workspace)
    config = find_project_config(folder)
    if config is None:
        raise UsageError(f"{folder} has no config file", remedy="servers in your own config file need no trust")
    content = config.read_bytes()
    servers = servers_in(from_toml(config, content))
    if name not in servers:
        known = ", ".join(servers) or "none"
        raise UsageError(f"{config} defines no MCP server {name!r}", remedy=f"its servers: {known}")
    store = TrustStore(paths.trust_file(paths.state_home()))
    if not store.holds(config, content):
        raise UsageError(f"{config} itself is not trusted", remedy=f"trust it first: surefoot trust {config.parent}")
    store.add_server(config, servers[name])
    _print_line(f"trusted: the MCP server {name}: {servers[name].settings}", "")
    return 0


@mcp.command()
@_NAME
@click.argument("names", metavar="[TOOL]...", nargs=-1)
@workspace_option
def accept(name: str, names: tuple[str, ...], workspace: str) -> int:
    """Accept the tools of an MCP server as they are now: all that have changed, or those that are named."""
    import asyncio

    from surefoot.tools.mcp.definition import differences, summary

    matches = [server for server in _servers(workspace) if server.server.name == name]
    if not matches:
        raise UsageError(f"no MCP server {name!r} is configured", remedy="see `surefoot config`")
    server = matches[0]

    async def refresh() -> "dict[str, ToolDefinition]":
        try:
            return await server.refresh()
        finally:
            await server.connection.aclose()

    offered = asyncio.run(refresh())
    if unknown := [tool for tool in names if tool not in offered]:
        raise UsageError(f"{name} has no tool {unknown[0]!r}", remedy=f"its tools: {', '.join(offered)}")
    changed = [tool for tool in server.pins.changed() if not names or tool in names]
    for tool in changed:
        pinned = server.pins.pinned(tool)
        _print_line(f"accepted: {tool}", differences(pinned, offered[tool]) if pinned else summary(offered[tool]))
        server.pins.accept(offered[tool])
    if not changed:
        click.echo("nothing has changed since it was accepted")
    return 0


def _servers(workspace: str) -> "list[Server]":
    from surefoot.cli.session.prepare import load_settings
    from surefoot.cli.session.resources import resolve_workspace
    from surefoot.config import paths
    from surefoot.tools.mcp.servers import Server, require_library

    folder = resolve_workspace(workspace)
    configured = load_settings(folder).mcp_servers
    if configured:
        require_library()
    return [Server(server, folder, paths.state_home()) for server in configured.values()]


def _print_tools(server: "Server", offered: "dict[str, ToolDefinition]", *, as_json: bool) -> None:
    import json

    changed = server.pins.changed()
    if not as_json:
        _print_line(f"{server.server.name}: {_summary(server.server)}, {len(offered)} tools", "")
    for name, definition in offered.items():
        tool = server.tool(definition)
        state = "not usable" if tool is None else "changed" if name in changed else "accepted"
        asks = "reads" if tool is not None and tool.is_read_only else "asks"
        full = tool.name if tool is not None else name
        description = tool.description.partition("] ")[2] if tool is not None else ""
        if as_json:
            row = {"server": server.server.name, "tool": full, "state": state, "asks": asks == "asks"}
            click.echo(json.dumps({**row, "description": description}))
        else:
            _print_line(f"  {full}  ({asks}{'' if state == 'accepted' else ', ' + state})  {description[:100]}", "")


def _summary(server: "ConfiguredServer") -> str:
    return f"{server.settings.kind} {server.settings}"


def _print_line(text: str, details: str) -> None:
    from surefoot.cli.report.hiding import safe

    click.echo(safe(text))
    if details:
        click.echo(safe(details if details.startswith(" ") else f"  {details}"))
