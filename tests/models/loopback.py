"""A real HTTP server on loopback that answers as a test tells it to, also wrongly, slowly or by half."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True)
class Asked:
    method: str
    path: str
    headers: dict[str, str]
    body: dict[str, Any]


@dataclass(frozen=True)
class Told:
    """`end` is how the server ends: properly, with the connection lost in the middle, or not at all."""

    pieces: Iterable[bytes] = ()
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    end: Literal["whole", "lost", "silent"] = "whole"


def plain(body: Any, status: int = 200, **headers: str) -> Told:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Told([json.dumps(body).encode()], status, {"content-type": "application/json", **named})


def events(lines: Iterable[str], end: Literal["whole", "lost", "silent"] = "whole") -> Told:
    return Told([line.encode() for line in lines], 200, {"content-type": "text/event-stream"}, end)


class Loopback:
    def __init__(self, answer: Callable[[Asked], Told]) -> None:
        self.answer = answer
        self.asked: list[Asked] = []
        self.address = ""

    def bodies(self, path: str = "") -> list[dict[str, Any]]:
        return [asked.body for asked in self.asked if path in asked.path and asked.method == "POST"]

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                asked = await _read(reader)
                self.asked.append(asked)
                await _write(writer, self.answer(asked))
        writer.close()


@asynccontextmanager
async def serving(answer: Callable[[Asked], Told]) -> AsyncIterator[Loopback]:
    loopback = Loopback(answer)
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
    try:
        yield loopback
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def closed_port() -> str:
    """An address where nobody listens."""
    server = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()
    return f"http://127.0.0.1:{port}"


async def _read(reader: asyncio.StreamReader) -> Asked:
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    first, *lines = head.strip().split("\r\n")
    method, path, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Asked(method, path, headers, json.loads(body) if body else {})


async def _write(writer: asyncio.StreamWriter, told: Told) -> None:
    head = {"transfer-encoding": "chunked", **told.headers}
    lines = [f"HTTP/1.1 {told.status} Said", *(f"{name}: {value}" for name, value in head.items())]
    writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())
    for piece in told.pieces:
        writer.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
        await writer.drain()
        await asyncio.sleep(0)  # so that the other side sees the pieces as pieces
    if told.end == "silent":
        await asyncio.Event().wait()
    if told.end == "lost":
        writer.close()
        raise ConnectionResetError
    writer.write(b"0\r\n\r\n")
    await writer.drain()
