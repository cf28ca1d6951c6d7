"""The proof by tests that a run wrote, decided by two runs of them: on the tree before the run, and on the tree now."""

from typing import Literal

import pytest

from surefoot.core.proof import SuiteCounts
from surefoot.engine.verifier.suite.own_tests import OwnProof, judge_own_tests
from surefoot.engine.verifier.suite.report import SuiteReport, SuiteRun

pytestmark = pytest.mark.req("X12")
BEFORE = "they also pass on the tree before the run"


def ran(**tests: Literal["passed", "failed"]) -> SuiteRun:
    failed = list(tests.values()).count("failed")
    counts = SuiteCounts(collected=len(tests), passed=len(tests) - failed, failed=failed)
    report = SuiteReport(counts, {f"test_a.py::{name}": result for name, result in tests.items()}, names_all=True)
    return SuiteRun(report, 1 if failed else 0, "")


def test_only_the_own_tests_that_failed_before_are_named() -> None:
    own = {"test_a.py": ("test_x", "test_y")}
    proof = judge_own_tests(own, ran(test_x="failed", test_y="passed"), ran(test_x="passed", test_y="passed"))
    assert proof == OwnProof(tests=("test_a.py::test_x",))


@pytest.mark.attack("forge")
def test_own_tests_without_names_prove_nothing_if_they_passed_before() -> None:
    """A runner that does not name its tests has only an exit code."""
    green, red = SuiteRun(SuiteReport(), 0, ""), SuiteRun(SuiteReport(), 1, "")
    assert judge_own_tests({"test.sh": ()}, green, green).problem == BEFORE
    assert judge_own_tests({"test.sh": ()}, red, green) == OwnProof(tests=("test.sh",))


@pytest.mark.attack("forge")
@pytest.mark.parametrize(
    ("red", "green", "problem"),
    [
        (ran(test_x="passed"), ran(test_x="passed"), BEFORE),
        (ran(test_x="failed"), ran(test_x="failed"), "they do not all pass on the final tree"),
        (ran(test_x="failed"), ran(), "none of them was run"),
        (ran(test_other="failed"), ran(test_other="passed"), "test_a.py::test_x does not pass on the final tree"),
        (ran(test_x="passed", test_other="failed"), ran(test_x="passed", test_other="passed"), BEFORE),
    ],
    ids=["passed before", "fails now", "not run", "not among them", "another one failed before"],
)
def test_own_tests_that_prove_nothing(red: SuiteRun, green: SuiteRun, problem: str) -> None:
    assert judge_own_tests({"test_a.py": ("test_x",)}, red, green) == OwnProof(problem=problem)
