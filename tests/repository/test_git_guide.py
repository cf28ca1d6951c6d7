"""The commands of the git guide work as the page has them, in a real repository."""

import json
import os
import re
import subprocess
import sysconfig
from pathlib import Path

import pytest

from cli.git.stories import DONE, SHELL, act
from support.pages import DOCS, snippets

pytestmark = pytest.mark.slow

PAGE = (DOCS / "guides/git.md").read_text("utf-8")
SUBTRACT = "printf '\\n\\ndef subtract(a, b):\\n    return a - b\\n' >> calc.py"


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "gh").write_text('#!/bin/sh\necho "$@" > gh-arguments\ncat > gh-body\n')
    (programs / "gh").chmod(0o755)
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text("[user]\n\tname = Ada\n\temail = ada@example.com\n")
    path = os.pathsep.join([str(programs), sysconfig.get_path("scripts"), os.environ["PATH"]])
    return {"PATH": path, "HOME": str(home), "LANG": "C.UTF-8", "SUREFOOT_EXECUTION__BASELINE": "off"}


def test_the_commands_of_the_guide_work(tmp_path: Path, environ: dict[str, str]) -> None:
    folder, changes = tmp_path, iter((SUBTRACT, f"{SUBTRACT}; echo notes > notes.md"))
    outputs = []
    for number, block in enumerate(snippets("guides/git.md", "sh")):
        if "surefoot run" in block:
            script = tmp_path / f"answers-{number}.json"
            script.write_text(json.dumps([SHELL, act(next(changes)), DONE]))
            environ["SUREFOOT_MODEL"] = f"scripted:{script}"
        done = subprocess.run(
            ["bash", "-ec", block], cwd=folder, env=environ, text=True, capture_output=True, check=False
        )
        assert done.returncode == 0, f"{block}\n{done.stdout}\n{done.stderr}"
        outputs.append(done.stdout)
        folder = tmp_path / "calculator"
    log = subprocess.run(
        ["git", "log", "--all", "--format=%s%n%(trailers)"], cwd=folder, env=environ, text=True, capture_output=True,
        check=True,
    ).stdout  # fmt: skip
    assert log.count("Surefoot-Proof: A") == 2
    assert "Add subtract(a, b) to calc.py\n" in log
    assert "Undo it" in log
    assert "calc.py | 4 ++++" in outputs[1]
    assert not (folder / "notes.md").exists()
    assert "## What and why" in (folder / "gh-body").read_text()
    title = "--title Add subtract(a, b) to calc.py, and write notes.md about it --body-file -"
    assert (folder / "gh-arguments").read_text().strip() == f"pr create {title}"


def test_the_page_has_the_keys_of_the_dialogue() -> None:
    from surefoot.cli.git.dialogue import HELP

    keys = set(re.findall(r"(?:^|\s{3,})  ?([a-zA-Z?])  ", HELP, re.MULTILINE))
    listed = {key for row in re.findall(r"^\| (`.*?) \|", PAGE, re.MULTILINE) for key in re.findall(r"`(.)`", row)}
    assert listed == keys
