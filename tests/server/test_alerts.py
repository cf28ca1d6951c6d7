"""Alerts of runs that the server has started: the user's settings hold for them as for those of a terminal."""

import json
from pathlib import Path

import pytest

from server.conftest import Site
from support.loopback import Response, serving


@pytest.mark.req("A12", "A8")
async def test_a_run_that_the_server_started_alerts_when_it_fails(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user, script = tmp_path / "user", tmp_path / "script.json"
    monkeypatch.setenv("HOME", str(user))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("DEPLOY_PASSWORD", "correct-horse-battery-9Xq")
    script.write_text("[]")
    # The listener is busy at first: the alert is sent again.
    answers = iter([Response(status=503)])
    async with serving(lambda _: next(answers, Response(status=200))) as listener:
        config = user / ".config/surefoot/config.toml"
        config.parent.mkdir(parents=True)
        config.write_text(f"[alerts]\non_failure = '{listener.address}/hook'\n")
        client = await site.client()
        task = "Deploy with correct-horse-battery-9Xq."
        request = {"task": "Deploy it.", "model": f"scripted:{script}", "options": {"sandbox": "off"}}
        assert "refused" in await client.call("run:start", **{**request, "task": task}, commandId="secret")
        run_id = (await client.call("run:start", **request, commandId="one"))["run"]
        await client.call("run:watch", run=run_id)
        await client.until(lambda: client.rows.get("run", {}).get("status") == "failed")
        await client.until(lambda: len(listener.requests) == 2)
        first, second = listener.requests
        assert first.body == second.body
        alert = second.body
        assert (alert["run_id"], alert["exit_code"]) == (run_id, 1), json.dumps(alert)
        assert "correct-horse" not in json.dumps(alert)
        events = (await site.http("GET", f"/api/runs/{run_id}/events?limit=500")).json()["events"]
        kinds = [event["type"] for event in events]
        await client.io.disconnect()
    assert kinds.count("alert_started") == 1
