"""Access control: the outermost layer of the application, for HTTP and websockets alike.

Everything is refused unless it is allowed: one Host from a fixed list, no foreign Origin, and a valid token for
everything but the page itself. There are no cookies, so no other site can act on behalf of a user.
"""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from urllib.parse import parse_qs

from surefoot.errors import UsageError
from surefoot.server.tokens import Scope, Tokens
from surefoot.view.rows import ErrorAnswer

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
ASGIApp: TypeAlias = Callable[[Message, Receive, Send], Awaitable[None]]

CONNECTION = "surefoot.connection"
"""The key of the `Connection` in the scope of a websocket."""
SOCKET_PATH = "/socket.io/"
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_READING = ("GET", "HEAD")
_SHELL = ("/", "/index.html", "/favicon.svg", "/favicon.ico")
"""The page itself, which holds no secrets. It needs no token, because the token is in the fragment of its address."""
_DROPPED = (b"forwarded", b"x-real-ip", b"cookie", b"x-http-method-override")


@dataclass(frozen=True, slots=True)
class Limits:
    sockets: int = 2_000
    frame_bytes: int = 256_000
    frames_per_second: float = 50.0
    frames_burst: int = 200
    connect_seconds: float = 10.0
    body_bytes: int = 1_000_000


@dataclass(frozen=True, slots=True)
class Door:
    """The hosts that requests must be addressed to, and the origins that a page may have."""

    hosts: frozenset[str]
    origins: frozenset[str]
    limits: Limits = Limits()

    @property
    def policy(self) -> str:
        """The content security policy."""
        # Browsers refuse an IPv6 address in a source list; 'self' covers it.
        named = [origin for origin in self.origins if "[" not in origin]
        sockets = " ".join(sorted(origin.replace("http", "ws", 1) for origin in named))
        return (
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
            f"connect-src 'self' {sockets}; worker-src 'self'; base-uri 'none'; form-action 'none'; "
            "frame-ancestors 'none'; require-trusted-types-for 'script'; "
            "trusted-types svelte-trusted-html surefoot-worker"
        )


def door_for(
    host: str, port: int, *, allowed: Iterable[str] = (), tls: bool = False, behind_proxy: bool = False
) -> Door:
    """The door of a server that listens on this address. If other machines can reach it, raises UsageError unless TLS
    or a proxy protects it and the names of the server are given."""
    names = tuple(allowed)
    own = f"[{host}]" if ":" in host else host
    if own not in LOOPBACK:
        if not (tls or behind_proxy):
            raise UsageError(
                f"{host} can be reached by other machines, and the connection would not be encrypted",
                remedy="give --tls-cert and --tls-key, or --behind-proxy if a proxy with TLS is in front",
            )
        if not names:
            raise UsageError(
                f"on {host} the server must know the names that it is reached by",
                remedy="name them: --allow-host surefoot.example.com",
            )
    scheme = "https" if tls else "http"
    hosts = {f"{name}:{port}" for name in LOOPBACK}
    origins = {f"{scheme}://{authority}" for authority in hosts}
    for name in names:
        outside = "https" if tls or behind_proxy else "http"
        authority = name if behind_proxy or ":" in name else f"{name}:{port}"
        hosts.add(authority.lower())
        origins.add(f"{outside}://{authority.lower()}")
    return Door(frozenset(hosts), frozenset(origins))


@dataclass(slots=True, eq=False)
class Connection:
    """One websocket. `greeted` is set when the client has shown a valid token in its CONNECT packet."""

    limits: Limits
    greeted: asyncio.Event = field(default_factory=asyncio.Event)
    closed: asyncio.Event = field(default_factory=asyncio.Event)
    tokens_left: float = 0.0
    counted_at: float = 0.0

    def counts(self, now: float) -> bool:
        """Count a frame. Returns False if there are too many."""
        refill = (
            (now - self.counted_at) * self.limits.frames_per_second if self.counted_at else self.limits.frames_burst
        )
        self.tokens_left = min(self.tokens_left + refill, self.limits.frames_burst) - 1
        self.counted_at = now
        return self.tokens_left >= 0


