"""The live view on a real terminal: while a run is in progress, for questions, at its end, and after Ctrl-C."""

import signal

import pytest

from cli.conftest import Surefoot
from support.forgeries import UNITTEST
from support.stories import CHECK, TASK, TEST, UNDERSTANDING, adder, good_script, slow_script


@pytest.mark.req("O9")
def test_the_live_view_is_replaced_by_the_summary(surefoot: Surefoot) -> None:
    terminal = surefoot.on_terminal(*good_script(surefoot))
    assert terminal.end() == 0, terminal.output
    for part in ("surefoot", "Understanding", "Execution", "Validation", "Write adder.py", "tokens", "sandbox"):
        assert part in terminal.output, terminal.output
    screen = [line for line in terminal.screen if line]
    assert screen[0].startswith("✓ Verified  Write adder.py"), "nothing of the live view is left"
    assert not [line for line in screen if "Understanding" in line]
    assert terminal.output.endswith("\r\n")
    assert terminal.output.rfind("\x1b[?25h") > terminal.output.rfind("\x1b[?25l"), "the cursor is back"


def test_a_narrow_terminal_and_a_resize(surefoot: Surefoot) -> None:
    terminal = surefoot.on_terminal(*slow_script(surefoot), "--sandbox", "off", columns=34, rows=12)
    terminal.wait_for("run_command")
    terminal.resize(60, 14)
    terminal.columns, terminal.rows = 60, 14
    before = len(terminal.output)
    terminal.wait_for_matching(lambda output: "Execution" in output[before:])
    terminal.type("\x03")
    assert terminal.end() == 130


def test_no_color_switches_colours_off(surefoot: Surefoot) -> None:
    surefoot.environ["NO_COLOR"] = "1"
    terminal = surefoot.on_terminal(*good_script(surefoot))
    assert terminal.end() == 0
    assert "Execution" in terminal.output
    for colour in range(30, 38):
        assert f"\x1b[{colour}m" not in terminal.output
        assert f";{colour}m" not in terminal.output


def test_a_dumb_terminal_gets_plain_lines(surefoot: Surefoot) -> None:
    surefoot.environ["TERM"] = "dumb"
    terminal = surefoot.on_terminal(*good_script(surefoot))
    assert terminal.end() == 0
    assert "\x1b" not in terminal.output
    assert "step 1/1 Write adder.py" in terminal.output
    refused = surefoot.on_terminal(*good_script(surefoot), "--live")
    assert refused.end() == 2
    assert "--live needs a terminal" in refused.output


def test_plain_lines_on_a_terminal(surefoot: Surefoot) -> None:
    terminal = surefoot.on_terminal(*good_script(surefoot), "--plain")
    assert terminal.end() == 0
    assert "\x1b[?2026h" not in terminal.output
    assert "step 1/1 Write adder.py" in terminal.output


def test_live_is_refused_without_a_terminal(surefoot: Surefoot) -> None:
    refused = surefoot(*good_script(surefoot), "--live")
    assert refused.code == 2
    assert "--live needs a terminal" in refused.err


@pytest.mark.req("P12")
def test_a_confirmation_is_asked_inline(surefoot: Surefoot) -> None:
    terminal = surefoot.on_terminal(*good_script(surefoot), "--confirm")
    terminal.wait_for("yes or no")
    assert terminal.echoes()
    questions = 0
    while "Verified" not in terminal.output:
        questions += 1
        terminal.type("y\r")
        terminal.wait_for_matching(
            lambda output, asked=questions: output.count("yes or no") > asked or "Verified" in output  # type: ignore[misc]
        )
    assert terminal.end() == 0
    assert questions >= 2, "at the end of more than one phase"


@pytest.mark.req("P12")
def test_ctrl_d_leaves_the_question_open(surefoot: Surefoot) -> None:
    terminal = surefoot.on_terminal(*good_script(surefoot), "--confirm")
    terminal.wait_for("yes or no")
    terminal.type("\x04")
    assert terminal.end() == 4
    assert "surefoot answer" in terminal.output
    answering = surefoot.on_terminal("answer")
    answering.wait_for("yes or no")
    answering.type("\r")
    answering.wait_for_matching(lambda output: output.count("yes or no") == 2)
    answering.type("好\r")
    assert answering.end() == 0
    assert surefoot("resume", "-y", "-m", surefoot.script(adder("+"))).code == 0


@pytest.mark.req("P12")
def test_a_clarification_is_answered_with_text(surefoot: Surefoot) -> None:
    (surefoot.workspace / "check_adder.py").write_text(TEST)
    asking = {**UNDERSTANDING, "questions": ["Shall strings be added too?"]}
    script = surefoot.script(asking, adder("+"))
    terminal = surefoot.on_terminal("run", TASK, "-m", script, "--check", CHECK, "--confirm", "--yes")
    terminal.wait_for("your answer")
    assert "Shall strings be added too?" in terminal.output
    terminal.type("no, numbers only\r")
    assert terminal.end() == 0
    answers = [item for item in surefoot("show", "--events", "--json").objects if item["type"] == "question_answered"]
    assert answers[0]["answer"] == "no, numbers only"


