"""Phase 4: runs each step when its dependencies are settled, independent ones at the same time."""

import asyncio
import os
from collections.abc import Collection
from pathlib import Path

from surefoot.core.outcome import Verdict
from surefoot.core.transitions import SETTLED, Stage, StepStatus
from surefoot.engine.controls import apply_controls
from surefoot.engine.executor.step import end_without_running, run_step, writes_of
from surefoot.engine.runtime.run import Run
from surefoot.engine.runtime.stop import Stopped
from surefoot.engine.scheduler.conditions import evaluate, steps_in
from surefoot.engine.scheduler.graph import Schedule
from surefoot.engine.scheduler.preconditions import unmet_preconditions

RunningTasks = dict[asyncio.Task[None], str]


async def execute_until_idle(run: Run) -> None:
    """Run the steps that are ready, and those that become ready meanwhile, until no step is running.

    It ends between two steps, and the stage goes on from there. A step never waits for another one only because they
    were started together.
    """
    await execute(run, until_idle=True)


async def choose_next(run: Run) -> tuple[str, ...]:
    """Return the steps that would start now, without starting them. Steps that can never run are settled.

    If no step would start, the next stage is entered.
    """
    if interrupted := tuple(s for s, r in run.state.steps.items() if r.status is StepStatus.RUNNING):
        return interrupted
    schedule, version = _schedule(run, ()), _version(run)
    held: dict[str, str] = {}
    while True:
        await apply_controls(run)
        if _version(run) != version:
            schedule, version = _schedule(run, ()), _version(run)
        await _block_unreachable(run, schedule)
        starting = () if run.state.failed else tuple(await _next_steps(run, schedule, (), held))
        run.active_steps.clear()
        if starting:
            return starting
        if held and not run.state.failed:
            await _block(run, schedule, held)
        elif not await _received_more(run):
            await _leave(run, schedule)
            return ()


async def execute(run: Run, *, until_idle: bool = False) -> None:
    """Run steps until all are settled or one has failed, then enter the next stage; or only until none is running."""
    running: RunningTasks = {}
    schedule, version = _resume_running(run, running), _version(run)
    held: dict[str, str] = {}
    ran = bool(running)
    try:
        while running or not (until_idle and ran):
            skipped = await apply_controls(run)
            if _version(run) != version:
                schedule, version = _schedule(run, running.values()), _version(run)
            else:
                # Skipped steps must not start, and their dependants may become ready.
                for step_id in skipped:
                    held.pop(step_id, None)
                    _mark_settled(run, schedule, step_id)
            await _block_unreachable(run, schedule)
            # After a failure no other step starts, because recovery may change what it builds on.
            starting = [] if run.state.failed else await _next_steps(run, schedule, running.values(), held)
            ran = ran or bool(starting)
            if len(starting) == 1 and not running:
                await run_step(run, starting[0])
                _mark_settled(run, schedule, starting[0])
                continue
            running |= {asyncio.create_task(run_step(run, step_id)): step_id for step_id in starting}
            if running:
                await _wait_for_one(run, schedule, running)
            elif held and not run.state.failed:
                await _block(run, schedule, held)
            elif not await _received_more(run):
                ran = False
                break
    finally:
        # After an interruption no step may still run while the workspace is examined.
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        run.active_steps.clear()
    if not (until_idle and ran):
        await _leave(run, schedule)


async def _leave(run: Run, schedule: Schedule) -> None:
    """Enter the stage after this one."""
    if run.state.failed:
        await run.enter(Stage.RECOVERY, f"'{run.state.step(run.state.failed[0]).name}' failed")
        return
    _require_all_settled(run, schedule)
    await run.enter(Stage.VALIDATION)


def _resume_running(run: Run, running: RunningTasks) -> Schedule:
    """Start the steps that an earlier process was running."""
    schedule = _schedule(run, ())
    for step_id in [s for s, r in run.state.steps.items() if r.status is StepStatus.RUNNING]:
        running[asyncio.create_task(run_step(run, step_id))] = step_id
        run.active_steps.add(step_id)
    return schedule


async def _received_more(run: Run) -> bool:
    """Look for messages once more, because the plan can no longer be changed after this stage.

    Returns whether controls have arrived.
    """
    known = len(run.state.controls)
    await run.inbox.receive()
    return len(run.state.controls) > known


def _version(run: Run) -> tuple[int, int]:
    """Return a value that changes when a schedule is out of date: the plan was revised, or a step was reset."""
    return run.state.revisions, run.state.resets


def _schedule(run: Run, running: Collection[str]) -> Schedule:
    assert run.state.plan is not None
    statuses = {step_id: r.status for step_id, r in run.state.steps.items()}
    # A step that waits for confirmation has not begun, and must not be started twice.
    statuses |= dict.fromkeys(running, StepStatus.RUNNING)
    # While recovery may still succeed, a failure decides nothing for the dependants.
    statuses |= dict.fromkeys(run.state.failed, StepStatus.RUNNING)
    return Schedule(run.state.plan, statuses)


