"""http_get against a server on loopback."""

import asyncio
import contextlib
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from surefoot.errors import ToolError, ToolTimeout, ToolUnavailable
from surefoot.tools import ToolContext, ToolResult, call
from surefoot.tools.builtin.http import MAX_BYTES, http_get
from surefoot.tools.context import Hop

PAGE = """<html><head><title>Title</title><style>p {}</style><script>bad()</script></head>
<body><h1>Heading &amp; more</h1><p>One <b>two</b>
three</p><ul><li>a</li><li>b</li></ul></body></html>"""


class Pages(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        answers: dict[str, tuple[int, str, bytes]] = {
            "/page": (200, "text/html; charset=utf-8", PAGE.encode()),
            "/data": (200, "application/json", b'{"a": 1}'),
            "/latin": (200, "text/plain; charset=latin-1", "caf\u00e9".encode("latin-1")),
            "/odd": (200, "text/plain; charset=no-such-code", b"fine"),
            "/image": (200, "image/png", b"\x89PNG\0\0"),
            "/huge": (200, "text/plain", b"x" * (MAX_BYTES + 1000)),
            "/busy": (503, "text/plain", b"come back later"),
            "/gone": (404, "text/plain", b"not here"),
        }
        redirects = {
            "/moved": "/data",
            "/local": "file:///etc/passwd",
            "/round": "/round",
            "/elsewhere": f"http://localhost:{self.server.server_port}/data",  # type: ignore[attr-defined]
            "/decimal": f"http://2130706433:{self.server.server_port}/data",  # type: ignore[attr-defined]
            "/named": f"http://me:word@127.0.0.1:{self.server.server_port}/data",  # type: ignore[attr-defined]
        }
        self.server.asked.append((self.path, self.headers["Host"]))  # type: ignore[attr-defined]
        if self.path == "/drip":
            self.send_response(200)
            self.end_headers()
            with contextlib.suppress(OSError):
                while not self.server.stop.wait(0.05):  # type: ignore[attr-defined]
                    self.wfile.write(b"x")
                    self.wfile.flush()
            return
        if self.path == "/silent":
            self.server.stop.wait(30)  # type: ignore[attr-defined]
            return
        status, kind, content = answers.get(self.path, (302, "text/plain", b""))
        self.send_response(status)
        if self.path in redirects:
            self.send_header("Location", redirects[self.path])
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ThreadingHTTPServer]:
    monkeypatch.setenv("NO_PROXY", "*")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    server.stop = threading.Event()  # type: ignore[attr-defined]
    server.asked = []  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.stop.set()  # type: ignore[attr-defined]
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def address(server: ThreadingHTTPServer) -> str:
    return f"http://127.0.0.1:{server.server_port}"


class Permission:
    """Records every hop, and refuses the hosts that it is told to refuse."""

    def __init__(self, *refused: str) -> None:
        self.refused = refused
        self.hops: list[Hop] = []

    async def __call__(self, hop: Hop) -> str:
        self.hops.append(hop)
        return "not there" if any(host in hop.url for host in self.refused) else ""


@pytest.fixture
def online(root: Path) -> ToolContext:
    return ToolContext(root=root, network=True, permit=Permission())


async def get(context: ToolContext, url: str) -> ToolResult:
    return await call(http_get, context, {"url": url})


async def test_refused_without_network_access(context: ToolContext, address: str) -> None:
    with pytest.raises(ToolError, match="needs the network") as caught:
        await get(context, f"{address}/data")
    assert caught.value.remedy


async def test_pages_are_converted_to_text(online: ToolContext, address: str) -> None:
    result = await get(online, f"{address}/page")
    assert result.summary == "HTTP 200 text/html\nTitle\nHeading & more\nOne two\nthree\na\nb"
    assert (await get(online, f"{address}/data")).output == '{"a": 1}'
    assert (await get(online, f"{address}/latin")).output == "café"
    assert (await get(online, f"{address}/odd")).output == "fine"


async def test_redirects_are_followed_only_to_http_addresses(online: ToolContext, address: str) -> None:
    result = await get(online, f"{address}/moved")
    assert result.data == {"status": 200, "url": f"{address}/data"}
    for path in ("/local", "/round"):
        with pytest.raises(ToolError, match="cannot be fetched") as caught:
            await get(online, address + path)
        assert caught.value.argument == "url"


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://x/y", "example.com", "", "http://[broken"])
async def test_invalid_addresses_are_refused(online: ToolContext, url: str) -> None:
    with pytest.raises(ToolError) as caught:
        await get(online, url)
    assert caught.value.tool == "http_get"
    assert caught.value.remedy


