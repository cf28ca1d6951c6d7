"""Summaries of long output keep the lines that explain a failure."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from surefoot.tools.text.summary import clean, stable, summarise

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


def pytest_output(folder: Path, *options: str, ci: str = "") -> str:
    """The output of pytest for failing tests; with `CI` in its environment it is longer."""
    (folder / "app.py").write_text(APP)
    if not (folder / "test_app.py").exists():
        (folder / "test_app.py").write_text(TESTS)
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options],
        cwd=folder,
        # Without plugins it starts in a fraction of the time.
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": "", "CI": ci},
        text=True,
        capture_output=True,
        check=False,
    ).stdout


@pytest.mark.req("D5", "O6")
class TestPytest:
    @pytest.mark.parametrize("ci", ["", "true"])
    @pytest.mark.parametrize("options", [(), ("-q",), ("--tb=short", "-v"), ("-q", "--color=yes")])
    def test_each_failing_test_is_shown_with_its_line_reason_and_location(
        self, tmp_path: Path, options: tuple[str, ...], ci: str
    ) -> None:
        whole = pytest_output(tmp_path, *options, ci=ci)
        summary = summarise(whole, failed=True, result_id="a7")
        assert len(summary) < len(whole) / 2
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
            assert quoted in summary
        assert "def test_add" not in summary
        assert "====" not in summary
        assert "test_fine" not in summary

    @pytest.mark.parametrize("style", ["line", "native", "no"])
    def test_other_traceback_styles_keep_names_and_reasons(self, tmp_path: Path, style: str) -> None:
        summary = summarise(pytest_output(tmp_path, f"--tb={style}"), failed=True)
        assert "FAILED test_app.py::test_add - assert -1 == 3" in summary
        assert "FAILED test_app.py::test_div - ZeroDivisionError: division by zero" in summary

    def test_collection_errors(self, tmp_path: Path) -> None:
        (tmp_path / "test_app.py").write_text("import nothing_of_that_name\n")
        (tmp_path / "test_bad.py").write_text("def f(:\n")
        summary = summarise(pytest_output(tmp_path), failed=True)
        assert "test_app.py:1: import nothing_of_that_name" in summary
        assert "E ModuleNotFoundError: No module named 'nothing_of_that_name'" in summary
        assert "E SyntaxError: invalid syntax" in summary
        assert "importlib" not in summary

    def test_a_small_limit_still_names_every_test(self, tmp_path: Path) -> None:
        summary = summarise(pytest_output(tmp_path), limit=480, failed=True)
        assert len(summary) <= 480
        assert summary.count("FAILED ") == 5
        assert "FAILED test_app.py::test_add" in summary

    def test_many_failures_stay_within_the_limit(self, tmp_path: Path) -> None:
        cases = 'import pytest\n@pytest.mark.parametrize("n", range(300))\ndef test_n(n):\n    assert n < 0\n'
        (tmp_path / "test_app.py").write_text(cases)
        summary = summarise(pytest_output(tmp_path, "-q"), failed=True, result_id="a1")
        assert len(summary) <= 2400
        assert "300 failed" in summary
        assert "assert 0 < 0" in summary

    def test_a_passing_run_is_not_condensed(self, tmp_path: Path) -> None:
        whole = pytest_output(tmp_path, "-k", "fine")
        assert summarise(whole, failed=False) == clean(whole)


@pytest.mark.req("D5", "O6")
class TestOtherOutput:
    def test_short_output_is_complete(self) -> None:
        assert summarise("one\ntwo\n", failed=True) == "one\ntwo"

    def test_a_compiler_error_in_the_middle_is_kept(self) -> None:
        noise = [f"compiling module {n}" for n in range(400)]
        whole = "\n".join(
            [*noise, "src/main.c:12:5: error: use of undeclared identifier 'foo'", "   12 | foo();", *noise]
        )
        summary = summarise(whole, limit=800, failed=True, result_id="a3")
        assert "src/main.c:12:5: error: use of undeclared identifier 'foo'\n   12 | foo();" in summary
        assert summary.startswith("compiling module 0\n")
        assert summary.endswith("compiling module 399")
        assert 'lines left out; read_result("a3") shows them]' in summary

    def test_omitted_lines_are_counted(self) -> None:
        summary = summarise("\n".join(str(n) for n in range(5000)), limit=500, failed=False)
        marker = next(line for line in summary.split("\n") if line.startswith("["))
        shown = summary.count("\n")
        assert marker == f"[... {5000 - shown} lines left out]"

    def test_the_last_frames_and_the_exception_of_a_traceback_are_kept(self, tmp_path: Path) -> None:
        script = tmp_path / "deep.py"
        script.write_text(
            "def down(n):\n    if n == 0:\n        raise KeyError('datasource')\n    return down_again(n)\n"
            "def down_again(n):\n    return down(n - 1)\n"
            "for n in range(200): print('line', n)\ndown(30)\n"
        )
        whole = subprocess.run(
            [sys.executable, "-u", script], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
        ).stdout
        summary = summarise(whole, limit=900, failed=True)
        assert "raise KeyError('datasource')" in summary
        assert summary.endswith("KeyError: 'datasource'")
        assert len(summary) <= 900

    def test_repeated_errors_do_not_hide_a_different_one(self) -> None:
        lines = [f"ERROR: cannot open file {n}" for n in range(1000)]
        lines.insert(500, "FATAL: the database is on fire")
        assert "FATAL: the database is on fire" in summarise("\n".join(lines), limit=700, failed=True)

    def test_zero_errors_does_not_count_as_an_error(self) -> None:
        whole = "\n".join([*("working" for _ in range(500)), "0 errors, 0 failures", *("working" for _ in range(500))])
        assert "0 errors" not in summarise(whole, limit=300, failed=True)

    def test_an_error_at_the_end_of_a_very_long_line_is_kept(self) -> None:
        summary = summarise("x" * 50_000 + " error: it broke here", limit=600, failed=True)
        assert "error: it broke here" in summary
        assert len(summary) <= 600

    def test_colours_progress_bars_and_control_characters_are_removed(self) -> None:
        assert (
            clean("\x1b[31mred\x1b[0m \x1b]0;title\x07done\r\n 10%\r 50%\r100%\nbell\x07\n") == "red done\n100%\nbell"
        )

    def test_chinese_and_joined_characters_are_not_split(self) -> None:
        summary = summarise("错误：文件不存在\n" + "啊" * 5000, limit=400, failed=True)
        assert "错误：文件不存在" in summary
        family = "👨\u200d👩\u200d👧"
        for limit in range(1, 12):
            cut = summarise(family * 10, limit=limit, failed=False)
            assert not cut or cut.count(family) * len(family) == len(cut) or len(cut) == limit


NODE_TESTS = """\
import test from 'node:test';
import assert from 'node:assert/strict';
const half = (n) => n / 3;
test('numbers', async (t) => {
  for (let i = 0; i < 60; i++) await t.test(`when ${i} is no number then error`, () => undefined);
  await t.test('half of four', () => assert.equal(half(4), 2));
  await t.test('not ready', { todo: true }, () => assert.equal(1, 2));
});
"""


@pytest.mark.req("D5", "O6")
@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
@pytest.mark.parametrize("reporter", ["tap", "spec"])
def test_of_node_only_the_failing_tests_are_shown_with_reason_and_place(tmp_path: Path, reporter: str) -> None:
    (tmp_path / "half.test.mjs").write_text(NODE_TESTS)
    words = ["node", "--test", f"--test-reporter={reporter}", "half.test.mjs"]
    whole = subprocess.run(words, cwd=tmp_path, text=True, capture_output=True, check=False).stdout
    summary = summarise(whole, failed=True, result_id="a7", limit=1_500)
    assert "half of four" in summary
    assert "half.test.mjs:6:" in summary
    assert "Expected values to be strictly equal:" in summary
    assert "1.3333333333333333" in summary
    assert "is no number then error" not in summary
    assert "node:internal" not in summary
    assert 'read_result("a7") shows all]' in summary
    assert len(summary) <= 1_500
    if reporter == "tap":
        assert "not ready" not in summary
        assert summary.startswith("tests 63, pass 60, fail 2")


@pytest.mark.req("D5", "O6")
class TestTap:
    def test_other_producers(self) -> None:
        """Of bats, tape and prove: comments, keys without a block, no numbers."""
        whole = (
            "1..3\nok 1 a\nnot ok 2 adds up\n# (in test file t.bats, line 4)\n#   `[ 1 -eq 2 ]' failed\n"
            "not ok 3 is there\n  ---\n    operator: ok\n    expected: true\n    actual: false\n"
            "    at: Test.<anonymous> (/w/t.js:5:5)\n  ...\n"
        )
        text = "\n".join(f"# noise {n}" for n in range(200)) + "\n" + whole
        summary = summarise(text, failed=True)
        assert "not ok - adds up\n  # (in test file t.bats, line 4)\n  #   `[ 1 -eq 2 ]' failed" in summary
        assert "not ok - is there\n  expected: true\n  actual: false\n  at: Test.<anonymous> (/w/t.js:5:5)" in summary
        assert "noise" not in summary

    def test_many_failures_are_counted(self) -> None:
        rows = "\n".join(f"not ok {n} - test number {n}\n  ---\n  error: 'broken {n}'\n  ..." for n in range(500))
        summary = summarise(f"TAP version 13\n{rows}\n1..500", limit=1_000, failed=True)
        assert "not ok - test number 0\n  error: broken 0" in summary
        assert re.search(r"^and \d+ more$", summary, re.MULTILINE)
        assert len(summary) <= 1_000

    def test_words_that_only_look_like_it_are_left_alone(self) -> None:
        assert summarise("this is not ok\n", failed=True) == "this is not ok"


@pytest.mark.req("D5", "O6")
@pytest.mark.parametrize(
    ("heading", "failure"),
    [
        ("  1 failing", "  1) adds:\n     AssertionError: 3 == 4\n      at Context.<anonymous> (test/a.js:3:5)"),
        ("Summary of all failing tests", "FAIL test/a.test.js\n  ● adds\n    expect(received).toBe(expected)"),
        ("⎯⎯⎯ Failed Tests 1 ⎯⎯⎯", " FAIL  a.test.ts > adds\nAssertionError: expected 3 to be 4\n ❯ a.test.ts:3:5"),
        ("failures:", "---- tests::adds stdout ----\nthread panicked at src/lib.rs:9:9:\nassertion failed"),
        ("Failures:", "  1) Sum adds\n     expected: 4\n          got: 3\n     # ./spec/sum_spec.rb:4"),
        ("There was 1 failure:", "1) SumTest::testAdds\nFailed asserting that 3 matches expected 4.\n/w/SumTest.php:9"),
    ],
)
def test_the_list_of_failures_at_the_end_is_what_is_shown(heading: str, failure: str) -> None:
    passed = "\n".join(f"    ✓ when {n} is wrong then an error is raised" for n in range(300))
    frames = "   at run (node_modules/mocha/runner.js:1:2)\n   at /rustc/5980/library/core/src/panic.rs:80\n"
    whole = f"{passed}\n\n{heading}\n\n{failure}\n{frames}"
    summary = summarise(whole, failed=True, limit=600)
    assert failure in summary
    assert "is wrong" not in summary
    assert "node_modules" not in summary
    assert "rustc" not in summary
    assert len(summary) <= 600


@pytest.mark.req("O6")
def test_the_name_of_a_test_that_passed_is_no_error() -> None:
    passed = [f"ok {n} - fails with error {'x' * n}" for n in range(50)]
    others = [f"tests/test_a.py::test_error_{'x' * n} PASSED [ 10%]" for n in range(50)]
    reason = "panic: index out of range"
    summary = summarise("\n".join([*passed, *others, reason, *others, *passed]), limit=500, failed=True)
    assert reason in summary


ERROR_OUTPUT = """\
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
TAP version 13
1..2
not ok 1 - a
  ---
  error: x
  ...
