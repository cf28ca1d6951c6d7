"""Connects to Redis. Errors name the server without its password."""

from typing import Any

from surefoot.config.extras import install_remedy
from surefoot.config.integrations import RedisSettings, shown_url
from surefoot.errors import ConfigError

CONNECT_SECONDS = 2.0
REPLY_SECONDS = 5.0


def connect(settings: RedisSettings) -> Any:
    """An asynchronous client. It connects when it is first used. Raises ConfigError if a package is missing."""
    assert settings.url is not None
    try:
        from redis.asyncio import Redis
    except ImportError as error:
        raise ConfigError(
            f"redis.url is set, and a package is not installed: {error.name}",
            remedy=f"{install_remedy('redis')}; or remove redis.url",
        ) from error
    return Redis.from_url(settings.url, socket_connect_timeout=CONNECT_SECONDS, socket_timeout=REPLY_SECONDS)


def failures() -> tuple[type[BaseException], ...]:
    """The exceptions that mean that a server cannot be used."""
    from redis.exceptions import RedisError

    return (RedisError, OSError, TimeoutError)


def describe(settings: RedisSettings, error: BaseException) -> str:
    where = shown_url(settings.url or "")
    # Some errors contain the address as it was given, with its password.
    reason = " ".join(str(error).replace(settings.url or "\0", where).split()) or type(error).__name__
    return f"Redis at {where} cannot be used: {reason}"
