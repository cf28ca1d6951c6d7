"""How the answer begins, for a model that can go on from there."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefoot.beginnings import of_file, of_new_file, of_outline
from surefoot.models.reading import read_fenced
from surefoot.outline import outline

TESTS = "import unittest\n\nfrom dial import turn, clamp\n\n\nclass DialTest(unittest.TestCase):\n    pass\n"


@pytest.mark.req("P19")
@pytest.mark.parametrize(
    ("others", "first_line"),
    [
        ((TESTS,), '"""clamp, turn"""\n\n'),
        (("import dial\n\nassert dial.turn(1) == 2\n",), '"""turn"""\n\n'),
        (("from tools.dial import Dial\n",), '"""Dial"""\n\n'),
        (("from dial import *\n",), ""),
        (("from other import turn\n",), ""),
        (("no Python at all (",), ""),
        ((), ""),
    ],
)
def test_a_new_module_begins_with_what_others_take_from_it(others: tuple[str, ...], first_line: str) -> None:
    assert of_new_file("tools/dial.py", others) == of_file("tools/dial.py") + first_line


@pytest.mark.req("P19")
def test_a_file_that_is_mended_begins_as_it_is() -> None:
    source = 'KEEP = 1\n\n\ndef half(n):\n    """Half of it."""\n    return n / 3\n\n\ndef rest():\n    pass\n'
    begun = of_outline("half.py", outline(source, "half"))
    assert begun == of_file("half.py") + 'KEEP = 1\n\n\ndef half(n):\n    """Half of it."""'


@pytest.mark.req("P19")
@given(st.lists(st.sampled_from(["x = 1", "", "def f(a):", "    return a", "# ...", "..."])))
def test_what_was_begun_and_gone_on_with_is_read_as_the_file(lines: list[str]) -> None:
    begun = of_new_file("dial.py", [TESTS])
    text = "\n".join(["y = 2", *lines, "z = 3"])
    body = read_fenced(f"{begun}{text}\n```\n", "dial.py")
    assert body is not None
    assert body.rstrip("\n") == f'"""clamp, turn"""\n\n{text}'
