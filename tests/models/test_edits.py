import pytest

from surefoot.errors import UnreadableAnswer
from surefoot.models.reading import Edit, read_search_replace

EDIT = Edit(search="a = 1\n", replace="a = 2\nb = 3\n")
BLOCK = "<<<<<<< SEARCH\na = 1\n=======\na = 2\nb = 3\n>>>>>>> REPLACE"


@pytest.mark.parametrize(
    "answer",
    [
        BLOCK,
        f"Change it:\n```python\n{BLOCK}\n```\nDone.",
        BLOCK.replace("<<<<<<<", "<<<<<").replace("=======", "=====").replace(">>>>>>>", ">>>>>"),
        BLOCK.replace("SEARCH", "search").replace("REPLACE", "replace"),
        BLOCK.replace(" SEARCH", "SEARCH").replace("\n", "\r\n"),
        "<<<<<<< SEARCH\n```python\na = 1\n```\n=======\n```python\na = 2\nb = 3\n```\n>>>>>>> REPLACE",
        BLOCK.replace("SEARCH", "ORIGINAL").replace("REPLACE", "UPDATED"),
    ],
)
def test_an_edit_is_read(answer: str) -> None:
    assert read_search_replace(answer) == [EDIT]


def test_several_edits_keep_their_order_and_may_be_empty() -> None:
    other = "<<<<<<< SEARCH\nold\n=======\n>>>>>>> REPLACE\n<<<<<<< SEARCH\n=======\nnew\n>>>>>>> REPLACE"
    assert read_search_replace(f"{BLOCK}\n{other}") == [
        EDIT,
        Edit(search="old\n", replace=""),
        Edit(search="", replace="new\n"),
    ]


def test_a_line_of_equals_signs_in_the_text_is_text() -> None:
    answer = "<<<<<<< SEARCH\nTitle\n=====\n\nx\n=======\nTitle\n=====\n\ny\n>>>>>>> REPLACE"
    assert read_search_replace(answer) == [Edit(search="Title\n=====\n\nx\n", replace="Title\n=====\n\ny\n")]


def test_no_block_is_no_edit() -> None:
    assert read_search_replace("a <<<<<<< b\n=======\n") == []


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ("<<<<<<< SEARCH\na\n=======\nb", "line 1 has no >>>>>>> REPLACE"),
        ("x\n<<<<<<< SEARCH\na\n>>>>>>> REPLACE", "line 2 has no ======="),
        (f"<<<<<<< SEARCH\na\n{BLOCK}", "line 1 has no >>>>>>> REPLACE"),
    ],
)
def test_a_block_that_is_not_ended_is_refused(answer: str, problem: str) -> None:
    with pytest.raises(UnreadableAnswer, match=problem):
        read_search_replace(answer)
