"""Only valid combinations of Host, Origin, token, transport and method get through; known incidents as cases."""

import asyncio
import contextlib
import itertools
from pathlib import Path
from typing import Any

import httpx2
import pytest
import socketio

from server.conftest import Site
from support.recorded import whole_run
from surefoot.errors import UsageError
from surefoot.server.security import Door, Gate, Limits, door_for
from surefoot.server.tokens import Tokens

PORT = 8765
HERE = "127.0.0.1:8765"
HOSTS = {
    "exact": [HERE],
    "localhost": ["localhost:8765"],
    "absent": [],
    "two": [HERE, "evil.example"],
    "other port": ["127.0.0.1:80"],
    "no port": ["127.0.0.1"],
    "rebound": ["evil.example:8765"],
    "suffix": ["127.0.0.1.evil.example:8765"],
}
GOOD_HOSTS = ("exact", "localhost")
ORIGINS = {
    "absent": [],
    "own": [f"http://{HERE}"],
    "two": [f"http://{HERE}", "https://evil.example"],
    "null": ["null"],
    "other": ["https://evil.example"],
    "other port": ["http://127.0.0.1:3000"],
    "other scheme": [f"https://{HERE}"],
    "rebound": ["http://evil.example:8765"],
}
GOOD_ORIGINS = ("absent", "own")
FORWARDED: dict[str, list[tuple[str, str]]] = {
    "none": [],
    "forged": [("x-forwarded-host", HERE), ("x-forwarded-proto", "https"), ("forwarded", f"host={HERE}")],
    "forged origin": [("x-forwarded-host", "evil.example:8765"), ("x-real-ip", "127.0.0.1")],
}
SITES = {"none": [], "same-origin": ["same-origin"], "cross-site": ["cross-site"], "same-site": ["same-site"]}
TOKENS = ("absent", "empty", "wrong", "revoked", "view", "control")
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND")


class Inside:
    """Stands for the application; remembers what has reached it."""

    def __init__(self) -> None:
        self.scopes: list[Any] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.scopes.append(scope)
        if scope["type"] == "http":
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"inside"})


class Attempts:
    def __init__(self, home: Path, door: Door | None = None) -> None:
        self.tokens = Tokens(home / "tokens.json")
        self.tokens.ensure()
        old = self.tokens.get("control")
        self.tokens.revoke("control")
        valid = {"view": self.tokens.get("view"), "control": self.tokens.get("control")}
        self.values = {"empty": "", "wrong": "x" * 43, "revoked": old, **valid}
        self.inside = Inside()
        self.gate = Gate(self.inside, door or door_for("127.0.0.1", PORT), self.tokens)

    async def request(
        self,
        kind: str,
        method: str = "GET",
        path: str = "/api/runs",
        token: str = "absent",
        query: str = "",
        **headers: Any,
    ) -> tuple[bool, int]:
        """Whether the request has reached the application, and its status."""
        pairs = [(name, value) for name, values in headers.items() for value in values]
        if token != "absent":
            pairs.append(("authorization", f"Bearer {self.values[token]}"))
        return await self.raw(kind, method, path, query, pairs)

    async def raw(
        self, kind: str, method: str, path: str, query: str, pairs: list[tuple[str, str]]
    ) -> tuple[bool, int]:
        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        async def receive() -> Any:
            return {"type": "http.request", "body": b""}

        headers = [(name.replace("_", "-").encode(), value.encode("latin-1")) for name, value in pairs]
        scope = {"type": kind, "method": method, "path": path, "query_string": query.encode(), "headers": headers}
        before = len(self.inside.scopes)
        await self.gate(scope, receive, send)
        self.sent = sent
        status = sent[0].get("status", 0) if sent else 0
        return len(self.inside.scopes) > before, status


@pytest.fixture
def attempts(tmp_path: Path) -> Attempts:
    return Attempts(tmp_path)


