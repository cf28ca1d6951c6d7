"""A check that fails and then passes on the same tree is flaky: then the step's work is not what is wrong with it."""

from surefoot import events as e
from surefoot.gates import decisive
from surefoot.machine import Rung, Stage, StepStatus
from surefoot.outcome import CheckResult, ExecutionStatus, FailureKind
from surefoot.plan import CommandCheck
from surefoot.run import Run
from surefoot.state import StepRun

_BY_CHECKS = (FailureKind.CHECK_FAILED, FailureKind.REFUTED, FailureKind.LOOP)


async def passes_now(run: Run, mine: StepRun) -> bool:
    """Runs the commands that were red once more, before anything is undone. Green, they settle the step after all: as a
    try of its own without an action, counted like a temporary error, and with a warning that stays."""
    red = [result.check for result in decisive(mine.checks) if not result.passed]
    if mine.failures[-1].kind not in _BY_CHECKS or not red or not all(isinstance(c, CommandCheck) for c in red):
        return False
    if mine.temporary_retries >= run.config.reflection.max_temporary_retries:
        return False
    # A final look trusts nothing that is remembered of this tree.
    found = await run.verifier.check(red, "final")
    if not all(result.passed for result in found):
        return False
    await _settle_after_all(run, mine, {result.check.key: result for result in found})
    return True


async def _settle_after_all(run: Run, mine: StepRun, now: dict[str, CheckResult]) -> None:
    step_id, before, output = mine.step.id, mine.baseline, mine.output
    assert output is not None
    checks = tuple(now.get(result.check.key, result) for result in mine.checks)
    red_before = {result.check.key for result in before if not result.passed}
    proven = any(result.check.key in red_before for result in decisive(checks))
    flaky = "; ".join(result.check.label for result in now.values())
    await run.record(
        e.RungChosen(step_id=step_id, rung=Rung.RETRY_LATER, why="the check passes when it is run again"),
        e.Warned(message=f"flaky: failed, and passed when run again on the same files: {flaky}"),
        e.StepReset(step_id=step_id, rung=Rung.RETRY_LATER),
        e.StepStarted(step_id=step_id, attempt=mine.attempt + 1),
        e.ChecksRan(step_id=step_id, when="before", results=before),
        e.StepFinished(
            step_id=step_id,
            status=StepStatus.SUCCEEDED,
            attempt=mine.attempt + 1,
            output=output.with_(status=ExecutionStatus.SUCCESS, proven=proven),
            checks=checks,
            snapshot=mine.after,
        ),
        e.StageEntered(stage=Stage.EXECUTION, reason="a flaky check"),
    )