async def test_size_is_limited_and_binary_content_is_refused(online: ToolContext, address: str) -> None:
    result = await get(online, f"{address}/huge")
    assert len(result.output) == MAX_BYTES
    assert "only the first" in result.summary
    with pytest.raises(ToolError, match="binary"):
        await get(online, f"{address}/image")


async def test_temporary_and_permanent_failures_are_distinguished(
    online: ToolContext, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy, gone = await get(online, f"{address}/busy"), await get(online, f"{address}/gone")
    assert (busy.ok, busy.temporary, gone.ok, gone.temporary) == (False, True, False, False)
    assert busy.summary == "HTTP 503 text/plain\ncome back later"
    with pytest.raises(ToolUnavailable):
        await get(online, "http://127.0.0.1:9/")
    monkeypatch.setattr("surefoot.tools.builtin.http.SECONDS", 0.3)
    with pytest.raises(ToolTimeout):
        await get(online, f"{address}/silent")
    with pytest.raises(ToolTimeout):
        await get(online, f"{address}/drip")


# -- servers that nobody was asked about ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "localhost",
        "localhost.",
        "127.1",
        "2130706433",
        "0x7f.0.0.1",
        "0177.0.0.1",
        "[::ffff:127.0.0.1]",
        "0",
    ],
)
async def test_private_address_is_refused_in_any_form(root: Path, server: ThreadingHTTPServer, host: str) -> None:
    context = ToolContext(root=root, network=True)
    with pytest.raises(ToolError, match="must not be requested: nobody can be asked"):
        await get(context, f"http://{host}:{server.server_port}/data")
    assert server.asked == []  # type: ignore[attr-defined]


@pytest.mark.parametrize("path", ["/elsewhere", "/decimal", "/moved"])
async def test_every_redirect_is_ruled_on(root: Path, server: ThreadingHTTPServer, address: str, path: str) -> None:
    permit = Permission()
    result = await get(ToolContext(root=root, network=True, permit=permit), f"{address}{path}")
    assert result.output == '{"a": 1}'
    first, second = permit.hops
    assert (first.redirected_from, first.private) == ("", "loopback")
    assert (second.redirected_from, second.private) == (f"{address}{path}", "loopback")
    refusing = Permission("/data")
    server.asked.clear()  # type: ignore[attr-defined]
    with pytest.raises(ToolError, match=r"redirects to .*must not be requested: not there"):
        await get(ToolContext(root=root, network=True, permit=refusing), f"{address}{path}")
    assert [path for path, _ in server.asked] == [path]  # type: ignore[attr-defined]


async def test_user_names_are_refused(online: ToolContext, address: str) -> None:
    for url in ("http://docs.python.org@127.0.0.1/", f"{address}/named"):
        with pytest.raises(ToolError, match="user name"):
            await get(online, url)


async def test_connection_goes_to_the_address_that_was_checked(
    root: Path, server: ThreadingHTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name server may give a public address to the check and a private one to the connection."""
    asked: list[Any] = []

    def resolve(host: str, port: int, *more: Any, **named: Any) -> list[Any]:
        asked.append(host)
        address = "127.0.0.1" if len(asked) == 1 else "127.0.0.2"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    permit = Permission()
    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    context = ToolContext(root=root, network=True, permit=permit)
    result = await get(context, f"http://rebinding.example:{server.server_port}/data")
    assert result.ok
    assert asked == ["rebinding.example"], "resolved once; the connection is to a number"
    assert [(hop.address, hop.private) for hop in permit.hops] == [("127.0.0.1", "loopback")]
    assert server.asked == [("/data", f"rebinding.example:{server.server_port}")]  # type: ignore[attr-defined]


async def test_time_of_a_person_does_not_count(root: Path, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def slowly(hop: Hop) -> str:
        await asyncio.sleep(2.5)
        return ""

    monkeypatch.setattr("surefoot.tools.builtin.http.SECONDS", 2.0)
    assert (await get(ToolContext(root=root, network=True, permit=slowly), f"{address}/data")).ok