@pytest.mark.attack("the server's door")
@pytest.mark.parametrize("kind", ["http", "websocket"])
async def test_only_the_valid_cells_of_the_matrix_work(attempts: Attempts, kind: str) -> None:
    """Host x Origin x forwarded headers x Sec-Fetch-Site x token, and for HTTP x method."""
    methods = METHODS if kind == "http" else ("GET",)
    path, query = ("/api/runs", "") if kind == "http" else ("/socket.io/", "EIO=4&transport=websocket")
    cells = itertools.product(HOSTS, ORIGINS, FORWARDED, SITES, TOKENS, methods)
    passed = 0
    for host, origin, forwarded, site, token, method in cells:
        pairs = [("host", value) for value in HOSTS[host]] + [("origin", value) for value in ORIGINS[origin]]
        pairs += FORWARDED[forwarded] + [("sec-fetch-site", value) for value in SITES[site]]
        if token != "absent":
            pairs.append(("authorization", f"Bearer {attempts.values[token]}"))
        got_in, status = await attempts.raw(kind, method, path, query, pairs)
        addressed = host in GOOD_HOSTS and origin in GOOD_ORIGINS and site in ("none", "same-origin")
        if kind == "http":
            allowed = token == "control" or (token == "view" and method in ("GET", "HEAD"))
        else:
            # A browser shows its token in the CONNECT packet, which comes later; anybody else shows it here.
            allowed = origin == "own" or token in ("control", "view")
        assert got_in == (addressed and allowed), (host, origin, forwarded, site, token, method, status)
        passed += got_in
        if got_in:
            names = {name for name, _ in attempts.inside.scopes[-1]["headers"]}
            assert not {name for name in names if b"forwarded" in name or name == b"x-real-ip"}
    assert passed


@pytest.mark.attack("the server's door")
@pytest.mark.parametrize(
    ("name", "request_"),
    [
        ("a page of another site calls a local service (CVE-2025-49596)", {"origin": ["https://evil.example"]}),
        ("a name that was rebound to loopback (CVE-2025-66414, -66416)", {"host": ["evil.example:8765"]}),
        ("a rebound name with matching Origin (Vibe-Kanban #2139)",
         {"host": ["evil.example:8765"], "origin": ["http://evil.example:8765"]}),
        ("a method nobody thought of (CVE-2026-27482)", {"method": "DELETE", "token": "view"}),
        ("configuration without a token (CVE-2026-25593)", {"method": "POST", "token": "absent"}),
        ("a rotated token (GHSA-m8wm-r5vq-qjpg)", {"token": "revoked"}),
        ("forwarded headers name a good host", {"host": ["evil.example"], "x-forwarded-host": [HERE]}),
        ("another port of the same machine", {"origin": ["http://127.0.0.1:3000"]}),
        ("a token in the query", {"token": "absent", "query": "token={control}"}),
        ("a token in a cookie", {"token": "absent", "cookie": ["t={control}"]}),
    ],
)  # fmt: skip
async def test_known_incidents(attempts: Attempts, name: str, request_: dict[str, Any]) -> None:
    good: dict[str, Any] = {"host": [HERE], "token": "control", "method": "GET"}
    filled = {
        key: value.format(control=attempts.values["control"]) if key == "query" else value
        for key, value in {**good, **request_}.items()
    }
    assert (await attempts.request("http", **good))[0], "the request without the attack works"
    got_in, status = await attempts.request("http", **filled)
    assert not got_in
    assert status in (400, 401, 403)


@pytest.mark.attack("the server's door")
@pytest.mark.parametrize(
    ("name", "headers"),
    [
        ("a page of another site opens the socket of a local tool (CVE-2025-52882)",
         {"host": [HERE], "origin": ["https://evil.example"]}),
        ("a program without a token opens it (CVE-2026-25593)", {"host": [HERE]}),
        ("a rebound name (CVE-2026-34742, -42559, cli-agent-orchestrator #124)",
         {"host": ["evil.example:8765"], "origin": ["http://evil.example:8765"]}),
        ("another port of this machine", {"host": [HERE], "origin": ["http://localhost:3000"]}),
        ("two origins", {"host": [HERE], "origin": [f"http://{HERE}", "https://evil.example"]}),
    ],
)  # fmt: skip
async def test_known_incidents_by_websocket(attempts: Attempts, name: str, headers: dict[str, Any]) -> None:
    address: dict[str, Any] = {"path": "/socket.io/", "query": "EIO=4&transport=websocket"}
    assert (await attempts.request("websocket", **address, host=[HERE], origin=[f"http://{HERE}"]))[0]
    assert not (await attempts.request("websocket", **address, **headers))[0]
    assert attempts.sent[0]["type"] == "websocket.close"


