"""What a run in another process is writing reaches the clients of the server while it is being written."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from server.conftest import GatedRun, Site
from server.sockets.test_javascript import modules, result, start
from support.talk import submit

pytestmark = pytest.mark.slow

__all__ = ["modules"]


@pytest.mark.req("A7")
async def test_both_clients_see_what_a_command_prints_before_it_ends(
    site: Site, gated: GatedRun, modules: Path
) -> None:
    run_id = await gated.start(gated.step(1), gated.step(2))
    client = await site.client()
    await client.call("run:watch", run=run_id)
    javascript = await start(site, modules, run_id, "end")
    await client.until(lambda: any(piece["text"] == "begin 1\n" for piece in client.texts))
    while b"begin 1" not in (line := await javascript.stderr.readline()):
        assert line, "the JavaScript client has ended"
    action = next(row for row in client.rows.values() if row["kind"] == "action")
    assert action["status"] == "running"
    piece = client.texts[0]
    assert piece == {
        "v": 1, "run": run_id, "id": action["key"], "step": "s1", "kind": "output", "offset": 0, "text": "begin 1\n",
    }  # fmt: skip
    silent = await site.client()
    await silent.call("run:watch", run=run_id, text=False)
    gated.open(1)
    await client.until(lambda: any("begin 2" in piece["text"] for piece in client.texts))
    await client.call("run:unwatch", run=run_id)
    seen = len(client.texts)
    gated.open(2)
    assert await gated.end() == 3
    found = await result(javascript)
    assert [p["text"] for p in found["texts"] if p["kind"] == "output"][:2] == ["begin 1\n", "begin 2\n"]
    assert len(client.texts) == seen
    assert silent.texts == []
    # Nothing of it is in the journal's events, and no socket is left.
    events = (await site.http("GET", f"/api/runs/{run_id}/events?limit=500")).json()["events"]
    assert not any(event["type"].startswith("stream") for event in events)
    await client.until(lambda: list((site.home / "live").iterdir()) == [])
    for each in (client, silent):
        await each.io.disconnect()


@pytest.mark.req("A7")
async def test_what_a_model_writes_is_seen_before_its_answer_is_complete(site: Site, tmp_path: Path) -> None:
    task, secret = "Say hello in hello.txt.", "sk-live-0123456789abcdef0123456789abcdef"
    words = " ".join(f"word{number}" for number in range(60))
    write = ["write_file", {"path": "hello.txt", "content": "hello\n" * 40}]
    script: list[Any] = [
        {"calls": submit(understanding=task)},
        {"text": f"I use {secret} and write it. {words}", "calls": [write], "seconds": 4},
        {"calls": [["finish_step", {"summary": "done"}]]},
    ]
    (tmp_path / "script.json").write_text(json.dumps(script))
    client = await site.client()
    started = await client.call(
        "run:start",
        task=task,
        model=f"scripted:{tmp_path / 'script.json'}",
        commandId="one",
        options={"sandbox": "off"},
    )
    run_id = started["run"]
    await client.call("run:watch", run=run_id)
    await client.until(lambda: any("word5" in piece["text"] for piece in client.texts))
    assert client.rows["run"]["ended_at"] is None
    await client.until(lambda: any(p["kind"] == "call" and "hello.txt" in p["text"] for p in client.texts))
    await client.until(lambda: client.rows["run"]["ended_at"])
    text = "".join(piece["text"] for piece in client.texts if piece["kind"] == "text")
    assert words[-30:] in text
    assert secret[:20] not in json.dumps(client.texts)
    await client.io.disconnect()


async def test_a_watcher_that_reads_nothing_does_not_hold_up_a_run_that_prints_a_lot(
    site: Site, gated: GatedRun
) -> None:
    """The text of 4 MB is cut, the run goes on, and rows still arrive."""
    loud = {"id": "s1", "name": "Loud", "tool": "run_command"}
    program = "import sys; [print('x' * 99) for _ in range(40_000)]"
    loud["parameters"] = {"command": f'{sys.executable} -c "{program}"'}  # type: ignore[assignment]
    client = await site.client()
    held = asyncio.Event()

    async def stop_reading(_: Any) -> None:
        await held.wait()

    run_id = await gated.start(gated.step(0), loud, gated.step(2))
    await client.call("run:watch", run=run_id)
    client.io.on("run:rows", stop_reading)
    reading = await site.client()
    await reading.call("run:watch", run=run_id)
    gated.open(0)
    await reading.until(lambda: reading.rows.get("step:s2", {}).get("status") == "running")
    received = sum(len(piece["text"]) for piece in reading.texts)
    assert 0 < received < 2_000_000
    assert all(len(piece["text"]) <= 4_000 for piece in reading.texts)
    gated.open(2)
    assert await gated.end() == 3
    held.set()
    for each in (client, reading):
        await each.io.disconnect()
