"""Which checks no longer count after a person undid files in a review."""

import pytest

from surefoot.core.plan import Check, CommandCheck, ExpressionCheck, FileCheck, ParsesCheck, TextCheck
from surefoot.engine.verifier.left_out import is_left_out, names_one


@pytest.mark.parametrize(
    "check",
    [
        FileCheck(path="notes.md", origin="engine"),
        ParsesCheck(path="notes.md", origin="engine"),
        TextCheck(path="notes.md", pattern="x"),
        CommandCheck(command="grep -q x ./notes.md"),
        ExpressionCheck(expression="outputs['notes.md']"),
    ],
)
def test_checks_of_the_plan_about_an_undone_file_do_not_count(check: Check) -> None:
    assert is_left_out(check, {"notes.md"})
    assert not is_left_out(check, {"other.md"})
    assert not is_left_out(check, set())
    assert not is_left_out(check.with_(origin="user"), {"notes.md"})
    assert not is_left_out(check.with_(origin="project"), {"notes.md"})


@pytest.mark.parametrize("text", ["notes.md exists", "It writes 'notes.md'.", "see notes.md, calc.py"])
def test_a_text_names_a_file(text: str) -> None:
    assert names_one(text, {"notes.md"})


@pytest.mark.parametrize("text", ["docs/notes.md exists", "notes.md.bak", "my-notes.md", "notes", "notes.md/x"])
def test_a_text_that_names_another_file(text: str) -> None:
    assert not names_one(text, {"notes.md"})
