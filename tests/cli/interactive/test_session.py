"""The session that bare `surefoot` opens in a terminal, with a real pty and a model server on loopback."""

import re
import stat
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import OnTerminal, Surefoot
from cli.git.stories import git, make_repository
from support.chat_server import calls, chat_server
from support.loopback import Loopback
from support.talk import CALC_TEST

pytestmark = pytest.mark.slow

CHECK = "python3 test_calc.py"
FIX = ("edit_file", {"path": "calc.py", "search": "a - b", "replace": "a + b"})
SUB = (
    "edit_file",
    {"path": "calc.py", "search": "a + b\n", "replace": "a + b\n\n\ndef sub(a, b):\n    return a - b\n"},
)
FINISH = ("finish_step", {"summary": "done as asked"})
SECRET = "sk-live-correct-horse-battery-9Xq"
CTRL_C, CTRL_D, UP = "\x03", "\x04", "\x1b[A"


def submit(task: str) -> list[tuple[str, dict[str, Any]]]:
    understood = {"understanding": task, "requirements": ["the task is done"], "complexity": "simple"}
    return [
        ("submit_understanding", understood),
        ("submit_plan", {"steps": [{"name": "Do it", "description": task}]}),
    ]


@pytest.fixture
def calc(surefoot: Surefoot) -> Surefoot:
    (surefoot.workspace / "calc.py").write_text("def add(a, b):\n    return a - b\n")
    (surefoot.workspace / "test_calc.py").write_text(CALC_TEST)
    return surefoot


class Talk:
    """A session on a terminal. Waiting begins behind what was seen before."""

    def __init__(self, surefoot: Surefoot, server: Loopback | None = None, **environ: str) -> None:
        surefoot.environ |= environ
        if server is not None:
            surefoot.environ["SUREFOOT_MODEL"] = f"{server.address}/v1#m"
        self.terminal: OnTerminal = surefoot.on_terminal()
        self.seen = self.reported = 0

    @property
    def text(self) -> str:
        """The output without the sequences that style it."""
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]", "", self.terminal.output).replace("\r", "")

    def wait_for(self, *texts: str) -> str:
        """Wait for texts in this order. Returns what came until then."""
        begin = self.seen
        for text in texts:
            self.terminal.wait_for_matching(partial(self._has, text))
            self.seen = self.text.index(text, self.seen) + len(text)
        return self.text[begin : self.seen]

    def _has(self, text: str, output: str) -> bool:
        """Answer requests for the position of the cursor, as terminals do, and look for a text."""
        while self.reported < output.count("\x1b[6n"):
            self.reported += 1
            self.terminal.type(f"\x1b[{self.terminal.rows};1R")
        return text in self.text[self.seen :]

    def prompt(self) -> None:
        """Wait until the next line can be typed."""
        self.wait_for("·  ", "tokens")
        self.seen = len(self.text)

    def type(self, line: str) -> None:
        self.terminal.type(f"{line}\r")


def assert_earlier_context(asked: list[dict[str, Any]], first: str, second: str) -> None:
    """The model was asked the follow-up behind the conversation of the task before."""
    assert [item["role"] for item in asked[:3]] == ["system", "user", "assistant"]
    assert first in asked[1]["content"]
    assert any("looking" in str(item["content"]) for item in asked if item["role"] == "tool")
    assert asked[-1]["content"].startswith(f"# Task\n{second}")
    assert "done and verified" in asked[-1]["content"]


def test_a_session_from_the_first_task_to_the_end(calc: Surefoot) -> None:
    first, second, third = "Fix add in calc.py.", "Now also add sub to calc.py.", "Write the word three to three.txt."
    three = ("write_file", {"path": "three.txt", "content": "three\n"})
    script = [
        calls(*submit(first), ("run_command", {"command": "echo looking"})),
        calls(FIX, FINISH),
        calls(*submit(second), SUB, FINISH),
        calls(*submit(third), ("run_command", {"command": "sleep 600"})),
        calls(three, FINISH),
    ]
    with chat_server(*script) as server:
        talk = Talk(calc, server, SUREFOOT_EXECUTION__APPROVE="auto-edit")
        start = talk.wait_for("surefoot", "Type a task")
        for fact in ("/work", "m", "asked in a conversation", "sandbox", "python3 -m unittest"):
            assert fact in start
        talk.prompt()
        talk.type(f"/check {CHECK}")
        talk.wait_for(f"  {CHECK}")
        talk.prompt()

        talk.type(first)
        talk.wait_for("echo looking", "y = yes")
        talk.type("y")
        talk.wait_for("Verified", CHECK, "~ calc.py", "/diff")
        talk.prompt()
        talk.type("/diff")
        talk.wait_for("-    return a - b", "+    return a + b")
        talk.prompt()

        talk.type(second)
        talk.wait_for("not verified", "/undo")
        assert_earlier_context(server.bodies("chat")[2]["messages"], first, second)
        talk.prompt()
        talk.type("/cost")
        talk.wait_for("output tokens", "output tokens", "in all:")
        talk.prompt()
        talk.type("/undo")
        talk.wait_for("calc.py", "Continue?")
        talk.type("y")
        talk.prompt()
        assert "def sub" not in (calc.workspace / "calc.py").read_text()

        talk.type(third)
        talk.wait_for("sleep 600", "y = yes")
        talk.type("y")
        talk.wait_for("sleep 600")
        talk.terminal.type(CTRL_C)
        talk.wait_for("Interrupted", "/resume")
        assert "UNDID IT" in server.bodies("chat")[3]["messages"][-1]["content"]
        talk.prompt()
        talk.type("/resume")
        talk.wait_for("+ three.txt")
        talk.prompt()
        talk.type("/quit")
        assert talk.terminal.end() == 0
        assert "3 runs" in talk.text
    listed = [run["continues"] for run in calc("list", "--json").objects]
    assert listed[2] is None
    assert all(listed[:2])


