"""Real servers, runs and clients on loopback: what is watched, commanded and recovered over the socket and HTTP."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import apsw
import pytest

from server.conftest import Site
from support.recorded import records, whole_run
from support.stories import CHECK, TASK, TEST, UNDERSTANDING, adder
from surefoot.journal import events as e
from surefoot.view.fold import snapshot, view_of

pytestmark = pytest.mark.slow

RUN = [record.event for record in whole_run()]


@pytest.mark.req("A7", "A15", "O9")
async def test_a_client_sees_the_seed_s_messages_in_order_and_the_same_rows_as_a_fold(site: Site) -> None:
    run_id = await site.store(records(RUN[:10]))
    client = await site.client()
    assert (await client.call("run:watch", run=run_id))["head"] == 10
    await client.until(lambda: client.snapshots == 1)
    for event in RUN[10:]:
        await site.append(run_id, [event])
    await client.until(lambda: client.seq == len(RUN))
    # Messages come beside the rows, not with them.
    await client.until(lambda: "tool:message:complete" in [name for name, _ in client.messages])
    await client.until(lambda: client.messages[-1][0] == "task:list")
    assert client.rows["run"]["status"] == "done"
    end: dict[str, Any] = {row["key"]: row for row in snapshot(view_of(whole_run()))}
    assert client.rows.keys() == end.keys()
    assert {k: r["status"] for k, r in client.rows.items() if "status" in r} == {
        k: r["status"] for k, r in end.items() if "status" in r
    }
    of_step = [(name, m) for name, m in client.messages if m.get("id") == "task_s1" or m.get("messageId") == "task_s1"]
    names = [name for name, _ in of_step]
    assert names[0] == "tool:message:start"
    assert names[-1] == "tool:message:complete"
    assert names.count("tool:message:start") == names.count("tool:message:complete") == 1
    start, complete = of_step[0][1], of_step[-1][1]
    assert (start["role"], start["kind"], start["status"]) == ("assistant", "tool", "in_progress")
    assert {"toolName", "title", "v", "run", "seq", "at"} <= start.keys()
    assert complete["status"] == "completed"
    assert "artifactIds" in complete
    retried = [m["retriesLeft"] for name, m in of_step if name == "tool:message:update"]
    assert retried
    assert retried[-1] < retried[0]
    tasks = [m for name, m in client.messages if name == "task:list"][-1]
    assert {"id", "sessionId", "topic", "tasks", "currentStage"} <= tasks.keys()
    assert {"id", "type", "description", "status", "dependencies", "metadata"} <= tasks["tasks"][0].keys()
    await client.io.disconnect()


@pytest.mark.req("A7")
async def test_nothing_is_missed_or_doubled_when_the_server_is_restarted(site: Site) -> None:
    run_id = await site.store(records(RUN[:12]))
    client = await site.client()
    await client.call("run:watch", run=run_id)
    await client.until(lambda: client.seq == 12)
    await site.append(run_id, RUN[12:16])
    await client.until(lambda: client.seq == 16)
    await site.stop()
    await site.append(run_id, RUN[16:25])
    await site.start()
    await client.connect()
    await client.call("run:watch", run=run_id, after=client.seq)
    await client.until(lambda: client.seq == 25)
    await site.append(run_id, RUN[25:])
    await client.until(lambda: client.seq == len(RUN))
    assert client.snapshots == 1
    seen = [(name, m["seq"], m.get("id") or m.get("messageId")) for name, m in client.messages]
    assert len(seen) == len(set(seen))
    fresh = await site.client()
    await fresh.call("run:watch", run=run_id)
    await fresh.until(lambda: fresh.seq == len(RUN))
    assert client.rows == fresh.rows
    for each in (client, fresh):
        await each.io.disconnect()


async def test_a_client_that_does_not_acknowledge_gets_two_batches_and_no_more(site: Site) -> None:
    run_id = await site.store(records(RUN[:5]))
    client = await site.client()
    held = asyncio.Event()
    batches: list[int] = []

    async def on_batch(data: dict[str, int]) -> None:
        batches.append(data.get("upto") or data["seq"])
        await held.wait()

    client.io.on("run:snapshot", on_batch)
    client.io.on("run:rows", on_batch)
    await client.call("run:watch", run=run_id, tools=False)
    for event in RUN[5:]:
        await site.append(run_id, [event])
        await asyncio.sleep(0.02)
    await client.until(lambda: len(batches) == 2)
    await asyncio.sleep(0.5)
    assert len(batches) == 2
    held.set()
    await client.until(lambda: batches[-1] == len(RUN))
    # What it had missed came as one batch.
    assert len(batches) <= 4
    await client.io.disconnect()


@pytest.mark.req("P12", "A8")
async def test_a_run_is_started_answered_and_finished_from_the_page(site: Site, tmp_path: Path) -> None:
    (site.work / "check_adder.py").write_text(TEST)
    script = tmp_path / "script.json"
    script.write_text(json.dumps([UNDERSTANDING, *[adder("+")] * 3]))
    client = await site.client()
    await client.call("runs:watch")
    body: dict[str, Any] = {"task": TASK, "model": f"scripted:{script}", "checks": [CHECK], "commandId": "one"}
    body["options"] = {"sandbox": "off", "approve": "ask"}
    started = await site.http("POST", "/api/runs", json=body)
    assert started.status_code == 202, started.text
    run_id = started.json()["run"]
    assert (await site.http("POST", "/api/runs", json=body)).json()["run"] == run_id
    await client.call("run:watch", run=run_id)
    await client.until(lambda: client.rows.get("run", {}).get("open_questions"))
    question = next(row for key, row in client.rows.items() if key.startswith("question:"))
    assert question["diff"] or question["command"]
    await client.until(lambda: not client.rows["run"]["live"])
    answer = {"run": run_id, "question": question["id"], "answer": "yes"}
    wrong = await client.call("question:answer", **answer, commandId="w", expectHash="0" * 32)
    assert wrong["refused"]
    script.write_text(json.dumps([adder("+")] * 3))
    http = {"command": "answer", "question": question["id"], "answer": "yes", "expectHash": question["hash"]}
    accepted = await site.http(
        "POST",
        f"/api/runs/{run_id}/commands",
        # The journal has no name by which this model could be found again: the server has kept it.
        json={**http, "commandId": "a"},
    )
    assert accepted.json().get("accepted"), accepted.text
    again = await client.call("question:answer", **answer, commandId="a")
    assert again == accepted.json()
    await client.until(lambda: client.rows[f"question:{question['id']}"]["answer"] == "yes")
    await client.until(lambda: client.lists.get(run_id, {}).get("status") == "done")
    await client.io.disconnect()


@pytest.mark.req("A8")
async def test_a_run_of_a_terminal_is_shown_and_can_be_cancelled(site: Site, tmp_path: Path) -> None:
    slow = {
        "thought": "",
        "decision": "act",
        "reason": "",
        "tool": "run_command",
        "arguments": {"command": "sleep 600"},
    }
    script = tmp_path / "script.json"
    script.write_text(json.dumps([{**UNDERSTANDING, "files": [], "task_type": "shell"}, slow, slow]))
    words = ["run", "Wait.", "-C", str(site.work), "-m", f"scripted:{script}", "--sandbox", "off", "--plain"]
    environ = {"SUREFOOT_HOME": str(site.home), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    client = await site.client()
    await client.call("runs:watch")
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-m", "surefoot", *words, env=environ, stderr=asyncio.subprocess.DEVNULL
    )
    await client.until(lambda: client.lists)
    (run_id,) = client.lists
    await client.call("run:watch", run=run_id)
    await client.until(lambda: any(key.startswith("action:") for key in client.rows))
    assert client.rows["run"]["live"]
    looker = await site.client("view")
    assert (await looker.call("run:cancel", run=run_id, commandId="c"))["refused"]
    answer = await client.call("run:cancel", run=run_id, commandId="c")
    assert answer["accepted"]
    assert answer["seq"] > 0
    assert await client.call("run:cancel", run=run_id, commandId="c") == answer
    await process.wait()
    await client.until(lambda: client.rows["run"]["status"] == "failed")
    assert client.rows["run"]["verdict"] == "cancelled"
    refused = await client.call("step:skip", run=run_id, step="s1", commandId="d")
    assert "not running" in refused["reason"]
    for each in (client, looker):
        await each.io.disconnect()


@pytest.mark.req("A7")
async def test_a_damaged_run_is_told_to_its_watchers_and_the_others_go_on(site: Site) -> None:
    damaged = await site.store(records(RUN[:10]))
    other = "20261115-2045-other-run"
    renamed = [
        event.model_copy(update={"run_id": other}) if isinstance(event, e.RunCreated) else event for event in RUN
    ]
    await site.append(other, renamed[:10])
    client = await site.client()
    await client.call("runs:watch")
    await client.call("run:watch", run=damaged)
    await client.until(lambda: client.seq == 10 and len(client.lists) == 2)
    await client.call("run:watch", run=other, tools=False)
    # An event that arrives damaged, in one transaction.
    connection = apsw.Connection(str(site.home / "journal.sqlite"))
    columns = "at, kind, crc, body"
    last = "SELECT max(id) FROM events WHERE id < (SELECT number + 1 FROM runs WHERE run_id = ?) << 32"
    connection.execute(
        f"INSERT INTO events (id, {columns}) SELECT id + 1, at, kind, crc + 1, body FROM events WHERE id = ({last})",
        (damaged,),
    )
    connection.close()
    await client.until(lambda: client.errors)
    assert client.errors[0]["run"] == damaged
    assert "was changed" in client.errors[0]["message"]
    await site.append(other, renamed[10:])
    await client.until(lambda: client.lists[other]["status"] == "done")
    await client.until(lambda: client.seq == len(RUN))
    await client.io.disconnect()


async def test_the_http_interface_gives_what_the_socket_gives(site: Site) -> None:
    run_id = await site.store(whole_run())
    listed = (await site.http("GET", "/api/runs")).json()
    assert [row["id"] for row in listed["runs"]] == [run_id]
    rows = (await site.http("GET", f"/api/runs/{run_id}")).json()
    assert rows["seq"] == len(RUN)
    events = (await site.http("GET", f"/api/runs/{run_id}/events?after=3&limit=2")).json()
    assert [event["seq"] for event in events["events"]] == [4, 5]
    step = (await site.http("GET", f"/api/runs/{run_id}/steps/s1")).json()
    assert len(step["attempts"]) == 2
    assert (await site.http("GET", "/api/runs/nothing")).status_code == 404
    described = (await site.http("GET", "/api/openapi.json")).json()
    assert described["paths"]["/api/runs/{run}/commands"]["post"]["requestBody"]
    assert (await site.http("GET", f"/api/runs/{run_id}/blobs/{'0' * 64}")).status_code == 400
