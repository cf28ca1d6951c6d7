"""The commands of docs/guides/workers.md, in their order, with real servers and a real worker."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from support.farm import Farm
from support.forgeries import UNITTEST
from support.pages import snippets
from support.stories import UNDERSTANDING, adder
from surefoot.config.sources import from_toml

PAGE = "guides/workers.md"


@pytest.mark.slow
@pytest.mark.req("X6")
def test_the_commands_of_the_guide_work(farm: Farm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "answers.json").write_text(json.dumps([UNDERSTANDING, adder("-"), adder("+")]))
    (farm.project / "test_adder.py").write_text(UNITTEST)
    repository = tmp_path / "adder.git"
    for words in (
        ["init", "-q", "-b", "main"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a"],
    ):  # fmt: skip
        subprocess.run(["git", *words], cwd=farm.project, check=True)
    subprocess.run(["git", "clone", "-q", "--bare", str(farm.project), str(repository)], check=True)
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "Ada")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "ada@example.com")
    seen = []
    for line in "".join(snippets(PAGE, "sh")).splitlines():
        words = shlex.split(line.replace("file:///srv/adder.git", f"file://{repository}"))
        match words:
            case ["pip" | "pipx", "install", *_]:
                continue
            case ["export", assignment]:
                assert assignment.partition("=")[0] in farm.environ
                continue
            case ["surefoot", "worker", *_]:
                farm.add_worker().wait_until_ready()
                continue
        done = subprocess.run(
            [sys.executable, "-m", *words],
            cwd=farm.project,
            env=os.environ,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
        seen.append((words[1], done.stdout))
        if words[1] == "diff":
            assert "+    return a + b" in done.stdout
        if words[1] == "watch":
            assert "Verified" in done.stdout
        if words[1] == "apply":
            assert (farm.project / "adder.py").read_text() == "def add(a, b):\n    return a + b\n"
        if words[1] == "push":
            branch = re.findall(r"pushed \w+ to (\S+) of", done.stdout)[0]
            shown = ["git", "show", f"{branch}:adder.py"]
            assert b"return a + b" in subprocess.run(shown, cwd=repository, check=True, capture_output=True).stdout
    assert [name for name, _ in seen] == ["run", "list", "watch", "diff", "apply", "run", "watch", "diff", "push"]
    undone = subprocess.run(
        [sys.executable, "-m", "surefoot", "undo", seen[0][1].strip(), "--yes"], cwd=farm.project, env=os.environ,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert undone.returncode == 0, undone.stderr
    assert not (farm.project / "adder.py").exists()


def test_the_settings_of_the_guide_are_valid() -> None:
    (text,) = snippets(PAGE, "toml")
    assert {item.value for item in from_toml(Path(PAGE), text.encode()).values()} == {20, 400_000}
