"""Long output is made short, and what matters stays in it, word for word."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from surefoot.tools.results import clean, stable, summarise

APP = """\
def div(a, b):
    return a / b

def add(a, b):
    print("adding", a, b)
    return a - b
"""
TESTS = """\
import pytest
from app import add, div

def test_add():
    assert add(1, 2) == 3

def test_div():
    assert div(1, 0) == 0

class TestMore:
    @pytest.mark.parametrize("n", [1, 2])
    def test_list(self, n):
        assert [1, 2, n] == [1, 3, n]

@pytest.fixture
def broken():
    raise RuntimeError("the fixture broke")

def test_setup(broken):
    pass

def test_fine():
    pass
"""


def pytest_says(folder: Path, *options: str, ci: str = "") -> str:
    """What a real pytest says about real tests that fail; with `CI` in its environment it says more."""
    (folder / "app.py").write_text(APP)
    if not (folder / "test_app.py").exists():
        (folder / "test_app.py").write_text(TESTS)
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options],
        cwd=folder,
        # Without the plugins that happen to be installed it starts in a fraction of the time.
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": "", "CI": ci},
        text=True,
        capture_output=True,
        check=False,
    ).stdout


@pytest.mark.req("D5", "O6")
class TestPytest:
    @pytest.mark.parametrize("ci", ["", "true"])
    @pytest.mark.parametrize("options", [(), ("-q",), ("--tb=short", "-v"), ("-q", "--color=yes")])
    def test_each_failing_test_with_its_line_its_reason_and_its_place(
        self, tmp_path: Path, options: tuple[str, ...], ci: str
    ) -> None:
        whole = pytest_says(tmp_path, *options, ci=ci)
        said = summarise(whole, failed=True, result_id="a7")
        assert len(said) < len(whole) / 2
        for quoted in [
            "4 failed, 1 passed, 1 error in ",
            "FAILED test_app.py::test_add\n  test_app.py:5: assert add(1, 2) == 3\n  E assert -1 == 3\n",
            "  printed: adding 1 2\n",
            "FAILED test_app.py::test_div\n  test_app.py:8: assert div(1, 0) == 0\n  app.py:2: return a / b\n",
            "  E ZeroDivisionError: division by zero\n",
            "FAILED test_app.py::TestMore::test_list[2]\n  test_app.py:13: assert [1, 2, n] == [1, 3, n]\n",
            "E   At index 1 diff: 2 != 3\n",
            "E RuntimeError: the fixture broke",
            'read_result("a7") shows all]',
        ]:
            assert quoted in said
        assert "def test_add" not in said
        assert "====" not in said
        assert "test_fine" not in said

    @pytest.mark.parametrize("style", ["line", "native", "no"])
    def test_other_styles_keep_every_name_and_reason(self, tmp_path: Path, style: str) -> None:
        said = summarise(pytest_says(tmp_path, f"--tb={style}"), failed=True)
        assert "FAILED test_app.py::test_add - assert -1 == 3" in said
        assert "FAILED test_app.py::test_div - ZeroDivisionError: division by zero" in said

    def test_what_cannot_even_be_collected(self, tmp_path: Path) -> None:
        (tmp_path / "test_app.py").write_text("import nothing_of_that_name\n")
        (tmp_path / "test_bad.py").write_text("def f(:\n")
        said = summarise(pytest_says(tmp_path), failed=True)
        assert "test_app.py:1: import nothing_of_that_name" in said
        assert "E ModuleNotFoundError: No module named 'nothing_of_that_name'" in said
        assert "E SyntaxError: invalid syntax" in said
        assert "importlib" not in said

    def test_under_a_small_limit_every_test_is_still_named(self, tmp_path: Path) -> None:
        said = summarise(pytest_says(tmp_path), limit=480, failed=True)
        assert len(said) <= 480
        assert said.count("FAILED ") == 5
        assert "FAILED test_app.py::test_add" in said

    def test_very_many_failures_stay_within_the_limit(self, tmp_path: Path) -> None:
        cases = 'import pytest\n@pytest.mark.parametrize("n", range(300))\ndef test_n(n):\n    assert n < 0\n'
        (tmp_path / "test_app.py").write_text(cases)
        said = summarise(pytest_says(tmp_path, "-q"), failed=True, result_id="a1")
        assert len(said) <= 2400
        assert "300 failed" in said
        assert "assert 0 < 0" in said

    def test_a_passing_run_is_not_taken_for_a_failing_one(self, tmp_path: Path) -> None:
        whole = pytest_says(tmp_path, "-k", "fine")
        assert summarise(whole, failed=False) == clean(whole)


@pytest.mark.req("D5", "O6")
class TestOtherOutput:
    def test_short_output_is_whole(self) -> None:
        assert summarise("one\ntwo\n", failed=True) == "one\ntwo"

    def test_a_compilers_error_is_found_in_the_middle(self) -> None:
        noise = [f"compiling module {n}" for n in range(400)]
        whole = "\n".join(
            [*noise, "src/main.c:12:5: error: use of undeclared identifier 'foo'", "   12 | foo();", *noise]
        )
        said = summarise(whole, limit=800, failed=True, result_id="a3")
        assert "src/main.c:12:5: error: use of undeclared identifier 'foo'\n   12 | foo();" in said
        assert said.startswith("compiling module 0\n")
        assert said.endswith("compiling module 399")
        assert 'lines left out; read_result("a3") shows them]' in said

    def test_what_is_left_out_is_counted(self) -> None:
        said = summarise("\n".join(str(n) for n in range(5000)), limit=500, failed=False)
        marker = next(line for line in said.split("\n") if line.startswith("["))
        shown = said.count("\n")
        assert marker == f"[... {5000 - shown} lines left out]"

    def test_a_tracebacks_last_frames_and_what_was_raised(self, tmp_path: Path) -> None:
        script = tmp_path / "deep.py"
        script.write_text(
            "def down(n):\n    if n == 0:\n        raise KeyError('datasource')\n    return down_again(n)\n"
            "def down_again(n):\n    return down(n - 1)\n"
            "for n in range(200): print('line', n)\ndown(30)\n"
        )
        whole = subprocess.run(
            [sys.executable, "-u", script], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
        ).stdout
        said = summarise(whole, limit=900, failed=True)
        assert "raise KeyError('datasource')" in said
        assert said.endswith("KeyError: 'datasource'")
        assert len(said) <= 900

    def test_a_thousand_equal_errors_leave_room_for_the_other_one(self) -> None:
        lines = [f"ERROR: cannot open file {n}" for n in range(1000)]
        lines.insert(500, "FATAL: the database is on fire")
        assert "FATAL: the database is on fire" in summarise("\n".join(lines), limit=700, failed=True)

    def test_zero_errors_is_no_error(self) -> None:
        whole = "\n".join([*("working" for _ in range(500)), "0 errors, 0 failures", *("working" for _ in range(500))])
        assert "0 errors" not in summarise(whole, limit=300, failed=True)

    def test_an_error_at_the_end_of_an_endless_line(self) -> None:
        said = summarise("x" * 50_000 + " error: it broke here", limit=600, failed=True)
        assert "error: it broke here" in said
        assert len(said) <= 600

    def test_colours_progress_bars_and_control_characters_go(self) -> None:
        assert (
            clean("\x1b[31mred\x1b[0m \x1b]0;title\x07done\r\n 10%\r 50%\r100%\nbell\x07\n") == "red done\n100%\nbell"
        )

    def test_chinese_and_joined_characters_stay_whole(self) -> None:
        said = summarise("错误：文件不存在\n" + "啊" * 5000, limit=400, failed=True)
        assert "错误：文件不存在" in said
        family = "👨\u200d👩\u200d👧"
        for limit in range(1, 12):
            cut = summarise(family * 10, limit=limit, failed=False)
            assert not cut or cut.count(family) * len(family) == len(cut) or len(cut) == limit


TELLING = """\
error: x
Traceback (most recent call last):
  File "a.py", line 1, in f
