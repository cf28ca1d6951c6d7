"""Connects runs to the configured integrations: OpenTelemetry, Redis and MCP servers.

Runs in a terminal, of workers and of editors all use these functions. Nothing is imported for an unused integration.
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
    """Send every run of these services to the configured integrations. `tell` gets a message if that fails.

    A program passes the services of its agent:

    >>> async with attached(agent.services, Integrations(TelemetrySettings(enabled=True))):
    ...     await agent.execute_task("...")
    """
    async with contextlib.AsyncExitStack() as stack:
        if settings.telemetry.enabled:
            from surefoot.integrations.otel.telemetry import telemetry

            await stack.enter_async_context(telemetry(services, settings.telemetry, tell))
        if settings.redis.url is not None:
            from surefoot.integrations.redis.copier import copied

            await stack.enter_async_context(copied(services, settings.redis, tell))
        yield


@contextlib.asynccontextmanager
async def equipped(
    services: Services,
    servers: Sequence[ConfiguredServer],
    folder: Path,
    tell: Callable[[str], None] = _log.warning,
) -> AsyncIterator[None]:
    """Add the tools of MCP servers to the runs of these services in a folder. The servers stop with the context.

    The services must be created with the `secrets_of` the servers. Without servers, nothing is changed.
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
    """The secrets that are passed to these MCP servers. `Services` removes them from everything that is recorded."""
    if not servers:
        return {}
    from surefoot.tools.mcp.servers import secrets_for

    return secrets_for(servers)