def _mark_settled(run: Run, schedule: Schedule, step_id: str) -> None:
    run.active_steps.discard(step_id)
    status = run.state.steps[step_id].status
    if status in SETTLED:
        schedule.settle(step_id, status)


async def _next_steps(run: Run, schedule: Schedule, running: Collection[str], held: dict[str, str]) -> list[str]:
    """Return every ready step that can run beside the others. Steps whose condition is not met are skipped.

    `held` collects the steps whose preconditions are not met yet, with the reason; another step may still meet them.
    """
    beside, limit = list(running), run.config.max_parallel_steps
    starting: list[str] = []
    for step_id in held:
        schedule.put_back(step_id)
    held.clear()
    while len(beside) < limit:
        chosen = schedule.take((lambda step_id: _may_join(run, step_id, beside)) if beside else None)
        if chosen is None:
            break
        status, reason = _end_by_condition(run, chosen)
        if reason:
            await run.record(end_without_running(run.state.steps[chosen], status, reason))
            schedule.settle(chosen, status)
            continue
        if run.state.step(chosen).preconditions and (reason := await unmet_preconditions(run, run.state.step(chosen))):
            held[chosen] = reason
            continue
        starting.append(chosen)
        run.active_steps.add(chosen)
        beside.append(chosen)
    return starting


def _may_join(run: Run, step_id: str, beside: Collection[str]) -> bool:
    """Whether a step can run beside others: what they write is declared and does not overlap, or one only reads.

    `writes_of` gives an empty set for a step that only reads, and None for one whose writes are not declared.
    """
    own = writes_of(run, run.state.steps[step_id])
    if own == frozenset():
        return True
    for other in beside:
        others = writes_of(run, run.state.steps[other])
        if own is None and others != frozenset():
            return False
        if others is None and own != frozenset():
            return False
        if own and others and any(_overlap(path, other_path) for path in own for other_path in others):
            return False
    return True


def _overlap(one: str, other: str) -> bool:
    """Whether two paths are the same file, however they are written, or one is inside the other."""
    first, second = Path(os.path.normpath(one)), Path(os.path.normpath(other))
    return first == second or first in second.parents or second in first.parents


async def _wait_for_one(run: Run, schedule: Schedule, running: RunningTasks) -> None:
    """Wait until a step ends. If it stops the run, let the others finish first, so that their work is not lost."""
    done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
    stopped = next((task for task in done if task.exception() is not None), None)
    if stopped is not None and len(running) > len(done):
        await asyncio.wait([task for task in running if task not in done])
        done = set(running)
    for task in done:
        step_id = running.pop(task)
        if task.exception() is None:
            _mark_settled(run, schedule, step_id)
    if stopped is not None:
        stopped.result()


async def _block_unreachable(run: Run, schedule: Schedule) -> None:
    while schedule.unreachable:
        step_id, reason = schedule.unreachable.popitem()
        await run.record(end_without_running(run.state.steps[step_id], StepStatus.BLOCKED, reason))
        schedule.settle(step_id, StepStatus.BLOCKED)


async def _block(run: Run, schedule: Schedule, held: dict[str, str]) -> None:
    """Block steps whose preconditions do not hold, because no other step can run that could change that."""
    for step_id, reason in held.items():
        await run.record(end_without_running(run.state.steps[step_id], StepStatus.BLOCKED, reason))
        schedule.settle(step_id, StepStatus.BLOCKED)
    held.clear()


def _end_by_condition(run: Run, step_id: str) -> tuple[StepStatus, str]:
    """Return how a step ends without running because of its condition, and why. Without a reason it may run."""
    condition = run.state.step(step_id).when
    if not condition:
        return StepStatus.PENDING, ""
    statuses = {s: r.status.value for s, r in run.state.steps.items()}
    try:
        if evaluate(condition, {"outputs": run.artifacts, "status": statuses}):
            return StepStatus.PENDING, ""
    except Exception as error:
        return _condition_failed(run, condition, error)
    return StepStatus.SKIPPED, f"its condition is not met: {condition}"


def _condition_failed(run: Run, condition: str, error: Exception) -> tuple[StepStatus, str]:
    """Return how a step ends whose condition cannot be evaluated, and why.

    It is skipped if the condition names a step that was skipped, and blocked otherwise.
    """
    steps = run.state.steps
    without = [s for s in steps_in(condition) if s in steps and steps[s].status is StepStatus.SKIPPED]
    if without:
        names = ", ".join(f"'{steps[s].step.name}'" for s in without)
        return StepStatus.SKIPPED, f"its condition cannot be met: {condition} ({names} was skipped and has no result)"
    problem = f"there is no {error}" if isinstance(error, KeyError) else str(error)
    return StepStatus.BLOCKED, f"its condition cannot be evaluated: {condition} ({problem})"


def _require_all_settled(run: Run, schedule: Schedule) -> None:
    """Raise Stopped, with the reason, if steps are left that are neither settled nor unreachable."""
    left = {s: reason for s, reason in schedule.waiting().items() if run.state.steps[s].status not in SETTLED}
    if left:
        raise Stopped(Verdict.BLOCKED, "; ".join(f"{step_id} {reason}" for step_id, reason in sorted(left.items())))
