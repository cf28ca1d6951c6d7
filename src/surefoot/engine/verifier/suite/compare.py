"""Compares two runs of the same tests: finds tests that passed and now fail, and tests that no longer run. Pure."""

import re

from surefoot.core.proof import SuiteCounts
from surefoot.engine.verifier.suite.report import SuiteReport, SuiteRun


def regressions(before: SuiteRun, after: SuiteRun, command: str) -> tuple[str, ...]:
    """Return the tests that passed before and fail now: names, or how many if they are not named."""
    if after.green:
        return ()
    was, now = before.report, after.report
    if was.names_all:
        # If a file can no longer be loaded, none of its tests is reported.
        lost = was.names("passed") - now.tests.keys() if now.names_all else set()
        return tuple(sorted({name for name in now.names("failed") if was.tests.get(name) == "passed"} | lost))
    if now.tests and was.counts is not None:
        return tuple(sorted(now.names("failed") - was.names("failed")))
    if was.counts is not None and now.counts is not None:
        increase = now.counts.failed - was.counts.failed
        return (_number(increase),) if increase > 0 else ()
    return (f"the command {command!r} as a whole",) if before.green else ()


def no_longer_run(was: SuiteReport, now: SuiteReport, *, may_skip: bool) -> tuple[str, ...]:
    """Return the tests that ran before and do not run now: names, or how many.

    `may_skip`: the given test files themselves may skip tests. Then a skipped test counts only if it is known to have
    run before.
    """
    if was.names_all and now.names_all:
        ran = {name for name in was.names("passed") | was.names("failed") if not _is_file(name, was, now)}
        runs = now.names("passed") | now.names("failed")
        # Names of parametrized tests may depend on the code under test, so a missing name alone says little.
        missing = len(runs) < len(ran) and not now.names("failed")
        lost = {name for name in ran - runs if name in now.tests or missing}
        skipped = {name for name in now.names("skipped") if name not in was.tests and not may_skip}
        return tuple(sorted(lost | skipped))
    return fewer(was.counts, now.counts, may_skip=may_skip)


def results_of(run: SuiteRun, path: str, name: str) -> set[str]:
    """Return the results of a test with all its parameters. Some runners name its module, others its file."""
    module = re.escape(path.removesuffix(".py").replace("/", "."))
    tail = re.escape(name.replace("::", "."))
    last = re.escape(path.removesuffix(".py").rsplit("/", 1)[-1])
    pattern = re.compile(rf"(?:^|.*\.)(?:{module}|{last})\.{tail}(?:\[.*)?$", re.DOTALL)
    plain = (
        (test_id.replace(".py::", ".").replace("::", ".").replace("/", "."), r)
        for test_id, r in run.report.tests.items()
    )
    return {result for test_id, result in plain if pattern.match(test_id)}


def may_be_fewer(was: SuiteCounts | None, now: SuiteCounts | None) -> bool:
    """Whether the names of the tests should be compared: fewer ran than before, or more were skipped."""
    return now is not None and (now.ran < (was.ran if was else 0) or now.skipped > (was.skipped if was else 0))


def fewer(was: SuiteCounts | None, now: SuiteCounts | None, *, may_skip: bool) -> tuple[str, ...]:
    """Return how many tests no longer run, by the counts alone."""
    if now is None:
        return ()
    was = was or SuiteCounts()
    # A file whose tests could not be loaded is counted as one failure, so only tests that passed are known.
    unknown_before = was.failed > 0 or was.collected == 0
    skipped = now.skipped - was.skipped
    if skipped > 0 and not (may_skip and unknown_before and now.collected > was.collected):
        return (f"{_number(skipped)} more skipped than before",)
    if now.ran < was.passed:
        return (f"{_number(was.passed - now.ran)} fewer than before",)
    return ()


def _is_file(name: str, was: SuiteReport, now: SuiteReport) -> bool:
    """Whether a name in the earlier report stands for a file whose tests could not be loaded."""
    if name.startswith("unittest.loader._FailedTest."):
        return True
    if any("::" in other for other in (*was.tests, *now.tests)) or not now.tests:
        return "::" not in name
    return any(other.startswith(f"{name}.") for other in now.tests)


def _number(count: int) -> str:
    return f"{count} test" if count == 1 else f"{count} tests"
