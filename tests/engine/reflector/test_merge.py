"""Merging two answers function by function."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefoot.engine.reflector.merge import merged

ONE = """\
import math

LIMIT = 3


def area(r):
    return math.pi * r


def twice(n):
    return n * 2


class Box:
    def __init__(self, n):
        self.n = n

    def size(self):
        return self.n
"""
OTHER = """\
from functools import cache

DIGITS = 2


def rounded(n):
    return round(n, DIGITS)


@cache
def area(r):
    return rounded(3.14159 * r * r)


class Box:
    def __init__(self, n):
        self.n = n

    def size(self):
        return self.n * 2

    def __len__(self):
        return self.n
"""


@pytest.mark.req("R8")
def test_each_different_function_is_merged_with_its_dependencies() -> None:
    versions = list(merged(ONE, OTHER))
    for text in versions:
        ast.parse(text)
    rounded, area, size, length = versions
    assert "def rounded" in rounded
    assert "DIGITS = 2" in rounded
    assert "return math.pi * r" in rounded
    assert "@cache\ndef area" in area
    assert "from functools import cache" in area
    assert "def rounded(n)" in area, "area calls rounded"
    assert area.count("def area") == 1
    assert "return n * 2" in area
    assert "return self.n * 2" in size
    assert size.count("def size") == 1
    assert length.index("def __len__") > length.index("def size")


@pytest.mark.parametrize(
    ("one", "other"), [("x = (", "def f(): 1"), ("def f(): 1", "x = ("), (ONE, ONE), ("", "x = 1")]
)
def test_nothing_to_merge(one: str, other: str) -> None:
    assert list(merged(one, other)) == []


PARTS = [
    "def f():\n    return {}",
    "def g(a):\n    return f() + {}",
    "class C:\n    def m(self):\n        return {}",
    "K = {}",
]


@st.composite
def files(draw: st.DrawFn) -> str:
    parts = draw(st.lists(st.sampled_from(PARTS), max_size=4))
    return "\n\n\n".join(part.format(draw(st.integers(0, 2))) for part in parts)


@given(files(), files())
def test_merged_files_parse_and_differ_from_the_first(one: str, other: str) -> None:
    for text in merged(one, other):
        ast.parse(text)
        assert text != one
