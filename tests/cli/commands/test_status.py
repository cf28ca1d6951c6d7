"""What commands say of a run: at work in another process, paused, waiting, answered, interrupted. Real processes."""

import json
import signal
import subprocess
import time
from typing import Any

import pytest

from cli.conftest import Surefoot
from support.stories import adder, good_script, slow_script
from surefoot.workspace.lock import WorkspaceLock

pytestmark = pytest.mark.slow


def at_work(surefoot: Surefoot) -> "subprocess.Popen[str]":
    """A run in another process, in the middle of a step that does not end by itself."""
    process = surefoot.start(*slow_script(surefoot), "--sandbox", "off")
    while not (surefoot.workspace / "begun").exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    return process


def shown(surefoot: Surefoot) -> dict[str, Any]:
    fields: dict[str, Any] = json.loads(surefoot("show", "--json").out)
    return fields


def status(surefoot: Surefoot) -> str:
    """The status in all three outputs, which has to be the same."""
    (listed,) = surefoot("list", "--json").objects
    assert listed["status"] == shown(surefoot)["status"]
    assert f"  {listed['status']}  " in surefoot("list").out
    return str(listed["status"])


@pytest.mark.req("P14", "A8")
def test_a_run_at_work_in_another_process_and_a_paused_one(surefoot: Surefoot) -> None:
    process = at_work(surefoot)
    try:
        run_id = surefoot("list", "--json").objects[0]["run_id"]
        assert status(surefoot) == "running"
        assert shown(surefoot)["live"] is True
        text = surefoot("show").out
        assert "● Running" in text
        assert f"in progress in process {process.pid} since 20" in text
        assert f"surefoot watch {run_id}" in text
        assert "Interrupted" not in text
        assert "surefoot resume" not in text
        refused = surefoot("resume", "-m", surefoot.script())
        assert refused.code == 1
        assert f"run {run_id} is in progress in process {process.pid}" in refused.err
        assert f"surefoot watch {run_id}" in refused.err
        assert surefoot("pause", "--why", "lunch").code == 0
        out, err = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 4, err
    assert status(surefoot) == "paused"
    assert shown(surefoot)["live"] is False
    for text in (out, surefoot("show").out, surefoot("watch").out):
        assert "◐ Paused" in text
        assert ": lunch\n" in text
        assert f"surefoot resume {run_id}" in text
        assert "Waiting for you" not in text


@pytest.mark.req("P14")
def test_a_run_whose_process_was_killed_is_interrupted(surefoot: Surefoot) -> None:
    """Also if its process id belongs to another process by now."""
    process = at_work(surefoot)
    (file,) = (surefoot.state / "locks").iterdir()
    written = json.loads(file.read_text())
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert status(surefoot) == "interrupted"
    text = surefoot("show").out
    assert "◐ Interrupted" in text
    assert "surefoot resume" in text
    assert ", interrupted" in text, "and so is its step"
    with WorkspaceLock(surefoot.workspace, surefoot.state, "another"):
        pass  # Its command has ended.
    other = surefoot.start("watch", "--json")
    file.write_text(json.dumps({**written, "pid": other.pid}))
    assert status(surefoot) == "interrupted"
    other.communicate(timeout=120)
    assert other.returncode == 130


@pytest.mark.req("P12")
def test_a_run_that_waits_for_an_answer_and_one_that_has_it(surefoot: Surefoot) -> None:
    assert surefoot(*good_script(surefoot), "--confirm").code == 4
    assert status(surefoot) == "waiting"
    text = surefoot("show").out
    assert "◐ Waiting for you" in text
    assert "surefoot answer" in text
    refused = surefoot("cancel", "last")
    assert refused.code == 2
    assert "waits for an answer, and no process works on it" in refused.err
    assert "surefoot undo" in refused.err
    assert surefoot("answer", "--answer", "yes").code == 0
    assert status(surefoot) == "paused"
    text = surefoot("show").out
    assert "answered; it reads the answer when it is resumed" in text
    assert "surefoot resume" in text
    assert "Waiting for you" not in text
    assert surefoot("resume", "-m", surefoot.script(adder("+")), "--yes").code == 0
    assert "  verified  " in surefoot("list").out
