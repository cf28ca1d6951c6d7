"""How typed words become answers, and who is not asked at all."""

import io

import pytest

from surefoot.cli.person import TerminalPerson, asked, understood
from surefoot.state import Question


def question(kind: str, *options: str) -> Question:
    return Question(id="q", kind=kind, text="Go\x1b[2J on?\nReally?", options=options, step_id="", subject="")


@pytest.mark.req("P12")
@pytest.mark.parametrize(
    ("kind", "typed", "answer"),
    [
        ("confirmation", "Y", "yes"),
        ("confirmation", " 是 ", "yes"),
        ("approval", "n", "no"),
        ("confirmation", "without the tests", "without the tests"),
        ("confirmation", "  ", ""),
        ("clarification", "yes", "yes"),
        ("clarification", "", ""),
        ("conflict", "2", "overwrite"),
        ("conflict", "keep", "keep"),
        ("conflict", "3", "3"),
    ],
)
def test_typed_words_are_understood(kind: str, typed: str, answer: str) -> None:
    assert understood(question(kind, "keep", "overwrite"), typed) == answer


def test_a_question_is_shown_with_its_options_and_cannot_steer_the_terminal() -> None:
    shown = asked(question("conflict", "keep", "overwrite"))
    assert "1. keep" in shown
    assert "2. overwrite" in shown
    assert "\x1b" not in shown
    assert "\nReally?" in shown


def test_an_approval_offers_the_rule_that_would_spare_the_next_one() -> None:
    shown = asked(question("approval", "yes", "no", "always run_command(pytest *)"))
    assert "always run_command(pytest *)" in shown
    assert understood(question("approval"), "always run_command(pytest *)") == "always run_command(pytest *)"


async def test_without_a_terminal_nobody_is_asked() -> None:
    person = TerminalPerson(io.StringIO("yes\n"))
    assert await person.answer(question("confirmation")) is None
    assert await TerminalPerson(io.StringIO(), yes=True).answer(question("confirmation")) == "yes"
    assert await TerminalPerson(io.StringIO(), yes=True).answer(question("clarification")) is None
