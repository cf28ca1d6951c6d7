"""Which files a task asks to change, among tests, check scripts and settings."""

import pytest

from surefoot.project.asked_changes import (
    asks_for_tests,
    asks_to_change,
    asks_to_configure,
    asks_to_install,
)
from surefoot.project.test_words import asks_to_change_tests

pytestmark = pytest.mark.req("X1", "X12")


@pytest.mark.parametrize(
    ("task", "path"),
    [
        ("Add a test for paging to tests/test_paging.py.", "tests/test_paging.py"),
        ("Update the Makefile target lint.", "Makefile"),
        ("The Makefile needs a lint target.", "Makefile"),
        ("Write adder.py and tests/test_adder.py.", "tests/test_adder.py"),
        ("In tests/test_x.py, add a case for zero.", "tests/test_x.py"),
        ("Makefile: add a target `docs`", "Makefile"),
        ("Make check.sh executable.", "check.sh"),
        ("Rewrite the tests in tests/api/ for the new client.", "tests/api/test_client.py"),
        ("Write a new expected.txt for the changed format.", "tests/expected.txt"),
        ("修改 tests/test_api.py,增加一个用例。", "tests/test_api.py"),
        ("在 conftest.py 中添加一个 fixture", "conftest.py"),
        ("Create `pytest.ini` with the markers that we use.", "pytest.ini"),
        ("fix tests/test_api.py", "tests/test_api.py"),
        ("Create unittest/__init__.py.", "unittest/__init__.py"),
        ("Add a case to api/test_a.py", "tests/api/test_a.py"),
    ],
)
def test_a_verb_with_the_file_as_its_object_asks_to_change_it(task: str, path: str) -> None:
    assert asks_to_change(path, task)


@pytest.mark.parametrize(
    ("task", "path"),
    [
        ("Make tests/test_adder.py pass.", "tests/test_adder.py"),
        ("Make ./check.sh succeed.", "check.sh"),
        ("Fix adder.py so that tests/test_adder.py passes.", "tests/test_adder.py"),
        ("Fix the bug that tests/test_adder.py shows.", "tests/test_adder.py"),
        ("Fix the failing tests/test_adder.py.", "tests/test_adder.py"),
        ("Write adder.py to satisfy tests/test_adder.py.", "tests/test_adder.py"),
        ("Implement add from the description in tests/test_adder.py.", "tests/test_adder.py"),
        ("Write adder.py. The tests are in tests/test_adder.py.", "tests/test_adder.py"),
        ("Write adder.py without changing tests/test_adder.py.", "tests/test_adder.py"),
        ("Do not edit the Makefile.", "Makefile"),
        ("Write the code; run make with the Makefile.", "Makefile"),
        ("让 tests/test_api.py 通过。", "tests/test_api.py"),
        ("写 adder.py,使 test_adder.py 通过", "test_adder.py"),
        ("Make the unittest pass.", "unittest/__init__.py"),
        ("Change config.json.", "jest.config.json"),
        ("Create shop/__init__.py.", "unittest/__init__.py"),
        ("Add __version__ to __init__.py.", "unittest/__init__.py"),
        ("Change lib/test_a.py.", "tests/test_a.py"),
    ],
)
def test_a_file_that_is_only_named_stays_as_it_is(task: str, path: str) -> None:
    assert not asks_to_change(path, task)


@pytest.mark.parametrize(
    ("task", "asked"),
    [
        ("Write unit tests for slug.py.", True),
        ("Add slug.py with tests.", False),
        ("Fix the bug and add a regression test.", True),
        ("为 slug.py 补充单元测试", True),
        ("Write slug.py so that the tests pass.", False),
        ("Make all tests pass.", False),
        ("Add the missing function until every test passes.", False),
    ],
)
def test_new_tests_are_asked_for(task: str, asked: bool) -> None:
    assert asks_for_tests(task) is asked


def test_changing_tests_in_general_is_asked_for() -> None:
    assert asks_to_change_tests("Rename the class and adapt the tests.")
    assert asks_to_change_tests("重命名函数并更新相关测试")
    assert not asks_to_change_tests("Fix the tests.")
    assert not asks_to_change_tests("Update the code, the tests are right.")


def test_settings_of_a_tool_are_asked_for() -> None:
    assert asks_to_configure("pytest", "Configure pytest to skip the slow tests by default.")
    assert asks_to_configure("ruff", "Enable the ruff rules for docstrings.")
    assert asks_to_configure("pytest", "Make pytest ignore build/.")
    assert not asks_to_configure("pytest", "Make pytest pass.")
    assert not asks_to_configure("jest", "Fix the sum; run jest to see.")


def test_installing_is_asked_for() -> None:
    assert asks_to_install("Add requests to the dependencies and install it.")
    assert asks_to_install("Create a virtual environment in .venv.")
    assert not asks_to_install("Fix the installer.")
    assert not asks_to_install("Write adder.py.")
