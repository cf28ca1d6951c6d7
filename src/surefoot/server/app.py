"""Assembles the server and runs it."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from surefoot.config.extras import install_remedy
from surefoot.config.integrations import RedisSettings
from surefoot.config.storage import Storage
from surefoot.errors import SurefootError, UsageError
from surefoot.server.commands import Commands
from surefoot.server.http import Api
from surefoot.server.hub import Hub
from surefoot.server.page import shell_routes
from surefoot.server.security import LOOPBACK, Door, Gate, door_for
from surefoot.server.sockets.manager import client_manager
from surefoot.server.sockets.sockets import Sockets
from surefoot.server.tokens import Tokens

MISSING = "surefoot serve needs packages that are not installed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    home: Path
    cwd: Path
    host: str = "127.0.0.1"
    port: int = 8765
    model: str = ""
    models: Sequence[str] = ()
    allow_hosts: Sequence[str] = ()
    tls_cert: str = ""
    tls_key: str = ""
    behind_proxy: bool = False
    new_tokens: bool = False
    storage: Storage | None = None
    """Where the journal is; None for the place that the user's environment and settings name."""
    redis: RedisSettings = field(default_factory=RedisSettings)


class Server:
    """A listening server. `url` has the token in its fragment, which reaches no server, log or referrer."""

    def __init__(self, options: ServerOptions) -> None:
        _require_packages()
        if bool(options.tls_cert) != bool(options.tls_key):
            raise UsageError("a certificate and its key belong together", remedy="give --tls-cert and --tls-key")
        self._options = options
        self._tls = bool(options.tls_cert)
        self._door(options.port)  # raises before anything is opened
        _require_certificate(options)
        self._listener = _listen(options.host, options.port)
        self.port: int = self._listener.getsockname()[1]
        self.door: Door = self._door(self.port)
        self.tokens = Tokens(options.home / "server" / "tokens.json")
        self.tokens.ensure(replace=options.new_tokens)
        self._uvicorn: Any = None

    def _door(self, port: int) -> Door:
        options = self._options
        return door_for(
            options.host, port, allowed=options.allow_hosts, tls=self._tls, behind_proxy=options.behind_proxy
        )

    def url(self, scope: str = "control") -> str:
        options = self._options
        host = f"[{options.host}]" if ":" in options.host else options.host
        authority, encrypted = f"{host}:{self.port}", self._tls
        if host not in LOOPBACK and options.allow_hosts:
            # An address such as 0.0.0.0 is for listening only, and the certificate is for a name.
            name = options.allow_hosts[0]
            authority = name if options.behind_proxy or ":" in name else f"{name}:{self.port}"
            encrypted = encrypted or options.behind_proxy
        token = self.tokens.get("view" if scope == "view" else "control")
        return f"{'https' if encrypted else 'http'}://{authority}/#t={token}"

    async def serve(self) -> None:
        """Serve until `stop` is called, or on SIGINT or SIGTERM."""
        import uvicorn

        async with self._application() as app:
            config = uvicorn.Config(
                app,
                log_config=None,
                access_log=False,
                proxy_headers=False,
                server_header=False,
                ws="websockets-sansio",
                ws_max_size=self.door.limits.frame_bytes,
                ws_max_queue=16,
                ws_per_message_deflate=False,
                lifespan="off",
                timeout_graceful_shutdown=2,
                ssl_certfile=self._options.tls_cert or None,
                ssl_keyfile=self._options.tls_key or None,
            )
            self._uvicorn = uvicorn.Server(config)
            await self._uvicorn.serve(sockets=[self._listener])

    def stop(self) -> None:
        if self._uvicorn is not None:
            self._uvicorn.should_exit = True

    @contextlib.asynccontextmanager
    async def _application(self) -> AsyncIterator[Gate]:
        import socketio
        from starlette.applications import Starlette

        options = self._options
        async with Hub(options.home, storage=options.storage) as hub:
            commands = Commands(hub, options.cwd, options.model)
            manager = client_manager(options.redis)
            sockets = Sockets(hub, commands, self.tokens, lambda origin: origin in self.door.origins, manager)
            api = Api(hub, commands, self.tokens, options.cwd, list(options.models))
            pages = Starlette(routes=[*api.routes(), *shell_routes()])
            background = asyncio.create_task(sockets.keep_going())
            try:
                yield Gate(socketio.ASGIApp(sockets.server, pages), self.door, self.tokens)
            finally:
                background.cancel()
                sockets.close()


def _require_certificate(options: ServerOptions) -> None:
    if not options.tls_cert:
        return
    import ssl

    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(options.tls_cert, options.tls_key)
    except OSError as error:  # ssl.SSLError is one
        raise UsageError(
            f"the certificate {options.tls_cert} with the key {options.tls_key} cannot be used: {error}",
            remedy="--tls-cert is a PEM file with the certificate and those that signed it, --tls-key its key",
        ) from error


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise SurefootError(
            f"cannot listen on {host} port {port}: {error.strerror}", remedy="choose another one: --port 0 finds one"
        ) from error
    listener.listen(1_024)
    return listener


def _require_packages() -> None:
    try:
        import socketio  # noqa: F401
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
        import websockets  # noqa: F401
    except ImportError as error:
        raise UsageError(f"{MISSING}: {error.name}", remedy=install_remedy("server")) from error
