"""What happened to each test that existed before a run: extended files are fine, weakened tests are named."""

import pytest

from surefoot.engine.verifier.suite.test_policy import compare_tests, refusal_to_weaken

GIVEN = '''
"""Tests of the adder."""
import unittest
from adder import add

CASES = [(1, 2, 3)]


def helper(a):
    return add(a, a)


class TestAdd(unittest.TestCase):
    def setUp(self):
        self.base = 1

    def test_small(self):
        self.assertEqual(add(self.base, 2), 3)

    def test_cases(self):
        for a, b, total in CASES:
            self.assertEqual(add(a, b), total)


def test_helper():
    assert helper(2) == 4
'''
PATH = "tests/test_adder.py"
SKIPPING = "    @unittest.skip('x')\n    def test_small"
OWN_RUN = "    def run(self, result=None):\n        pass\n\n    def test_small"
LOAD_TESTS = "\ndef load_tests(*a):\n    return unittest.TestSuite()\n"


def in_class(fate: str) -> dict[str, str]:
    return dict.fromkeys(["TestAdd::test_small", "TestAdd::test_cases"], fate)


def all_tests(fate: str) -> dict[str, str]:
    return {**in_class(fate), "test_helper": fate}


def fates(after: str | None, task: str = "Fix add().", path: str = PATH, before: str = GIVEN) -> dict[str, str]:
    new = {} if after is None else {path: after.encode()}
    changes = compare_tests({path: before.encode()}, new, task)
    return {test.name.removeprefix(f"{path}::"): test.fate for test in changes.weakened}


@pytest.mark.req("X13")
@pytest.mark.parametrize(
    "after",
    [
        GIVEN + "\n\ndef test_new():\n    assert add(0, 0) == 0\n",
        GIVEN.replace("    def test_cases", "    def test_new(self):\n        add(1, 1)\n\n    def test_cases"),
        GIVEN.replace("    def test_cases", "    def _helper(self):\n        return 1\n\n    def test_cases"),
        GIVEN.replace("import unittest", "import os\nimport unittest"),
        GIVEN.replace("from adder import add", "from adder import add, subtract")
        + "\ndef test_s():\n    subtract(1, 1)\n",
        GIVEN.replace("Tests of the adder", "All tests of the adder") + "# a comment\n",
        GIVEN + '\n\nif __name__ == "__main__":\n    unittest.main()\n',
    ],
    ids=["function", "method", "helper method", "import", "longer import", "docstring", "main"],
)
def test_an_extended_file_is_fine(after: str) -> None:
    assert fates(after) == {}


@pytest.mark.req("X13")
@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (GIVEN.replace("add(self.base, 2), 3", "add(self.base, 2), 4"), {"TestAdd::test_small": "changed"}),
        (GIVEN.replace("    def test_small", SKIPPING), {"TestAdd::test_small": "skipped"}),
        (GIVEN.replace("self.base = 1", "self.skipTest('x')"), in_class("skipped")),
        (GIVEN.replace("(1, 2, 3)", ""), {"TestAdd::test_cases": "changed"}),
        (GIVEN.replace("return add(a, a)", "return 4"), {"test_helper": "changed"}),
        (GIVEN.replace("from adder import add", "from mock import add"), all_tests("changed")),
        (GIVEN.replace("(unittest.TestCase)", ""), in_class("changed")),
        (GIVEN.replace("def test_helper", "def check_helper"), {"test_helper": "removed"}),
        (GIVEN + "\ntest_helper = None\n", {"test_helper": "removed"}),
        (GIVEN + "\ntest_helper.__test__ = False\n", {"test_helper": "removed"}),
        (GIVEN + "\nclass TestAdd(unittest.TestCase):\n    pass\n", in_class("removed")),
        (GIVEN.replace("    def test_small", OWN_RUN), in_class("changed")),
        (GIVEN + LOAD_TESTS, all_tests("changed")),
        (GIVEN + "\nfrom fakes import *\n", all_tests("changed")),
        (None, all_tests("removed")),
        ("", all_tests("removed")),
    ],
)
def test_a_weakened_test_is_named(after: str | None, expected: dict[str, str]) -> None:
    assert fates(after) == expected


