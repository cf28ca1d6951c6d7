"""`surefoot pr`: the title and the body of a pull request."""

import json

import pytest

from cli.conftest import Surefoot
from cli.git.stories import CHECK, make_repository, run

pytestmark = pytest.mark.slow

LONG = "Make the notes ready, because the team needs them before the release and nobody else has time for it. Quickly!"


def test_title_and_body_of_a_pull_request(surefoot: Surefoot) -> None:
    make_repository(surefoot.workspace)
    token = "ghp_" + "a1B2" * 9
    surefoot.environ["MY_TOKEN"] = token
    done = run(surefoot, "--commit", task=LONG, command=f"printf 'ready {token[:4]}\\n' > notes.txt; echo x > '|a`b'")
    assert done.code == 0, done.err + done.out
    state = json.loads(surefoot("show", "--json").out)
    title = surefoot("pr", "--title").out
    assert title == "Make the notes ready\n", "in short, because the task's words are too many for a title"
    body = surefoot("pr")
    assert body.code == 0, body.err
    parts = [line for line in body.out.splitlines() if line.startswith("## ")]
    assert parts == ["## What and why", "## Changes", "## Proof", "## Not verified"]
    assert LONG in body.out
    assert "\nMake the notes ready\n" in body.out, "as the model understood it"
    assert "| `notes.txt` | modified | +1 −1 |" in body.out
    assert "**Verified. Proof A: a given check failed before and passes now.**" in body.out
    assert f"| `{CHECK}` | red → green | user |" in body.out
    assert "- what the checks above do not cover" in body.out
    assert f"run `{state['task_id']}`, commit {state['commits'][0]['commit'][:10]}." in body.out
    written = surefoot("pr", "last", "-o", "body.md")
    assert written.out == "wrote body.md\n"
    assert (surefoot.workspace / "body.md").read_text() == body.out
    nowhere = surefoot("pr", "-o", "missing/body.md")
    assert nowhere.code == 1
    assert "-o" in nowhere.err


def test_a_run_without_proof_says_so_in_its_body(surefoot: Surefoot) -> None:
    make_repository(surefoot.workspace)
    assert run(surefoot, check="true").code == 3
    body = surefoot("pr").out
    assert "**Done, not verified." in body
    assert "they passed before too" in body
    assert surefoot("pr").err == ""
    assert surefoot("run", "Break it.", "-m", surefoot.script("x"), "--check", "false").code == 1
    failed = surefoot("pr")
    assert "is not done, and this text says so" in failed.err
    assert "**Failed" in failed.out
