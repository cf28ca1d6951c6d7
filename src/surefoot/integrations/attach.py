"""Connects runs to what the settings name: OpenTelemetry, Redis. Nothing is imported for what is switched off."""

import contextlib
import logging
from collections.abc import AsyncIterator, Callable

from surefoot.config.integrations import Integrations
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
