"""Compares the project's tests before the run and after it: regressions, and tests that no longer run.

The tests run twice at the end, on copies: of the snapshot before the run, and of the final tree with the given tests. A
run that fails earlier therefore pays nothing. If a given check is the project's suite, its own results are compared
instead.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from surefoot.core.outcome import CheckResult
from surefoot.core.plan import CommandCheck
from surefoot.core.proof import SuiteCounts
from surefoot.engine.runtime.run import Run
from surefoot.engine.verifier.suite.compare import fewer, may_be_fewer, no_longer_run, regressions, results_of
from surefoot.engine.verifier.suite.project_commands import project_checks
from surefoot.engine.verifier.suite.python_tests import SHARED
from surefoot.engine.verifier.suite.report import SuiteRun
from surefoot.project.folder import list_files


@dataclass(frozen=True, slots=True)
class Trees:
    """The trees that tests run on, as snapshots."""

    before: str
    """The workspace before the run."""
    now: str
    """The workspace as it is."""
    given: str
    """The workspace as it is, but with the files that decide what tests do as they were given."""
    given_texts: Mapping[str, str] = field(default_factory=dict)
    """Files of `given` that have a part from before the run, with their text."""
    may_skip: bool = False
    """Whether a given test file may skip tests."""
    moved: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """By file: the names of given tests that were moved there."""


@dataclass(frozen=True, slots=True)
class Comparison:
    command: str = ""
    before: SuiteCounts | None = None
    after: SuiteCounts | None = None
    regressions: tuple[str, ...] = ()
    unknown: str = ""
    no_longer_run: tuple[str, ...] = field(default=())
    output: str = ""
    """The output of the runner after the run."""
    given_only: bool = False
    """Whether `after` leaves out the tests that the run wrote."""


def suite_command(run: Run) -> str:
    """Return the command that runs the project's tests: the configured one, or one that the folder shows.

    Empty if none is known.
    """
    if run.config.baseline not in ("auto", "off"):
        return run.config.baseline
    before = run.files_before()
    checks = project_checks(run.root, [path for path in list_files(run.root) if path in before])
    return checks[0].command if checks else ""


async def compare_suite(run: Run, results: Sequence[CheckResult], trees: Trees) -> Comparison:
    """Compare the project's tests before and after the run."""
    lost = (*await _lost_in_checks(run, results, trees), *await _lost_by_moving(run, results, trees))
    if run.config.baseline == "off":
        return Comparison(unknown="the comparison is switched off (baseline)", no_longer_run=lost)
    command = suite_command(run)
    if not command:
        return Comparison(unknown="no command that runs the project's tests is known", no_longer_run=lost)
    suite_result = next((r for r in results if _is_suite(r, command)), None)
    if suite_result is not None:
        before = run.state.counts_at_start.get(suite_result.check.key)
        return Comparison(command, before, suite_result.counts, no_longer_run=lost)
    if not run.suite.can_run:
        reason = "the workspace is too large to be copied"
        return Comparison(command, unknown=reason, no_longer_run=lost)
    run.bus.checking("the project's tests, to compare them before and after the run")
    was = await run.suite.run(command, trees.before)
    if was.problem:
        return Comparison(command, unknown=f"before the run: {was.problem}", no_longer_run=lost)
    now = await run.suite.run(command, trees.given, trees.given_texts)
    if now.problem and not was.green:
        return Comparison(command, was.report.counts, unknown=f"after the run: {now.problem}", no_longer_run=lost)
    failing = await _steady_regressions(run, command, was, now, trees)
    not_run = no_longer_run(was.report, now.report, may_skip=trees.may_skip)
    lost = tuple(dict.fromkeys([*lost, *(name for name in not_run if name not in failing)]))
    counts, given_only = (was.report.counts, now.report.counts), bool(trees.given != trees.now or trees.given_texts)
    return Comparison(command, *counts, failing, "", lost, now.output, given_only)


async def _steady_regressions(run: Run, command: str, was: SuiteRun, now: SuiteRun, trees: Trees) -> tuple[str, ...]:
    """Return the regressions that stay when the tests are run once more. A test that then passes is flaky."""
    regressed = regressions(was, now, command)
    if not regressed:
        return ()
    again = await run.suite.run(command, trees.given, trees.given_texts, again=True)
    if again.problem:
        return regressed
    second = regressions(was, again, command)
    named = {name for name in regressed if name in second}
    return tuple(sorted(named)) if named or not second else second


async def _lost_in_checks(run: Run, results: Sequence[CheckResult], trees: Trees) -> tuple[str, ...]:
    """Return the tests that a given check ran before the run and no longer runs."""
    lost: list[str] = []
    counts: Mapping[str, SuiteCounts] = run.state.counts_at_start
    for result in results:
        check = result.check
        if not isinstance(check, CommandCheck) or check.origin == "plan" or not run.state.checked_before:
            continue
        if not may_be_fewer(before := counts.get(check.key), result.counts):
            continue
        lost_in_check = fewer(before, result.counts, may_skip=trees.may_skip)
        if run.suite.can_run:
            was = await run.suite.run(check.command, trees.before)
            now = await run.suite.run(check.command, trees.given, trees.given_texts)
            if not was.problem and not now.problem:
                lost_in_check = no_longer_run(was.report, now.report, may_skip=trees.may_skip)
        lost += lost_in_check
    return tuple(dict.fromkeys(lost))


async def _lost_by_moving(run: Run, results: Sequence[CheckResult], trees: Trees) -> list[str]:
    """Return the tests that were moved to a place where no command that ran tests before runs them.

    On the judged tree they are back in their old places, so the tree as it is now is used.
    """
    if not trees.moved or not run.suite.can_run:
        return []
    check_commands = [
        r.check.command for r in results if isinstance(r.check, CommandCheck) and r.check.origin != "plan"
    ]
    runs: list[SuiteRun] = []
    for command in dict.fromkeys(filter(None, [suite_command(run), *check_commands])):
        was, now = await run.suite.run(command, trees.before), await run.suite.run(command, trees.now)
        if was.report.names_all and now.report.names_all and was.report.tests:
            runs.append(now)
        elif fewer(was.report.counts, now.report.counts, may_skip=trees.may_skip):
            return [f"the tests that were moved to {', '.join(trees.moved)}"]
    tests = [(path, name) for path, names in trees.moved.items() for name in names if name and name != SHARED]
    ran = {test for test in tests for result in runs if results_of(result, *test) - {"skipped"}}
    return [f"{path}::{name}" for path, name in tests if runs and (path, name) not in ran]


def _is_suite(result: CheckResult, command: str) -> bool:
    """Whether a check runs exactly what the suite's command runs."""
    check = result.check
    return isinstance(check, CommandCheck) and check.expect_exit == 0 and _plain(check.command) == _plain(command)


def _plain(command: str) -> str:
    """Return a command without the options that do not change which tests it runs."""
    words = re.sub(r"\bpython[\d.]* -m (?=pytest\b)", "", command)
    words = re.sub(r"\bpython[\d.]*(?= -m )", "python", words)
    words = re.sub(r"(-m unittest) discover(?! -)", r"\1", words)
    quiet = ("-q", "-qq", "-v", "-vv", "-s", "-x", "-b", "--quiet", "--verbose", "--silent", "--tb=short", "-ra", "-rA")
    keep_s = "unittest" in words  # its -s names a folder
    return " ".join(word for word in words.split() if word not in quiet or (keep_s and word == "-s"))