@pytest.mark.attack("the server's door")
@pytest.mark.parametrize(
    "path",
    ["/api/info", "/api/openapi.json", "/api/tokens/control/revoke", "/api", "/unknown", "//", "/assets", "/socket.io/",
     "/static/index.html", "/index.html/", "/favicon.svg/x", "/.git/config"],
)  # fmt: skip
async def test_every_path_but_the_page_needs_a_token(attempts: Attempts, path: str) -> None:
    """Also those that nobody has thought of, and those that are not there."""
    for method in METHODS:
        assert await attempts.request("http", method, path=path, host=[HERE]) == (False, 401)


@pytest.mark.attack("the server's door")
async def test_too_many_sockets_and_too_long_bodies_are_refused(tmp_path: Path) -> None:
    door = door_for("127.0.0.1", PORT)
    attempts = Attempts(tmp_path, Door(door.hosts, door.origins, Limits(sockets=1, body_bytes=10)))
    attempts.gate.connections.add(object())  # type: ignore[arg-type]
    address: dict[str, Any] = {"path": "/socket.io/", "query": "EIO=4&transport=websocket"}
    assert not (await attempts.request("websocket", **address, host=[HERE], origin=[f"http://{HERE}"]))[0]
    read: list[Any] = []

    async def application(scope: Any, receive: Any, send: Any) -> None:
        read.extend([await receive(), await receive()])

    async def receive() -> Any:
        return {"type": "http.request", "body": b"123456", "more_body": True}

    gate = Gate(application, attempts.gate._door, attempts.tokens)
    headers = [(b"host", HERE.encode()), (b"authorization", f"Bearer {attempts.values['control']}".encode())]
    scope = {"type": "http", "method": "POST", "path": "/api/runs", "query_string": b"", "headers": headers}
    await gate(scope, receive, receive)  # type: ignore[arg-type]
    assert [message["type"] for message in read] == ["http.request", "http.disconnect"]


@pytest.mark.attack("the server's door")
async def test_behind_a_proxy_only_its_name_and_https_count(tmp_path: Path) -> None:
    name = "runs.example.com"
    attempts = Attempts(tmp_path, door_for("0.0.0.0", PORT, behind_proxy=True, allowed=[name]))
    forwarded: dict[str, Any] = {"x_forwarded_host": [name], "x_forwarded_proto": ["https"]}
    origins = {f"https://{name}": True, f"http://{name}": False, f"https://{name}:8443": False, "https://evil": False}
    for origin, good in origins.items():
        got_in, _ = await attempts.request("http", host=[name], origin=[origin], token="control", **forwarded)
        assert got_in == good, origin
    for host in ("evil.example", f"{name}.evil.example", "0.0.0.0:8765", f"{name}:1"):
        # What a proxy says about the name does not replace the name.
        assert await attempts.request("http", host=[host], token="control", **forwarded) == (False, 400)
    with pytest.raises(UsageError, match="names"):
        door_for("0.0.0.0", PORT, behind_proxy=True)


@pytest.mark.attack("the server's door")
@pytest.mark.parametrize(
    "query",
    [
        "EIO=4&transport=polling",
        "EIO=4&transport=websocket&sid=abc",
        "EIO=4&transport=websocket&j=1",
        "EIO=3&transport=websocket",
        "",
    ],
)
async def test_nothing_but_a_plain_websocket_reaches_the_socket(attempts: Attempts, query: str) -> None:
    own: dict[str, Any] = {"host": [HERE], "origin": [f"http://{HERE}"]}
    assert not (await attempts.request("websocket", path="/socket.io/", query=query, **own))[0]


async def test_the_page_itself_needs_no_token_and_can_only_be_read(attempts: Attempts) -> None:
    for path in ("/", "/assets/x.js"):
        assert (await attempts.request("http", path=path, host=[HERE]))[0]
        assert (await attempts.request("http", "POST", path=path, host=[HERE], token="control")) == (False, 405)


