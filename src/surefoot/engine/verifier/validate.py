"""Phase 5: runs every check once more, on the final tree.

If files that decide what checks do were changed, the checks that could prove the task also run on the judged view.
"""

import asyncio
import time
from collections.abc import Collection, Sequence
from typing import NamedTuple

from surefoot.core.outcome import (
    CheckResult,
    CriterionResult,
    Failure,
    FailureKind,
    Verdict,
    decisive,
    evidence_of,
    given,
)
from surefoot.core.phases import (
    ExecutionPhase,
    ExecutionStatus,
    JudgedView,
    PhaseResult,
    PhaseStatus,
    ValidationOutput,
)
from surefoot.core.plan import Check, CommandCheck
from surefoot.core.proof import SuiteEvidence
from surefoot.core.transitions import Stage, StepStatus
from surefoot.core.values import join_limited
from surefoot.engine.executor.step_criteria import printed_by_checks, probe
from surefoot.engine.planner.criteria import NOT_VERIFIED, error_of, judge_validation
from surefoot.engine.planner.evidence import Evidence, evaluate
from surefoot.engine.runtime.run import Run
from surefoot.engine.runtime.stop import Stopped
from surefoot.engine.verifier.hollow import hollow_checks
from surefoot.engine.verifier.judged_view import check_on_view
from surefoot.engine.verifier.left_out import is_left_out, left_out_criteria
from surefoot.engine.verifier.suite.evidence import Weighed, weigh_tests
from surefoot.engine.verifier.suite.project_commands import task_checks
from surefoot.journal import events as e
from surefoot.journal.state import StepRun
from surefoot.workspace.errors import as_text

MAX_REGRESSION_ROUNDS = 2
"""How often regressions go back to recovery. The task itself may ask for some, and no attempt can fix those."""
MAX_NAMED = 8


async def validate(run: Run) -> None:
    """Run every check on the final tree. Failures go to recovery."""
    final = await _look_at_result(run, may_feed_back=_may_feed_back(run))
    if final.red:
        message = "on the final tree these checks fail: " + "; ".join(r.check.label for r in final.red)
        await _refute(run, final.red, FailureKind.REFUTED, message)
    elif final.regressed and final.weighed is not None:
        check = CommandCheck(command=final.weighed.evidence.command, origin="project")
        failing = CheckResult(check=check, passed=False, detail=final.weighed.output)
        await _refute(run, [failing], FailureKind.REGRESSION, _regression_message(final.weighed.evidence))
    else:
        await run.enter(Stage.COMPLETED, "every check was run on the final tree")


async def validate_reviewed(run: Run, before: str) -> None:
    """Run every check once more after a person changed the result. A failure ends the run, without recovery.

    `before` is the snapshot that takes the review back.
    """
    final = await _look_at_result(run, may_feed_back=False)
    if final.red:
        labels = "; ".join(r.check.label for r in final.red)
        run_id = run.state.run_id
        advice = (
            *([f"take the review back: surefoot undo {run_id} --to {before[:12]}"] if before else []),
            f"let the model fix it: surefoot resume {run_id}",
            f"look at what is left: surefoot show {run_id} --diff",
        )
        raise Stopped(Verdict.FAILED, f"after the review these checks fail: {labels}", advice)
    await run.enter(Stage.COMPLETED, "every check was run after the review")


class _FinalResults(NamedTuple):
    red: list[CheckResult]
    weighed: Weighed | None
    regressed: bool


async def _look_at_result(run: Run, *, may_feed_back: bool) -> _FinalResults:
    """Run the final checks, and record the result of the phase."""
    assert run.state.plan is not None
    started = time.perf_counter()
    await run.record(e.PhaseStarted(phase="validation"))
    results = await run.verifier.check(final_checks(run), "final")
    red = [r for r in decisive(results) if not r.passed]
    view = None if red else await _judge_view(run, results)
    hollow = () if red else await _hollow(run, results, view.left_out if view else ())
    weighed = None if red else await weigh_tests(run, results)
    regressed = weighed is not None and bool(weighed.evidence.regressions) and may_feed_back
    evidence = weighed.evidence if weighed else None
    criteria = await _criteria(run, results, evidence)
    output = ValidationOutput(checks=results, criteria=criteria, hollow=hollow, view=view, tests=evidence)
    error = "; ".join(r.check.label for r in red) or (_regression_message(evidence) if regressed else "")
    result = _result(run, output, error)
    await run.record(e.Validated(result=result.with_(duration_ms=round((time.perf_counter() - started) * 1000))))
    return _FinalResults(red, weighed, regressed)


def _result(run: Run, output: ValidationOutput, error: str) -> PhaseResult[ValidationOutput]:
    """Return the result of the phase by the final gate. Without a check the phase counts as skipped."""
    threshold = run.config.min_confidence_threshold
    judgement = judge_validation(output, threshold, run.state.red_at_start)
    status = PhaseStatus.SUCCESS if judgement.passed and not error else PhaseStatus.FAILED
    if not output.checks:
        status, error = PhaseStatus.SKIPPED, NOT_VERIFIED
    elif not judgement.passed and not error:
        error = error_of(judgement, threshold)
    return PhaseResult[ValidationOutput](
        phase=ExecutionPhase.Validation(), status=status, output=output, validation=judgement, error=error or None
    )


