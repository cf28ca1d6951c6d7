"""Phase 4: the plan's steps, each when its dependencies are settled, independent ones at the same time."""

import asyncio
import os
from collections.abc import Collection
from pathlib import Path

from surefoot import events as e
from surefoot.expressions import evaluate
from surefoot.machine import SETTLED, Stage, StepStatus
from surefoot.obeying import obey
from surefoot.outcome import ExecutionStatus, StepExecutionOutput, Verdict
from surefoot.phases.step import claim, run_step
from surefoot.run import Run, Stopped
from surefoot.schedule import Schedule

Running = dict[asyncio.Task[None], str]


async def execute(run: Run) -> None:
    """Runs until every step is settled or one has failed; then the next stage takes over."""
    running: Running = {}
    try:
        schedule = await _work_off(run, running)
    finally:
        # Stopped from outside or by a fuse: what is still running ends too, before anybody looks at the workspace.
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        run.taken.clear()
    if failed := unrecovered(run):
        await run.enter(Stage.RECOVERY, f"'{run.state.step(failed).name}' failed")
        return
    _nothing_left_behind(run, schedule)
    await run.enter(Stage.VALIDATION)


async def _work_off(run: Run, running: Running) -> Schedule:
    schedule, version = _schedule(run, ()), _version(run)
    for step_id in [s for s, r in run.state.steps.items() if r.status is StepStatus.RUNNING]:
        running[asyncio.create_task(run_step(run, step_id))] = step_id
        run.taken.add(step_id)
    while True:
        if run.state.controls:
            await obey(run)
        if _version(run) != version:
            schedule, version = _schedule(run, running.values()), _version(run)
        if schedule.unreachable:
            await _block_unreachable(run, schedule)
        # A failed step stops the starting of others: what they would build on may be about to change.
        starting = [] if unrecovered(run) else await _next_steps(run, schedule, running.values())
        if len(starting) == 1 and not running:
            await run_step(run, starting[0])
            _settle(run, schedule, starting[0])
            continue
        running |= {asyncio.create_task(run_step(run, step_id)): step_id for step_id in starting}
        if not running:
            if not await _asked_for_more(run):
                return schedule
            continue
        await _one_ends(run, schedule, running)


async def _asked_for_more(run: Run) -> bool:
    """The last moment in which the plan can be changed: what was sent since the run last looked still counts."""
    known = len(run.state.controls)
    await run.take_messages()
    return len(run.state.controls) > known


def _version(run: Run) -> tuple[int, int]:
    """What a schedule is made from: it changes with the plan, and when a step that was settled is to be done again."""
    return run.state.revisions, run.state.resets


def _schedule(run: Run, running: Collection[str]) -> Schedule:
    assert run.state.plan is not None
    statuses = {step_id: r.status for step_id, r in run.state.steps.items()}
    # A step that waits to be confirmed has not begun, and must not be started twice.
    statuses |= dict.fromkeys(running, StepStatus.RUNNING)
    # As long as a way back may be found, a failure decides nothing for the steps that wait.
    statuses |= dict.fromkeys(run.state.failed, StepStatus.RUNNING)
    return Schedule(run.state.plan, statuses)


def _settle(run: Run, schedule: Schedule, step_id: str) -> None:
    run.taken.discard(step_id)
    status = run.state.steps[step_id].status
    if status in SETTLED:
        schedule.settle(step_id, status)


def unrecovered(run: Run) -> str:
    return run.state.failed[0] if run.state.failed else ""


async def _next_steps(run: Run, schedule: Schedule, running: Collection[str]) -> list[str]:
    """Every ready step that can run beside those that do; steps whose condition is not met are settled on the way."""
    beside, most = list(running), run.config.max_parallel_steps
    starting: list[str] = []
    while len(beside) < most:
        chosen = schedule.take((lambda step_id: _may_join(run, step_id, beside)) if beside else None)
        if chosen is None:
            break
        if reason := _condition_not_met(run, chosen):
            await settle_unrun(run, chosen, StepStatus.SKIPPED, reason)
            schedule.settle(chosen, StepStatus.SKIPPED)
            continue
        starting.append(chosen)
        run.taken.add(chosen)
        beside.append(chosen)
    return starting


def _may_join(run: Run, step_id: str, beside: Collection[str]) -> bool:
    """Steps share the workspace when what they write is declared and does not overlap; readers always do."""
    mine = claim(run, run.state.steps[step_id])
    if mine == frozenset():
        return True
    for other in beside:
        theirs = claim(run, run.state.steps[other])
        if mine is None and theirs != frozenset():
            return False
        if theirs is None and mine != frozenset():
            return False
        if mine and theirs and any(_overlap(path, other_path) for path in mine for other_path in theirs):
            return False
    return True


def _overlap(one: str, other: str) -> bool:
    """The same file, however it is written, or one is inside the other."""
    here, there = Path(os.path.normpath(one)), Path(os.path.normpath(other))
    return here == there or here in there.parents or there in here.parents


async def _one_ends(run: Run, schedule: Schedule, running: Running) -> None:
    """Waits for the next step to end. One that stops the run lets the others finish first: their work is not lost."""
    done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
    stopped = next((task for task in done if task.exception() is not None), None)
    if stopped is not None and len(running) > len(done):
        await asyncio.wait([task for task in running if task not in done])
        done = set(running)
    for task in done:
        step_id = running.pop(task)
        if task.exception() is None:
            _settle(run, schedule, step_id)
    if stopped is not None:
        stopped.result()


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
    statuses = {s: r.status.value for s, r in run.state.steps.items()}
    if evaluate(condition, {"outputs": run.artifacts, "status": statuses}):
        return ""
    return f"its condition is not met: {condition}"


def _nothing_left_behind(run: Run, schedule: Schedule) -> None:
    """Pending steps that are neither ready nor unreachable cannot be; if they are, say so instead of ending quietly."""
    left = {s: why for s, why in schedule.waiting().items() if run.state.steps[s].status not in SETTLED}
    if left:
        raise Stopped(Verdict.BLOCKED, "; ".join(f"{step_id} {why}" for step_id, why in sorted(left.items())))
