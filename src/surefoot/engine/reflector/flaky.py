"""Finds flaky checks. A check that fails and then passes on the same tree is no evidence against a step's work."""

from surefoot.core.outcome import CheckResult, FailureKind, decisive
from surefoot.core.phases import ExecutionStatus
from surefoot.core.plan import CommandCheck
from surefoot.core.transitions import Rung, Stage, StepStatus
from surefoot.engine.runtime.run import Run
from surefoot.journal import events as e
from surefoot.journal.state import StepRun

_FAILED_BY_CHECKS = (FailureKind.CHECK_FAILED, FailureKind.REFUTED, FailureKind.LOOP)


async def passes_now(run: Run, step_run: StepRun) -> bool:
    """Run the failed commands once more, before anything is undone. If they pass, the step succeeds after all.

    That counts as an attempt without actions, like the retry after a temporary error, and leaves a warning.
    """
    red = [result.check for result in decisive(step_run.results) if not result.passed]
    if step_run.failures[-1].kind not in _FAILED_BY_CHECKS or not red:
        return False
    if not all(isinstance(check, CommandCheck) for check in red):
        return False
    if step_run.temporary_retries >= run.config.reflection.max_temporary_retries:
        return False
    # A final check does not reuse remembered results of this tree.
    results = await run.verifier.check(red, "final")
    if not all(result.passed for result in results):
        return False
    await _succeed_after_all(run, step_run, {result.check.key: result for result in results})
    return True


async def _succeed_after_all(run: Run, step_run: StepRun, results: dict[str, CheckResult]) -> None:
    step_id, before, output = step_run.step.id, step_run.results_before, step_run.output
    assert output is not None
    checks = tuple(results.get(result.check.key, result) for result in step_run.results)
    red_before = {result.check.key for result in before if not result.passed}
    proven = any(result.check.key in red_before for result in decisive(checks))
    flaky = "; ".join(result.check.label for result in results.values())
    await run.record(
        e.RungChosen(step_id=step_id, rung=Rung.RETRY_LATER, why="the check passes when it is run again"),
        e.Warned(message=f"flaky: failed, and passed when run again on the same files: {flaky}"),
        e.StepReset(step_id=step_id, rung=Rung.RETRY_LATER),
        e.StepStarted(step_id=step_id, attempt=step_run.attempt + 1, kind=step_run.kind),
        e.ChecksRan(step_id=step_id, when="before", results=before),
        e.StepFinished(
            step_id=step_id,
            status=StepStatus.SUCCEEDED,
            attempt=step_run.attempt + 1,
            output=output.with_(status=ExecutionStatus.SUCCESS, proven=proven),
            checks=checks,
            snapshot=step_run.after,
        ),
        e.StageEntered(stage=Stage.EXECUTION, reason="a flaky check"),
    )
