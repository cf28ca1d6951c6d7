"""Which parts of a long file are quoted, and how."""

import pytest

from surefoot.project.code.quotes import first_lines, last_lines, quote_spans, relevant_lines

LICENCE = "#!/usr/bin/env python\n# Copyright of somebody\n# Licensed under the Apache License\n\n"


@pytest.mark.req("X10")
def test_the_lines_around_the_names_of_the_task_are_quoted() -> None:
    text = "\n".join(f"key_{n} = {n}" for n in range(5_000))
    shown = quote_spans("conf.ini", text, relevant_lines(text, "Set key_2500 to 3."))
    assert "key_2500 = 2500" in shown
    assert "# conf.ini, lines 2498 to 2512 of 5000\n" in shown
    assert len(shown) < 1_000
    assert relevant_lines(text, "Set nothing_here to 3.") == []


def test_names_that_every_program_has_say_nothing() -> None:
    assert relevant_lines("x = list(y)\n", "Return a `list`.") == []


def test_no_more_is_quoted_than_the_limit() -> None:
    text = "\n".join(f"back_off {'x' * 90}" for _ in range(1_000))
    assert len(quote_spans("a.txt", text, relevant_lines(text, "Fix back_off.", limit=3_000))) < 3_200


def test_the_beginning_and_the_end_of_a_file() -> None:
    text = "x\n" * 100
    assert quote_spans("CHANGES", text, first_lines(text)).startswith("\n# CHANGES, lines 1 to 25 of 100\n")
    assert quote_spans("CHANGES", text, last_lines(text)).startswith("\n# CHANGES, lines 86 to 100 of 100\n")
    assert quote_spans("a", "one\n", [*first_lines("one\n"), *last_lines("one\n")]) == (
        "\n# a, lines 1 to 1 of 1\n```\none\n```\n"
    )


def test_a_licence_at_the_top_is_not_quoted() -> None:
    text = LICENCE + "import os\n" + "x = 1\n" * 50
    assert quote_spans("a.py", text, first_lines(text)).startswith("\n# a.py, lines 5 to 29 of 55\n```\nimport os\n")
    for other in ("# A module about cats\nimport os\n", LICENCE):
        assert first_lines(other)[0][0] == 0


def test_parts_that_nearly_touch_are_one_quote() -> None:
    text = "\n".join(map(str, range(1, 101)))
    assert quote_spans("a", text, [(20, 30), (0, 10), (35, 40), (46, 50)]).count("\n# a, lines ") == 3
    assert "# a, lines 21 to 40 of 100" in quote_spans("a", text, [(20, 30), (35, 40)])
    assert "# a, lines 21 to 30 of 100" in quote_spans("a", text, [(20, 30), (22, 25)])