PARAMETRIZED = """
import pytest
from adder import add


@pytest.mark.parametrize(("a", "total"), [(1, 2), pytest.param(2, 4, id="two")], ids=["one", None])
def test_twice(a, total):
    assert add(a, a) == total


@pytest.mark.parametrize(argnames=["a"], argvalues=[1], indirect=[])
def test_named(a):
    assert add(a, 1) == a + 1


class TestMore:
    @pytest.mark.parametrize("a", [1, 2])
    def test_zero(self, a):
        assert add(a, 0) == a
"""


@pytest.mark.req("X13")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('id="two")]', 'id="two"), (3, 6)]'),
        ("[(1, 2), ", "[(0, 0), (1, 2), "),
        ("[1, 2])\n    def", "[1, 5, 2, 7])\n    def"),
        ('id="two")], ids=["one", None]', 'id="two"), (3, 6)], ids=["one", None, "three"]'),
        ("argvalues=[1]", "argvalues=[1, 2]"),
    ],
    ids=["at the end", "at the beginning", "of a method, between others", "with ids", "by name"],
)
def test_cases_may_be_added_to_a_parametrized_test(old: str, new: str) -> None:
    assert old in PARAMETRIZED
    assert fates(PARAMETRIZED.replace(old, new), before=PARAMETRIZED) == {}


@pytest.mark.req("X13")
@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("[(1, 2), ", "[(3, 6), ", {"test_twice": "changed"}),
        ("[(1, 2), ", "[(1, 3), (3, 6), ", {"test_twice": "changed"}),
        ("[1, 2])", "[2, 1, 3])", {"TestMore::test_zero": "changed"}),
        ("[1, 2])", "[n for n in ()])", {"TestMore::test_zero": "changed"}),
        ("[1, 2])", "[1, 2, 3][:1])", {"TestMore::test_zero": "changed"}),
        ("    @pytest.mark.p", "    @pytest.mark.skip\n    @pytest.mark.p", {"TestMore::test_zero": "skipped"}),
        ('pytest.param(2, 4, id="two")', "pytest.param(2, 4, marks=pytest.mark.skip)", {"test_twice": "skipped"}),
        ("== total", "== total or a > 2", {"test_twice": "changed"}),
        ("[1, 2])", "[1, 2, 3], indirect=True)", {"TestMore::test_zero": "changed"}),
        ("indirect=[]", 'indirect=["a"]', {"test_named": "changed"}),
        ('argnames=["a"]', 'argnames=["a", "b"]', {"test_named": "changed"}),
    ],
)
def test_the_given_cases_of_a_parametrized_test_stay(old: str, new: str, expected: dict[str, str]) -> None:
    assert old in PARAMETRIZED
    assert fates(PARAMETRIZED.replace(old, new), before=PARAMETRIZED) == expected


def test_a_moved_test_is_not_weakened() -> None:
    changes = compare_tests({PATH: GIVEN.encode()}, {"tests/unit/test_adder.py": GIVEN.encode()}, "Fix add().")
    assert {test.fate for test in changes.altered} == {"moved"}
    assert changes.weakened == ()


def test_a_test_that_was_changed_while_it_was_moved_as_asked_is_called_moved() -> None:
    place, without = "tests/unit/test_adder.py", GIVEN.replace("def test_helper", "def check_helper")
    after = {place: without.replace("assertEqual", "assertIs").encode()}
    changes = compare_tests({PATH: GIVEN.encode()}, after, f"Move {PATH} to {place}.")
    fates = {test.name.rpartition("::")[2]: test.fate for test in changes.altered if "::" in test.name}
    assert fates.pop("test_helper") == "removed"
    assert set(fates.values()) == {"moved"}
    assert compare_tests({PATH: GIVEN.encode()}, after, "Fix add().").weakened, "no move is asked for"


@pytest.mark.attack("forge")
@pytest.mark.parametrize(
    "place",
    ["tests/adder_cases.py", "tests/test_adder.py.txt", "tests/test_adder.pyi", "tests/adder_test.py", "tests/tests.py",
     "tests/.old/test_adder.py", "tests/build/test_adder.py", "tests/node_modules/test_adder.py"],
)  # fmt: skip
def test_a_test_moved_to_where_no_runner_finds_it_is_removed(place: str) -> None:
    before, after = {PATH: GIVEN.encode()}, {place: GIVEN.encode()}
    changes = compare_tests(before, after, "Fix add().")
    assert {test.fate for test in changes.weakened} == {"removed"}
    assert compare_tests(before, after, f"Move {PATH} to {place}.").weakened == ()
    for task in (f"Extend {PATH}, and move the docs.", f"Do not move {PATH}."):
        assert compare_tests(before, after, task).weakened, "no move of the test is asked for"


