"""The remembered replies to commands survive a crash that cut off a line."""

from pathlib import Path

import pytest

from surefoot.server.replies import Replies


@pytest.mark.parametrize("rest", ['["b", {"acc', "\ufffd", "[1]", '"b"', '["b", {}]x'])
def test_answers_after_a_line_that_was_cut_off_are_kept(tmp_path: Path, rest: str) -> None:
    path = tmp_path / "answers.jsonl"
    Replies(path).put("a", {"accepted": 1})
    with path.open("a", encoding="utf-8") as file:
        file.write(rest)
    replies = Replies(path)
    assert replies.get("a") == {"accepted": 1}
    replies.put("c", {"accepted": 3})
    replies.put("d", {"accepted": 4})
    again = Replies(path)
    assert [again.get(key) for key in "acd"] == [{"accepted": 1}, {"accepted": 3}, {"accepted": 4}]
