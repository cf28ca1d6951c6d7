"""Outlines: a file without the bodies that may be wrong, for a model that would copy them."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefoot.prompting.small.outline import outline

BANK = '''\
"""Accounts."""

FEE = 1


class Account:
    def __init__(self, balance):
        self.balance = balance

    @property
    def poor(self):
        return self.balance < 10


def transfer(one, other, amount):
    """Move money."""
    if amount < 0:
        raise ValueError

    def take():
        one.balance -= amount

    take()


def audit():
    return "ok"
'''


@pytest.mark.req("X5")
def test_bodies_that_the_evidence_names_are_left_out() -> None:
    text = outline(BANK, "FAIL: test_bank.transfer: the money moved")
    assert '    """Move money."""\n    ...\n' in text
    assert "amount < 0" not in text
    assert "one.balance -= amount" not in text
    assert "self.balance = balance" not in text, "evidence never names __init__"
    assert 'return "ok"' in text
    assert "return self.balance < 10" in text
    ast.parse(text)


@pytest.mark.parametrize(
    ("source", "evidence"),
    [("def f():\n    return 1\n", "nothing of it"), ("def f(:\n", "f"), ("x = 1\n", "x"), ("", "f"), ("\0", "f")],
)
def test_outline_is_empty_when_nothing_is_left_out(source: str, evidence: str) -> None:
    assert outline(source, evidence) == ""


FUNCTIONS = st.lists(
    st.tuples(
        st.sampled_from("fgh"), st.sampled_from(["return 1", '"""Doc."""', "pass\n    x = 2", "def f():\n        1"])
    ),
    min_size=1,
    max_size=4,
)


@given(FUNCTIONS, st.sets(st.sampled_from("fgh")))
def test_outline_parses_and_keeps_other_functions(functions: list[tuple[str, str]], named: set[str]) -> None:
    source = "\n\n".join(f"def {name}(a):\n    {body}\n" for name, body in functions)
    text = outline(source, " ".join(named))
    if not text:
        return
    before, after = ast.parse(source).body, ast.parse(text).body
    assert len(before) == len(after)
    for old, new in zip(before, after, strict=True):
        assert isinstance(old, ast.FunctionDef)
        assert isinstance(new, ast.FunctionDef)
        assert ast.dump(old.args) == ast.dump(new.args)
        if old.name not in named and "f" not in named:
            assert ast.dump(old) == ast.dump(new)
