"""The tool that fetches a web page. It is available only in runs that may use the network.

Every redirect, and every address that is not public, needs permission before it is requested.
"""

import asyncio
import contextlib
import socket
import time
import urllib.request
from collections.abc import AsyncIterator
from html.parser import HTMLParser
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urljoin, urlsplit

from surefoot.core.policy.addresses import Address, is_private_host, parse_address, private_kind
from surefoot.errors import ToolError
from surefoot.tools.context import Hop, ToolContext
from surefoot.tools.tool import ToolResult, tool

if TYPE_CHECKING:
    from httpx2 import Response

MAX_BYTES = 2_000_000
MAX_REDIRECTS = 5
SECONDS = 30.0
"""For resolving, connecting and reading together, over all redirects."""
_REDIRECTS = frozenset({301, 302, 303, 307, 308})

_HIDDEN_TAGS = frozenset({"script", "style", "noscript", "template", "svg"})
_BLOCK_TAGS = frozenset(
    {"p", "div", "br", "li", "tr", "h1", "h2", "h3", "h4", "h5", "h6", "pre", "section", "article", "table"}
)


@tool(network=True)
async def http_get(context: ToolContext, url: str) -> ToolResult:
    """Fetch a web page or file over http and read it as text."""
    address, seconds_left, visited = _parse(url), SECONDS, 0
    previous = ""
    while True:
        clock = time.monotonic()
        async with _limited(url, seconds_left):
            targets = await _resolve(address)
        seconds_left -= time.monotonic() - clock
        await _require_permission(context, Hop(str(address), *_address_and_kind(targets), previous))
        clock = time.monotonic()
        async with _limited(url, seconds_left):
            page = await _fetch(address, targets)
        seconds_left -= time.monotonic() - clock
        if not page.location:
            return _as_result(context, page, str(address))
        visited += 1
        if visited > MAX_REDIRECTS:
            raise _cannot_fetch(url, f"more than {MAX_REDIRECTS} redirects")
        previous, address = str(address), _parse(urljoin(str(address), page.location), of=url)


class _Page(NamedTuple):
    status: int
    kind: str
    encoding: str
    content: bytes
    complete: bool
    location: str


class _Targets(NamedTuple):
    """The addresses to connect to: checked IP addresses, or the host's name with a proxy that resolves it itself."""

    addresses: tuple[str, ...]
    proxy: str = ""


def _parse(url: str, *, of: str = "") -> Address:
    address = parse_address(url)
    if of and address is None:
        raise _cannot_fetch(of, f"it redirects to {url!r}")
    if address is None:
        raise ToolError(f"{url!r} is not an HTTP URL", argument="url", remedy="it starts with http:// or https://")
    if "@" in urlsplit(url.replace("\\", "/")).netloc:
        raise ToolError(f"{url!r} has a user name in it", argument="url", remedy="leave out the part between // and @")
    return address


def _cannot_fetch(url: str, reason: object) -> ToolError:
    return ToolError(f"{url!r} cannot be fetched: {reason}", argument="url", remedy="give another address")


@contextlib.asynccontextmanager
async def _limited(url: str, seconds: float) -> AsyncIterator[None]:
    """Limit only the time on the network: a person may take longer to answer. All hops share `SECONDS`."""
    try:
        async with asyncio.timeout(max(seconds, 0.0)):
            yield
    except TimeoutError as error:
        raise TimeoutError(f"{url} did not answer within {SECONDS:g} seconds") from error


async def _resolve(address: Address) -> _Targets:
    proxies = urllib.request.getproxies_environment()
    proxy = proxies.get(address.scheme) or proxies.get("all") or ""
    if proxy and not urllib.request.proxy_bypass(f"{address.host}:{address.port}"):
        return _Targets((address.host,), proxy)
    loop = asyncio.get_running_loop()
    try:
        addresses = await loop.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise ConnectionError(f"{address.host} cannot be found: {error}") from error
    return _Targets(tuple(dict.fromkeys(str(entry[4][0]) for entry in addresses)))


def _address_and_kind(targets: _Targets) -> tuple[str, str]:
    """Return the address to show, and its kind. One private address among several makes all of them private."""
    kinds = {one: private_kind(one) or ("private" if is_private_host(one) else "") for one in targets.addresses}
    chosen = next((one for one, kind in kinds.items() if kind), targets.addresses[0])
    return chosen, kinds[chosen]