def test_the_checks_of_the_settings_and_the_state_of_git_are_shown(calc: Surefoot) -> None:
    (calc.workspace / "surefoot.toml").write_text(f'[execution]\nchecks = ["{CHECK}"]\n')
    make_repository(calc.workspace, **{".gitignore": "__pycache__\n"})
    (calc.workspace / "kept.txt").write_text("my own change\n")
    trusted = calc("trust")
    assert trusted.code == 0, trusted.err
    notes = ("write_file", {"path": "extra.txt", "content": "extra\n"})
    with chat_server(calls(*submit("Fix add in calc.py."), FIX, notes, FINISH)) as server:
        talk = Talk(calc, server)
        start = talk.wait_for("surefoot", "Type a task")
        assert f"checks  {CHECK}\n" in start
        assert "unittest" not in start
        assert "git     1 modified: your changes stay, and undo restores the state that has them\n" in start
        talk.wait_for(f"checks: {CHECK[:10]}")
        talk.prompt()
        talk.type("/check")
        talk.wait_for(f"no checks of yours; the project has: {CHECK}.")
        talk.prompt()
        (calc.workspace / "surefoot.toml").write_text(f'[execution]\nchecks = ["{CHECK} -v"]\n')
        assert calc("trust").code == 0
        talk.type("/check")
        talk.wait_for(f"the project has: {CHECK} -v.")
        talk.prompt()

        talk.type("Fix add in calc.py.")
        result = talk.wait_for("Verified", f"{CHECK} -v", "/review", "/commit")
        assert "your changes stay" not in result, "it is said once"
        talk.prompt()
        talk.type("/review")
        talk.wait_for("part 1 of 1", "? ")
        talk.type("k")
        talk.wait_for("this file", "? ")
        talk.type("u")
        talk.wait_for("the checks run again", "Verified")
        talk.prompt()
        talk.type("/commit")
        talk.wait_for(" on main, 1 file")
        talk.prompt()
        talk.type("/quit")
        assert talk.terminal.end() == 0
    assert git(calc.workspace, "show", "--name-only", "--format=", "HEAD").split() == ["calc.py"]
    assert not (calc.workspace / "extra.txt").exists()
    assert (calc.workspace / "kept.txt").read_text() == "my own change\n"


def test_history_lasts_between_sessions_and_has_no_secrets(calc: Surefoot) -> None:
    talk = Talk(calc, MY_TOKEN=SECRET)
    talk.wait_for("none is configured", "OPENAI_API_KEY", "/model", "model pull", "Type a task")
    talk.prompt()
    talk.type("/udno")
    talk.wait_for("no command /udno", "did you mean /undo?")
    talk.prompt()
    talk.terminal.type("first line\\\rsecond line\r")
    talk.wait_for("no model is configured", "/model")
    talk.prompt()
    talk.type(f"use {SECRET}")
    talk.wait_for("no model is configured")
    talk.prompt()
    talk.terminal.type(CTRL_C)
    talk.wait_for("ends the session")
    talk.prompt()
    talk.terminal.type(CTRL_D)
    assert talk.terminal.end() == 0
    stored = calc.state / "session-history.jsonl"
    assert stat.S_IMODE(stored.stat().st_mode) == 0o600
    assert SECRET not in stored.read_text()
    again = Talk(calc)
    again.wait_for("Type a task")
    again.prompt()
    again.terminal.type(UP)
    again.wait_for("use [")
    again.terminal.type(UP * 2)
    again.wait_for("first line")
    again.wait_for("second line")
    again.terminal.type(CTRL_C)
    again.terminal.type(CTRL_D)
    assert again.terminal.end() == 0


def test_a_plan_is_made_and_carried_out_on_a_dumb_terminal(calc: Surefoot) -> None:
    with chat_server(calls(*submit("Fix add in calc.py.")), calls(FIX, FINISH)) as server:
        talk = Talk(calc, server, TERM="dumb")
        talk.wait_for("Type a task", "> ")
        talk.type(f"/check {CHECK}")
        talk.wait_for(CHECK, "\n> ")
        talk.type("/plan Fix add \\")
        talk.wait_for(". ")
        talk.type("in calc.py.")
        talk.wait_for("1. Do it", "Plan made", "/go", "\n> ")
        assert "a - b" in (calc.workspace / "calc.py").read_text()
        talk.type("/go")
        talk.wait_for("Verified", "~ calc.py", "\n> ")
        assert "\x1b" not in talk.terminal.output
        talk.terminal.type(CTRL_D)
        assert talk.terminal.end() == 0
    assert "# Task\nFix add \nin calc.py." in server.bodies("chat")[0]["messages"][1]["content"]
    assert "The plan was given." in server.bodies("chat")[1]["messages"][1]["content"]


def test_without_a_terminal_bare_surefoot_prints_its_help(surefoot: Surefoot) -> None:
    result = surefoot()
    assert result.code == 2
    assert "Usage: surefoot" in result.out
    assert not Path(surefoot.state).exists()
