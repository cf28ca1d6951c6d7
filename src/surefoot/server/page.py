"""Serves the page: the files that its build puts into `static`, with compressed versions beside them."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

FOLDER = Path(__file__).parent / "static"
HOW_TO_BUILD = "in a clone: make web (needs Node), then install Surefoot again"
_ENCODINGS = (("br", ".br"), ("gzip", ".gz"))
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".json": "application/json",
    ".woff2": "font/woff2",
    ".png": "image/png",
}
_NOT_BUILT = b"""<!doctype html><html lang="en"><meta charset="utf-8"><title>Surefoot</title>
<h1>The page is not part of this installation</h1>
<p>In a clone: <code>make web</code> (needs Node), then install Surefoot again, with the extra <code>server</code>.</p>
<p>The HTTP interface and the socket work without it; <code>surefoot watch RUN</code> shows a run in a terminal.</p>
</html>
"""


def is_built() -> bool:
    """Whether the page and the template of the report are part of this installation. A clone has to build them."""
    return (FOLDER / "index.html").is_file()


def shell_routes() -> "list[BaseRoute]":
    from starlette.routing import Route

    return [
        Route("/", _index, methods=["GET"]),
        Route("/index.html", _index, methods=["GET"]),
        Route("/assets/{name:path}", _asset, methods=["GET"]),
        Route("/favicon.svg", _icon, methods=["GET"]),
    ]


async def _index(request: "Request") -> "Response":
    from starlette.responses import Response

    if not is_built():
        return Response(_NOT_BUILT, media_type=_TYPES[".html"], headers={"cache-control": "no-store"})
    return _file(request, "index.html", "no-store")


async def _icon(request: "Request") -> "Response":
    return _file(request, "favicon.svg", "no-store")


async def _asset(request: "Request") -> "Response":
    return _file(request, f"assets/{request.path_params['name']}", "public, max-age=31536000, immutable")


def _file(request: "Request", name: str, caching: str) -> "Response":
    """The response with a file of the page. No path leads out of the folder: anything else is answered with 404."""
    from starlette.responses import Response

    path = (FOLDER / name).resolve()
    if not path.is_relative_to(FOLDER.resolve()) or path.suffix not in _TYPES or not path.is_file():
        return Response(b"not found", 404, media_type="text/plain")
    headers = {"cache-control": caching, "vary": "accept-encoding"}
    accepted = {word.partition(";")[0].strip() for word in request.headers.get("accept-encoding", "").split(",")}
    for encoding, suffix in _ENCODINGS:
        packed = path.with_name(path.name + suffix)
        if encoding in accepted and packed.is_file():
            return Response(
                packed.read_bytes(), media_type=_TYPES[path.suffix], headers={**headers, "content-encoding": encoding}
            )
    return Response(path.read_bytes(), media_type=_TYPES[path.suffix], headers=headers)