KeyError: 1
E   assert 1
=== FAILURES ===
____ test_a ____
>   assert x
a.py:1: Error
1 failed in 0.1s
FAILED a.py::test_a - assert 1
=== short test summary info ===
"""
lines_of_output = st.one_of(st.text(max_size=60), st.sampled_from([*TELLING.split("\n"), "\r", "\x1b[1m", "y" * 900]))


@settings(max_examples=400, deadline=None)
@given(
    st.lists(lines_of_output, max_size=120).map("\n".join),
    st.integers(1, 3000),
    st.booleans(),
    st.sampled_from(["", "a7"]),
)
@example("\ud800" * 50, 10, True, "")
@pytest.mark.req("O6")
def test_never_longer_than_the_limit_always_text_always_the_same(
    whole: str, limit: int, failed: bool, key: str
) -> None:
    said = summarise(whole, limit=limit, failed=failed, result_id=key)
    assert len(said) <= limit
    said.encode("utf-8")
    assert said == summarise(whole, limit=limit, failed=failed, result_id=key)


class TestStable:
    def test_two_runs_of_the_same_failure_compare_equal(self, tmp_path: Path) -> None:
        (tmp_path / "one").mkdir()
        (tmp_path / "two").mkdir()
        one, two = pytest_says(tmp_path / "one", "-q"), pytest_says(tmp_path / "two", "-q", "--durations=0")
        assert stable(summarise(one, failed=True)) == stable(summarise(two, failed=True))

    @pytest.mark.parametrize(
        ("one", "two"),
        [
            ("<object at 0x7f3a12bc>", "<object at 0x55ee9900aa>"),
            ("3 passed in 0.12s", "3 passed in 14.05s"),
            ("2026-01-02 03:04:05,123 start", "2025-11-12 13:14:15,999 start"),
            ("/tmp/tmpab12/x.py:3", "/tmp/tmpzz99/x.py:3"),
            ("/tmp/pytest-of-me/pytest-4/test0/x", "/tmp/pytest-of-me/pytest-51/test0/x"),
            ("real\t0m1.234s", "real\t0m0.001s"),
            ("listening on 127.0.0.1:43211", "listening on 127.0.0.1:50000"),
            ("pid 123 died", "pid 4567 died"),
        ],
    )
    def test_what_differs_by_chance_is_masked(self, one: str, two: str) -> None:
        assert stable(one) == stable(two)

    @pytest.mark.parametrize(
        ("one", "two"),
        [
            ("E assert 3 == 2", "E assert 4 == 2"),
            ("E assert '1.5s' == '2s'", "E assert '1.7s' == '2s'"),
            ("app.py:3: error", "app.py:4: error"),
            ("1 failed", "2 failed"),
        ],
    )
    def test_what_differs_on_purpose_is_not(self, one: str, two: str) -> None:
        assert stable(one) != stable(two)


UNITTESTS = """\
import unittest
from app import add, div

