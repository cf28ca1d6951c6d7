"""`surefoot replay`: the views without model, tools and workspace, and verification."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

TASK = "Make a file x."


def recorded_run(surefoot: Any) -> str:
    understood = {"understanding": "make the file x", "requirements": ["x is there"], "complexity": "moderate"}
    approach = {"approach": "a command", "expected_outcomes": ["x"], "alternatives": [{"name": "b"}]}
    plan = {"steps": [{"name": "Make it", "description": "make x"}]}
    survey = [["submit_understanding", understood], ["submit_approach", approach], ["submit_plan", plan]]
    work = [["run_command", {"command": "echo made > x"}], ["finish_step", {"summary": "made"}]]
    script = [{"calls": survey}, {"calls": work}]
    path: Path = surefoot.home / "script.json"
    path.write_text(json.dumps(script))
    result = surefoot("run", TASK, "-m", f"scripted:{path}", "--check", "grep made x", "--json")
    assert result.code == 0, result.err
    path.unlink()
    return str(result.objects[-1]["run_id"])


@pytest.mark.req("X3", "O9")
def test_finished_run_is_played_and_verified_without_its_workspace(surefoot: Any) -> None:
    run_id = recorded_run(surefoot)
    events = surefoot("show", run_id, "--events", "--json").objects
    for path in surefoot.workspace.iterdir():
        path.unlink() if path.is_file() else shutil.rmtree(path)
    lines = surefoot("replay", run_id, "--json").objects
    assert lines[:-1] == events
    assert (lines[-1]["type"], lines[-1]["verdict"]) == ("outcome", "verified")
    plain = surefoot("replay", run_id, "--speed", "1000")
    assert plain.code == 0
    assert f"run {run_id}: {TASK}" in plain.err
    assert "Verified" in plain.out
    result = surefoot("replay", run_id, "--verify")
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith("the same: ")
    found = surefoot("replay", run_id, "--verify", "--json").objects[-1]
    assert found["divergence"] is None
    assert not list(surefoot.workspace.iterdir())
