"""The settings of integrations: OpenTelemetry and Redis. They are not part of a run or its journal."""

import re
from dataclasses import dataclass, field
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

from surefoot.core.values import Value

_PASSWORD = re.compile(r"(?<=://)([^/?#@]*):[^/?#]*@")
_REDIS_URL = "an address such as redis://HOST:6379/0 or rediss://HOST:6379/0"


class TelemetrySettings(Value):
    """Whether runs send traces and metrics. The OTEL_* variables say where to."""

    enabled: bool = False
    content: bool = False
    """Whether the text of people, models, tools and files is sent too, without known secrets."""
    flush_seconds: float = Field(default=5, gt=0, le=60)
    """How long the end of a run may wait for undelivered data."""


def _require_redis_url(text: str) -> str:
    parts = urlsplit(text.strip())
    if parts.scheme not in ("redis", "rediss") or not parts.hostname or re.search(r"\s", text.strip()):
        raise ValueError("not the address of a Redis server")
    # Raises ValueError for a port that is not a number.
    _ = parts.port
    return text.strip()


RedisUrl = Annotated[str, AfterValidator(_require_redis_url)]


class RedisSettings(Value):
    """Where runs are copied to, for other programs and other machines."""

    url: RedisUrl | None = Field(default=None, description=_REDIS_URL)
    """May have a password only in the environment variable, never in a file."""
    prefix: str = Field(default="surefoot", pattern=r"^[A-Za-z0-9_.-]{1,64}$")
    """The prefix of every key."""
    ttl_seconds: int = Field(default=86_400, ge=1)
    """How long a key lives after it was last written."""
    events: bool = True
    """Whether the events of a run and their content are copied too, so that the run can be recovered."""


@dataclass(frozen=True, slots=True)
class Integrations:
    telemetry: TelemetrySettings = field(default_factory=TelemetrySettings)
    redis: RedisSettings = field(default_factory=RedisSettings)


def has_password(url: str) -> bool:
    return _PASSWORD.search(url) is not None


def shown_url(url: str) -> str:
    """Return an address without its password."""
    return _PASSWORD.sub(r"\1:[redacted]@", url)