class More(unittest.TestCase):
    def test_add(self):
        self.assertEqual(add(1, 2), 3)

    def test_div(self):
        self.assertEqual(div(1, 0), 0)

    def test_lists(self):
        self.assertEqual([1, 2, 3], [1, 5, 3])

    def test_each(self):
        for n in (1, 2):
            with self.subTest(n=n):
                self.assertEqual(n, 1)

    def test_fine(self):
        pass
"""


def unittest_says(folder: Path, tests: str) -> str:
    """What a real unittest says about real tests that fail."""
    (folder / "app.py").write_text(APP)
    (folder / "test_app.py").write_text(tests)
    argv = [sys.executable, "-B", "-m", "unittest", "-q"]
    return subprocess.run(argv, cwd=folder, text=True, capture_output=True, check=False).stderr


@pytest.mark.req("D5", "O6")
class TestUnittest:
    def test_each_failing_test_with_its_lines_and_its_reason(self, tmp_path: Path) -> None:
        whole = unittest_says(tmp_path, UNITTESTS).replace(f"{tmp_path}/", "")
        said = summarise(whole, failed=True, result_id="a7")
        assert len(said) < len(whole) / 2
        for quoted in [
            "FAILED (failures=3, errors=1)\n",
            "FAIL test_add\n  test_app.py:6: self.assertEqual(add(1, 2), 3)\n  AssertionError: -1 != 3\n",
            "ERROR test_div\n  test_app.py:9: self.assertEqual(div(1, 0), 0)\n  app.py:",
            "  ZeroDivisionError: division by zero\n",
            "  AssertionError: Lists differ: [1, 2, 3] != [1, 5, 3]\n",
            "FAIL test_each (n=2)\n",
            'read_result("a7") shows all]',
        ]:
            assert quoted in said
        assert "test_fine" not in said

    def test_a_module_that_cannot_be_imported(self, tmp_path: Path) -> None:
        whole = unittest_says(tmp_path, "import unittest\nimport not_there\n")
        assert "ModuleNotFoundError: No module named 'not_there'" in summarise(whole, failed=True)

    def test_of_very_many_all_are_named(self, tmp_path: Path) -> None:
        many = "".join(f"    def test_{n}(self):\n        self.assertEqual({n}, 'x' * 200)\n" for n in range(30))
        whole = unittest_says(tmp_path, f"import unittest\nclass T(unittest.TestCase):\n{many}")
        said = summarise(whole, failed=True, result_id="a7")
        assert len(said) <= 2400
        assert all(f"FAIL test_{n}" in said for n in range(30))
