"""Lets several servers and other programs reach each other's sockets through Redis, if it is configured.

A socket that watches a run is in the room of that run, whichever server it is connected to. Rows and messages of the
journal do not go through Redis: every server reads them itself, and sends them to its own sockets.
"""

import logging
import sys
from typing import Any

from surefoot.config.extras import install_remedy
from surefoot.config.integrations import RedisSettings, shown_url
from surefoot.errors import UsageError

CONNECT_SECONDS = 2.0


def room_of(run_id: str) -> str:
    """The room of the sockets that watch a run."""
    return f"run:{run_id}"


def client_manager(settings: RedisSettings) -> Any:
    """The manager for `socketio.AsyncServer`; None without Redis. Raises UsageError if a package is missing."""
    if settings.url is None:
        return None
    try:
        import redis  # noqa: F401
        import socketio
    except ImportError as error:
        raise UsageError(
            f"redis.url is set, and a package is not installed: {error.name}",
            remedy=f"{install_remedy('redis')}; or remove redis.url",
        ) from error
    return socketio.AsyncRedisManager(
        settings.url,
        channel=f"{settings.prefix}:socketio",
        logger=_logger(settings),
        redis_options={"socket_connect_timeout": CONNECT_SECONDS},
    )


def _logger(settings: RedisSettings) -> logging.Logger:
    """A logger that says only once that Redis cannot be reached. The manager itself keeps trying."""
    logger = logging.Logger("surefoot.redis", logging.ERROR)
    logger.addHandler(_Once(f"Redis at {shown_url(settings.url or '')} cannot be used"))
    return logger


class _Once(logging.Handler):
    def __init__(self, problem: str) -> None:
        super().__init__()
        self._problem = problem

    def emit(self, record: logging.LogRecord) -> None:
        if self._problem:
            reason = str(getattr(record, "redis_exception", "")) or record.getMessage()
            print(f"{self._problem}: {reason}; this server goes on without the others", file=sys.stderr, flush=True)
        self._problem = ""
