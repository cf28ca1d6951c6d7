"""Proof by the run's own tests: they fail on the tree before the run, and pass on the tree as it is now.

A test that cannot fail proves nothing, and neither does one that any content of the new files would pass.
"""

import asyncio
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from surefoot.engine.runtime.run import Run
from surefoot.engine.verifier.hollow import write_empty_files
from surefoot.engine.verifier.suite.baseline import Trees, suite_command
from surefoot.engine.verifier.suite.compare import results_of
from surefoot.engine.verifier.suite.project_commands import project_checks
from surefoot.engine.verifier.suite.report import SuiteRun
from surefoot.engine.verifier.suite.running import runs_pytest, runs_unittest
from surefoot.project.folder import is_test, list_files


@dataclass(frozen=True, slots=True)
class OwnProof:
    tests: tuple[str, ...] = ()
    """The tests that prove the result."""
    problem: str = ""
    """Why there are none, although the run wrote tests."""


async def prove_by_own_tests(run: Run, own: Mapping[str, Sequence[str]], trees: Trees) -> OwnProof:
    """Run the tests that the run wrote on both trees. `own`: their names by file, empty where they are not known."""
    command = _command_for(run, own)
    if not command:
        return OwnProof(problem="no command that runs them is known")
    if not run.suite.can_run:
        return OwnProof(problem="the workspace is too large to be copied")
    before = await asyncio.to_thread(_with_tests_of, run, trees)
    red = await run.suite.run(command, before, limited=False)
    green = await run.suite.run(command, trees.now, limited=False)
    proof = judge_own_tests(own, red, green)
    if proof.tests and not all(own.values()) and await _failed_before_too(run, command, trees, red):
        return OwnProof(problem="it cannot be told whether they or other tests fail on the tree before the run")
    if proof.tests and await _passes_with_empty_files(run, command, trees, before):
        return OwnProof(problem="they also pass when nothing is in the new files")
    return proof


def judge_own_tests(own: Mapping[str, Sequence[str]], red: SuiteRun, green: SuiteRun) -> OwnProof:
    """Decide by the results on the tree before the run (`red`) and on the tree now (`green`). Pure."""
    if red.problem:
        return OwnProof(problem=f"on the tree before the run: {red.problem}")
    if green.problem or not green.green:
        return OwnProof(problem=green.problem or "they do not all pass on the final tree")
    counts = green.report.counts
    if counts is not None and not counts.passed:
        return OwnProof(problem="none of them was run")
    if red.exit_code == 0:
        return OwnProof(problem="they also pass on the tree before the run")
    if _is_broken_itself(own, red.output):
        return OwnProof(problem="on the tree before the run they cannot even be read")
    names = [(path, name) for path, tests in own.items() for name in tests]
    if not names or not green.report.names_all:
        return OwnProof(tests=tuple(f"{path}::{name}" for path, name in names) or tuple(own))
    proving = []
    for path, name in names:
        now = results_of(green, path, name)
        if "passed" not in now or "failed" in now:
            return OwnProof(problem=f"{path}::{name} does not pass on the final tree")
        was = results_of(red, path, name)
        if "failed" in was or (not was and _could_not_be_loaded(red, path)):
            proving.append(f"{path}::{name}")
    if not proving:
        return OwnProof(problem="they also pass on the tree before the run")
    return OwnProof(tests=tuple(proving))


def _could_not_be_loaded(run: SuiteRun, path: str) -> bool:
    """Whether no test of a file is reported, because an import of it failed."""
    last = path.removesuffix(".py").rsplit("/", 1)[-1]
    reported = [name.replace(".py::", ".").replace("::", ".").replace("/", ".") for name in run.report.tests]
    return bool(run.report.names("failed")) and not any(f".{last}." in f".{name}" for name in reported)


def _is_broken_itself(own: Iterable[str], output: str) -> bool:
    """Whether a test file has a syntax error. Its failure before the run then proves nothing."""
    if not re.search(r"\b(?:SyntaxError|IndentationError|TabError)\b", output):
        return False
    return any(
        re.search(
            rf'File "[^"]*{re.escape(path)}"[^\n]*\n(?:[^\n]*\n){{0,3}}\S*(?:Syntax|Indentation|Tab)Error', output
        )
        for path in own
    )


def _command_for(run: Run, own: Mapping[str, Sequence[str]]) -> str:
    """Return the command that runs the run's own tests, and as few others as possible."""
    command = suite_command(run) or next((c.command for c in project_checks(run.root, list_files(run.root))), "")
    files = [path for path in own if path.endswith(".py")]
    if files and len(files) == len(own) and not re.search(r"[;&|<>]", command):
        names = " ".join(map(shlex.quote, files))
        if runs_pytest(command):
            return f"python3 -m pytest -q {names}"
        if runs_unittest(command):
            return f"python3 -m unittest {names}"
    return command


def _with_tests_of(run: Run, trees: Trees) -> str:
    """Return a snapshot of the tree before the run with the test files as they are now."""
    changes = run.workspace.changes(trees.before, trees.now)
    tests = [c.path for c in changes if c.kind != "removed" and not c.is_folder and is_test(c.path)]
    return run.workspace.with_paths_from(trees.before, trees.now, tests)


async def _failed_before_too(run: Run, command: str, trees: Trees, red: SuiteRun) -> bool:
    """Whether at least as many tests fail on the tree before the run without the run's own tests."""
    was = (await run.suite.run(command, trees.before, limited=False)).report.counts
    now = red.report.counts
    return now is None or now.failed <= (was.failed if was else 0)


async def _passes_with_empty_files(run: Run, command: str, trees: Trees, before: str) -> bool:
    """Whether the tests pass on the tree before the run with an empty file for each new one."""
    changes = await asyncio.to_thread(run.workspace.changes, trees.before, trees.now)
    added = [c.path for c in changes if c.kind == "added" and not c.is_folder and not is_test(c.path)]
    if not added:
        return False
    async with run.suite.copy(before) as copy:
        await asyncio.to_thread(write_empty_files, run.root, copy.folder, added)
        return (await run.suite.run_in(copy, command)).green