async def test_every_answer_has_the_headers_that_confine_it(attempts: Attempts) -> None:
    for token in ("absent", "control"):
        await attempts.request("http", host=[HERE], token=token)
        headers = dict(attempts.sent[0]["headers"])
        policy = dict(part.split(" ", 1) for part in headers[b"content-security-policy"].decode().split("; "))
        sockets = policy.pop("connect-src").split()
        assert sockets == ["'self'", f"ws://{HERE}", "ws://localhost:8765"]
        assert policy == {
            "default-src": "'none'", "script-src": "'self'", "style-src": "'self'", "img-src": "'self' data:",
            "worker-src": "'self'", "base-uri": "'none'", "form-action": "'none'", "frame-ancestors": "'none'",
            "require-trusted-types-for": "'script'", "trusted-types": "svelte-trusted-html surefoot-worker",
        }  # fmt: skip
        assert headers[b"x-content-type-options"] == b"nosniff"
        assert headers[b"referrer-policy"] == b"no-referrer"
        assert headers[b"cross-origin-opener-policy"] == b"same-origin"
        assert headers[b"cross-origin-resource-policy"] == b"same-origin"
        assert headers[b"x-frame-options"] == b"DENY"
        assert b"set-cookie" not in headers


def test_an_address_that_others_reach_needs_protection_and_a_name() -> None:
    with pytest.raises(UsageError, match="not be encrypted"):
        door_for("0.0.0.0", PORT)
    with pytest.raises(UsageError, match="names"):
        door_for("0.0.0.0", PORT, tls=True)
    door = door_for("0.0.0.0", PORT, behind_proxy=True, allowed=["runs.example.com"])
    assert "runs.example.com" in door.hosts
    assert "https://runs.example.com" in door.origins
    assert "0.0.0.0:8765" not in door.hosts


# -- a real server ----------------------------------------------------------------------------------------------------


@pytest.mark.attack("the server's door")
@pytest.mark.parametrize("auth", [None, {}, {"token": ""}, {"token": "wrong"}, {"token": ["a"]}, "control"])
async def test_a_socket_without_a_valid_token_in_its_first_packet_is_closed(site: Site, auth: Any) -> None:
    client = socketio.AsyncClient(reconnection=False)
    headers = {"Origin": site.base}
    with pytest.raises(socketio.exceptions.ConnectionError):
        await client.connect(site.base, headers=headers, auth=auth, transports=["websocket"])


@pytest.mark.attack("the server's door")
async def test_revoking_a_token_closes_its_sockets_and_only_those(site: Site) -> None:
    controls, looks = await site.client("control"), await site.client("view")
    gone = asyncio.Event()
    looks.io.on("disconnect", lambda *_: gone.set())
    assert (await site.http("POST", "/api/tokens/view/revoke")).status_code == 200
    await asyncio.wait_for(gone.wait(), 60)
    assert controls.io.connected
    assert await controls.call("runs:watch") == {}
    await controls.io.disconnect()


@pytest.mark.attack("the server's door")
async def test_tokens_that_another_process_replaces_close_sockets_too(site: Site) -> None:
    """As `surefoot serve --new-tokens` or an editor does; a rotated token must not live on (GHSA-m8wm-r5vq-qjpg)."""
    controls = await site.client("control")
    gone = asyncio.Event()
    controls.io.on("disconnect", lambda *_: gone.set())
    old = site.token()
    Tokens(site.home / "server" / "tokens.json").ensure(replace=True)
    await asyncio.wait_for(gone.wait(), 60)
    with pytest.raises(socketio.exceptions.ConnectionError):
        await site.client(token=old)
    await (await site.client()).io.disconnect()


@pytest.mark.attack("the server's door")
async def test_the_page_holds_no_token_and_no_answer_repeats_it(site: Site) -> None:
    """A token in the page could be read by whoever reaches it under another name (MCP Inspector)."""
    import httpx2

    async with httpx2.AsyncClient() as client:
        for path in ("/", "/index.html", "/favicon.svg"):
            answer = await client.get(site.base + path)
            for scope in ("control", "view"):
                assert site.token(scope) not in answer.text + str(answer.headers)
    for path in ("/api/info", "/api/openapi.json", "/api/runs"):
        assert site.token() not in (await site.http("GET", path)).text


