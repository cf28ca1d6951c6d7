"""With which model the server continues a run of a terminal."""

from pathlib import Path

import pytest

from server.conftest import Client, GatedRun, Site
from server.test_commands import events_of, status
from support.loopback import Request, Response, json_response, serving

pytestmark = pytest.mark.req("A8")


@pytest.fixture(autouse=True)
def no_other_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI", "ANTHROPIC", "DEEPSEEK", "OPENROUTER", "DASHSCOPE"):
        monkeypatch.delenv(f"{name}_API_KEY", raising=False)
    monkeypatch.delenv("SUREFOOT_MODEL", raising=False)
    for name in ("HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "nobody"))


def listed(request: Request) -> Response:
    return json_response({"data": [{"id": "my-model", "max_model_len": 32_000}]})


async def paused(site: Site, gated: GatedRun, model: str) -> Client:
    """A run of a terminal with this model, which was paused in its first step."""
    run_id = await gated.start(gated.step(1), gated.step(2), model=model)
    # What the server may have kept of the script is not used.
    client = await site.client()
    await client.call("run:watch", run=run_id)
    await client.until(lambda: status(client, "step:s1") == "running")
    assert (await client.call("run:pause", run=run_id, commandId="p"))["accepted"]
    await gated.end()
    await client.until(lambda: not client.rows["run"]["live"])
    return client


async def until_done(client: Client, gated: GatedRun) -> None:
    """Open the gates once the interrupted command runs again: what it did before is undone, and a gate with it."""
    await client.until(lambda: status(client, "action:s1.a2") == "running")
    for number in (1, 2):
        gated.open(number)
    await client.until(lambda: status(client, "run") == "done")


@pytest.mark.parametrize("served_with", ["", "openai/other-model"])
@pytest.mark.slow
async def test_a_run_of_a_model_at_an_address_is_resumed_with_it(site: Site, gated: GatedRun, served_with: str) -> None:
    await site.stop()
    site.model = served_with
    await site.start()
    async with serving(listed) as server:
        address = f"{server.address}/v1#my-model"
        client = await paused(site, gated, address)
        answer = await client.call("run:resume", run=gated.run_id, commandId="r")
        assert answer.get("accepted"), answer
        await until_done(client, gated)
        (resumed,) = await events_of(site, gated.run_id, "run_resumed")
        assert resumed["model_address"] == address
        assert resumed["model"].startswith("my-model at 127.0.0.1:")
        await client.io.disconnect()


@pytest.mark.slow
async def test_credentials_are_not_recorded_and_the_refusal_names_the_remedy(site: Site, gated: GatedRun) -> None:
    async with serving(listed) as server:
        address = f"{server.address}/v1#my-model".replace("//", "//me:hidden-word@")
        client = await paused(site, gated, address)
        (created,) = await events_of(site, gated.run_id, "run_created")
        assert created["model_address"] == ""
        assert b"hidden-word" not in (site.home / "journal.sqlite").read_bytes()
        answer = await client.call("run:resume", run=gated.run_id, commandId="r")
        assert "the run used the model my-model at" in answer["reason"], answer
        assert "surefoot serve -m MODEL" in answer["reason"]
        named = {"model": address}
        answer = await client.call("run:resume", run=gated.run_id, commandId="r2", options=named)
        assert answer.get("accepted"), answer
        await until_done(client, gated)
        await client.io.disconnect()
