"""What the answer to a command says: that the run has taken it up, that it waits for the run, or why it is refused."""

import asyncio
import signal
from typing import Any

import pytest

from server.conftest import Client, GatedRun, Site
from server.test_commands import events_of, over_http, status
from surefoot.journal import events as e
from surefoot.journal.reducers import fold
from surefoot.journal.store.sqlite import SqliteJournal
from surefoot.workspace.lock import WorkspaceLock

pytestmark = [pytest.mark.slow, pytest.mark.req("A8")]


async def watched(site: Site, run_id: str) -> Client:
    client = await site.client()
    await client.call("run:watch", run=run_id)
    await client.until(lambda: status(client, "step:s1") == "running")
    return client


async def recorded(site: Site, run_id: str, command_id: str) -> list[dict[str, Any]]:
    return [event for event in await events_of(site, run_id, "control_received") if event["id"] == command_id]


async def test_a_command_that_the_run_has_not_looked_at_is_queued_and_taken_up_once(
    site: Site, gated: GatedRun
) -> None:
    run_id = await gated.start(gated.step(1), gated.step(2))
    client = await watched(site, run_id)
    assert gated.process is not None
    # A process that holds still drives the run and does not look at its messages.
    gated.process.send_signal(signal.SIGSTOP)
    queued = await client.call("step:skip", run=run_id, step="s2", commandId="k")
    assert queued.keys() == {"queued", "seq", "reason"}, queued
    assert "has not" in queued["reason"]
    assert await recorded(site, run_id, "k") == []
    answer = await site.http(
        "POST", f"/api/runs/{run_id}/commands", json={"command": "skip", "step": "s2", "commandId": "k"}
    )
    assert (answer.status_code, answer.json()) == (202, queued)
    gated.process.send_signal(signal.SIGCONT)
    taken = await client.call("step:skip", run=run_id, step="s2", commandId="k")
    assert taken["accepted"], taken
    (event,) = await recorded(site, run_id, "k")
    assert taken == {"accepted": True, "seq": event["seq"]}
    # The same skip as a second command is taken up too, and refused when its turn comes.
    second = await client.call("step:skip", run=run_id, step="s2", commandId="k2")
    assert second["accepted"]
    assert second["seq"] > taken["seq"]
    gated.open(1)
    await gated.end()
    await client.until(lambda: status(client, "run") == "done")
    assert any("skip s2 was not carried out: the step is skipped" in text for text in client.rows["run"]["warnings"])
    assert await client.call("step:skip", run=run_id, step="s2", commandId="k") == taken
    await client.io.disconnect()


async def test_a_changed_plan_waits_for_a_run_that_is_not_at_work(site: Site, gated: GatedRun) -> None:
    run_id = await gated.start(gated.step(1), gated.step(2))
    client = await watched(site, run_id)
    assert (await client.call("run:pause", run=run_id, commandId="p"))["accepted"]
    await gated.end()
    await client.until(lambda: client.rows["run"]["status"] == "paused" and not client.rows["run"]["live"])
    plan = (await site.http("GET", f"/api/runs/{run_id}/plan")).json()["plan"]
    changed = plan.replace('name = "Step 2"', 'name = "Other"')
    queued = await client.call("run:edit", run=run_id, plan=changed, commandId="e")
    assert queued["queued"], queued
    assert "resumed" in queued["reason"]
    # The answer outlives the server, and what became of the command is found by the next one.
    await client.io.disconnect()
    await site.stop()
    await site.start()
    assert await over_http(site, run_id, "edit", "e", plan=changed) == queued
    gated.open(1)
    gated.open(2)
    resumed = await over_http(site, run_id, "resume", "r", options={"model": site.model})
    (event,) = await events_of(site, run_id, "run_resumed")
    assert resumed == {"accepted": True, "seq": event["seq"]}
    await client.connect()
    await client.call("run:watch", run=run_id)
    await client.until(lambda: client.rows["step:s2"]["name"] == "Other")
    (event,) = await recorded(site, run_id, "e")
    assert await over_http(site, run_id, "edit", "e", plan=changed) == {"accepted": True, "seq": event["seq"]}
    await client.until(lambda: status(client, "run") == "done")
    await client.io.disconnect()


@pytest.mark.req("P12", "P14")
async def test_a_run_goes_on_with_an_answer_that_its_process_read_while_it_ended(site: Site, gated: GatedRun) -> None:
    run_id = await gated.start({**gated.step(1), "requires_confirmation": True})
    assert await gated.end() == 4
    client = await site.client()
    await client.call("run:watch", run=run_id)
    await client.until(lambda: status(client, "run") == "waiting" and not client.rows["run"]["live"])
    journal = SqliteJournal(site.home / "journal.sqlite")
    (question,) = fold(journal.read(run_id)).open_questions
    answer = {"question": question.id, "answer": "yes", "options": {"model": site.model}}
    gated.open(1)
    with WorkspaceLock(site.work, site.home, run_id) as ending:
        await client.until(lambda: client.rows["run"]["live"])
        answering = asyncio.create_task(over_http(site, run_id, "answer", "a1", **answer))
        while not (items := journal.receive(run_id)):  # noqa: ASYNC110 - the server sends it
            await asyncio.sleep(0.02)
        # As the process of the run does that reads it too late.
        journal.acknowledge(run_id, [item.id for item in items])
        await journal.append(run_id, [e.QuestionAnswered(question_id=question.id, answer="yes", by="the page")])
        await asyncio.sleep(0.5)
        ending.release()
    assert (await answering)["accepted"]
    await client.until(lambda: client.rows["run"]["verdict"])
    assert (site.work / "out1").exists()
    await journal.aclose()
    await client.io.disconnect()
