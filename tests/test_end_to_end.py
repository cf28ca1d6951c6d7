"""The demo as a user runs it, with recorded answers of the embedded model and with the model itself."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cassettes import record_conversation
from surefoot.models.local.weights import weights_path

pytestmark = pytest.mark.slow

TESTS = Path(__file__).parent
EXAMPLE = TESTS.parent / "examples" / "stats"


def run_demo(
    folder: Path, home: Path, model: str, variables: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    for name in ("SPEC.md", "test_stats.py"):
        shutil.copy(EXAMPLE / name, folder)
    command = [sys.executable, "-m", "surefoot", "run", "Write stats.py as SPEC.md says.", "--json"]
    command += ["-C", str(folder), "-m", model, "--check", "python3 -m unittest -q"]
    env = {"PATH": os.environ["PATH"], "HOME": str(home), **(variables or {})}
    return subprocess.run(command, capture_output=True, text=True, env=env, check=False)


def assert_verified(result: subprocess.CompletedProcess[str], folder: Path) -> None:
    assert result.returncode == 0, result.stdout[-2000:] + result.stderr[-2000:]
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    outcome = lines[-1]
    assert outcome["type"] == "outcome"
    assert outcome["verdict"] == "verified"
    assert "def median" in (folder / "stats.py").read_text()
    check = subprocess.run([sys.executable, "-m", "unittest", "-q"], cwd=folder, capture_output=True, check=False)
    assert check.returncode == 0, "the tests pass"


@pytest.mark.req("X4", "X5")
def test_demo_with_recorded_answers(tmp_path: Path) -> None:
    folder, home = tmp_path / "work", tmp_path / "home"
    folder.mkdir()
    home.mkdir()
    cassette = TESTS / "cassettes" / "stats.cassette"
    header = json.loads(cassette.read_text().split("\n", 1)[0])
    assert header["model"].startswith("local/"), "recorded with the embedded model"
    assert_verified(run_demo(folder, home, f"cassette:{cassette}"), folder)


def replay_conversation(tmp_path: Path, readme: str = "") -> tuple[subprocess.CompletedProcess[str], Path]:
    folder = tmp_path / "elsewhere" / "work"
    shutil.copytree(record_conversation.EXAMPLE, folder)
    if readme:
        (folder / "README.md").write_text(readme)
    command = record_conversation.command(folder, f"cassette:{record_conversation.CASSETTE}")
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    return subprocess.run(command, capture_output=True, text=True, env=environ, check=False), folder


@pytest.mark.req("X4", "X11")
def test_a_recorded_conversation_with_tool_calls_is_replayed_without_a_server(tmp_path: Path) -> None:
    result, folder = replay_conversation(tmp_path)
    assert result.returncode == 0, result.stdout[-2000:] + result.stderr[-2000:]
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert lines[-1]["verdict"] == "verified"
    assert (folder / "greet.sh").read_text() == '#!/bin/sh\necho "Hello, ${1:-world}!"\n'
    assert {"type": "writing", "tool": "edit_file", "subject": "greet.sh"} in lines
    answers = [line for line in lines if line["type"] == "model_answered"]
    assert len(answers) == len(record_conversation.SCRIPT)


@pytest.mark.req("X4")
def test_a_replay_of_a_conversation_names_the_first_difference(tmp_path: Path) -> None:
    result, _ = replay_conversation(tmp_path, readme="# greet\n\n`sh greet.sh NAME` prints `Hi, NAME!`.\n")
    outcome = json.loads(result.stdout.splitlines()[-1])
    assert "requested '`sh greet.sh NAME` prints `Hi, NAME!`.', recorded '`sh greet.sh NAME` pr" in outcome["summary"]


@pytest.mark.model
@pytest.mark.req("X5")
def test_demo_with_the_embedded_model(tmp_path: Path) -> None:
    weights = weights_path()
    if weights is None:
        pytest.skip("the weights are missing: surefoot model pull")
    folder, home = tmp_path / "work", tmp_path / "home"
    folder.mkdir()
    home.mkdir()
    assert_verified(run_demo(folder, home, "local", {"SUREFOOT_WEIGHTS": str(weights)}), folder)
