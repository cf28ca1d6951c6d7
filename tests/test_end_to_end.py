"""The demo, as a user runs it: with the answers of a real embedded model, recorded once and played again."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from surefoot.models.weights import weights_path

HERE = Path(__file__).parent
EXAMPLE = HERE.parent / "examples" / "stats"


def surefoot(
    folder: Path, home: Path, model: str, more: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    for name in ("SPEC.md", "test_stats.py"):
        shutil.copy(EXAMPLE / name, folder)
    command = [sys.executable, "-m", "surefoot", "run", "Write stats.py as SPEC.md says.", "--json"]
    command += ["-C", str(folder), "-m", model, "--check", "python3 -m unittest -q"]
    env = {"PATH": os.environ["PATH"], "HOME": str(home), **(more or {})}
    return subprocess.run(command, capture_output=True, text=True, env=env, check=False)


def assert_verified(done: subprocess.CompletedProcess[str], folder: Path) -> None:
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    outcome = lines[-1]
    assert outcome["type"] == "outcome"
    assert outcome["verdict"] == "verified"
    assert "def median" in (folder / "stats.py").read_text()
    check = subprocess.run([sys.executable, "-m", "unittest", "-q"], cwd=folder, capture_output=True, check=False)
    assert check.returncode == 0, "the tests really pass"


@pytest.mark.req("X4", "X5")
def test_the_demo_from_a_cassette_of_a_real_run(tmp_path: Path) -> None:
    folder, home = tmp_path / "work", tmp_path / "home"
    folder.mkdir()
    home.mkdir()
    cassette = HERE / "cassettes" / "stats.cassette"
    header = json.loads(cassette.read_text().split("\n", 1)[0])
    assert header["model"].startswith("local/"), "recorded with the embedded model"
    assert_verified(surefoot(folder, home, f"cassette:{cassette}"), folder)


@pytest.mark.model
@pytest.mark.req("X5")
def test_the_demo_live(tmp_path: Path) -> None:
    weights = weights_path()
    if weights is None:
        pytest.skip("the weights are not here: surefoot model pull")
    folder, home = tmp_path / "work", tmp_path / "home"
    folder.mkdir()
    home.mkdir()
    assert_verified(surefoot(folder, home, "local", {"SUREFOOT_WEIGHTS": str(weights)}), folder)
