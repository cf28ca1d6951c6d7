"""Counts and names from the reports of test runners."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from surefoot.core.proof import SuiteCounts
from surefoot.engine.verifier.suite.compare import fewer, no_longer_run, regressions
from surefoot.engine.verifier.suite.report import Result, SuiteReport, SuiteRun, read_junit, read_report

TESTS = """
import unittest
import pytest

class T(unittest.TestCase):
    def test_ok(self):
        '''A docstring, which the verbose report shows.'''
    def test_bad(self):
        self.fail('no')
    @unittest.skip('later')
    def test_skipped(self):
        pass
    @unittest.expectedFailure
    def test_expected(self):
        self.fail('yes')
"""
NAMES: dict[str, Result] = {"ok": "passed", "bad": "failed", "skipped": "skipped", "expected": "skipped"}


def counts(passed: int, failed: int, skipped: int) -> SuiteCounts:
    return SuiteCounts(collected=passed + failed + skipped, passed=passed, failed=failed, skipped=skipped)


def output_of(folder: Path, *argv: str) -> str:
    (folder / "test_a.py").write_text(TESTS)
    done = subprocess.run(
        [sys.executable, "-m", *argv],
        cwd=folder,
        # Without plugins pytest starts in a fraction of the time.
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""},
        text=True,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    return done.stdout


@pytest.mark.parametrize("options", [["-q"], [], ["-v"], ["-rA"]])
def test_pytest(tmp_path: Path, options: list[str]) -> None:
    output = output_of(tmp_path, "pytest", "-p", "no:cacheprovider", "--junitxml=out.xml", *options)
    report = read_report(output)
    assert report.counts == counts(1, 1, 2)
    assert "test_a.py::T::test_bad" in report.names("failed")
    xml = read_junit((tmp_path / "out.xml").read_text())
    assert xml is not None
    assert xml.names_all
    assert xml.counts == counts(1, 1, 2)
    assert xml.tests == {f"test_a.T::test_{name}": result for name, result in NAMES.items()}


@pytest.mark.parametrize("options", [[], ["-q"], ["-v"]])
def test_unittest(tmp_path: Path, options: list[str]) -> None:
    report = read_report(output_of(tmp_path, "unittest", *options))
    assert report.counts == counts(1, 1, 2)
    assert report.names("failed") == {"test_a.T.test_bad"}
    assert report.names_all is ("-v" in options)
    if report.names_all:
        assert report.tests == {f"test_a.T.test_{name}": result for name, result in NAMES.items()}


OUTPUTS: dict[str, tuple[str, tuple[int, int, int] | None, set[str]]] = {
    "cargo": (
        """test a::b ... ok
test c ... FAILED
test d ... ignored

test result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; 2 filtered out; finished in 0.00s""",
        (1, 1, 3),
        {"c"},
    ),
    "go -v": (
        """=== RUN   TestA
--- PASS: TestA (0.00s)
--- FAIL: TestB (0.00s)
--- SKIP: TestC (0.00s)
FAIL
FAIL\tx\t0.1s""",
        (1, 1, 1),
        {"TestB"},
    ),
    "go -json": (
        """{"Action":"pass","Package":"x","Test":"TestA"}
{"Action":"fail","Package":"x","Test":"TestB"}""",
        (1, 1, 0),
        {"x.TestB"},
    ),
    "jest": (
        """  \u2713 adds (2 ms)
  \u2715 fails (1 ms)
  \u25cb skipped later

Tests:       1 failed, 1 skipped, 1 passed, 3 total""",
        (1, 1, 1),
        {"fails"},
    ),
    "vitest": (
        """ \u2713 a.test.ts > adds 2ms
 \u00d7 a.test.ts > fails 1ms

      Tests  1 failed | 1 passed | 2 skipped (4)""",
        (1, 1, 2),
        {"a.test.ts > fails"},
    ),
    "mocha": (
        """  \u2714 adds
  1) fails

  1 passing (5ms)
  1 pending
  1 failing
""",
        (1, 1, 1),
        set(),
    ),
    "node, TAP": (
        """ok 1 - adds
