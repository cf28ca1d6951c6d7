"""Runs in Redis: the keys, their lifetimes, what they hold; a server that is away, killed, or comes back."""

import asyncio
import json
import zlib
from typing import Any

import pytest

from integrations.redis.conftest import Copied
from support.kit import steps
from support.valkey import Valkey
from surefoot.core.outcome import Verdict
from surefoot.core.plan import DetailedPlan, ExecutionStep, FileCheck
from surefoot.integrations.redis import copier
from surefoot.integrations.redis.keys import Keys
from surefoot.tools.registry import default_toolbox
from surefoot.tools.tool import tool

DAY = 86_400


def two_steps(**more: Any) -> DetailedPlan:
    return steps(
        ExecutionStep(id="list", name="List the files", tool="list_files"),
        ExecutionStep(id="read", name="Read the notes", tool="read_file", parameters={"path": "notes.txt"}, **more),
        after=[("read", "list")],
    )


def document(valkey: Valkey, key: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(valkey.client.get(key))
    return found


@pytest.mark.req("A10", "A15")
async def test_a_run_is_under_documented_keys_that_live_for_a_day(copied: Copied, valkey: Valkey) -> None:
    copied.use(valkey)
    copied.bench.write(notes__txt="remember the milk\n")
    state = await copied.run(two_steps())
    keys = Keys("surefoot", state.run_id)
    artifacts = [f"surefoot:run:{state.run_id}:artifact:{step}@1" for step in ("list", "read")]
    # There is no long content in this run.
    assert valkey.keys() - {keys.blobs} == {keys.runs, keys.state, keys.tasks, keys.events, *artifacts}
    for key in valkey.keys() - {keys.runs}:
        assert DAY - 600 < valkey.client.ttl(key) <= DAY, key
    assert 0 < valkey.client.ttl(keys.runs) <= 2 * DAY

    found = document(valkey, keys.state)
    assert (found["id"], found["sessionId"], found["currentStage"]) == (state.run_id, state.run_id, "completed")
    assert (found["verdict"], found["seq"]) == (str(state.outcome and state.outcome.verdict), state.seq)
    assert found["artifactIds"] == ["list@1", "read@1"]
    tasks = document(valkey, keys.tasks)
    assert [(task["id"], task["status"]) for task in tasks["tasks"]] == [("list", "completed"), ("read", "completed")]
    assert tasks["tasks"][1]["dependencies"] == [{"taskId": "list", "condition": "success"}]
    artifact = document(valkey, artifacts[1])
    assert (artifact["sessionId"], artifact["taskId"]) == (state.run_id, "read")
    assert "remember the milk" in json.dumps(artifact["content"])
    assert valkey.client.hlen(keys.events) == state.seq
    assert valkey.client.zrevrange(keys.runs, 0, -1) == [state.run_id.encode()]
    assert copied.messages == []


@pytest.mark.req("A10")
async def test_large_artifacts_are_copied_with_their_content(copied: Copied, valkey: Valkey) -> None:
    copied.use(valkey)
    copied.bench.write(notes__txt="".join(f"line {number}\n" for number in range(3_000)))
    state = await copied.run(two_steps())
    found = document(valkey, Keys("surefoot", state.run_id).artifact("read@1"))
    assert found["size"] > 4_096
    assert "line 2" in json.dumps(found["content"])


@pytest.mark.req("A10")
async def test_without_events_only_the_documents_are_copied(copied: Copied, valkey: Valkey) -> None:
    copied.use(valkey, events=False, prefix="other")
    copied.bench.write(notes__txt="x\n")
    state = await copied.run(two_steps())
    keys = Keys("other", state.run_id)
    assert {keys.state, keys.tasks} <= valkey.keys()
    assert not valkey.keys() & {keys.events, keys.blobs}
    assert document(valkey, keys.state)["recoverable"] is False


@pytest.mark.req("A10")
async def test_secrets_are_not_copied(copied: Copied, valkey: Valkey, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEPLOY_TOKEN", "zebra-4711-quagga")
    copied.use(valkey)
    copied.bench.write(notes__txt="the token is zebra-4711-quagga\n")
    state = await copied.run(two_steps())
    assert state.outcome is not None
    keys = Keys("surefoot", state.run_id)
    texts = [valkey.client.get(key) for key in (keys.state, keys.tasks, keys.artifact("read@1"))]
    texts += valkey.client.hvals(keys.events)
    texts += [zlib.decompress(blob) for blob in valkey.client.hvals(keys.blobs)]
    assert len(texts) > state.seq
    assert not [text for text in texts if b"zebra-4711" in text]
    assert "[redacted]" in json.dumps(document(valkey, Keys("surefoot", state.run_id).artifact("read@1")))


@pytest.mark.slow
@pytest.mark.req("A10")
async def test_keys_expire(copied: Copied, valkey: Valkey) -> None:
    copied.use(valkey, ttl_seconds=1)
    copied.bench.write(notes__txt="x\n")
    state = await copied.run(two_steps())
    assert valkey.client.ttl(Keys("surefoot", state.run_id).state) <= 1
    while valkey.keys("surefoot:run:*"):  # noqa: ASYNC110 - another process deletes them
        await asyncio.sleep(0.1)
    while valkey.keys():  # noqa: ASYNC110
        await asyncio.sleep(0.1)


@pytest.mark.slow
@pytest.mark.req("A10")
async def test_keys_of_a_run_that_is_still_going_on_do_not_expire(copied: Copied, valkey: Valkey) -> None:
    seen: list[bool] = []

    @tool()
    async def wait_long() -> str:
        """Take longer than the keys live."""
        key = Keys("surefoot", copied.bench.journal.find("last")).state
        while not valkey.client.exists(key):  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        for _ in range(40):
            await asyncio.sleep(0.1)
            seen.append(bool(valkey.client.exists(key)))
        return "done"

    copied.use(valkey, ttl_seconds=2)
    copied.bench.toolbox = default_toolbox().with_(wait_long)
    await copied.run(steps(ExecutionStep(id="wait", name="wait", tool="wait_long")))
    assert seen
    assert all(seen)


@pytest.mark.req("A10")
async def test_a_server_that_is_away_is_told_once_and_the_run_goes_on(copied: Copied) -> None:
    absent = Valkey()
    port = absent.port
    absent.stop()
    copied.settings = copied.settings.with_(url=f"redis://user:p4ss-word-99@127.0.0.1:{port}/0")
    copied.bench.write(notes__txt="x\n")
    state = await copied.run(two_steps(checks=(FileCheck(path="notes.txt"),)))
    assert state.outcome is not None
    assert state.outcome.verdict in (Verdict.UNVERIFIED, Verdict.VERIFIED)
    (message,) = copied.messages
    assert f"Redis at redis://user:[redacted]@127.0.0.1:{port}/0 cannot be used" in message
    assert "the run goes on, and is in the journal" in message
    assert "p4ss" not in message
    read = state.steps["read"]
    assert read.artifact is not None, "artifacts are in the journal"
    assert read.outputs


@pytest.mark.slow
@pytest.mark.req("A10")
async def test_a_server_that_is_killed_in_the_middle_does_not_disturb_the_run(
    copied: Copied, own_server: Valkey
) -> None:
    @tool()
    async def kill_server() -> str:
        """End the server once it has something of this run."""
        while not own_server.keys("surefoot:run:*"):  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        own_server.kill()
        return "killed"

    copied.use(own_server)
    copied.bench.toolbox = default_toolbox().with_(kill_server)
    copied.bench.write(notes__txt="x\n")
    plan = steps(
        ExecutionStep(id="kill", name="kill", tool="kill_server"),
        ExecutionStep(id="read", name="read", tool="read_file", parameters={"path": "notes.txt"}),
        after=[("read", "kill")],
    )
    state = await copied.run(plan)
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.UNVERIFIED
    assert len(copied.messages) == 1
    assert {step_id for step_id, step_run in state.steps.items() if step_run.artifact} == {"kill", "read"}


@pytest.mark.slow
@pytest.mark.req("A10")
async def test_a_server_that_comes_back_empty_gets_the_whole_run(
    copied: Copied, own_server: Valkey, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copier, "FIRST_PAUSE", 0.05)

    @tool()
    async def restart_server() -> str:
        """Kill the server and start another one at the same address."""
        while not own_server.keys("surefoot:run:*"):  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        own_server.kill()
        await asyncio.sleep(0.5)
        own_server.start()
        return "restarted"

    copied.use(own_server)
    copied.bench.toolbox = default_toolbox().with_(restart_server)
    state = await copied.run(steps(ExecutionStep(id="restart", name="restart", tool="restart_server")))
    keys = Keys("surefoot", state.run_id)
    assert document(own_server, keys.state)["currentStage"] == "completed"
    assert own_server.client.hlen(keys.events) == state.seq, "also what the lost server had"
    assert own_server.client.exists(keys.artifact("restart@1"))


@pytest.mark.req("A10")
async def test_an_error_of_its_own_does_not_end_the_run(
    copied: Copied, valkey: Valkey, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("surefoot.integrations.redis.copy.state_document", broken)
    copied.use(valkey)
    copied.bench.write(notes__txt="x\n")
    state = await copied.run(two_steps())
    assert state.outcome is not None
    assert len(copied.messages) == 1