async def _criteria(
    run: Run, results: Sequence[CheckResult], tests: SuiteEvidence | None
) -> tuple[CriterionResult, ...]:
    """Evaluate the success criteria of the plan, and the criteria of the steps that are done."""
    plan = run.state.plan
    assert plan is not None
    done_steps = [r.step for r in run.state.steps.values() if r.status is StepStatus.SUCCEEDED]
    left_out = left_out_criteria(run.state)
    named = [*plan.success_criteria, *(c for step in done_steps for c in step.validation_criteria)]
    criteria = dict.fromkeys(criterion for criterion in named if criterion not in left_out)
    if not criteria:
        return ()
    changes = await asyncio.to_thread(run.workspace.changes, run.state.snapshot)
    probes = await probe(run, criteria, results)
    evidence = Evidence(
        results=(*results, *probes),
        deciding=(*decisive(results), *probes),
        linked={c: key for c, key in zip(plan.success_criteria, plan.criterion_checks, strict=False) if key},
        files=[as_text(change.path) for change in changes if change.kind != "removed"],
        tests=tests.own_tests if tests else (),
        printed=list(printed_by_checks(run, results)),
    )
    # A criterion that could only be judged at the end of its step, such as by the output of a command, still counts.
    known = {c.criterion: c for r in run.state.steps.values() if r.recorded_output for c in r.recorded_output.criteria}
    judged = evaluate(list(criteria), evidence)
    return tuple(known.get(c.criterion, c) if c.met is None else c for c in judged)


def final_checks(run: Run) -> tuple[Check, ...]:
    """Return the checks of the user, the project, the plan and every finished step, each once.

    Checks of the plan about a file that a person undid are left out.
    """
    assert run.state.plan is not None
    step_checks = [c for r in run.state.steps.values() if r.status is StepStatus.SUCCEEDED for c in r.step.checks]
    checks: dict[str, Check] = {}
    for check in (*task_checks(run.task, run.state.protected), *run.state.plan.checks, *step_checks):
        # The first of equal checks stays: a plan that repeats a check of the user must not weaken it.
        checks.setdefault(check.key, check)
    counting = [check for check in checks.values() if not is_left_out(check, run.state.undone_files)]
    return tuple([check for check in counting if run.verifier.may_run(check)])


async def _judge_view(run: Run, results: Sequence[CheckResult]) -> JudgedView | None:
    """Run the commands of the user and the project on the judged view, if one of them could prove the task."""
    commands = [r.check for r in given(results) if isinstance(r.check, CommandCheck)]
    if not any(check.key in run.state.red_at_start for check in commands):
        return None
    return await check_on_view(run, commands)


async def _hollow(run: Run, results: Sequence[CheckResult], left_out: Collection[str]) -> tuple[str, ...]:
    """Return the proving checks that would also pass for new files without content."""
    proving = [r.check for r in results if r.check.origin != "plan" and r.check.key in run.state.red_at_start]
    changes = await asyncio.to_thread(run.workspace.changes, run.state.snapshot)
    added = [change.path for change in changes if change.kind == "added" and as_text(change.path) not in left_out]
    return await hollow_checks(run, [check for check in proving if isinstance(check, CommandCheck)], added)


def _may_feed_back(run: Run) -> bool:
    """Whether recovery gets another chance at regressions. If they stay, only the verdict suffers, not the work."""
    fed_back = sum(f.kind is FailureKind.REGRESSION for r in run.state.steps.values() for f in r.failures)
    return fed_back < MAX_REGRESSION_ROUNDS and any(r.status is StepStatus.SUCCEEDED for r in run.state.steps.values())


def _regression_message(evidence: SuiteEvidence | None) -> str:
    assert evidence is not None
    return f"tests of the project that passed before the run fail now: {join_limited(evidence.regressions, MAX_NAMED)}"


async def _refute(run: Run, red: list[CheckResult], kind: FailureKind, message: str) -> None:
    """Mark the step to blame for red checks as failed, so that recovery takes over."""
    blamed = _to_blame(run, red)
    if blamed is None:
        raise Stopped(Verdict.FAILED, f"no step was done, and {message}")
    evidence = evidence_of(red)
    output = blamed.output
    assert output is not None
    await run.record(
        e.StepFinished(
            step_id=blamed.step.id,
            status=StepStatus.FAILED,
            attempt=blamed.attempt,
            output=output.with_(status=ExecutionStatus.FAILED, proven=False),
            failure=Failure(kind=kind, message=message, evidence=evidence),
            checks=tuple(red),
            snapshot=blamed.after,
        ),
        e.StageEntered(stage=Stage.RECOVERY, reason=message),
    )


def _to_blame(run: Run, red: list[CheckResult]) -> StepRun | None:
    """Return the step whose own check is red; else the last that wrote a file in the evidence; else the last one."""
    done_steps = [r for r in run.state.steps.values() if r.status is StepStatus.SUCCEEDED]
    keys = {r.check.key for r in red}
    text = "\n".join(r.detail for r in red)
    for step_run in reversed(done_steps):
        if keys & {c.key for c in step_run.step.checks}:
            return step_run
    for step_run in reversed(done_steps):
        files = (
            (*step_run.recorded_output.generated_files, *step_run.recorded_output.modified_files)
            if step_run.recorded_output
            else ()
        )
        if any(path in text for path in files):
            return step_run
    return done_steps[-1] if done_steps else None