async def _require_permission(context: ToolContext, hop: Hop) -> None:
    """Raise a `ToolError` if a hop is refused. The public address of the call itself was approved with the call."""
    if not hop.redirected_from and not hop.private:
        return
    if reason := await context.permit(hop):
        kind = f", a {hop.private} address" if hop.private else ""
        where = f"{hop.redirected_from} redirects to {hop.url}" if hop.redirected_from else hop.url
        raise ToolError(
            f"{where} ({hop.address}{kind}) must not be requested: {reason}",
            argument="url",
            remedy="give another address, or let the user allow it with a rule that names this host",
        )


async def _fetch(address: Address, targets: _Targets) -> _Page:
    """Fetch a page from the checked addresses, so that the name cannot resolve to another one meanwhile."""
    import httpx2 as httpx

    lost: Exception | None = None
    verify = httpx.create_ssl_context() if address.scheme == "https" else True
    for target in targets.addresses:
        host = f"[{target.partition('%')[0]}]" if ":" in target else target
        url = str(address) if targets.proxy else f"{address.scheme}://{host}:{address.port}{address.path}"
        headers = {"Host": address.origin.partition("://")[2], "User-Agent": "surefoot"}
        try:
            async with (
                httpx.AsyncClient(proxy=targets.proxy or None, trust_env=False, verify=verify, timeout=None) as client,
                client.stream("GET", url, headers=headers, extensions={"sni_hostname": address.host}) as response,
            ):
                return await _read(response)
        except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
            raise _cannot_fetch(str(address), error) from error
        except httpx.ConnectError as error:
            lost = error
        except httpx.TransportError as error:
            raise ConnectionError(f"{address}: {error}") from error
    raise ConnectionError(f"{address}: {lost}") from lost


async def _read(response: "Response") -> _Page:
    """Read the response. The content is cut at `MAX_BYTES`; that of a redirect is not read."""
    location = response.headers.get("location", "") if response.status_code in _REDIRECTS else ""
    content, complete = bytearray(), True
    if not location:
        async for piece in response.aiter_bytes():
            content += piece
            if len(content) > MAX_BYTES:
                complete = False
                break
    kind = response.headers.get("content-type", "").split(";")[0].strip()
    encoding = response.encoding or "utf-8"
    return _Page(response.status_code, kind, encoding, bytes(content[:MAX_BYTES]), complete, location)


def _as_result(context: ToolContext, page: _Page, url: str) -> ToolResult:
    text = _as_text(page.content, page.kind, page.encoding, url)
    ok = 200 <= page.status < 300
    note = "" if page.complete else f" (only the first {MAX_BYTES:,} bytes)"
    return ToolResult(
        ok=ok,
        summary=f"HTTP {page.status} {page.kind}{note}\n{context.summary(text, failed=not ok)}".rstrip(),
        output=text,
        data={"status": page.status, "url": url},
        temporary=page.status == 429 or page.status >= 500,
    )


def _as_text(content: bytes, kind: str, encoding: str, url: str) -> str:
    if b"\0" in content[:8192]:
        raise ToolError(
            f"{url!r} is binary ({kind}, {len(content):,} bytes)", argument="url", remedy="fetch it with run_command"
        )
    try:
        text = content.decode(encoding, errors="replace")
    except LookupError:
        text = content.decode("utf-8", errors="replace")
    return _html_to_text(text) if kind in {"text/html", "application/xhtml+xml"} else text


def _html_to_text(page: str) -> str:
    extractor = _TextExtractor()
    extractor.feed(page)
    extractor.close()
    lines = (" ".join(line.split()) for line in "".join(extractor.pieces).split("\n"))
    return "\n".join(line for line in lines if line)


class _TextExtractor(HTMLParser):
    """Collects the visible text of a page, one block per line."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[str] = []
        self._hidden_depth = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _HIDDEN_TAGS:
            self._hidden_depth += 1
        elif tag in _BLOCK_TAGS:
            self.pieces.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in _HIDDEN_TAGS:
            self._hidden_depth = max(0, self._hidden_depth - 1)
        elif tag in _BLOCK_TAGS:
            self.pieces.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._hidden_depth:
            self.pieces.append(data)
