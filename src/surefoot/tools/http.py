"""The tool that fetches a page. It works only in runs that may use the network."""

from html.parser import HTMLParser
from typing import TYPE_CHECKING

from surefoot.errors import ToolError
from surefoot.tools.base import ToolContext, ToolResult, tool

if TYPE_CHECKING:
    from httpx2 import Response

MAX_BYTES = 2_000_000
MAX_REDIRECTS = 5
SECONDS = 30.0

_UNSEEN = frozenset({"script", "style", "noscript", "template", "svg"})
_BREAKS = frozenset(
    {"p", "div", "br", "li", "tr", "h1", "h2", "h3", "h4", "h5", "h6", "pre", "section", "article", "table"}
)


@tool(network=True)
async def http_get(context: ToolContext, url: str) -> ToolResult:
    """Fetch a web page or file over http and read it as text."""
    import httpx2 as httpx

    if not url.strip().lower().startswith(("http://", "https://")):
        raise ToolError(f"{url!r} is no http address", argument="url", remedy="it starts with http:// or https://")
    try:
        async with (
            httpx.AsyncClient(follow_redirects=True, max_redirects=MAX_REDIRECTS, timeout=SECONDS) as client,
            client.stream("GET", url.strip()) as response,
        ):
            content, whole = await _read(response)
    except httpx.TimeoutException as error:
        raise TimeoutError(f"{url} did not answer within {SECONDS:g} seconds") from error
    except (httpx.InvalidURL, httpx.UnsupportedProtocol, httpx.TooManyRedirects) as error:
        raise ToolError(f"{url!r} cannot be fetched: {error}", argument="url", remedy="give another address") from error
    except httpx.TransportError as error:
        raise ConnectionError(f"{url}: {error}") from error
    kind = response.headers.get("content-type", "").split(";")[0].strip()
    text = _as_text(content, kind, response.encoding or "utf-8", url)
    ok = response.is_success
    note = "" if whole else f" (only the first {MAX_BYTES:,} bytes)"
    return ToolResult(
        ok=ok,
        summary=f"HTTP {response.status_code} {kind}{note}\n{context.summary(text, failed=not ok)}".rstrip(),
        output=text,
        data={"status": response.status_code, "url": str(response.url)},
        temporary=response.status_code == 429 or response.status_code >= 500,
    )


async def _read(response: "Response") -> tuple[bytes, bool]:
    content = bytearray()
    async for piece in response.aiter_bytes():
        content += piece
        if len(content) > MAX_BYTES:
            return bytes(content[:MAX_BYTES]), False
    return bytes(content), True


def _as_text(content: bytes, kind: str, encoding: str, url: str) -> str:
    if b"\0" in content[:8192]:
        raise ToolError(
            f"{url!r} is binary ({kind}, {len(content):,} bytes)", argument="url", remedy="fetch it with run_command"
        )
    try:
        text = content.decode(encoding, errors="replace")
    except LookupError:
        text = content.decode("utf-8", errors="replace")
    return _visible(text) if kind in {"text/html", "application/xhtml+xml"} else text


def _visible(page: str) -> str:
    reader = _PageReader()
    reader.feed(page)
    reader.close()
    lines = (" ".join(line.split()) for line in "".join(reader.pieces).split("\n"))
    return "\n".join(line for line in lines if line)


class _PageReader(HTMLParser):
    """The text of a page as it would be read, one block a line."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[str] = []
        self._unseen = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _UNSEEN:
            self._unseen += 1
        elif tag in _BREAKS:
            self.pieces.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in _UNSEEN:
            self._unseen = max(0, self._unseen - 1)
        elif tag in _BREAKS:
            self.pieces.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._unseen:
            self.pieces.append(data)
