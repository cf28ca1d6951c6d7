"""The program in examples/langgraph, run as its users run it."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.kit import understanding
from surefoot.journal import events as e
from surefoot.journal.store.sqlite import SqliteJournal

pytestmark = pytest.mark.slow
PROGRAM = Path(__file__).parents[3] / "examples/langgraph/tickets.py"
TICKET = "Bug: add() subtracts. Fix calc.py."
TEST = """import unittest
from calc import add

class Add(unittest.TestCase):
    def test_adds(self):
        self.assertEqual(add(1, 2), 3)
"""
ANSWERS = [
    {**understanding("calc.py"), "understanding": TICKET, "task_type": "fix_bug"},
    "```python\ndef add(a, b):\n    return a + b\n```",
]


@pytest.fixture
def command(tmp_path: Path) -> tuple[list[str], dict[str, str]]:
    folder, script = tmp_path / "project", tmp_path / "answers.json"
    folder.mkdir()
    (folder / "calc.py").write_text("def add(a, b):\n    return a - b\n")
    (folder / "test_calc.py").write_text(TEST)
    script.write_text(json.dumps(ANSWERS))
    command = [sys.executable, str(PROGRAM), "--folder", str(folder), "--state", str(tmp_path / "state")]
    return command, {**os.environ, "SUREFOOT_MODEL": f"scripted:{script}", "PYTHONDONTWRITEBYTECODE": "1"}


def events(state: Path, kind: type[Any]) -> list[Any]:
    journal = SqliteJournal(state / "journal.sqlite", read_only=True)
    (run,) = journal.summaries()
    found = [record.event for record in journal.read(run.run_id) if isinstance(record.event, kind)]
    journal.close()
    return found


@pytest.mark.req("A9")
def test_a_ticket_is_fixed_after_an_approval(command: tuple[list[str], dict[str, str]], tmp_path: Path) -> None:
    arguments, environ = command
    done = subprocess.run(
        [*arguments, "--approve", "ask", TICKET],
        env=environ,
        input="yes\n",
        text=True,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "+    return a + b" in done.stdout
    assert "step s1: succeeded" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("Fixed in calc.py: ")
    assert (tmp_path / "project/calc.py").read_text() == "def add(a, b):\n    return a + b\n"


@pytest.mark.req("A9", "A11")
def test_it_is_killed_while_it_waits_and_goes_on(command: tuple[list[str], dict[str, str]], tmp_path: Path) -> None:
    arguments, environ = command
    with subprocess.Popen(
        [*arguments, "--approve", "ask", TICKET], env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        while "+    return a + b" not in (line := process.stdout.readline()):
            assert line, "it ended before it asked"
        process.send_signal(signal.SIGKILL)
    # Started again, it asks what is still open. The model has nothing more to say.
    (tmp_path / "answers.json").write_text("[]")
    done = subprocess.run(
        [*arguments, "--approve", "ask", TICKET],
        env=environ,
        input="yes\n",
        text=True,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.splitlines()[-1].startswith("Fixed in calc.py: ")
    state = tmp_path / "state"
    assert len(events(state, e.RunCreated)) == len(events(state, e.Understood)) == 1
    assert len(events(state, e.ActionFinished)) == len(events(state, e.QuestionAsked)) == 1


def test_a_question_needs_no_agent(command: tuple[list[str], dict[str, str]]) -> None:
    arguments, environ = command
    done = subprocess.run([*arguments, "How are you?"], env=environ, text=True, capture_output=True, check=False)
    assert done.stdout.splitlines() == ["triage", "reply", "Thank you. Somebody will answer your question."]
