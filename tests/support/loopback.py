"""An HTTP server on loopback whose responses a test defines, including broken and incomplete ones."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from typing import Any, Literal

from surefoot.models.providers import anthropic, dialect, openai_compatible


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    headers: dict[str, str]
    body: dict[str, Any]


@dataclass(frozen=True)
class Response:
    """`end` is how the response ends: complete, with the connection lost, or never."""

    pieces: Iterable[bytes] = ()
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    end: Literal["complete", "lost", "silent"] = "complete"


def json_response(body: Any, status: int = 200, **headers: str) -> Response:
    more = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response([json.dumps(body).encode()], status, {"content-type": "application/json", **more})


def event_stream(lines: Iterable[str], end: Literal["complete", "lost", "silent"] = "complete") -> Response:
    return Response([line.encode() for line in lines], 200, {"content-type": "text/event-stream"}, end)


class Loopback:
    def __init__(self, respond: Callable[[Request], Response]) -> None:
        self.respond = respond
        self.requests: list[Request] = []
        self.address = ""
        self.around: Callable[[Request], AbstractAsyncContextManager[None]] = lambda _: nullcontext()
        """Entered while a request is answered."""

    def bodies(self, path: str = "") -> list[dict[str, Any]]:
        return [request.body for request in self.requests if path in request.path and request.method == "POST"]

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                request = await _read(reader)
                self.requests.append(request)
                async with self.around(request):
                    await _write(writer, self.respond(request))
        writer.close()


@asynccontextmanager
async def serving(respond: Callable[[Request], Response]) -> AsyncIterator[Loopback]:
    loopback = Loopback(respond)
    tasks: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        with suppress(asyncio.CancelledError):
            await loopback.handle(reader, writer)
        writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    loopback.address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    _forget(loopback.address)
    try:
        yield loopback
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _forget(address: str) -> None:
    """Drop what clients learnt about an earlier server at this address: the system hands out ports again."""
    learnt: list[dict[Any, Any]] = [dialect._known, openai_compatible._known, anthropic._features_of]
    for known in learnt:
        for key in [key for key in known if key[0].startswith(address)]:
            del known[key]


async def closed_port() -> str:
    """An address on which nothing listens."""
    server = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()
    return f"http://127.0.0.1:{port}"


async def _read(reader: asyncio.StreamReader) -> Request:
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    first, *lines = head.strip().split("\r\n")
    method, path, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Request(method, path, headers, json.loads(body) if body else {})


async def _write(writer: asyncio.StreamWriter, response: Response) -> None:
    head = {"transfer-encoding": "chunked", **response.headers}
    lines = [f"HTTP/1.1 {response.status} Status", *(f"{name}: {value}" for name, value in head.items())]
    writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())
    for piece in response.pieces:
        writer.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
        await writer.drain()
        await asyncio.sleep(0)  # so that the client receives the pieces separately
    if response.end == "silent":
        await asyncio.Event().wait()
    if response.end == "lost":
        writer.close()
        raise ConnectionResetError
    writer.write(b"0\r\n\r\n")
    await writer.drain()
