"""Stepping in from another terminal: real processes, a real journal."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest


def script(path: Path, command: str) -> str:
    understanding = {"understanding": "run the thing", "requirements": ["done"], "files": [], "complexity": "simple"}
    act = {"decision": "act", "tool": "run_command", "arguments": {"command": command}}
    path.write_text(json.dumps([understanding, act]))
    return f"scripted:{path}"


def environment(home: Path) -> dict[str, str]:
    return {"HOME": str(home), "PATH": os.environ["PATH"], "SUREFOOT_EXECUTION__SANDBOX": "off"}


def surefoot(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "surefoot", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment(home), check=False)


def at_work(tmp_path: Path) -> "subprocess.Popen[str]":
    """A run whose one step has begun and will not end by itself."""
    work = tmp_path / "work"
    work.mkdir()
    model = script(tmp_path / "script.json", "touch begun; sleep 600")
    run = subprocess.Popen(
        [sys.executable, "-m", "surefoot", "run", "run the thing", "-C", str(work), "-m", model],
        env=environment(tmp_path),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    while not (work / "begun").exists():
        assert run.poll() is None, run.communicate()
        time.sleep(0.05)
    return run


@pytest.mark.req("A8")
@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("cancel", "last", "--why", "wrong task"), 130, "wrong task"),
        (("pause",), 4, "surefoot resume"),
        (("skip", "last", "s1"), 3, ""),
    ],
)
def test_a_run_heeds_what_another_terminal_says(
    tmp_path: Path, arguments: tuple[str, ...], code: int, said: str
) -> None:
    run = at_work(tmp_path)
    asked = surefoot(tmp_path, *arguments)
    assert asked.returncode == 0, asked.stderr
    out, err = run.communicate()
    assert run.returncode == code, out + err
    assert said in out + err


def test_a_run_that_has_ended_cannot_be_told_anything(tmp_path: Path) -> None:
    run = at_work(tmp_path)
    surefoot(tmp_path, "cancel", "last")
    run.communicate()
    late = surefoot(tmp_path, "pause", "last")
    assert late.returncode == 2
    assert "is not at work" in late.stderr