@pytest.mark.attack("the server's door")
async def test_a_socket_that_sends_too_much_is_closed(site: Site) -> None:
    from websockets.asyncio.client import connect
    from websockets.exceptions import ConnectionClosed

    address = site.base.replace("http", "ws") + "/socket.io/?EIO=4&transport=websocket"
    async with connect(address, origin=site.base) as socket:  # type: ignore[arg-type]
        with pytest.raises(ConnectionClosed):
            await asyncio.wait_for(_flood(socket), 60)


@pytest.mark.attack("the server's door")
@pytest.mark.parametrize(
    ("limits", "frame"),
    [(Limits(frames_burst=3, frames_per_second=1e-6), "2"), (Limits(frame_bytes=10), "x" * 11)],
    ids=["too many", "too long"],
)
async def test_frames_beyond_the_limits_end_a_socket(tmp_path: Path, limits: Limits, frame: str) -> None:
    door = door_for("127.0.0.1", PORT)
    attempts = Attempts(tmp_path, Door(door.hosts, door.origins, limits))
    got: list[str] = []

    async def application(scope: Any, receive: Any, send: Any) -> None:
        for _ in range(10):
            got.append((await receive())["type"])

    async def frames() -> Any:
        return {"type": "websocket.receive", "text": frame}

    scope = {
        "type": "websocket",
        "path": "/socket.io/",
        "query_string": b"EIO=4&transport=websocket",
        "headers": [(b"host", HERE.encode()), (b"origin", f"http://{HERE}".encode())],
    }
    await Gate(application, attempts.gate._door, attempts.tokens)(scope, frames, frames)  # type: ignore[arg-type]
    passed = 3 if frame == "2" else 0
    assert got == ["websocket.receive"] * passed + ["websocket.disconnect"] * (10 - passed)


async def _flood(socket: Any) -> None:
    for _ in range(2_000):
        await socket.send("3")
        await asyncio.sleep(0)
    while True:
        await socket.recv()


async def test_a_socket_without_a_connect_packet_is_closed_in_time(tmp_path: Path) -> None:
    door = door_for("127.0.0.1", PORT)
    attempts = Attempts(tmp_path, Door(door.hosts, door.origins, Limits(connect_seconds=0.2)))
    got: list[Any] = []

    async def application(scope: Any, receive: Any, send: Any) -> None:
        got.append(await receive())

    async def silence() -> Any:
        await asyncio.Event().wait()

    gate = Gate(application, attempts.gate._door, attempts.tokens)
    scope = {
        "type": "websocket",
        "path": "/socket.io/",
        "query_string": b"EIO=4&transport=websocket",
        "headers": [(b"host", HERE.encode()), (b"origin", f"http://{HERE}".encode())],
    }
    await asyncio.wait_for(gate(scope, silence, silence), 60)  # type: ignore[arg-type]
    assert got == [{"type": "websocket.disconnect", "code": 1008}]
    assert not gate.connections


@pytest.mark.attack("the server's door")
async def test_sockets_beyond_the_limit_are_refused(tmp_path: Path) -> None:
    door = door_for("127.0.0.1", PORT)
    attempts = Attempts(tmp_path, Door(door.hosts, door.origins, Limits(sockets=2)))
    own: dict[str, Any] = {"host": [HERE], "origin": [f"http://{HERE}"], "query": "EIO=4&transport=websocket"}
    entered, leave = asyncio.Semaphore(0), asyncio.Event()

    async def application(scope: Any, receive: Any, send: Any) -> None:
        entered.release()
        await leave.wait()

    attempts.gate._app = application
    sockets = [asyncio.create_task(attempts.request("websocket", path="/socket.io/", **own)) for _ in range(2)]
    for _ in sockets:
        await entered.acquire()
    sockets.append(asyncio.create_task(attempts.request("websocket", path="/socket.io/", **own)))
    one_too_many = asyncio.create_task(entered.acquire())
    await asyncio.wait((sockets[2], one_too_many), return_when=asyncio.FIRST_COMPLETED)
    assert attempts.sent == [{"type": "websocket.close", "code": 1008, "reason": "sockets"}]
    one_too_many.cancel()
    leave.set()
    await asyncio.gather(*sockets)
    assert not attempts.gate.connections


