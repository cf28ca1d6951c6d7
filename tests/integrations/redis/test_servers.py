"""Several servers and one Redis: sockets of all of them watch the same runs, and other programs reach them."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import socketio

from integrations.redis.test_copier import two_steps
from server.conftest import Client, Site
from support.kit import Bench
from support.valkey import Valkey
from surefoot.config.integrations import RedisSettings
from surefoot.server.app import Server, ServerOptions
from surefoot.server.sockets.manager import room_of


@dataclass
class SharedSite(Site):
    """One of several servers over the same home."""

    redis: str = ""

    async def start(self) -> None:
        options = ServerOptions(home=self.home, cwd=self.work, port=0, redis=RedisSettings(url=self.redis or None))
        self.server = Server(options)
        self.port = self.server.port
        self.task = asyncio.create_task(self.server.serve())


async def until(met: Any) -> None:
    while not met():  # noqa: ASYNC110 - the other end is a socket
        await asyncio.sleep(0.02)


@contextlib.asynccontextmanager
async def watching(home: Path, work: Path, url: str, run_id: str) -> AsyncIterator[list[tuple[Client, list[Any]]]]:
    """Two servers, and a client of each that watches the run, with what other programs send it."""
    sites = [SharedSite(home, work, redis=url) for _ in range(2)]
    found: list[tuple[Client, list[Any]]] = []
    for site in sites:
        await site.start()
        client = await site.client()
        got: list[Any] = []
        client.io.on("tool:artifact", got.append)
        await client.io.call("run:watch", {"run": run_id})
        found.append((client, got))
    try:
        yield found
    finally:
        for client, _ in found:
            await client.io.disconnect()
        for site in sites:
            await site.stop()


async def stored_run(bench: Bench, home: Path) -> str:
    bench.write(notes__txt="x\n")
    await bench.run_plan(two_steps(), baseline="off")
    site = Site(home, bench.root)
    return await site.store(bench.records)


@pytest.mark.slow
@pytest.mark.req("A10")
async def test_two_servers_serve_the_same_run_and_other_programs_reach_both(
    bench: Bench, valkey: Valkey, tmp_path: Path
) -> None:
    home = tmp_path / "shared"
    home.mkdir()
    run_id = await stored_run(bench, home)
    async with watching(home, bench.root, valkey.url, run_id) as clients:
        for client, _ in clients:
            await until(lambda client=client: f"step:{two_steps().steps[0].id}" in client.rows)
        assert clients[0][0].rows.keys() == clients[1][0].rows.keys()
        # Another program, which is no server.
        program = socketio.AsyncRedisManager(valkey.url, channel="surefoot:socketio", write_only=True)
        await until(lambda: valkey.client.pubsub_numsub("surefoot:socketio")[0][1] == 2)
        message = {"messageId": "task_x", "showInCanvas": True, "artifact": {"id": "from outside"}}
        await program.emit("tool:artifact", message, room=room_of(run_id))
        await program.emit("tool:artifact", message, room=room_of("another run"))
        for _, got in clients:
            await until(lambda got=got: message in got)
            assert got.count(message) == 1
        first = clients[0][0]
        await first.io.call("run:unwatch", {"run": run_id})
        await program.emit("tool:artifact", {**message, "messageId": "later"}, room=room_of(run_id))
        await until(lambda: clients[1][1][-1]["messageId"] == "later")
        assert all(got["messageId"] != "later" for got in clients[0][1])


@pytest.mark.slow
@pytest.mark.req("A10")
async def test_servers_go_on_when_redis_is_away_and_say_so_once(
    bench: Bench, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "shared"
    home.mkdir()
    run_id = await stored_run(bench, home)
    async with watching(home, bench.root, "redis://:s3cret-pass-1@127.0.0.1:1/0", run_id) as clients:
        for client, _ in clients:
            await until(lambda client=client: client.rows)
        output = ""
        while output.count("cannot be used") < 2:
            output += capsys.readouterr().err
            await asyncio.sleep(0.05)
    output += capsys.readouterr().err
    assert output.count("Redis at redis://:[redacted]@127.0.0.1:1/0 cannot be used") == 2, "once for each server"
    assert "s3cret" not in output
