"""A real server on loopback over a home of its own, and official clients for it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest
import socketio

from surefoot.journal import events as e
from surefoot.journal.store.sqlite import SqliteJournal
from surefoot.server.app import Server, ServerOptions


@dataclass
class Site:
    home: Path
    work: Path
    port: int = 0
    model: str = ""
    server: Server | None = None
    task: "asyncio.Task[None] | None" = None

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def start(self) -> None:
        self.server = Server(ServerOptions(home=self.home, cwd=self.work, port=self.port, model=self.model))
        self.port = self.server.port
        self.task = asyncio.create_task(self.server.serve())
        async with httpx2.AsyncClient() as client:
            for _ in range(500):
                with contextlib.suppress(httpx2.TransportError):
                    await client.get(self.base)
                    return
                await asyncio.sleep(0.02)

    async def stop(self) -> None:
        assert self.server is not None
        assert self.task is not None
        self.server.stop()
        await self.task

    def token(self, scope: str = "control") -> str:
        assert self.server is not None
        return self.server.tokens.get("view" if scope == "view" else "control")

    async def http(self, method: str, path: str, scope: str = "control", **more: Any) -> httpx2.Response:
        headers = {"Authorization": f"Bearer {self.token(scope)}", **more.pop("headers", {})}
        async with httpx2.AsyncClient(timeout=60) as client:
            return await client.request(method, self.base + path, headers=headers, **more)

    async def client(self, scope: str = "control", **more: Any) -> "Client":
        client = Client(self)
        await client.connect(scope, **more)
        return client

    async def store(self, records: list[e.Record]) -> str:
        """Write the events of a run into the journal, as another process would."""
        created = records[0].event
        assert isinstance(created, e.RunCreated)
        await self.append(created.run_id, [record.event for record in records])
        return created.run_id

    async def append(self, run_id: str, events: list[e.Event]) -> None:
        journal = SqliteJournal(self.home / "journal.sqlite")
        await journal.append(run_id, events)
        journal.close()


@dataclass
class Client:
    """The official Python client. It keeps rows as the protocol says."""

    site: Site
    rows: dict[str, Any] = field(default_factory=dict)
    seq: int = 0
    messages: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    lists: dict[str, Any] = field(default_factory=dict)
    snapshots: int = 0

    async def connect(self, scope: str = "control", token: str | None = None) -> None:
        self.io = socketio.AsyncClient(reconnection=False)
        self.io.on("run:snapshot", self._on_snapshot)
        self.io.on("run:rows", self._on_rows)
        self.io.on("runs:snapshot", lambda data: self.lists.update({row["id"]: row for row in data["rows"]}))
        self.io.on("runs:rows", lambda data: self.lists.update({row["id"]: row for row in data["upserts"]}))
        for name in (
            "tool:message:start",
            "tool:artifact",
            "tool:message:update",
            "tool:message:complete",
            "task:list",
        ):
            self.io.on(name, self._on_message(name))
        token = self.site.token(scope) if token is None else token
        headers = {"Authorization": f"Bearer {token}"}
        await self.io.connect(self.site.base, headers=headers, auth={"token": token}, transports=["websocket"])

    async def _on_snapshot(self, data: dict[str, Any]) -> None:
        self.snapshots += 1
        self.rows = {row["key"]: row for row in data["rows"]}
        self.seq = data["seq"]

    async def _on_rows(self, data: dict[str, Any]) -> None:
        assert data["after"] == self.seq, "a gap or an overlap"
        self.rows |= {row["key"]: row for row in data["upserts"]}
        for key in data["removed"]:
            self.rows.pop(key, None)
        self.seq = data["upto"]

    def _on_message(self, name: str) -> Any:
        async def on_message(data: dict[str, Any]) -> None:
            self.messages.append((name, data))

        return on_message

    async def call(self, event: str, **data: Any) -> dict[str, Any]:
        answer: dict[str, Any] = await self.io.call(event, data, timeout=60)
        return answer

    async def until(self, met: Any) -> None:
        async with asyncio.timeout(60):
            while not met():  # noqa: ASYNC110 - changed by the handlers above
                await asyncio.sleep(0.02)


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    work.mkdir()
    made = Site(home, work)
    await made.start()
    yield made
    await made.stop()