@pytest.mark.attack("the server's door")
@pytest.mark.parametrize("how", ["content-length", "chunked"])
async def test_a_body_that_is_too_long_is_refused(site: Site, how: str) -> None:
    """Neither a length that is said, nor one that turns out to be too long."""
    task = "x" * 3_000_000
    body = f'{{"task": "{task}", "commandId": "c"}}'.encode()

    async def pieces() -> Any:
        for start in range(0, len(body), 100_000):
            yield body[start : start + 100_000]

    sent: Any = body if how == "content-length" else pieces()
    with contextlib.suppress(httpx2.TransportError):
        answer = await site.http("POST", "/api/runs", content=sent)
        assert answer.status_code in (413, 500)
    assert (await site.http("GET", "/api/runs")).json() == {"runs": [], "next": None}


@pytest.mark.attack("the server's door")
async def test_a_token_that_only_looks_commands_nothing(site: Site) -> None:
    """Over the socket it watches, and every command is refused. Over HTTP the matrix above tells."""
    run_id = await site.store(whole_run())
    looks = await site.client("view")
    assert "head" in await looks.call("run:watch", run=run_id)
    for command in ("run:pause", "run:resume", "run:cancel", "question:answer", "step:skip", "step:retry"):
        answer = await looks.call(command, run=run_id, commandId=command, step="s1", question="q", answer="yes")
        assert answer == {"refused": True, "reason": "this token is read-only"}
    await looks.io.disconnect()
    for path in ("/api/tokens/control/revoke", "/api/runs", f"/api/runs/{run_id}/commands"):
        assert (await site.http("POST", path, "view", json={})).status_code == 403


@pytest.mark.attack("the server's door")
def test_a_token_replaced_by_another_process_is_out_at_once(tmp_path: Path) -> None:
    own, other = Tokens(tmp_path / "tokens.json"), Tokens(tmp_path / "tokens.json")
    own.ensure()
    old = own.get("control")
    assert own.scope_of(old) == "control"
    other.revoke("control")
    assert own.scope_of(old) is None
    assert own.scope_of(other.get("control")) == "control"


@pytest.mark.attack("the server's door")
@pytest.mark.parametrize("content", ['{"control": "", "view": ""}', '{"control": null}', "{}", '{"other": "x"}'])
def test_an_empty_or_missing_token_lets_nobody_in(tmp_path: Path, content: str) -> None:
    (tmp_path / "tokens.json").write_text(content)
    tokens = Tokens(tmp_path / "tokens.json")
    for given in ("", "x", "None", "null"):
        assert tokens.scope_of(given) is None


def test_the_tokens_are_readable_by_the_user_alone(tmp_path: Path) -> None:
    tokens = Tokens(tmp_path / "server" / "tokens.json")
    tokens.ensure()
    tokens.revoke("view")
    assert (tmp_path / "server" / "tokens.json").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "server").stat().st_mode & 0o777 == 0o700
    assert len(tokens.get("control")) >= 40


def test_the_token_is_in_the_fragment_of_the_address(site: Site) -> None:
    """A fragment is sent to nobody: it is in no log and no referrer."""
    assert site.server is not None
    for scope in ("control", "view"):
        address, mark, fragment = site.server.url(scope).partition("#")
        assert mark
        assert site.token(scope) in fragment
        assert address == f"{site.base}/"


async def test_stored_contents_are_downloads(site: Site) -> None:
    from surefoot.journal import events as e
    from surefoot.journal.store.sqlite import SqliteJournal

    events = [record.event for record in whole_run()]
    journal = SqliteJournal(site.home / "journal.sqlite")
    digest = journal.put_blob(b"<script>alert(1)</script>")
    foreign = journal.put_blob(b"of another run")
    changed = [event.with_(output=digest) if isinstance(event, e.ActionFinished) else event for event in events]
    created = changed[0]
    assert isinstance(created, e.RunCreated)
    await journal.append(created.run_id, changed)
    journal.close()
    answer = await site.http("GET", f"/api/runs/{created.run_id}/blobs/{digest}")
    assert answer.content == b"<script>alert(1)</script>"
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"].startswith("attachment")
    assert (await site.http("GET", f"/api/runs/{created.run_id}/blobs/{foreign}")).status_code == 400
