"""Every command over the socket and over HTTP, with real runs: accepted with a number, or refused with a reason."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from server.conftest import Client, GatedRun, Site
from support.recorded import only_planned
from surefoot.config import paths
from surefoot.journal.store.sqlite import SqliteJournal
from surefoot.server.commands import CommandRequest
from surefoot.server.sockets.sockets import EVENTS
from surefoot.workspace.lock import WorkspaceLock


async def over_http(site: Site, run_id: str, command: str, command_id: str, **more: Any) -> dict[str, Any]:
    body = {"command": command, "commandId": command_id, **more}
    answer = await site.http("POST", f"/api/runs/{run_id}/commands", json=body)
    found: dict[str, Any] = answer.json()
    expected = 409 if "refused" in found else 202 if "queued" in found else 200
    assert answer.status_code == expected, answer.text
    return found


async def events_of(site: Site, run_id: str, kind: str) -> list[dict[str, Any]]:
    events = (await site.http("GET", f"/api/runs/{run_id}/events?limit=500")).json()["events"]
    return [event for event in events if event["type"] == kind]


def status(client: Client, key: str) -> Any:
    return client.rows.get(key, {}).get("status")


@pytest.mark.req("A8")
def test_the_socket_and_http_have_the_same_verbs() -> None:
    verbs = CommandRequest.model_json_schema()["properties"]["command"]["enum"]
    assert sorted(EVENTS.values()) == sorted(verbs)
    assert {"step:skip", "step:retry", "question:answer", "run:pause", "run:fork", "run:undo", "run:edit"} <= set(
        EVENTS
    )


@pytest.mark.req("A8", "A7")
@pytest.mark.slow
async def test_a_run_is_steered_over_both_and_no_command_counts_twice(site: Site, gated: GatedRun) -> None:
    run_id = await gated.start(*(gated.step(number) for number in (1, 2, 3, 4)))
    client = await site.client()
    await client.call("run:watch", run=run_id)
    await client.until(lambda: status(client, "step:s1") == "running")
    given: list[tuple[str, str, dict[str, Any], dict[str, Any]]] = []

    async def twice(verb: str, command_id: str, **more: Any) -> dict[str, Any]:
        """Send a command over HTTP and the same one over the socket. The second has no effect."""
        answer = await over_http(site, run_id, verb, command_id, **more)
        event = next(event for event, name in EVENTS.items() if name == verb)
        assert await client.call(event, run=run_id, commandId=command_id, **more) == answer
        given.append((event, command_id, more, answer))
        return answer

    paused = await twice("pause", "p1", why="lunch")
    assert paused["accepted"]
    assert paused["seq"] > 0
    await gated.end()
    await client.until(lambda: client.rows["run"]["status"] == "paused" and not client.rows["run"]["live"])
    assert "refused" in await twice("pause", "p2")
    assert "is paused, and no process works on it" in (await twice("skip", "k0", step="s1"))["reason"]

    options = {"model": site.model}
    assert (await twice("resume", "r1", options=options))["accepted"]
    await client.until(lambda: client.rows["run"]["live"] and status(client, "step:s1") == "running")
    assert "progress" in (await twice("resume", "r2", options=options))["reason"]
    assert "progress" in (await twice("undo", "u0"))["reason"]

    assert (await twice("skip", "k1", step="s1"))["accepted"]
    await client.until(lambda: status(client, "step:s1") == "skipped" and status(client, "step:s2") == "running")
    assert "no step" in (await twice("skip", "k2", step="s9"))["reason"]

    assert (await twice("retry", "t1", step="s2"))["accepted"]
    await client.until(lambda: "try:s2:2" in client.rows and status(client, "step:s2") == "running")

    plan = (await site.http("GET", f"/api/runs/{run_id}/plan")).json()["plan"]
    changed = plan.replace('name = "Step 4"', 'name = "The last step"')
    assert (await twice("edit", "e1", plan=changed, why="a better name"))["accepted"]
    assert "refused" in await twice("edit", "e2", plan="this is no plan")
    # A changed plan takes effect before the next step starts.
    gated.open(2)
    await client.until(lambda: status(client, "step:s3") == "running")
    assert client.rows["step:s4"]["name"] == "The last step"

    await client.io.disconnect()
    await site.stop()
    await site.start()
    await client.connect()
    await client.call("run:watch", run=run_id, after=client.seq)
    for event, command_id, more, answer in given:
        assert await client.call(event, run=run_id, commandId=command_id, **more) == answer, command_id
    controls = [event["command"] for event in await events_of(site, run_id, "control_received")]
    assert controls == ["pause", "skip", "retry", "edit"]
    assert len(await events_of(site, run_id, "run_resumed")) == 1
    assert len(await events_of(site, run_id, "plan_revised")) == 1

    assert (await twice("cancel", "c1"))["accepted"]
    await client.until(lambda: client.rows["run"]["verdict"] == "cancelled")
    assert "not running" in (await twice("pause", "p3"))["reason"]
    assert "refused" in await twice("edit", "e3", plan="x")
    await client.io.disconnect()


@pytest.mark.req("A8", "P14")
@pytest.mark.slow
async def test_a_run_is_resumed_when_the_process_that_paused_it_has_ended(site: Site, gated: GatedRun) -> None:
    run_id = await gated.start(gated.step(1))
    client = await site.client()
    await client.call("run:watch", run=run_id)
    await client.until(lambda: status(client, "step:s1") == "running")
    assert (await over_http(site, run_id, "pause", "p1"))["accepted"]
    await gated.end()
    await client.until(lambda: client.rows["run"]["status"] == "paused" and not client.rows["run"]["live"])
    with WorkspaceLock(site.work, site.home, run_id) as ending:
        await client.until(lambda: client.rows["run"]["live"])
        resuming = asyncio.create_task(over_http(site, run_id, "resume", "r1", options={"model": site.model}))
        await asyncio.sleep(0.5)
        assert not resuming.done(), "it is not refused while the process ends"
        ending.release()
        assert (await resuming)["accepted"]
    gated.open(1)
    await client.until(lambda: client.rows["run"]["verdict"])


@pytest.mark.req("A8", "P15")
async def test_a_plan_is_shown_as_one_changed_at_once_and_not_resumed(site: Site) -> None:
    events = [record.event for record in only_planned()]
    run_id = events[0].run_id  # type: ignore[union-attr]
    journal = SqliteJournal(paths.journal_file(site.home))
    await journal.append(run_id, events)
    await journal.aclose()
    (row,) = (await site.http("GET", "/api/runs")).json()["runs"]
    assert (row["status"], row["exit_code"]) == ("plan", 0)
    plan = (await site.http("GET", f"/api/runs/{run_id}/plan")).json()["plan"]
    changed = plan.replace('name = "Read the spec"', 'name = "Read it twice"')
    answer = await over_http(site, run_id, "edit", "e1", plan=changed, why="to be sure")
    assert answer == {"accepted": True, "seq": len(events) + 1}
    assert "Read it twice" in (await site.http("GET", f"/api/runs/{run_id}/plan")).json()["plan"]
    assert (await events_of(site, run_id, "plan_revised"))[0]["reason"].endswith(": to be sure")
    refused = await over_http(site, run_id, "resume", "r1")
    assert f"surefoot run --plan {run_id}" in refused["reason"]


@pytest.mark.req("A8")
@pytest.mark.slow
async def test_a_finished_run_is_forked_retried_and_undone(site: Site, gated: GatedRun, tmp_path: Path) -> None:
    write = {"id": "s2", "name": "Write", "tool": "write_file", "parameters": {"path": "new.txt", "content": "new\n"}}
    for number in (1, 3):
        gated.open(number)
    (site.work / "old.txt").write_text("old\n")
    run_id = await gated.start(gated.step(1), write, gated.step(3))
    assert await gated.end() == 3
    client = await site.client()
    await client.call("run:watch", run=run_id)
    await client.until(lambda: status(client, "run") == "done")
    assert "finished" in (await client.call("run:resume", run=run_id, commandId="r"))["reason"]
    assert "no question" in (await over_http(site, run_id, "answer", "a", question="q1", answer="yes"))["reason"]

    # A fork needs a place and a point; it is a run of its own in a folder of its own.
    target = {"folder": str(tmp_path / "fork"), "start": True, "model": site.model}
    assert "folder" in (await over_http(site, run_id, "fork", "f0", step="s2"))["reason"]
    assert "starts" in (await over_http(site, run_id, "fork", "f1", options=target))["reason"]
    forked = await client.call("run:fork", run=run_id, step="s2", commandId="f2", options=target)
    assert forked["accepted"], forked
    assert await over_http(site, run_id, "fork", "f2", step="s2", options=target) == forked
    await client.call("run:watch", run=forked["run"])
    await client.call("runs:watch")
    await client.until(lambda: client.lists.get(forked["run"], {}).get("status") == "done")
    assert client.lists[forked["run"]]["forked_from"] == run_id
    assert (tmp_path / "fork" / "new.txt").read_text() == "new\n"
    assert len(client.lists) == 2
    await client.call("run:unwatch", run=forked["run"])

    # A change of the user's is in the way of an undo, unless it is forced.
    (site.work / "new.txt").write_text("mine\n")
    refused = await client.call("run:undo", run=run_id, commandId="u1")
    assert "new.txt" in refused["reason"], refused
    undone = await over_http(site, run_id, "undo", "u2", options={"force": True})
    assert undone["accepted"]
    assert not (site.work / "new.txt").exists()
    assert (site.work / "old.txt").read_text() == "old\n"
    (site.work / "new.txt").write_text("again\n")
    assert await client.call("run:undo", run=run_id, commandId="u2", options={"force": True}) == undone
    assert (site.work / "new.txt").read_text() == "again\n"
    await client.io.disconnect()


@pytest.mark.req("A8")
@pytest.mark.slow
async def test_a_step_of_a_run_that_failed_is_retried_by_a_new_process(site: Site, gated: GatedRun) -> None:
    broken = {"id": "s2", "name": "Needs a file", "tool": "run_command", "parameters": {"command": "cat needed"}}
    gated.open(1)
    run_id = await gated.start(gated.step(1), broken)
    assert await gated.end() == 1
    client = await site.client()
    await client.call("run:watch", run=run_id)
    await client.until(lambda: status(client, "run") == "failed")
    (site.work / "needed").write_text("here\n")
    options = {"model": site.model}
    answer = await client.call("step:retry", run=run_id, step="s2", commandId="t", options=options)
    assert answer["accepted"], json.dumps(answer)
    await client.until(lambda: status(client, "run") == "done")
    assert status(client, "step:s2") == "succeeded"
    again = await over_http(site, run_id, "retry", "t", step="s2", options=options)
    assert again == answer
    assert len(await events_of(site, run_id, "run_resumed")) == 1
    await client.io.disconnect()
