"""The server is killed while a run goes on and sockets are attached. The run and the clients do not lose anything."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import socketio

from server.conftest import GatedRun, Site
from server.sockets.test_javascript import modules, result, start

pytestmark = pytest.mark.slow

__all__ = ["modules"]


class ServerProcess:
    """`surefoot serve` in a process of its own, on the port of a site."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        words = [sys.executable, "-P", "-m", "surefoot", "serve", "--no-open", "--port", str(self.site.port)]
        self.process = await asyncio.create_subprocess_exec(
            *words,
            env={**os.environ, "SUREFOOT_HOME": str(self.site.home)},
            cwd=self.site.work,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        assert self.process.stdout is not None
        assert b"/#t=" in await asyncio.wait_for(self.process.stdout.readline(), 60)

    async def kill(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        await self.process.communicate()


@pytest.fixture
async def server(site: Site) -> AsyncIterator[ServerProcess]:
    """In place of the server in this process, which has made the tokens and found a port."""
    await site.stop()
    server = ServerProcess(site)
    await server.start()
    yield server
    if server.process is not None and server.process.returncode is None:
        await server.kill()


class Follower:
    """The Python client with its own reconnection, as a program would use it."""

    def __init__(self, site: Site, run_id: str) -> None:
        self.site, self.run_id = site, run_id
        self.rows: dict[str, Any] = {}
        self.messages: list[tuple[str, int, str]] = []
        self.seq = self.snapshots = self.connections = 0
        self.problem = ""
        self.io = socketio.AsyncClient(reconnection_delay=0.1, reconnection_delay_max=0.3)
        self.io.on("connect", self._on_connect)
        self.io.on("run:snapshot", self._on_snapshot)
        self.io.on("run:rows", self._on_rows)
        for name in ("tool:message:start", "tool:message:complete", "tool:artifact", "tool:message:update"):
            self.io.on(name, self._on_message(name))

    async def connect(self) -> None:
        token = self.site.token()
        headers = {"Authorization": f"Bearer {token}"}
        await self.io.connect(self.site.base, headers=headers, auth={"token": token}, transports=["websocket"])

    async def _on_connect(self) -> None:
        self.connections += 1
        after = {"after": self.seq} if self.seq else {}
        await self.io.emit("run:watch", {"run": self.run_id, **after})

    async def _on_snapshot(self, data: dict[str, Any]) -> None:
        self.snapshots += 1
        self.rows, self.seq = {row["key"]: row for row in data["rows"]}, data["seq"]

    async def _on_rows(self, data: dict[str, Any]) -> None:
        if data["after"] != self.seq:
            self.problem = f"a gap or an overlap: {data['after']} is not {self.seq}"
        self.rows |= {row["key"]: row for row in data["upserts"]}
        self.seq = data["upto"]

    def _on_message(self, name: str) -> Any:
        async def on_message(data: dict[str, Any]) -> None:
            if data["seq"] <= self.seq:
                self.problem = f"{name} of event {data['seq']} came after rows of {self.seq}: it could be lost"
            message = (name, data["seq"], str(data.get("id") or data.get("messageId")))
            if message not in self.messages:  # It comes again if the server was killed before it sent the rows.
                self.messages.append(message)

        return on_message

    async def until(self, met: Any) -> None:
        async with asyncio.timeout(90):
            while not met():
                assert not self.problem, self.problem
                await asyncio.sleep(0.02)


@pytest.mark.req("A7", "A8")
async def test_nothing_is_missed_or_doubled_when_the_server_is_killed_while_a_run_goes_on(
    site: Site, gated: GatedRun, modules: Path, server: ServerProcess
) -> None:
    run_id = await gated.start(*(gated.step(number) for number in (1, 2, 3)))
    follower = Follower(site, run_id)
    await follower.connect()
    javascript = await start(site, modules, run_id, "end")
    while b"snapshot" not in (line := await javascript.stderr.readline()):
        assert line, "the JavaScript client has ended"
    await follower.until(lambda: follower.rows.get("step:s1", {}).get("status") == "running")

    await server.kill()
    gated.open(1)  # While no server is there, a step ends and the next begins.
    await follower.until(lambda: (site.work / "out1").exists())
    await server.start()
    await follower.until(lambda: follower.rows.get("step:s2", {}).get("status") == "running")
    await server.kill()
    await server.start()
    for number in (2, 3):
        gated.open(number)
    assert await gated.end() == 3
    await follower.until(lambda: follower.rows["run"]["ended_at"])
    seen = await result(javascript)
    assert (seen["snapshots"], follower.snapshots) == (1, 1)
    assert seen["connections"] >= 2
    assert follower.connections == 3

    await server.kill()
    await site.start()
    whole = await site.client()
    await whole.call("run:watch", run=run_id)
    await whole.until(lambda: whole.snapshots == 1)
    assert follower.rows == seen["rows"] == whole.rows
    assert follower.seq == seen["seq"] == whole.seq
    assert not follower.problem
    steps = [name for name, _, message in follower.messages if message == "task_s2"]
    assert (steps.count("tool:message:start"), steps.count("tool:message:complete")) == (1, 1)
    found = {(name, m["seq"], m.get("id") or m.get("messageId")) for name, m in seen["messages"] if "task_" in str(m)}
    assert found >= {message for message in follower.messages if message[2] in ("task_s2", "task_s3")}
    # The sockets for live text that the killed servers left are gone with the next one.
    await follower.io.disconnect()
    await whole.io.disconnect()
