"""Connects runs to what the settings name: OpenTelemetry, Redis, MCP servers. Nothing is imported for what is not used.

Runs in a terminal, of workers and of editors all do it here.
"""

import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

from surefoot.config.integrations import Integrations
from surefoot.config.mcp import ConfiguredServer
from surefoot.engine.runtime.services import Services

_log = logging.getLogger("surefoot")


@contextlib.asynccontextmanager
async def attached(
    services: Services, settings: Integrations, tell: Callable[[str], None] = _log.warning
) -> AsyncIterator[None]:
    """Every run of these services is sent to what is configured. `tell` gets a message when that does not work.

    A program passes the services of its agent:

    >>> async with attached(agent.services, Integrations(TelemetrySettings(enabled=True))):
    ...     await agent.execute_task("...")
    """
    async with contextlib.AsyncExitStack() as stack:
        if settings.telemetry.enabled:
            from surefoot.integrations.otel.telemetry import telemetry

            await stack.enter_async_context(telemetry(services, settings.telemetry, tell))
        if settings.redis.url is not None:
            from surefoot.integrations.redis.mirror import mirrored

            await stack.enter_async_context(mirrored(services, settings.redis, tell))
        yield


@contextlib.asynccontextmanager
async def equipped(
    services: Services,
    servers: Sequence[ConfiguredServer],
    folder: Path,
    tell: Callable[[str], None] = _log.warning,
) -> AsyncIterator[None]:
    """The runs of these services, in this folder, have the tools of the MCP servers too. The servers end with it.

    The services must know the `secrets_of` the servers. Without servers nothing is changed.
    """
    if not servers:
        yield
        return
    from surefoot.tools.mcp.servers import mcp_toolbox

    def notify(message: str) -> None:
        tell(services.redactor.redact(message))

    own = services.toolbox
    async with mcp_toolbox(servers, folder, services.home, notify=notify, toolbox=own) as services.toolbox:
        try:
            yield
        finally:
            services.toolbox = own


def secrets_of(servers: Sequence[ConfiguredServer]) -> dict[str, str]:
    """The secrets that these MCP servers are given, for `Services`, which removes them from what is recorded."""
    if not servers:
        return {}
    from surefoot.tools.mcp.servers import secrets_for

    return secrets_for(servers)
