"""Phase 4: the plan's steps, each when its dependencies are settled."""

from surefoot import events as e
from surefoot.expressions import evaluate
from surefoot.machine import SETTLED, Stage, StepStatus
from surefoot.outcome import ExecutionStatus, StepExecutionOutput, Verdict
from surefoot.phases.step import run_step
from surefoot.run import Run, Stopped
from surefoot.schedule import Schedule


async def execute(run: Run) -> None:
    """Runs until every step is settled or one has failed; then the next stage takes over."""
    assert run.state.plan is not None
    interrupted = [step_id for step_id, r in run.state.steps.items() if r.status is StepStatus.RUNNING]
    for step_id in interrupted:
        if await _fails(run, step_id):
            return
    schedule = Schedule(run.state.plan, {step_id: r.status for step_id, r in run.state.steps.items()})
    revisions = run.state.revisions
    while True:
        await run.take_messages()
        await _block_unreachable(run, schedule)
        chosen = schedule.take()
        if chosen is None:
            break
        if reason := _condition_not_met(run, chosen):
            await settle_unrun(run, chosen, StepStatus.SKIPPED, reason)
        elif await _fails(run, chosen):
            return
        schedule.settle(chosen, run.state.steps[chosen].status)
        if run.state.revisions != revisions:
            revisions = run.state.revisions
            schedule = Schedule(run.state.plan, {s: r.status for s, r in run.state.steps.items()})
    _nothing_left_behind(run, schedule)
    await run.enter(Stage.VALIDATION)


async def _fails(run: Run, step_id: str) -> bool:
    await run_step(run, step_id)
    if run.state.steps[step_id].status is not StepStatus.FAILED:
        return False
    await run.enter(Stage.RECOVERY, f"'{run.state.step(step_id).name}' failed")
    return True


async def _block_unreachable(run: Run, schedule: Schedule) -> None:
    while schedule.unreachable:
        step_id, reason = schedule.unreachable.popitem()
        await settle_unrun(run, step_id, StepStatus.BLOCKED, reason)
        schedule.settle(step_id, StepStatus.BLOCKED)


async def settle_unrun(run: Run, step_id: str, status: StepStatus, reason: str) -> None:
    output = StepExecutionOutput(step_id=step_id, status=ExecutionStatus.SKIPPED, logs=(reason,))
    attempt = run.state.steps[step_id].attempt
    await run.record(e.StepFinished(step_id=step_id, status=status, attempt=attempt, output=output))


def _condition_not_met(run: Run, step_id: str) -> str:
    condition = run.state.step(step_id).when
    if not condition:
        return ""
    results = {s: r.output.outputs for s, r in run.state.steps.items() if r.output}
    statuses = {s: r.status.value for s, r in run.state.steps.items()}
    if evaluate(condition, {"outputs": results, "status": statuses}):
        return ""
    return f"its condition is not met: {condition}"


def _nothing_left_behind(run: Run, schedule: Schedule) -> None:
    """Pending steps that are neither ready nor unreachable cannot be; if they are, say so instead of ending quietly."""
    left = {s: why for s, why in schedule.waiting().items() if run.state.steps[s].status not in SETTLED}
    if left:
        raise Stopped(Verdict.BLOCKED, "; ".join(f"{step_id} {why}" for step_id, why in sorted(left.items())))
