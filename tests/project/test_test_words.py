"""Which words of a task allow tests to be changed, removed or skipped."""

import pytest

from surefoot.project.asked_for import is_question
from surefoot.project.test_words import (
    asks_to_change_tests,
    asks_to_remove_tests,
    asks_to_skip_tests,
    renamed_in,
)


@pytest.mark.req("X13")
@pytest.mark.parametrize(
    ("task", "asked"),
    [
        ("Add a parameter to get() and update the tests for the new signature.", True),
        ("Change parse() and adapt the existing unit tests.", True),
        ("Replace Foo by Bar in the code and in the tests.", True),
        ("Update all callers, including the tests", True),
        ("Update code and tests.", True),
        ("把 total 改成 total_price，并同步更新相关的测试", True),
        ("修改实现，测试也要一起更新", True),
        ("Fix the failing tests.", False),
        ("Make the tests pass.", False),
        ("Change the code so that it works and the tests pass.", False),
        ("Do not change the tests.", False),
        ("Fix add() without changing the tests", False),
        ("All tests must pass.", False),
        ("Write tests for add().", False),
        ("不要修改测试", False),
        ("修复 add，让所有测试通过", False),
    ],
)
def test_words_that_ask_to_change_tests(task: str, asked: bool) -> None:
    assert asks_to_change_tests(task) is asked


def test_words_that_ask_to_remove_or_skip_tests() -> None:
    assert asks_to_remove_tests("Delete the obsolete tests of the old parser.")
    assert asks_to_remove_tests("删除过时的测试")
    assert not asks_to_remove_tests("Remove the cache. Don't delete any tests.")
    assert asks_to_skip_tests("Skip the broken tests on Windows.")
    assert not asks_to_skip_tests("Make the skipped tests run.")


@pytest.mark.parametrize(
    ("task", "names"),
    [
        ("Rename total to total_price everywhere.", {"total": "total_price"}),
        ("Rename the function `load()` to `read_all`.", {"load": "read_all"}),
        ("把 foo 重命名为 bar", {"foo": "bar"}),
        ("Fix the names.", {}),
    ],
)
def test_names_that_a_task_asks_to_replace(task: str, names: dict[str, str]) -> None:
    assert renamed_in(task) == names


@pytest.mark.parametrize(
    ("task", "question"),
    [
        ("What does load() return?", True),
        ("Explain the cache.", True),
        ("这个函数返回什么？", True),
        ("Could you explain the cache?", True),
        ("Could you add a --json flag?", False),
        ("Do the task.", False),
        ("Add a flag.", False),
        ("你能加一个参数吗？", False),
    ],
)
def test_a_question_needs_an_answer_and_no_change(task: str, question: bool) -> None:
    assert is_question(task) is question
