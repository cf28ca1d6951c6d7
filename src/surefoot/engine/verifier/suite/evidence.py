"""Collects the evidence of the project's tests about a run whose checks pass on the final tree."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from surefoot.core.outcome import CheckResult, given
from surefoot.core.plan import CommandCheck
from surefoot.core.proof import SuiteEvidence
from surefoot.engine.runtime.run import Run
from surefoot.engine.verifier.judged_view import find_differences
from surefoot.engine.verifier.suite.baseline import Comparison, Trees, compare_suite, suite_command
from surefoot.engine.verifier.suite.own_tests import OwnProof, prove_by_own_tests
from surefoot.engine.verifier.suite.python_tests import speaks_of_skipping
from surefoot.engine.verifier.suite.test_policy import TestChanges
from surefoot.engine.verifier.suite.weakened import MAX_TEST_BYTES, changes_of_tests, content_of
from surefoot.project.folder import is_test
from surefoot.tools.text.summary import summarise
from surefoot.workspace.snapshots.manifest import Entry


@dataclass(frozen=True, slots=True)
class Weighed:
    evidence: SuiteEvidence
    output: str = ""
    """The output of the test runner, shortened, if there are regressions."""


async def weigh_tests(run: Run, results: Sequence[CheckResult]) -> Weighed:
    """Compare the project's tests before and after the run, and run the tests that the run wrote."""
    if (recorded := run.suite.recorded_evidence()) is not None:
        return Weighed(recorded)
    before, now = run.state.snapshot, await run.snapshot()
    changes = await asyncio.to_thread(changes_of_tests, run, before, now)
    trees = replace(await asyncio.to_thread(_trees, run, before, now, results), moved=changes.moved)
    comparison = await compare_suite(run, results, trees)
    proof = OwnProof()
    if changes.own and not _is_proven(run, results) and not (comparison.regressions or comparison.no_longer_run):
        proof = await prove_by_own_tests(run, changes.own, trees)
    return Weighed(
        _evidence(comparison, changes, proof),
        summarise(comparison.output, failed=True) if comparison.regressions else "",
    )


def _is_proven(run: Run, results: Sequence[CheckResult]) -> bool:
    """Whether a check of the user or the project was red before: then the run's own tests add nothing."""
    return any(r.check.key in run.state.red_at_start for r in given(results))


def _evidence(comparison: Comparison, changes: TestChanges, proof: OwnProof) -> SuiteEvidence:
    return SuiteEvidence(
        command=comparison.command,
        before=comparison.before,
        after=comparison.after,
        given_only=comparison.given_only,
        regressions=comparison.regressions,
        regressions_unknown=comparison.unknown,
        no_longer_run=comparison.no_longer_run,
        altered=changes.altered,
        own_tests=proof.tests,
        own_tests_problem=proof.problem,
    )


def _trees(run: Run, before: str, now: str, results: Sequence[CheckResult]) -> Trees:
    commands = [r.check.command for r in results if isinstance(r.check, CommandCheck) and r.check.origin != "plan"]
    differences = find_differences(run, now, [*commands, suite_command(run)])
    paths = [*differences.restored, *differences.left_out]
    judged = run.workspace.with_paths_from(now, before, paths) if paths else now
    return Trees(before, now, judged, differences.merged, may_skip=_may_skip(run, run.files_before()))


def _may_skip(run: Run, entries: Mapping[str, Entry]) -> bool:
    """Whether a given test file may skip tests."""
    tests = [e for p, e in entries.items() if e.kind == "file" and is_test(p) and e.size <= MAX_TEST_BYTES]
    return any(speaks_of_skipping(content_of(run, entry).decode("utf-8", "replace")) for entry in tests)