@pytest.mark.req("O10")
def test_ctrl_c_stops_the_run_and_restores_the_terminal(surefoot: Surefoot) -> None:
    terminal = surefoot.on_terminal(*slow_script(surefoot), "--sandbox", "off")
    terminal.wait_for("run_command")
    assert not terminal.echoes(), "keys are not echoed into the live view"
    terminal.type("\x03")
    assert terminal.end() == 130
    assert "stopped; continue with: surefoot resume" in terminal.output
    assert terminal.output.rfind("\x1b[?25h") > terminal.output.rfind("\x1b[?25l")


def test_the_second_ctrl_c_kills_the_process(surefoot: Surefoot) -> None:
    """The process is stopped, so it receives both signals before it can react to the first."""
    terminal = surefoot.on_terminal(*slow_script(surefoot), "--sandbox", "off")
    terminal.wait_for("run_command")
    terminal.signal(signal.SIGSTOP)
    terminal.signal(signal.SIGINT)
    terminal.signal(signal.SIGTERM)
    terminal.signal(signal.SIGCONT)
    assert terminal.end() in (-signal.SIGINT, 130)
    assert terminal.echoes()
    assert terminal.output.rfind("\x1b[?25h") > terminal.output.rfind("\x1b[?25l")


# -- keys --------------------------------------------------------------------------------------------------------------


@pytest.mark.req("A8")
@pytest.mark.parametrize(
    ("keys", "tests", "message", "code"),
    [
        ("p", "", "surefoot resume", 4),
        ("s", UNITTEST, "no step was done", 1),
        ("s", "", "nothing done: every step was skipped; no check was given or configured", 3),
        ("cc", "", "cancelled by", 130),
    ],
    ids=["pause", "skip", "skip without checks", "cancel"],
)
def test_single_keys_control_the_run(surefoot: Surefoot, keys: str, tests: str, message: str, code: int) -> None:
    if tests:
        (surefoot.workspace / "test_adder.py").write_text(tests)
    terminal = surefoot.on_terminal(*slow_script(surefoot)[:-2], "--sandbox", "off")
    terminal.wait_for("p pause")
    terminal.wait_for("run_command")
    while not (surefoot.workspace / "begun").exists():
        terminal.wait_for_matching(lambda output: True)
    terminal.type("x" + keys[:1])
    if keys == "cc":
        terminal.wait_for("press c again")
        terminal.type("c")
    assert terminal.end() == code, terminal.output[-2000:]
    assert message in terminal.output
    assert terminal.echoes()


@pytest.mark.req("A8")
def test_keys_work_again_after_a_question(surefoot: Surefoot) -> None:
    terminal = surefoot.on_terminal(*slow_script(surefoot)[:-2], "--sandbox", "off", "--confirm")
    asked = 0
    while not (surefoot.workspace / "begun").exists():
        asked += 1
        terminal.wait_for_matching(
            lambda output, n=asked: output.count("yes or no") >= n or (surefoot.workspace / "begun").exists()  # type: ignore[misc]
        )
        terminal.type("y\r")
    assert not terminal.echoes()
    terminal.type("p")
    assert terminal.end() == 4


CHOICES = "y = yes, n = no, a = always, {}? = explain"


@pytest.mark.req("P12")
def test_an_approval_is_asked_again_until_a_choice_is_made(surefoot: Surefoot) -> None:
    (surefoot.workspace / "check_adder.py").write_text(TEST)
    touch = {"thought": "t", "decision": "act", "tool": "run_command", "arguments": {"command": "touch first"}}
    script = surefoot.script(UNDERSTANDING, adder("+"), touch, touch)
    terminal = surefoot.on_terminal("run", TASK, "--check", CHECK, "-m", script, "--approve", "ask", "--sandbox", "off")
    terminal.wait_for(CHOICES.format(""))
    for number, word in enumerate(("alwayss", "perhaps", "?"), 2):
        terminal.type(f"{word}\r")
        terminal.wait_for_matching(lambda output, n=number: output.count("? = explain") >= n)  # type: ignore[misc]
    assert "'perhaps' is none of: y (yes), n (no), a (always)" in terminal.output
    assert "n  no: do not do it" in terminal.output
    assert not (surefoot.workspace / "adder.py").exists()
    terminal.type("y\r")
    assert terminal.end() == 0
    assert (surefoot.workspace / "adder.py").exists()


@pytest.mark.req("P12")
def test_a_file_is_edited_in_the_editor_before_it_is_written(surefoot: Surefoot) -> None:
    editor = surefoot.home / "editor"
    editor.write_text("#!/bin/sh\nsed -i 's/a - b/a + b/' \"$1\"\n")
    editor.chmod(0o755)
    surefoot.environ["EDITOR"] = str(editor)
    (surefoot.workspace / "check_adder.py").write_text(TEST)
    script = surefoot.script(UNDERSTANDING, adder("-"))
    arguments = ("run", TASK, "--check", CHECK, "-m", script, "--approve", "ask", "--sandbox", "off")
    waiting = surefoot(*arguments)
    assert waiting.code == 4
    terminal = surefoot.on_terminal("answer")
    terminal.wait_for(CHOICES.format("e = edit, "))
    terminal.type("e\r")
    assert terminal.end() == 0, terminal.output
    done = surefoot("resume", "-m", surefoot.script())
    assert done.code == 0, done.err
    assert "a + b" in (surefoot.workspace / "adder.py").read_text()
