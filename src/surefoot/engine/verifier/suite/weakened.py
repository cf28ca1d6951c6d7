"""Compares the tests of two snapshots: those of the whole run, or those that one step has touched.

`test_policy` decides what counts as weakened. A tool that declares its files refuses to weaken a test. A command can
write anything, so the tests are compared when its step ends.
"""

import asyncio

from surefoot.core.proof import AlteredTest
from surefoot.engine.runtime.run import Run
from surefoot.engine.verifier.suite.test_policy import TestChanges, compare_tests
from surefoot.errors import PathProtected
from surefoot.journal.state import StepRun
from surefoot.project.folder import is_test
from surefoot.tools.context import weakening
from surefoot.workspace.errors import as_path, as_text
from surefoot.workspace.snapshots.manifest import Entry

MAX_TEST_BYTES = 2_000_000
"""A larger file among the tests is data: it is compared as a whole."""


def changes_of_tests(run: Run, before: str, now: str) -> TestChanges:
    """Compare the tests, and the scripts of checks, between two snapshots."""
    old: dict[str, bytes] = {}
    new: dict[str, bytes] = {}
    for change in run.workspace.changes(before, now):
        if change.kind == "mode" or not _is_test_or_script(run, change.path):
            continue
        for entry, versions in ((change.before, old), (change.after, new)):
            if entry is not None and entry.kind in ("file", "symlink"):
                versions[change.path] = content_of(run, entry)
    return compare_tests(old, new, run.task.text)


async def weakened_by(run: Run, step_run: StepRun) -> PathProtected | None:
    """Return the error that a tool that declares its files would have raised, if the step has weakened tests.

    Changes that the task asks for, and tests that were only extended or moved, do not count. Nothing is compared if the
    step touched no given test.
    """
    before = run.files_before()
    touched = {path for path in map(as_path, step_run.touched) if path in before and _is_test_or_script(run, path)}
    if not touched:
        return None
    changes = await asyncio.to_thread(changes_of_tests, run, run.state.snapshot, await run.snapshot())
    by_path: dict[str, list[AlteredTest]] = {}
    for test in changes.weakened:
        if (path := test.name.partition("::")[0]) in touched:
            by_path.setdefault(path, []).append(test)
    return weakening({as_text(path): "; ".join(t.as_text() for t in by_path[path][:5]) for path in by_path})


def content_of(run: Run, entry: Entry) -> bytes:
    if entry.kind == "symlink" or entry.size > MAX_TEST_BYTES:
        return f"{entry.kind} {entry.target} {entry.digest}".encode()
    return run.workspace.blobs.get(entry.digest)


def _is_test_or_script(run: Run, path: str) -> bool:
    """Whether a file is a test, or a script of a check."""
    return is_test(path) or path in run.state.protected