ok 2 - later # SKIP
not ok 3 - bad
1..3
# tests 3
# suites 0
# pass 1
# fail 1
# cancelled 0
# skipped 1
# todo 0""",
        (1, 1, 1),
        {"bad"},
    ),
    "node, spec": (
        """\u2714 adds (0.5ms)
\u2716 bad (1ms)
\u2139 tests 2
\u2139 pass 1
\u2139 fail 1
\u2139 skipped 0""",
        (1, 1, 0),
        {"bad"},
    ),
    "TAP": ("1..2\nok 1 - a\nnot ok 2 - b\n", (1, 1, 0), {"b"}),
    "ctest": (
        """    Start 1: a
1/2 Test #1: a ......   Passed    0.01 sec
2/2 Test #2: b ......***Failed    0.01 sec

50% tests passed, 1 tests failed out of 2""",
        (1, 1, 0),
        {"b"},
    ),
    "rspec": (
        "rspec ./spec/a_spec.rb:3 # adds\n5 examples, 1 failure, 2 pending",
        (2, 1, 2),
        {"./spec/a_spec.rb:3"},
    ),
    "surefire": (
        """Tests run: 2, Failures: 1, Errors: 0, Skipped: 0, Time elapsed: 0.1 s - in ATest
[ERROR]   ATest.adds:12 expected
[ERROR] Tests run: 5, Failures: 1, Errors: 1, Skipped: 1
""",
        (2, 2, 1),
        {"ATest.adds"},
    ),
    "phpunit, green": ("OK (3 tests, 5 assertions)", (3, 0, 0), set()),
    "phpunit, red": (
        "1) ATest::testAdd\nTests: 4, Assertions: 5, Failures: 1, Skipped: 1.",
        (2, 1, 1),
        {"ATest::testAdd"},
    ),
    "pytest, deselected": ("..\n2 passed, 1 deselected, 1 xfailed in 0.01s", (2, 0, 2), set()),
    "two runners": ("1 passed in 0.1s\nTests: 2 passed, 2 total", (3, 0, 0), set()),
    "no runner": ("build ok\n", None, set()),
}


@pytest.mark.parametrize("runner", OUTPUTS)
def test_other_runners(runner: str) -> None:
    output, expected, failed = OUTPUTS[runner]
    report = read_report(output)
    assert report.counts == (counts(*expected) if expected else None)
    assert report.names("failed") == failed


def named(**tests: Result) -> SuiteReport:
    results = list(tests.values())
    return SuiteReport(counts(*(results.count(r) for r in ("passed", "failed", "skipped"))), tests, names_all=True)


def done(report: SuiteReport) -> SuiteRun:
    return SuiteRun(report, 1 if report.counts is None or report.counts.failed else 0, "")


@pytest.mark.req("X13")
def test_what_passed_and_fails_now_is_a_regression() -> None:
    before = done(named(a="passed", b="failed", c="passed"))
    assert regressions(before, done(named(a="failed", b="failed", c="passed", new="failed")), "t") == ("a",)
    assert regressions(before, done(named(a="passed", b="passed", c="passed")), "t") == ()
    # A file that cannot be loaded any more takes its tests with it.
    assert regressions(before, done(named(a="passed", file="failed")), "t") == ("c",)


def test_regressions_without_names_are_counted() -> None:
    green, red = SuiteRun(SuiteReport(), 0, ""), SuiteRun(SuiteReport(), 1, "")
    assert regressions(green, red, "make test") == ("the command 'make test' as a whole",)
    assert regressions(red, red, "make test") == ()
    one, two = (SuiteRun(SuiteReport(counts(3, n, 0)), 1, "") for n in (1, 2))
    assert regressions(one, two, "t") == ("1 test",)


@pytest.mark.req("X13")
def test_tests_that_no_longer_run_are_named() -> None:
    before = named(a="passed", b="failed", c="skipped")
    assert no_longer_run(before, named(a="passed", b="skipped", c="skipped"), may_skip=True) == ("b",)
    assert no_longer_run(before, named(a="passed", c="skipped"), may_skip=True) == ("b",)
    assert no_longer_run(before, named(a="passed", b="passed", c="skipped", new="passed"), may_skip=False) == ()
    # Before, the file could not be loaded: its tests were not known.
    broken = SuiteReport(counts(0, 1, 0), {"test_x": "failed"}, names_all=True)
    now = SuiteReport(counts(1, 0, 1), {"test_x::a": "passed", "test_x::b": "skipped"}, names_all=True)
    assert no_longer_run(broken, now, may_skip=False) == ("test_x::b",)
    assert no_longer_run(broken, now, may_skip=True) == ()
    # A script that only looks like a test file fails to load before, and has no tests now.
    assert no_longer_run(broken, SuiteReport(counts(0, 0, 0), {}, names_all=True), may_skip=False) == ()


def test_counts_alone_tell_that_fewer_tests_run() -> None:
    assert fewer(counts(3, 0, 0), counts(2, 0, 0), may_skip=True) == ("1 test fewer than before",)
    assert fewer(counts(3, 0, 0), counts(2, 0, 1), may_skip=True) == ("1 test more skipped than before",)
    assert fewer(counts(0, 1, 0), counts(2, 0, 1), may_skip=True) == ()
    assert fewer(counts(0, 1, 0), counts(2, 0, 1), may_skip=False) == ("1 test more skipped than before",)
    assert fewer(counts(1, 2, 0), counts(3, 0, 0), may_skip=False) == ()
    assert fewer(None, counts(3, 0, 0), may_skip=False) == ()
