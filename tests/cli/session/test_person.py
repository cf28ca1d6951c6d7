"""How typed text becomes an answer, and when nobody is asked."""

import io

import pytest

from surefoot.cli.session.person import TerminalPerson, format_question
from surefoot.core.questions import Question, expected, explanation, understood


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
        ("confirmation", "  ", None),
        ("confirmation", "no, shorter", "no, shorter"),
        ("clarification", "yes", "yes"),
        ("clarification", "", None),
        ("conflict", "2", "overwrite"),
        ("conflict", "keep", "keep"),
        ("conflict", "3", None),
        ("conflict", "yes", None),
    ],
)
def test_parsing_typed_answers(kind: str, typed: str, answer: str | None) -> None:
    assert understood(question(kind, "keep", "overwrite"), typed) == answer


RULE = "always run_command(pytest *)"


@pytest.mark.req("P12")
@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("y", "yes"),
        ("OK", "yes"),
        ("n", "no"),
        ("不", "no"),
        ("no, use a tool", "no, use a tool"),
        ("N,  use a tool", "no, use a tool"),
        ("a", RULE),
        ("Always", RULE),
        (RULE, RULE),
        ("edit: pytest -x", "edit: pytest -x"),
        ("always run_command", None),
        ("always run_command(rm *)", None),
        ("always run_command(pytest *) ", RULE),
        ("alwaysss", None),
        ("always yes", None),
        ("sure", None),
        ("yes please", None),
        ("not now", None),
        ("", None),
        ("e", None),
        ("edit: ", None),
        ("?", None),
    ],
)
def test_only_offered_choices_answer_an_approval(typed: str, answer: str | None) -> None:
    assert understood(question("approval", "yes", "no", RULE, "edit"), typed) == answer


@pytest.mark.parametrize("typed", ["a", "always", RULE, "edit: rm x"])
def test_what_is_not_offered_is_no_answer(typed: str) -> None:
    asked = question("approval", "yes", "no")
    assert understood(asked, typed) is None
    assert expected(asked) == "y (yes), n (no)"


def test_the_choices_are_explained() -> None:
    text = explanation(question("approval", "yes", "no", RULE, "edit"))
    assert [row[0] for row in text.splitlines()] == ["y", "n", "a", "e", "?", "t"]
    assert "the rule: run_command(pytest *)" in text


def test_a_question_is_formatted_with_its_options_and_without_control_characters() -> None:
    shown = format_question(question("conflict", "keep", "overwrite"))
    assert "1. keep" in shown
    assert "2. overwrite" in shown
    assert "\x1b" not in shown
    assert "\nReally?" in shown


def test_an_approval_offers_a_rule_for_the_future() -> None:
    shown = format_question(question("approval", "yes", "no", "always run_command(pytest *)"))
    assert "a (always) also allows, until the run ends: run_command(pytest *)" in shown


async def test_nobody_is_asked_without_a_terminal() -> None:
    person = TerminalPerson(io.StringIO("yes\n"))
    assert await person.answer(question("confirmation")) is None
    assert await TerminalPerson(io.StringIO(), yes=True).answer(question("confirmation")) == "yes"
    assert await TerminalPerson(io.StringIO(), yes=True).answer(question("clarification")) is None
