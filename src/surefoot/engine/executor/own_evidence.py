"""Evidence from a step itself: checks derived from its changes and its text, and files that it has to write.

A model's claim that a step is done is no evidence.
"""

import asyncio
import re
from collections.abc import Sequence

from surefoot.core.outcome import NOTHING_CHANGED, CheckResult, CriterionResult, Failure, FailureKind, evidence_of
from surefoot.core.plan import Check, CommandCheck, ExecutionStep, FileCheck, ParsesCheck, StepType
from surefoot.core.transitions import SETTLED
from surefoot.engine.runtime.run import Run
from surefoot.engine.verifier.suite.project_commands import project_checks
from surefoot.engine.verifier.suite.weakened import MAX_TEST_BYTES
from surefoot.journal.state import StepRun
from surefoot.project.asked_for import has_new_log_entry, is_document, missing_parts, parts_asked_for
from surefoot.project.folder import is_test
from surefoot.prompting.drafts.verbs import Verb
from surefoot.tools.fs.fileio import reader
from surefoot.workspace.errors import as_path, as_text
from surefoot.workspace.snapshots.diff import Change

CHANGES_SOMETHING = "the step changes something"
_PARSED = (".py", ".json", ".toml")
_QUOTED = re.compile(r"`([^`\n]+)`")
_TESTS = re.compile(
    r"^(?:python3? -m )?(?:pytest|py\.test|unittest|tox|nox|ruff check|mypy)\b"
    r"|^(?:npm|yarn|pnpm)(?: run)? (?:test|lint)\b|^(?:make|just) (?:test|check|lint)\b|^(?:cargo|go) test\b"
)
"""Commands that only check. Other commands in the text of a step are its work, not its checks."""


def derived_checks(run: Run, step_run: StepRun) -> tuple[Check, ...]:
    """Return checks for a step that has none: the files that it changed parse, and the test commands in its text pass.

    Without such commands, the tests that it wrote must pass, unless other steps are left that may make them pass.
    """
    step = step_run.step
    if step.tool:
        return ()
    changed = sorted(path for path in map(as_path, step_run.touched) if (run.root / path).is_file())
    checks: list[Check] = [ParsesCheck(path=path, origin="engine") for path in changed if path.endswith(_PARSED)]
    commands = [c.strip() for c in _QUOTED.findall(f"{step.name}\n{step.description}") if _TESTS.match(c.strip())]
    written = [path for path in changed if is_test(path)]
    others = any(r.status not in SETTLED for r in run.state.steps.values() if r is not step_run)
    if written and not commands and not others:
        commands = [check.command for check in project_checks(run.root, written)]
    checks += [CommandCheck(command=command) for command in dict.fromkeys(commands)]
    return tuple(check for check in checks if run.verifier.may_run(check))


def own_red(step: ExecutionStep, results: Sequence[CheckResult]) -> list[CheckResult]:
    """Return the failed checks that keep a step from being done, even if other checks decide.

    These are the checks of files that the step has to write, and for a testing step all checks of its own.
    """
    own = {check.key for check in step.checks}
    promised = {*step.writes, *step.expected_outputs}
    return [
        result
        for result in results
        if not result.passed and result.check.key in own
        if step.step_type is StepType.TESTING
        or (isinstance(result.check, FileCheck | ParsesCheck) and result.check.path in promised)
    ]


def unwritten(run: Run, step_run: StepRun) -> str:
    """Return a message if the name of a step asks for tests and no step has written any; empty otherwise."""
    name = step_run.step.name
    if "tests" not in parts_asked_for(name):
        return ""
    changed = [path for other in run.state.steps.values() for path in other.touched]
    missing = "tests" in missing_parts(name, changed)
    return f"the step '{name}' asks for tests, and no test file was written" if missing else ""


async def parts_missing_from(run: Run, changes: Sequence[Change]) -> list[str]:
    """Return the parts that the task asks for and that the changes since the start of the run do not provide."""
    parts = parts_asked_for(run.task.text)
    if not parts:
        return []
    changed = [as_text(change.path) for change in changes if not change.is_folder]
    logged = await asyncio.to_thread(_logged, run, changes) if "a changelog entry" in parts else []
    return missing_parts(run.task.text, changed, existing=run.files_before(), logged=logged)


def _logged(run: Run, changes: Sequence[Change]) -> list[str]:
    """Return the changed documents with a changelog section that has a new entry."""
    read = reader(run.root, MAX_TEST_BYTES // 4)
    return [
        as_text(change.path)
        for change in changes
        if is_document(as_text(change.path)) and has_new_log_entry(_text_before(run, change), read(change.path) or "")
    ]


def _text_before(run: Run, change: Change) -> str:
    old = change.before
    if old is None or old.kind != "file" or old.size > MAX_TEST_BYTES:
        return ""
    return run.workspace.blobs.get(old.digest).decode("utf-8", "replace")


def lack_of_evidence(run: Run, step_run: StepRun) -> Failure | None:
    """Return a failure if a step whose decisive checks pass has not done its work; None if it has."""
    if red := own_red(step_run.step, step_run.results):
        message = "its own checks fail: " + "; ".join(r.check.label for r in red)
        return Failure(kind=FailureKind.CHECK_FAILED, message=message, evidence=evidence_of(red))
    if message := unwritten(run, step_run):
        return Failure(kind=FailureKind.NO_PROGRESS, message=message)
    return None


def insisted(step_run: StepRun) -> tuple[CriterionResult, ...]:
    """Return an unmet criterion if the end of a step was refused, and it then ended without having changed a file."""
    was_refused = any(reason.startswith(f"{Verb.FINISH_STEP}:") for reason in step_run.refused)
    if not was_refused or step_run.touched or step_run.work_kept or step_run.step.step_type is StepType.TESTING:
        return ()
    return (CriterionResult(criterion=CHANGES_SOMETHING, met=False, because=NOTHING_CHANGED),)