✖ failing tests:
"""
output_lines = st.one_of(st.text(max_size=60), st.sampled_from([*ERROR_OUTPUT.split("\n"), "\r", "\x1b[1m", "y" * 900]))


@settings(max_examples=400, deadline=None)
@given(
    st.lists(output_lines, max_size=120).map("\n".join),
    st.integers(1, 3000),
    st.booleans(),
    st.sampled_from(["", "a7"]),
)
@example("\ud800" * 50, 10, True, "")
@pytest.mark.req("O6")
def test_summaries_are_within_the_limit_encodable_and_deterministic(
    whole: str, limit: int, failed: bool, key: str
) -> None:
    summary = summarise(whole, limit=limit, failed=failed, result_id=key)
    assert len(summary) <= limit
    summary.encode("utf-8")
    assert summary == summarise(whole, limit=limit, failed=failed, result_id=key)


class TestStable:
    def test_two_runs_of_the_same_failure_compare_equal(self, tmp_path: Path) -> None:
        (tmp_path / "one").mkdir()
        (tmp_path / "two").mkdir()
        one, two = pytest_output(tmp_path / "one", "-q"), pytest_output(tmp_path / "two", "-q", "--durations=0")
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
    def test_volatile_values_are_masked(self, one: str, two: str) -> None:
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
    def test_meaningful_values_are_not_masked(self, one: str, two: str) -> None:
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


def unittest_output(folder: Path, tests: str) -> str:
    """The output of unittest for failing tests."""
    (folder / "app.py").write_text(APP)
    (folder / "test_app.py").write_text(tests)
    argv = [sys.executable, "-B", "-m", "unittest", "-q"]
    return subprocess.run(argv, cwd=folder, text=True, capture_output=True, check=False).stderr


@pytest.mark.req("D5", "O6")
class TestUnittest:
    def test_each_failing_test_is_shown_with_its_lines_and_reason(self, tmp_path: Path) -> None:
        whole = unittest_output(tmp_path, UNITTESTS).replace(f"{tmp_path}/", "")
        summary = summarise(whole, failed=True, result_id="a7")
        assert len(summary) < len(whole) / 2
        for quoted in [
            "FAILED (failures=3, errors=1)\n",
            "FAIL test_add\n  test_app.py:6: self.assertEqual(add(1, 2), 3)\n  AssertionError: -1 != 3\n",
            "ERROR test_div\n  test_app.py:9: self.assertEqual(div(1, 0), 0)\n  app.py:",
            "  ZeroDivisionError: division by zero\n",
            "  AssertionError: Lists differ: [1, 2, 3] != [1, 5, 3]\n",
            "FAIL test_each (n=2)\n",
            'read_result("a7") shows all]',
        ]:
            assert quoted in summary
        assert "test_fine" not in summary

    def test_import_errors(self, tmp_path: Path) -> None:
        whole = unittest_output(tmp_path, "import unittest\nimport not_there\n")
        assert "ModuleNotFoundError: No module named 'not_there'" in summarise(whole, failed=True)

    def test_many_failures_are_all_named(self, tmp_path: Path) -> None:
        many = "".join(f"    def test_{n}(self):\n        self.assertEqual({n}, 'x' * 200)\n" for n in range(30))
        whole = unittest_output(tmp_path, f"import unittest\nclass T(unittest.TestCase):\n{many}")
        summary = summarise(whole, failed=True, result_id="a7")
        assert len(summary) <= 2400
        assert all(f"FAIL test_{n}" in summary for n in range(30))
