"""A real server on loopback over a home of its own, and official clients for it."""

import asyncio
import contextlib
import itertools
import json
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

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


class Reachable(Protocol):
    """A server, in this process or in another one."""

    @property
    def base(self) -> str: ...

    def token(self, scope: str = "control") -> str: ...


@dataclass
class Client:
    """The official Python client. It keeps rows as the protocol says."""

    site: Reachable
    rows: dict[str, Any] = field(default_factory=dict)
    seq: int = 0
    messages: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    lists: dict[str, Any] = field(default_factory=dict)
    snapshots: int = 0
    texts: list[dict[str, Any]] = field(default_factory=list)
    errors: list[dict[str, Any]] = field(default_factory=list)

    async def connect(self, scope: str = "control", token: str | None = None) -> None:
        self.io = socketio.AsyncClient(reconnection=False)
        self.io.on("run:snapshot", self._on_snapshot)
        self.io.on("run:rows", self._on_rows)
        self.io.on("runs:snapshot", lambda data: self.lists.update({row["id"]: row for row in data["rows"]}))
        self.io.on("runs:rows", lambda data: self.lists.update({row["id"]: row for row in data["upserts"]}))
        self.io.on("stream:text", self.texts.append)
        self.io.on("run:error", self.errors.append)
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
        deadline = asyncio.get_running_loop().time() + 120
        while not met():
            assert asyncio.get_running_loop().time() < deadline, {
                key: (row.get("status"), row.get("live"), row.get("now")) for key, row in self.rows.items()
            }
            await asyncio.sleep(0.02)


class GatedRun:
    """A run in a process of its own, as of a terminal. Each command prints and then waits until its gate is opened."""

    def __init__(self, site: Site) -> None:
        self.site, self.run_id = site, ""
        self.process: asyncio.subprocess.Process | None = None

    def step(self, number: int) -> dict[str, Any]:
        wait = f"while [ ! -e gate{number} ]; do sleep 0.05; done"
        command = f"echo begin {number}; {wait}; echo end {number} > out{number}"
        return {"id": f"s{number}", "name": f"Step {number}", "tool": "run_command", "parameters": {"command": command}}

    async def start(self, *steps: dict[str, Any], model: str = "") -> str:
        """Start a run of the plan. Returns its id once it is in the journal."""
        plan = {"steps": [{**step, "sequence": number} for number, step in enumerate(steps)]}
        plan["dependencies"] = [
            {"step_id": later["id"], "depends_on": earlier["id"]} for earlier, later in itertools.pairwise(steps)
        ]
        given, script = self.site.home / "given.json", self.site.home / "nothing.json"
        given.write_text(json.dumps({"plan": plan}))
        script.write_text("[]")
        self.site.model = f"scripted:{script}"
        words = ["run", "Carry out the plan.", "--given", str(given), "--from-phase", "execution", "--json"]
        words += ["-C", str(self.site.work), "-m", model or self.site.model, "--sandbox", "off", "--baseline", "off"]
        environ = {"SUREFOOT_HOME": str(self.site.home), "PATH": "/usr/bin:/bin", "HOME": str(self.site.home)}
        pipe = asyncio.subprocess.PIPE
        self.process = await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-m", "surefoot", *words, env=environ, stdout=pipe, stderr=pipe, limit=1 << 24
        )
        assert self.process.stdout is not None
        first = await self.process.stdout.readline()
        assert first, (await self.process.communicate())[1].decode()
        self.run_id = json.loads(first)["run_id"]
        return self.run_id

    def open(self, number: int) -> None:
        (self.site.work / f"gate{number}").touch()

    async def end(self) -> int:
        assert self.process is not None
        await asyncio.wait_for(self.process.communicate(), 120)
        assert self.process.returncode is not None
        return self.process.returncode


@pytest.fixture
async def gated(site: Site) -> AsyncIterator[GatedRun]:
    run = GatedRun(site)
    yield run
    for number in range(10):
        run.open(number)
    if run.process is not None and run.process.returncode is None:
        run.process.kill()
        await run.process.communicate()


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    work.mkdir()
    made = Site(home, work)
    await made.start()
    yield made
    await made.stop()