def test_an_unparsable_new_version_weakens_the_file() -> None:
    assert fates(GIVEN.replace("def test_helper", "def def")) == {PATH: "changed"}


CONFTEST = "import pytest\n\n@pytest.fixture\ndef database():\n    return 1\n"


@pytest.mark.parametrize(
    ("after", "weakened"),
    [
        (CONFTEST + "\n@pytest.fixture\ndef other():\n    return 2\n", False),
        (CONFTEST.replace("return 1", "pytest.skip()"), True),
        (CONFTEST + "\ndef pytest_collection_modifyitems(items):\n    items.clear()\n", True),
        (CONFTEST + "\n@pytest.fixture(autouse=True)\ndef nothing():\n    pytest.skip()\n", True),
        (CONFTEST + "\ncollect_ignore = ['test_a.py']\n", True),
    ],
)
def test_shared_code_of_tests_may_be_extended_only(after: str, weakened: bool) -> None:
    assert bool(fates(after, path="tests/conftest.py", before=CONFTEST)) is weakened


JS = "test('adds', () => {\n  expect(add(1, 2)).toBe(3);\n});\n"


@pytest.mark.parametrize(
    ("after", "fate"),
    [
        (JS + "\ntest('more', () => {\n  expect(add(0, 0)).toBe(0);\n});\n", None),
        (JS.replace("toBe(3)", "toBe(4)"), "changed"),
        (JS + "\ntest.only('more', () => {});\n", "skipped"),
        (JS.replace("test('adds", "test.skip('adds"), "skipped"),
        ("return;\n" + JS, "skipped"),
        ("/*\n" + JS + "*/\n", "skipped"),
        ("", "changed"),
    ],
)
def test_other_languages_are_compared_by_lines(after: str, fate: str | None) -> None:
    assert fates(after, path="add.test.js", before=JS) == ({"add.test.js": fate} if fate else {})


def test_a_check_script_may_not_grow() -> None:
    assert fates("exit 0\ntest -f a\n", path="run_tests.sh", before="test -f a\n") == {"run_tests.sh": "changed"}


def test_a_test_of_a_shell_grows_only_if_the_task_asks_for_tests() -> None:
    old, new = b"check 1 1\n", b"check 1 1\ncheck 2 2\n"
    assert refusal_to_weaken("x_test.sh", old, new, "Fix x.") == "x_test.sh was changed"
    assert refusal_to_weaken("x_test.sh", old, new, "Fix x and add tests for it.") == ""
    assert refusal_to_weaken("x_test.sh", old, b"exit 0\n" + old, "Fix x and add tests for it.") != ""
    assert refusal_to_weaken("x_test.sh", old, b"check 2 2\n", "Fix x and add tests for it.") == "x_test.sh was changed"
    assert refusal_to_weaken("run_tests.sh", old, new, "Fix x and add tests for it.") == "run_tests.sh was changed"


@pytest.mark.req("X13")
@pytest.mark.parametrize(
    ("task", "after"),
    [
        ("Update the tests for the new signature.", GIVEN.replace("add(a, b), total", "add([a, b]), total")),
        (f"Correct the sum in {PATH}: change {PATH}.", GIVEN.replace("), 3)", "), 4)")),
        ("Delete the obsolete tests.", GIVEN.replace("def test_helper", "def x")),
        ("Rename add to plus everywhere.", GIVEN.replace("add(", "plus(").replace("import add", "import plus")),
        ("同步更新测试", GIVEN.replace("), 3)", "), 4)")),
    ],
)
def test_changes_that_the_task_asks_for_cost_nothing(task: str, after: str) -> None:
    assert fates(after, task) == {}
    assert fates(after, "Fix the code.") != {}


def test_a_renaming_allows_no_other_change() -> None:
    after = GIVEN.replace("add(", "plus(").replace("import add", "import plus").replace("), 3)", "), 9)")
    assert fates(after, "Rename add to plus everywhere.") == {"TestAdd::test_small": "changed"}


def test_new_tests_of_the_run_are_known_by_name() -> None:
    after = GIVEN + "\n\ndef test_new():\n    assert add(0, 0) == 0\n"
    changes = compare_tests(
        {PATH: GIVEN.encode()}, {PATH: after.encode(), "tests/test_b.py": b"def test_b():\n    pass\n"}, "Fix add()."
    )
    assert changes.own == {PATH: ("test_new",), "tests/test_b.py": ("test_b",)}
