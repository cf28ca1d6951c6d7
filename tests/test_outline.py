"""A file without the code that is wrong, for a model that would copy it."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefoot.outline import outline

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
    return "kept"
'''


@pytest.mark.req("P19")
def test_only_what_the_evidence_names_is_left_out() -> None:
    rest = outline(BANK, "FAIL: test_bank.transfer: the money moved")
    assert '    """Move money."""\n    ...\n' in rest
    assert "amount < 0" not in rest
    assert "one.balance -= amount" not in rest
    assert "self.balance = balance" not in rest, "nobody names what Python calls by itself"
    assert 'return "kept"' in rest
    assert "return self.balance < 10" in rest
    ast.parse(rest)


@pytest.mark.parametrize(
    ("source", "evidence"),
    [("def f():\n    return 1\n", "nothing of it"), ("def f(:\n", "f"), ("x = 1\n", "x"), ("", "f"), ("\0", "f")],
)
def test_nothing_to_leave_out(source: str, evidence: str) -> None:
    assert outline(source, evidence) == ""


FUNCTIONS = st.lists(
    st.tuples(
        st.sampled_from("fgh"), st.sampled_from(["return 1", '"""Doc."""', "pass\n    x = 2", "def f():\n        1"])
    ),
    min_size=1,
    max_size=4,
)


@given(FUNCTIONS, st.sets(st.sampled_from("fgh")))
def test_what_is_left_is_python_and_the_rest_is_as_it_was(functions: list[tuple[str, str]], named: set[str]) -> None:
    source = "\n\n".join(f"def {name}(a):\n    {body}\n" for name, body in functions)
    rest = outline(source, " ".join(named))
    if not rest:
        return
    before, after = ast.parse(source).body, ast.parse(rest).body
    assert len(before) == len(after)
    for old, new in zip(before, after, strict=True):
        assert isinstance(old, ast.FunctionDef)
        assert isinstance(new, ast.FunctionDef)
        assert ast.dump(old.args) == ast.dump(new.args)
        if old.name not in named and "f" not in named:
            assert ast.dump(old) == ast.dump(new)
