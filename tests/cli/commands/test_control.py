"""Controlling a run from another terminal: real processes, a real journal."""

import json
import subprocess
import time
from pathlib import Path

import pytest

from cli.conftest import Result, Surefoot
from support import recorded


def script(path: Path, command: str, times: int = 1) -> str:
    understanding = {"understanding": "run the thing", "requirements": ["done"], "files": [], "complexity": "simple"}
    act = {"decision": "act", "tool": "run_command", "arguments": {"command": command}}
    done = {"decision": "done", "reason": "nothing is left to do"}
    path.write_text(json.dumps([understanding, *[act] * times, done]))
    return f"scripted:{path}"


def command_of(home: Path) -> Surefoot:
    return Surefoot(home, home / "work", {"SUREFOOT_EXECUTION__SANDBOX": "off"})


def surefoot(home: Path, *arguments: str, stdin: str = "") -> Result:
    return command_of(home)(*arguments, stdin=stdin)


def start_run(tmp_path: Path, command: str = "touch begun; sleep 600", times: int = 1) -> "subprocess.Popen[str]":
    """Start a run and wait until its only step is running. The step does not end by itself."""
    work = tmp_path / "work"
    work.mkdir()
    model = script(tmp_path / "script.json", command, times)
    run = command_of(tmp_path).start("run", "run the thing", "-C", str(work), "-m", model)
    while not (work / "begun").exists():
        assert run.poll() is None, run.communicate()
        time.sleep(0.05)
    return run


@pytest.mark.req("A8")
@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("cancel", "last", "--why", "wrong task"), 130, "wrong task"),
        (("pause",), 4, "surefoot resume"),
        (("skip", "last", "s1"), 3, "Nothing done: every step was skipped"),
    ],
)
def test_a_run_is_controlled_from_another_terminal(
    tmp_path: Path, arguments: tuple[str, ...], code: int, message: str
) -> None:
    run = start_run(tmp_path)
    sent = surefoot(tmp_path, *arguments)
    assert sent.code == 0, sent.err
    out, err = run.communicate()
    assert run.returncode == code, out + err
    assert message in out + err


def test_control_of_an_ended_run_is_refused(tmp_path: Path) -> None:
    run = start_run(tmp_path)
    surefoot(tmp_path, "cancel", "last")
    run.communicate()
    late = surefoot(tmp_path, "pause", "last")
    assert late.code == 2
    assert "is not running" in late.err


async def test_a_run_that_no_process_drives_is_not_paused(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    run_id = await command_of(tmp_path).store(recorded.records(recorded.phases()))
    refused = surefoot(tmp_path, "pause", run_id)
    assert refused.code == 2
    assert refused.lines == [
        f"surefoot: run {run_id} is not running",
        f"          nothing to pause; continue it with: surefoot resume {run_id}",
    ]
    cancelled = surefoot(tmp_path, "cancel", run_id)
    assert cancelled.code == 0, cancelled.err
    assert cancelled.out.endswith(f": cancel; it takes effect on: surefoot resume {run_id}\n")


NEW_STEP = """
[[step]]
id = "notes"
name = "Keep a note"
tool = "run_command"
parameters = {command = "echo noted > note.txt"}
after = ["s1"]
checks = ["test -s note.txt"]
"""


@pytest.mark.req("A8", "D3")
def test_the_plan_of_a_run_in_progress_is_edited_from_another_terminal(tmp_path: Path) -> None:
    run = start_run(tmp_path, "touch begun; while ! test -e go; do sleep 0.1; done")
    printed = surefoot(tmp_path, "edit", "--print").out
    assert "# s1 stays as it is (running)" in printed
    wrong = surefoot(tmp_path, "edit", "--file", "-", stdin=printed + NEW_STEP.replace('"s1"', '"s7"'))
    assert wrong.code == 2
    assert "comes after 's7', which is not in the plan" in wrong.err
    steps = tmp_path / "steps.toml"
    steps.write_text(printed + NEW_STEP)
    sent = surefoot(tmp_path, "edit", "last", "--file", str(steps), "--why", "for later")
    assert sent.code == 0, sent.err
    assert "+ notes: Keep a note" in sent.out
    (tmp_path / "work" / "go").touch()
    out, err = run.communicate()
    assert (tmp_path / "work" / "note.txt").read_text() == "noted\n", out + err
    assert "for later" in err
    assert "+ Keep a note" in err
    assert surefoot(tmp_path, "edit", "--print").code == 2, "a finished run has no steps to edit"


@pytest.mark.req("A8")
def test_a_step_of_a_run_in_progress_is_retried_by_that_run(tmp_path: Path) -> None:
    run = start_run(tmp_path, "touch begun; test -e ../again && exit; touch ../again half; sleep 600", 2)
    while not (tmp_path / "work" / "half").exists():
        time.sleep(0.05)
    refused = surefoot(tmp_path, "retry", "last", "s1", "--tool", "list_files")
    assert "is running" in refused.err
    sent = surefoot(tmp_path, "retry", "last", "s1")
    assert sent.code == 0, sent.err
    out, err = run.communicate()
    assert run.returncode == 3, out + err
    assert not (tmp_path / "work" / "half").exists(), "the changes of the interrupted attempt are undone"
    assert (tmp_path / "work" / "begun").exists()
