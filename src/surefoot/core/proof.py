"""Proof: the strength of the evidence for a run's result, and the project's tests before and after the run."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Literal, TypeAlias

from surefoot.core.values import FreeText, Value

ProofLetter: TypeAlias = Literal["A", "B", "C"]


class ProofLevel(StrEnum):
    """How strong the evidence is. docs/concepts/proof.md has the table."""

    GIVEN_CHECK = "given_check"
    """A: a check of the user or the project failed before the run and passes now."""
    OWN_TEST = "own_test"
    """B: a test that the run wrote fails on the tree before the run and passes now."""
    NONE = "none"
    """C: no check that failed before is known to pass now, or something makes the proof worthless: blocked steps,
    fallback results, weakened tests, regressions and others. Also for a run that did not finish or only made a plan."""

    @property
    def letter(self) -> ProofLetter:
        return "A" if self is ProofLevel.GIVEN_CHECK else "B" if self is ProofLevel.OWN_TEST else "C"


class SuiteCounts(Value):
    """How many tests a command ran, as its test runner reports it."""

    collected: int = 0
    passed: int = 0
    failed: int = 0
    """Failed or broken, also while being collected."""
    skipped: int = 0
    """Skipped, expected to fail, pending, ignored or deselected."""

    @property
    def ran(self) -> int:
        return self.passed + self.failed

    def as_text(self) -> str:
        parts = [f"{self.passed} passed", f"{self.failed} failed" if self.failed else ""]
        return ", ".join(filter(None, [*parts, f"{self.skipped} skipped" if self.skipped else ""]))


TestFate = Literal["moved", "changed", "removed", "skipped"]
"""What happened to a test that existed before the run."""


class AlteredTest(Value):
    """A test, or a file of tests, that is not as it was before the run."""

    name: FreeText
    """`tests/test_api.py::test_get`, or the path of a file whose tests cannot be told apart."""
    fate: TestFate
    asked: bool = False
    """Whether the wording of the task asks for this."""

    line: FreeText = ""
    """The line that switches it off, if there is one."""

    def as_text(self) -> str:
        return f"{self.name} was {self.fate}" + (f" by the line {self.line!r}" if self.line else "")


def weakened_of(altered: Iterable[AlteredTest]) -> tuple[AlteredTest, ...]:
    """The tests that were changed, removed or skipped although the task does not ask for it."""
    return tuple(test for test in altered if test.fate != "moved" and not test.asked)


class SuiteEvidence(Value):
    """The results of the project's tests before and after the run."""

    command: str = ""
    """The command that runs the project's tests; empty if none is known."""
    before: SuiteCounts | None = None
    after: SuiteCounts | None = None
    given_only: bool = False
    """Whether `after` counts only the tests that were there before the run, and none that it wrote."""
    regressions: tuple[FreeText, ...] = ()
    """Tests that passed before the run and fail now, each twice in a row."""
    regressions_unknown: FreeText = ""
    """Why it is not known whether a test regressed; empty if it is known."""
    no_longer_run: tuple[FreeText, ...] = ()
    """Tests that ran before and do not run now: skipped, deselected, or not found. Names, or how many."""
    altered: tuple[AlteredTest, ...] = ()
    """Tests that existed before the run and were moved, changed, removed or skipped in their files."""
    own_tests: tuple[FreeText, ...] = ()
    """Tests that the run wrote, that fail on the tree before the run and pass now."""
    own_tests_problem: FreeText = ""
    """Why the tests that the run wrote prove nothing; empty if they do, or if there are none."""

    @property
    def counted(self) -> str:
        """A note in brackets on the tests that `before` and `after` count; empty if they count every test."""
        if not self.given_only:
            return ""
        new = len([name for name in self.own_tests if "::" in name])
        return f" (given tests; +{new} new)" if new else " (given tests)"

    @property
    def weakened(self) -> tuple[AlteredTest, ...]:
        """Tests that were changed, removed or skipped although the task does not ask for it."""
        return weakened_of(self.altered)
