"""Secrets are found in text that arrives in pieces, wherever it is split."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefoot.journal.redact import Redactor
from surefoot.journal.redacted_stream import MAX_HELD, RedactedStream

TOKEN = "ghp_" + "a1B2c3D4e5" * 4
VALUE = "correct horse\nbattery-9Xq"
PEM = "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEpAIBAAKCAQEA7bq0MIIEpAIB\n" * 6 + "-----END RSA PRIVATE KEY-----"
TEXT = f"first line\ntoken={TOKEN}\nAuthorization: Bearer abcdef0123456789abcdef\n{VALUE}\n{PEM}\nlast"


def through(pieces: list[str], *, by_word: bool = False) -> str:
    passed: list[str] = []
    stream = RedactedStream(Redactor([VALUE]), passed.append, by_word=by_word)
    for piece in pieces:
        stream.feed(piece)
    stream.flush()
    return "".join(passed)


@given(st.lists(st.integers(0, len(TEXT)), max_size=40).map(sorted))
def test_a_secret_is_found_wherever_the_text_is_split(cuts: list[int]) -> None:
    bounds = [0, *cuts, len(TEXT)]
    pieces = [TEXT[start:end] for start, end in pairwise(bounds)]
    assert through(pieces) == Redactor([VALUE]).redact(TEXT)


@given(st.lists(st.integers(0, len(TEXT)), max_size=40).map(sorted))
def test_by_word_known_values_and_tokens_are_found_too(cuts: list[int]) -> None:
    bounds = [0, *cuts, len(TEXT)]
    shown = through([TEXT[a:b] for a, b in pairwise(bounds)], by_word=True)
    assert TOKEN not in shown
    assert VALUE not in shown
    assert "MIIEpAIB" not in shown


def test_complete_lines_are_passed_on_at_once() -> None:
    passed: list[str] = []
    stream = RedactedStream(Redactor(), passed.append)
    stream.feed("one\ntwo")
    assert passed == ["one\n"]
    stream.feed("\r")
    assert passed == ["one\n", "two\r"]


@pytest.mark.parametrize("by_word", [True, False])
def test_text_without_an_end_is_not_held_for_ever(by_word: bool) -> None:
    passed: list[str] = []
    stream = RedactedStream(Redactor(), passed.append, by_word=by_word)
    stream.feed("x" * (MAX_HELD + 1))
    assert passed == ["x" * (MAX_HELD + 1)]
