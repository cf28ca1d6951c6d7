"""Judges the criteria of a plan by evidence: checks, files, and the output of commands. No model is asked.

The model is told about an unmet criterion of a step once. If it stays unmet, the step counts as done but unproven: the
plan may be wrong about it, and a strong model knows better than a rule.
"""

from collections import ChainMap
from collections.abc import Iterable, Sequence
from typing import Any

from surefoot.core.outcome import CheckResult, CriterionResult, Failure, FailureKind, decisive
from surefoot.core.plan import CommandCheck, ExecutionStep, ExpressionCheck, StepKind
from surefoot.core.values import error_in_words
from surefoot.engine.planner.evidence import Evidence, asserted_files, checks_from_text, evaluate
from surefoot.engine.runtime.run import Run
from surefoot.engine.scheduler.conditions import evaluate as evaluate_expression
from surefoot.journal.state import StepRun, outputs_of
from surefoot.workspace.errors import as_path, as_text

UNMET = "the step does not meet its criterion"
OUTPUT_CHARS = 200_000
"""How much of the output of a command is searched."""


async def judge_step(run: Run, step_run: StepRun) -> tuple[CriterionResult, ...]:
    """Judge the criteria of a step as it is now. Each expected file that is missing is an unmet criterion."""
    step = step_run.step
    if not step.expected_outputs and not step.validation_criteria:
        return ()
    missing = [path for path in expected_files(step) if not _was_made(run, step_run, path)]
    judged = tuple(
        CriterionResult(criterion=f"{path} exists", met=False, because="the plan expects it, and it is not there")
        for path in missing
    )
    if not step.validation_criteria:
        return judged
    own = [_own_expression(run, step_run, check) for check in _expressions(step.validation_criteria)]
    results = (*step_run.results, *own)
    probes = await probe(run, step.validation_criteria, results, step.id)
    touched = [as_text(path) for path in map(as_path, step_run.touched) if (run.root / path).exists()]
    evidence = Evidence(
        results=(*results, *probes),
        deciding=(*decisive(step_run.results), *own, *probes),
        files=touched,
        printed=[*_printed_by_actions(run, step_run), *printed_by_checks(run, step_run.results)],
    )
    return (*evaluate(step.validation_criteria, evidence), *judged)


async def probe(
    run: Run, criteria: Iterable[str], known: Sequence[CheckResult], step_id: str = ""
) -> tuple[CheckResult, ...]:
    """Run the checks that criteria contain and that have not run yet: a command in backquotes, `FILE exists`."""
    keys = {result.check.key for result in known}
    by_key = {check.key: check for text in criteria for check in checks_from_text(text)}
    checks = [check for key, check in by_key.items() if key not in keys and run.verifier.may_run(check)]
    return await run.verifier.check(checks, "criteria", step_id)


def expected_files(step: ExecutionStep) -> tuple[str, ...]:
    """Return the files among the expected outputs of a step."""
    named = (path for text in step.expected_outputs for path in asserted_files(text))
    return tuple(dict.fromkeys(named))


def unmet(criteria: Iterable[CriterionResult]) -> str:
    """Return the criteria that are known to be unmet, in words; empty if there is none."""
    return "; ".join(f"{c.criterion} ({c.because})" for c in criteria if c.met is False)


def failure_to_tell(run: Run, step_run: StepRun, criteria: Iterable[CriterionResult]) -> Failure | None:
    """Return a failure if another attempt has to be told about an unmet criterion; None otherwise.

    A conversation was told when it finished the step, a step that names its tool asks no model, and candidates are
    judged by checks alone.
    """
    message = unmet(criteria)
    if not message:
        return None
    limits, own = run.config.reflection, step_run.step.max_retries
    retries_left = step_run.step_retry_count < (limits.max_step_retries if own is None else own)
    earlier = (*(failure.message for failure in step_run.failures), *step_run.refused)
    was_told = any(UNMET in text for text in earlier)
    can_be_told = run.step_kind(step_run) not in (StepKind.CALL, StepKind.CONVERSATION)
    can_be_told = can_be_told and limits.enable_step_level_reflection and not run.profile.candidates_first
    if was_told or not can_be_told or not retries_left:
        return None
    return Failure(kind=FailureKind.CHECK_FAILED, message=f"{UNMET}: {message}")


def printed_by_checks(run: Run, results: Iterable[CheckResult]) -> Iterable[tuple[str, str]]:
    for result in results:
        if isinstance(result.check, CommandCheck) and result.passed and result.output_hash:
            yield result.check.command, _text(run, result.output_hash)


def _printed_by_actions(run: Run, step_run: StepRun) -> Iterable[tuple[str, str]]:
    for action in step_run.actions:
        if action.ok and action.command:
            yield action.command, _text(run, action.output) if action.output else action.summary


def _text(run: Run, digest: str) -> str:
    return run.journal.get_blob(digest)[:OUTPUT_CHARS].decode("utf-8", "replace")


def _was_made(run: Run, step_run: StepRun, path: str) -> bool:
    """Whether an expected file exists, or the step has touched it: deleting it may be the purpose of the step."""
    return (run.root / path).exists() or path in step_run.touched


def _expressions(criteria: Iterable[str]) -> Iterable[ExpressionCheck]:
    return (check for text in criteria for check in checks_from_text(text) if isinstance(check, ExpressionCheck))


def _own_expression(run: Run, step_run: StepRun, check: ExpressionCheck) -> CheckResult:
    """Evaluate an expression that may refer to the step's own results, which are not stored yet."""
    outputs = ChainMap[str, Any]({step_run.step.id: outputs_of(step_run.actions)}, run.artifacts)  # type: ignore[arg-type]
    try:
        value = evaluate_expression(check.expression, {"outputs": outputs})
    except Exception as error:
        return CheckResult(check=check, passed=False, detail=error_in_words(error))
    return CheckResult(check=check, passed=bool(value), detail="" if value else f"is {value!r}")
