"""Alerts of the command line: settings and their trust, a killed process, what is shown."""

import asyncio
import json
import re
import signal
from pathlib import Path

import pytest

from cli.conftest import Surefoot
from support.loopback import Response, serving
from surefoot.config.sources import from_toml
from surefoot.errors import ConfigError


def write_config(surefoot: Surefoot, text: str) -> None:
    path = surefoot.home / ".config/surefoot/config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def failing(surefoot: Surefoot) -> list[str]:
    """Arguments for a run that fails at once: its model has no answer."""
    return ["run", "do it", "-m", surefoot.script(), "--json"]


def sent(surefoot: Surefoot) -> list[dict[str, object]]:
    file = surefoot.home / "alerts"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def settings(surefoot: Surefoot) -> str:
    return f"[alerts]\non_failure = 'cat >> {surefoot.home}/alerts; echo >> {surefoot.home}/alerts'\n"


@pytest.mark.req("A12")
def test_a_failed_run_alerts_and_keeps_its_exit_code(surefoot: Surefoot) -> None:
    plain = surefoot(*failing(surefoot))
    write_config(surefoot, settings(surefoot))
    result = surefoot(*failing(surefoot))
    assert result.code == plain.code == 1
    (alert,) = sent(surefoot)
    kinds = [line["type"] for line in result.objects]
    assert kinds[-3:] == ["alert_started", "alert_finished", "outcome"]
    assert alert["run_id"] == result.objects[-1]["run_id"]


@pytest.mark.req("A12")
def test_an_untrusted_project_sets_no_alert_until_it_is_trusted(surefoot: Surefoot) -> None:
    (surefoot.workspace / "surefoot.toml").write_text(settings(surefoot))
    result = surefoot(*failing(surefoot))
    assert "is not trusted and is ignored" in result.err
    assert not sent(surefoot)
    assert surefoot("trust").code == 0
    surefoot(*failing(surefoot))
    assert len(sent(surefoot)) == 1


@pytest.mark.parametrize(
    "value",
    [
        *("http://example.com/hook", "ftp://example.com/x", "https://me:pass@example.com/"),
        *("https://", "http://10.0.0.1/", " "),
    ],
)
def test_an_unsafe_target_is_refused(value: str) -> None:
    expected = "on_failure must be a command, or an https address; http only for this machine"
    with pytest.raises(ConfigError, match=re.escape(expected)):
        from_toml(Path("config.toml"), f"[alerts]\non_failure = {json.dumps(value)}\n".encode())


@pytest.mark.parametrize(
    "value", ["http://127.0.0.1:9/a", "http://localhost:9/", "http://[::1]:9/", "mail -s 'a://b' me"]
)
def test_a_safe_target_is_accepted(value: str) -> None:
    settings = from_toml(Path("config.toml"), f"[alerts]\non_failure = {json.dumps(value)}\n".encode())
    assert settings["alerts.on_failure"].value == value


def test_only_the_host_of_a_target_is_shown(surefoot: Surefoot) -> None:
    write_config(surefoot, "[alerts]\non_failure = 'https://hooks.example.com/hidden-part?and=this'\n")
    result = surefoot("config")
    assert "https://hooks.example.com ..." in result.out
    assert "hidden-part" not in result.out


def test_an_alert_that_is_not_delivered_is_shown(surefoot: Surefoot) -> None:
    write_config(surefoot, "[alerts]\non_failure = 'echo no mail server; exit 3'\n")
    result = surefoot(*failing(surefoot)[:-1])
    note = "the alert to echo was not delivered: exit code 3: no mail server"
    assert f"warning: {note}" in result.err
    assert note in result.out
    assert note in surefoot("show").out


def test_a_fork_cannot_set_an_alert(surefoot: Surefoot) -> None:
    surefoot(*failing(surefoot))
    result = surefoot("fork", "last", "--at", "understanding", "--set", "alerts.on_failure=true")
    assert result.code == 2


@pytest.mark.req("A12")
async def test_a_killed_process_leaves_its_alert_to_the_next(surefoot: Surefoot) -> None:
    async with serving(lambda _: Response(status=200)) as listener:
        write_config(surefoot, f"[alerts]\non_failure = '{surefoot.home}/hold'\n")
        hold = surefoot.home / "hold"
        hold.write_text(f"#!/bin/sh\ncat >> {surefoot.home}/alerts; echo >> {surefoot.home}/alerts; exec sleep 600\n")
        hold.chmod(0o755)
        process = surefoot.start(*failing(surefoot))
        while not sent_whole(surefoot.home / "alerts"):  # noqa: ASYNC110 - another process writes it
            await asyncio.sleep(0.05)
        process.send_signal(signal.SIGKILL)
        await asyncio.to_thread(process.wait)
        write_config(surefoot, f"[alerts]\non_failure = '{listener.address}/hook'\n")
        result = await asyncio.to_thread(surefoot, "resume", "-m", surefoot.script(), "--json")
    assert result.code == 1
    (before,) = sent(surefoot)
    again, new = (request.body for request in listener.requests)
    assert again == before, "the same document with the same id"
    assert new["id"] != before["id"], "the resumed run has failed too"
    assert new["run_id"] == before["run_id"]


def sent_whole(file: Path) -> bool:
    return file.exists() and file.read_text().endswith("\n")
