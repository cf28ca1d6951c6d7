"""The live view on a real terminal: what a person sees while it runs, when asked, when it ends, and after Ctrl-C."""

import signal

import pytest

from cli.conftest import Surefoot
from cli.stories import CHECK, TASK, TEST, UNDERSTANDING, adder, good_script, slow_script


@pytest.mark.req("O9")
def test_the_picture_is_live_and_is_replaced_by_the_summary(surefoot: Surefoot) -> None:
    terminal = surefoot.on_terminal(*good_script(surefoot))
    assert terminal.end() == 0, terminal.output
    for part in ("surefoot", "Understanding", "Execution", "Validation", "Write adder.py", "tokens", "sandbox"):
        assert part in terminal.output, terminal.output
    seen = [line for line in terminal.seen if line]
    assert seen[0].startswith("✓ Verified  Write adder.py"), "nothing of the picture is left"
    assert not [line for line in seen if "Understanding" in line]
    assert terminal.output.endswith("\r\n")
    assert terminal.output.rfind("\x1b[?25h") > terminal.output.rfind("\x1b[?25l"), "the cursor is back"


def test_it_keeps_to_a_narrow_terminal_and_follows_a_resize(surefoot: Surefoot) -> None:
    terminal = surefoot.on_terminal(*slow_script(surefoot), "--sandbox", "off", columns=34, rows=12)
    terminal.wait_for("run_command")
    terminal.resize(60, 14)
    terminal.columns, terminal.rows = 60, 14
    before = len(terminal.output)
    terminal.wait_for_matching(lambda output: "Execution" in output[before:])
    terminal.type("\x03")
    assert terminal.end() == 130


def test_no_color_means_none(surefoot: Surefoot) -> None:
    surefoot.environ["NO_COLOR"] = "1"
    terminal = surefoot.on_terminal(*good_script(surefoot))
    assert terminal.end() == 0
    assert "Execution" in terminal.output
    for colour in range(30, 38):
        assert f"\x1b[{colour}m" not in terminal.output
        assert f";{colour}m" not in terminal.output


def test_a_dumb_terminal_gets_lines(surefoot: Surefoot) -> None:
    surefoot.environ["TERM"] = "dumb"
    terminal = surefoot.on_terminal(*good_script(surefoot))
    assert terminal.end() == 0
    assert "\x1b" not in terminal.output
    assert "step 1/1 Write adder.py" in terminal.output
    refused = surefoot.on_terminal(*good_script(surefoot), "--live")
    assert refused.end() == 2
    assert "--live needs a terminal" in refused.output


def test_plain_is_plain_on_a_terminal_too(surefoot: Surefoot) -> None:
    terminal = surefoot.on_terminal(*good_script(surefoot), "--plain")
    assert terminal.end() == 0
    assert "\x1b[?2026h" not in terminal.output
    assert "step 1/1 Write adder.py" in terminal.output


def test_live_is_refused_in_a_pipe(surefoot: Surefoot) -> None:
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
def test_control_d_leaves_the_question_for_later(surefoot: Surefoot) -> None:
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
def test_a_clarification_takes_words(surefoot: Surefoot) -> None:
    (surefoot.workspace / "test_adder.py").write_text(TEST)
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
def test_control_c_stops_and_the_terminal_is_as_before(surefoot: Surefoot) -> None:
    terminal = surefoot.on_terminal(*slow_script(surefoot), "--sandbox", "off")
    terminal.wait_for("run_command")
    assert not terminal.echoes(), "keys do not show in the picture"
    terminal.type("\x03")
    assert terminal.end() == 130
    assert "stopped; go on with: surefoot resume" in terminal.output
    assert terminal.output.rfind("\x1b[?25h") > terminal.output.rfind("\x1b[?25l")


def test_the_second_control_c_kills(surefoot: Surefoot) -> None:
    """The first one is not answered because the process is held up; the second does not wait for it."""
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
    ("keys", "said", "code"), [("p", "surefoot resume", 4), ("s", "no step was done", 1), ("cc", "cancelled by", 130)]
)
def test_a_key_steers_the_run(surefoot: Surefoot, keys: str, said: str, code: int) -> None:
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
    assert said in terminal.output
    assert terminal.echoes()


@pytest.mark.req("A8")
def test_a_question_gets_the_keyboard_and_gives_it_back(surefoot: Surefoot) -> None:
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
