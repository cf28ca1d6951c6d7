"""Fetching pages from a real server on loopback."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from surefoot.errors import ToolError, ToolTimeout, ToolUnavailable
from surefoot.tools import ToolContext, ToolResult, call
from surefoot.tools.http import MAX_BYTES, http_get

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
        redirects = {"/moved": "/data", "/local": "file:///etc/passwd", "/round": "/round"}
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
def address(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    server.stop = threading.Event()  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.stop.set()  # type: ignore[attr-defined]
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def online(root: Path) -> ToolContext:
    return ToolContext(root=root, network=True)


async def get(context: ToolContext, url: str) -> ToolResult:
    return await call(http_get, context, {"url": url})


async def test_off_unless_the_run_may_use_the_network(context: ToolContext, address: str) -> None:
    with pytest.raises(ToolError, match="needs the network") as caught:
        await get(context, f"{address}/data")
    assert caught.value.remedy


async def test_pages_are_read_as_text(online: ToolContext, address: str) -> None:
    result = await get(online, f"{address}/page")
    assert result.summary == "HTTP 200 text/html\nTitle\nHeading & more\nOne two\nthree\na\nb"
    assert (await get(online, f"{address}/data")).output == '{"a": 1}'
    assert (await get(online, f"{address}/latin")).output == "café"
    assert (await get(online, f"{address}/odd")).output == "fine"


async def test_redirects_are_followed_within_the_web_only(online: ToolContext, address: str) -> None:
    result = await get(online, f"{address}/moved")
    assert result.data == {"status": 200, "url": f"{address}/data"}
    for path in ("/local", "/round"):
        with pytest.raises(ToolError, match="cannot be fetched") as caught:
            await get(online, address + path)
        assert caught.value.argument == "url"


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://x/y", "example.com", "", "http://[broken"])
async def test_other_addresses_are_refused(online: ToolContext, url: str) -> None:
    with pytest.raises(ToolError) as caught:
        await get(online, url)
    assert caught.value.tool == "http_get"
    assert caught.value.remedy


async def test_size_is_bounded_and_binaries_are_refused(online: ToolContext, address: str) -> None:
    result = await get(online, f"{address}/huge")
    assert len(result.output) == MAX_BYTES
    assert "only the first" in result.summary
    with pytest.raises(ToolError, match="binary"):
        await get(online, f"{address}/image")


async def test_temporary_troubles_are_told_from_lasting_ones(
    online: ToolContext, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy, gone = await get(online, f"{address}/busy"), await get(online, f"{address}/gone")
    assert (busy.ok, busy.temporary, gone.ok, gone.temporary) == (False, True, False, False)
    assert busy.summary == "HTTP 503 text/plain\ncome back later"
    with pytest.raises(ToolUnavailable):
        await get(online, "http://127.0.0.1:9/")
    monkeypatch.setattr("surefoot.tools.http.SECONDS", 0.3)
    with pytest.raises(ToolTimeout):
        await get(online, f"{address}/silent")