class Refusal(Exception):
    def __init__(self, status: int, code: str, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.remedy = status, code, message, remedy


class Gate:
    """The middleware. `app` gets only allowed requests, with `scope["state"]["token_scope"]` set for HTTP."""

    def __init__(self, app: ASGIApp, door: Door, tokens: Tokens) -> None:
        self._app, self._door, self._tokens = app, door, tokens
        self.connections: set[Connection] = set()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        try:
            headers = _headers(scope)
            self._check_address(headers)
            scope = {**scope, "headers": _without_dropped(scope["headers"]), "state": dict(scope.get("state") or {})}
            if scope["type"] == "websocket":
                self._check_socket(scope, headers)
            else:
                scope["state"]["token_scope"] = self._check_request(scope, headers)
        except Refusal as refusal:
            await self._refuse(scope, send, refusal)
            return
        if scope["type"] == "websocket":
            await self._serve_socket(scope, receive, send)
        else:
            await self._app(scope, _limited(receive, self._door.limits.body_bytes), self._with_headers(scope, send))

    # -- the rules --------------------------------------------------------------------------------------------------

    def _check_address(self, headers: dict[str, list[str]]) -> None:
        hosts = headers.get("host", [])
        if len(hosts) != 1 or hosts[0].lower() not in self._door.hosts:
            raise Refusal(400, "host", "this server is not reached by that name", "use the address that it printed")
        origins = headers.get("origin", [])
        if len(origins) > 1 or (origins and origins[0] not in self._door.origins):
            raise Refusal(403, "origin", "requests from other sites are refused")
        sites = headers.get("sec-fetch-site", [])
        if any(site not in ("same-origin", "none") for site in sites):
            raise Refusal(403, "origin", "requests from other sites are refused")

    def _check_socket(self, scope: Message, headers: dict[str, list[str]]) -> None:
        query = parse_qs(scope.get("query_string", b"").decode("latin-1"))
        if scope["path"] != SOCKET_PATH or query.get("transport") != ["websocket"] or query.get("EIO") != ["4"]:
            raise Refusal(404, "not_found", "there is no such socket")
        if "sid" in query or "j" in query:
            raise Refusal(400, "transport", "only plain websockets are served")
        if not headers.get("origin") and self._scope(headers) is None:
            raise Refusal(
                401, "token", "clients other than browsers must send the token as Authorization: Bearer TOKEN"
            )
        if len(self.connections) >= self._door.limits.sockets:
            raise Refusal(503, "sockets", "too many sockets are open")

    def _check_request(self, scope: Message, headers: dict[str, list[str]]) -> Scope | None:
        path, method = scope["path"], scope["method"]
        if path in _SHELL or path.startswith("/assets/"):
            if method not in _READING:
                raise Refusal(405, "method", "this can only be read")
            return None
        length = headers.get("content-length", ["0"])[-1]
        if not length.isdecimal() or int(length) > self._door.limits.body_bytes:
            raise Refusal(413, "body", f"a request has at most {self._door.limits.body_bytes:,} bytes")
        found = self._scope(headers)
        if found is None:
            raise Refusal(401, "token", "a valid token is needed", "send it as Authorization: Bearer TOKEN")
        if found != "control" and method not in _READING:
            raise Refusal(403, "view_only", "this token is read-only", "use the control token")
        return found

    def _scope(self, headers: dict[str, list[str]]) -> Scope | None:
        values = headers.get("authorization", [])
        if len(values) != 1 or not values[0].startswith("Bearer "):
            return None
        return self._tokens.scope_of(values[0].removeprefix("Bearer "))

    # -- serving and refusing ---------------------------------------------------------------------------------------

    async def _serve_socket(self, scope: Message, receive: Receive, send: Send) -> None:
        connection = Connection(self._door.limits)
        scope[CONNECTION] = connection
        self.connections.add(connection)
        try:
            await self._app(scope, _watched(receive, connection), send)
        finally:
            self.connections.discard(connection)

    async def _refuse(self, scope: Message, send: Send, refusal: Refusal) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": refusal.code})
            return
        send = self._with_headers(scope, send)
        body = error_answer(refusal.code, refusal.message, refusal.remedy)
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        if refusal.status == 401:
            headers.append((b"www-authenticate", b"Bearer"))
        await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})

    def _with_headers(self, scope: Message, send: Send) -> Send:
        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = list(message.get("headers", []))
                names = {name.lower() for name, _ in headers}
                message["headers"] = headers + [pair for pair in self._headers() if pair[0] not in names]
            await send(message)

        return sending

    def _headers(self) -> list[tuple[bytes, bytes]]:
        return [
            (b"content-security-policy", self._door.policy.encode()),
            (b"x-content-type-options", b"nosniff"),
            (b"referrer-policy", b"no-referrer"),
            (b"cross-origin-opener-policy", b"same-origin"),
            (b"cross-origin-resource-policy", b"same-origin"),
            (b"x-frame-options", b"DENY"),
            (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
            (b"cache-control", b"no-store"),
        ]


def error_answer(code: str, message: str, remedy: str = "") -> bytes:
    answer: ErrorAnswer = {"error": {"code": code, "message": message, "remedy": remedy}}
    return json.dumps(answer).encode()


def _headers(scope: Message) -> dict[str, list[str]]:
    by_name: dict[str, list[str]] = {}
    for name, value in scope["headers"]:
        by_name.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
    return by_name


def _without_dropped(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """The headers without cookies, without method overrides, and without those in which a proxy, or an attacker,
    describes the client."""
    return [
        (name, value)
        for name, value in headers
        if name.lower() not in _DROPPED and not name.lower().startswith(b"x-forwarded-")
    ]


def _limited(receive: Receive, limit: int) -> Receive:
    """Limit the length of a request body. At the limit, the client seems to disconnect."""
    left = limit

    async def receiving() -> Message:
        nonlocal left
        message = await receive()
        left -= len(message.get("body", b""))
        return message if left >= 0 else {"type": "http.disconnect"}

    return receiving


def _watched(receive: Receive, connection: Connection) -> Receive:
    """End a socket that shows no valid token in time, sends too much, or whose token was revoked."""
    gone: Message = {"type": "websocket.disconnect", "code": 1008}
    opened = time.monotonic()

    async def receiving() -> Message:
        reading = asyncio.ensure_future(receive())
        closing = asyncio.ensure_future(connection.closed.wait())
        try:
            while not reading.done():
                left = connection.limits.connect_seconds - (time.monotonic() - opened)
                if connection.closed.is_set() or (left <= 0 and not connection.greeted.is_set()):
                    return gone
                timeout = None if connection.greeted.is_set() else left
                await asyncio.wait([reading, closing], timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
            message = reading.result()
        finally:
            reading.cancel()
            closing.cancel()
        size = len(message.get("text") or message.get("bytes") or "")
        too_much = size > connection.limits.frame_bytes or not connection.counts(time.monotonic())
        if message["type"] == "websocket.receive" and too_much:
            connection.closed.set()
            return gone
        return message

    return receiving
