"""Bounded output."""

from hypothesis import given
from hypothesis import strategies as st

from surefoot.workspace.process.bounded import BoundedOutput


@given(st.binary(max_size=200) | st.text(max_size=100).map(str.encode), st.integers(0, 60), st.integers(1, 50))
def test_bounded_output_keeps_both_ends(content: bytes, limit: int, step: int) -> None:
    output = BoundedOutput(limit)
    for start in range(0, len(content), step):
        output.feed(content[start : start + step])
    text = output.text()
    assert output.total == len(content)
    if len(content) <= limit:
        assert text == content.decode("utf-8", "replace")
        assert not output.truncated
        return
    assert output.truncated
    head, marker, tail = text.partition("\n[... ")
    assert marker
    tail = tail.partition(" ...]\n")[2]
    whole = content.decode("utf-8", "replace")
    if "\ufffd" not in whole:
        assert "\ufffd" not in text, "a character was cut in two"
        assert whole.startswith(head)
        assert whole.endswith(tail)
        left_out = int(text[len(head) + 6 :].split()[0].replace(",", ""))
        assert len(head.encode()) + left_out + len(tail.encode()) == len(content)
