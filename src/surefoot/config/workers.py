"""Where workers get runs from: the address of a Temporal server, and the name of a task queue.

Even a command that only answers a question needs this. So this module reads its section of the user's config itself,
without loading all settings. Temporal's own client reads the namespace, TLS settings and keys from its own variables,
such as TEMPORAL_NAMESPACE and TEMPORAL_API_KEY.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from surefoot.config.storage import user_section
from surefoot.errors import ConfigError

TEMPORAL_VARIABLE = "SUREFOOT_TEMPORAL"
QUEUE_VARIABLE = "SUREFOOT_WORKERS__QUEUE"
HEARTBEAT_VARIABLE = "SUREFOOT_WORKERS__HEARTBEAT_SECONDS"
QUEUE = "surefoot"
HEARTBEAT_SECONDS: float = 30
SHORTEST_HEARTBEAT = 1.0
TEMPORAL_REMEDY = f"name the server: --temporal HOST:PORT, or {TEMPORAL_VARIABLE}"


@dataclass(frozen=True, slots=True)
class Workers:
    """The settings of `[workers]`."""

    temporal: str | None = None
    queue: str = QUEUE
    heartbeat_seconds: float = HEARTBEAT_SECONDS
    """How long after the last heartbeat of its worker Temporal gives a run to another worker."""


def read_workers(environ: Mapping[str, str] = os.environ) -> Workers:
    """Read the settings: variables take precedence over the user's config. A project's config is not read."""
    section = user_section("workers", environ)
    temporal = environ.get(TEMPORAL_VARIABLE, "").strip() or str(section.get("temporal") or "")
    queue = environ.get(QUEUE_VARIABLE, "").strip() or str(section.get("queue") or QUEUE)
    heartbeat = environ.get(HEARTBEAT_VARIABLE, "").strip() or section.get("heartbeat_seconds") or HEARTBEAT_SECONDS
    try:
        seconds = float(str(heartbeat))
    except ValueError:
        seconds = 0.0
    if not SHORTEST_HEARTBEAT <= seconds <= 3_600:
        raise ConfigError(
            f"workers.heartbeat_seconds must be a number from {SHORTEST_HEARTBEAT:g} to 3,600",
            remedy=f"correct it, or remove it to use {HEARTBEAT_SECONDS:g}",
        )
    return Workers(temporal or None, queue, seconds)
