"""Phase 5: everything that has to hold, looked at once more on the final tree."""

import asyncio
import time
from collections.abc import Sequence

from surefoot import events as e
from surefoot.gates import decisive, evaluate_criteria, judge_validation
from surefoot.machine import Stage, StepStatus
from surefoot.outcome import (
    CheckResult,
    ExecutionPhase,
    ExecutionStatus,
    Failure,
    FailureKind,
    PhaseResult,
    PhaseStatus,
    ValidationOutput,
    Verdict,
)
from surefoot.phases.step import task_checks
from surefoot.placebo import hollow_checks
from surefoot.plan import Check, CommandCheck
from surefoot.run import Run, Stopped
from surefoot.state import StepRun
from surefoot.verify import may_run


async def validate(run: Run) -> None:
    assert run.state.plan is not None
    started = time.perf_counter()
    await run.record(e.PhaseStarted(phase="validation"))
    results = await run.verifier.check(final_checks(run), "final")
    criteria = evaluate_criteria(run.state.plan.success_criteria, run.state.plan, results)
    red = [r for r in decisive(results) if not r.passed]
    hollow = () if red else await _hollow(run, results)
    output = ValidationOutput(checks=results, criteria=criteria, hollow=hollow)
    judgement = judge_validation(output, run.config.min_confidence_threshold)
    await run.record(
        e.Validated(
            result=PhaseResult[ValidationOutput](
                phase=ExecutionPhase.Validation(),
                status=PhaseStatus.FAILED if red else PhaseStatus.SUCCESS,
                output=output,
                duration_ms=round((time.perf_counter() - started) * 1000),
                validation=judgement,
                error="; ".join(r.check.label for r in red) or None,
            )
        )
    )
    if red:
        await _refute(run, red)
    else:
        await run.enter(Stage.COMPLETED, "every check was looked at on the final tree")


def final_checks(run: Run) -> tuple[Check, ...]:
    """The user's, the project's, the plan's and those of every step that was done, each once."""
    assert run.state.plan is not None
    done = [c for r in run.state.steps.values() if r.status is StepStatus.SUCCEEDED for c in r.step.checks]
    checks: dict[str, Check] = {}
    for check in (*task_checks(run), *run.state.plan.checks, *done):
        # The first of equals stays: a plan that names the user's own check must not take its weight away.
        checks.setdefault(check.key, check)
    return tuple([check for check in checks.values() if may_run(run, check)])


async def _hollow(run: Run, results: Sequence[CheckResult]) -> tuple[str, ...]:
    """Of the checks that would prove the task done, those that new files without content would pass too."""
    proving = [r.check for r in results if r.check.origin != "plan" and r.check.key in run.state.red_at_start]
    changes = await asyncio.to_thread(run.workspace.changes, run.state.snapshot)
    added = [change.path for change in changes if change.kind == "added"]
    return await hollow_checks(run, [check for check in proving if isinstance(check, CommandCheck)], added)


async def _refute(run: Run, red: list[CheckResult]) -> None:
    """A step that counted as done is not, as the final tree shows: it failed after all, and recovery takes over."""
    message = "on the final tree these checks fail: " + "; ".join(r.check.label for r in red)
    blamed = _to_blame(run, red)
    if blamed is None:
        raise Stopped(Verdict.FAILED, f"no step was done, and {message}")
    evidence = "\n".join(f"{r.check.label}\n{r.detail}" for r in red[:2])
    output = blamed.output
    assert output is not None
    await run.record(
        e.StepFinished(
            step_id=blamed.step.id,
            status=StepStatus.FAILED,
            attempt=blamed.attempt,
            output=output.with_(status=ExecutionStatus.FAILED, proven=False),
            failure=Failure(kind=FailureKind.REFUTED, message=message, evidence=evidence),
            checks=tuple(red),
            snapshot=blamed.after,
        ),
        e.StageEntered(stage=Stage.RECOVERY, reason=message),
    )


def _to_blame(run: Run, red: list[CheckResult]) -> StepRun | None:
    """The step whose own check is red; else the last that wrote a file the evidence names; else the last done."""
    done = [r for r in run.state.steps.values() if r.status is StepStatus.SUCCEEDED]
    keys = {r.check.key for r in red}
    text = "\n".join(r.detail for r in red)
    for mine in reversed(done):
        if keys & {c.key for c in mine.step.checks}:
            return mine
    for mine in reversed(done):
        files = (*mine.written.generated_files, *mine.written.modified_files) if mine.written else ()
        if any(path in text for path in files):
            return mine
    return done[-1] if done else None
