"""The function that judges one file, in this process or in one of its own."""

from typing import Any

import pytest

from surefoot.engine.verifier.check_worker import problem_of


@pytest.mark.parametrize(
    ("request_", "problem"),
    [
        ({"kind": "parses", "path": "a.json", "text": "{}"}, ""),
        ({"kind": "parses", "path": "a.json", "text": "{"}, "JSONDecodeError: "),
        ({"kind": "text_matches", "path": "a.txt", "text": "one", "pattern": "^one$"}, ""),
        ({"kind": "text_matches", "path": "a.txt", "text": "one", "pattern": "two"}, "nothing in a.txt matches /two/"),
        ({"kind": "json_schema", "path": "a.json", "text": "1", "schema": {"type": "string"}}, "$: 1 is not of type"),
    ],
)
def test_each_kind_of_check_is_judged(request_: dict[str, Any], problem: str) -> None:
    found = problem_of(request_)
    assert found.startswith(problem) if problem else found == ""


def test_an_unknown_kind_does_not_pass_as_another() -> None:
    with pytest.raises(ValueError, match="no check of the kind 'spelled'"):
        problem_of({"kind": "spelled", "path": "a.json", "text": "{}"})
