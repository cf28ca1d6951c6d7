"""The engine: looks at where a run is and does what is next, until it ends. Resuming is the same as going on."""

import asyncio
import os
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from surefoot import events as e
from surefoot._version import __version__
from surefoot.artifacts import Artifacts
from surefoot.conclusion import Observed, conclude, stopped
from surefoot.config import ExecutionConfig
from surefoot.errors import ModelError, RestoreConflict, SurefootError, UsageError
from surefoot.fold import fold
from surefoot.machine import RUN_TRANSITIONS, Stage
from surefoot.outcome import Verdict
from surefoot.phases.approach import approach
from surefoot.phases.execute import execute
from surefoot.phases.overriding import overridden
from surefoot.phases.planning import planning
from surefoot.phases.rolling_back import abandon_running
from surefoot.phases.understand import understand
from surefoot.phases.validate import validate
from surefoot.plan import CommandCheck
from surefoot.project import list_files, protected_files
from surefoot.recovery import recover
from surefoot.resuming import look_first, pick_up, settle_conflict
from surefoot.run import Run, Services, Stopped
from surefoot.state import RunState
from surefoot.task import Task
from surefoot.tools.registry import default_toolbox
from surefoot.verify import Verifier
from surefoot.workspace.faults import as_text
from surefoot.workspace.lock import WorkspaceLock
from surefoot.workspace.sandbox import choose_sandbox
from surefoot.workspace.snapshot import Workspace

STAGES: dict[Stage, Callable[[Run], Awaitable[None]]] = {
    Stage.UNDERSTANDING: understand,
    Stage.APPROACH: approach,
    Stage.PLANNING: planning,
    Stage.EXECUTION: execute,
    Stage.RECOVERY: recover,
    Stage.VALIDATION: validate,
}


async def start_run(
    services: Services,
    task: Task,
    config: ExecutionConfig,
    *,
    run_id: str | None = None,
    first: Stage = Stage.UNDERSTANDING,
    last: Stage | None = None,
    given: Sequence[e.Event] = (),
    based_on: str = "",
) -> RunState:
    """A new run, to its end or to where it waits for a person. `given` are phases' results to start from, made by hand
    or taken from the run `based_on`."""
    _usable(task)
    run_id = run_id or new_run_id()
    with WorkspaceLock(task.folder, services.home, run_id):
        run = _make_run(services, RunState(run_id=run_id, task=task, config=config))
        # An undo that was killed here has to end before anything else begins.
        await asyncio.to_thread(run.workspace.finish_restore)
        files = list_files(task.folder)
        commands = [check for check in task.checks if isinstance(check, CommandCheck)]
        created = e.RunCreated(
            run_id=run_id,
            task=task,
            config=config,
            model=services.model.name,
            surefoot=__version__,
            snapshot=await run.snapshot(),
            protected=protected_files(files, commands, task.text),
            starts_at=first,
            based_on=based_on,
        )
        await run.record(created, *given)
        return await _drive(run, last, look_first)


async def resume_run(
    services: Services, run_id: str, *, last: Stage | None = None, config: ExecutionConfig | None = None
) -> RunState:
    """Goes on where the run stopped, in whatever way it did; with `config`, under other settings than before."""
    state = fold(services.journal.read(run_id))
    assert state.task is not None
    if state.stage is Stage.COMPLETED and state.outcome is not None:
        return state
    _usable(state.task)
    with WorkspaceLock(state.task.folder, services.home, run_id):
        run = _make_run(services, state)
        resumed = e.RunResumed(model=services.model.name, surefoot=__version__, pid=os.getpid(), config=config)
        await run.record(resumed)
        return await _drive(run, last, pick_up)


async def retry_step(
    services: Services, run_id: str, step_id: str, parameters: Mapping[str, Any], tool: str = ""
) -> RunState:
    """A person wants one step done again, with other parameters or another tool, and the run to go on from there."""
    state = fold(services.journal.read(run_id))
    assert state.task is not None
    _usable(state.task)
    with WorkspaceLock(state.task.folder, services.home, run_id):
        run = _make_run(services, state)
        revised = overridden(state, run.toolbox, step_id, parameters, tool)

        async def begin(run: Run) -> None:
            await pick_up(run)
            await run.record(*revised)
            if Stage.EXECUTION not in (state.stage, *RUN_TRANSITIONS[state.stage]):
                await run.enter(Stage.FAILED, "a person asks for a step again")
            if state.stage is not Stage.EXECUTION:
                await run.enter(Stage.EXECUTION, f"'{state.step(step_id).name}' again")

        await run.record(e.RunResumed(model=services.model.name, surefoot=__version__, pid=os.getpid()))
        return await _drive(run, None, begin)


def new_run_id() -> str:
    return time.strftime("%m%d-%H%M%S-") + secrets.token_hex(2)


def _usable(task: Task) -> None:
    folder = task.folder
    if not folder.is_dir():
        raise UsageError(f"{folder} is not a folder", remedy="make it first, or name another one with -C")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UsageError(f"{folder} cannot be written to", remedy="change its permissions, or work in a copy")


def _make_run(services: Services, state: RunState) -> Run:
    assert state.task is not None
    root = state.task.folder
    sandbox, _ = choose_sandbox(state.config.sandbox, root, state_folders=[services.home])
    quota = round(state.config.snapshot_quota_gb * 1024**3)
    workspace = Workspace(root, services.home, excludes=state.config.snapshot_excludes, quota_bytes=quota)
    run = Run(services, state, workspace, services.toolbox or default_toolbox(), sandbox)
    run.verifier, run.artifacts = Verifier(run), Artifacts(run)
    return run


async def _drive(run: Run, last: Stage | None, begin: Callable[[Run], Awaitable[None]]) -> RunState:
    limit = run.config.budget.max_seconds
    left = None if limit is None else max(limit - run.state.active_seconds, 0.0)
    watching = asyncio.create_task(run.watch(_this_task()))
    try:
        async with asyncio.timeout(left) as whole:
            run.fuses[""] = whole
            await begin(run)
            while run.state.stage in STAGES:
                before = run.state.stage
                try:
                    await STAGES[before](run)
                except RestoreConflict as conflict:
                    if before is not Stage.RECOVERY:
                        raise
                    await settle_conflict(run, conflict)
                if before is last and run.state.stage is not before:
                    break
        if run.state.stage is Stage.COMPLETED:
            outcome = conclude(run.state, await _observe(run), run.state.red_at_start)
            await run.record(e.RunEnded(outcome=outcome))
    except Stopped as stop:
        await _stop(run, stop.verdict, stop.reason)
    except TimeoutError:
        await _stop(run, Verdict.TIME, f"the {limit:g} seconds given are over")
    except SurefootError as error:
        remedy = f" ({error.remedy})" if error.remedy else ""
        what = "the model could not be asked: " if isinstance(error, ModelError) else ""
        await _stop(run, Verdict.FAILED, f"{what}{error}{remedy}")
    except BaseException as error:
        if isinstance(error, asyncio.CancelledError) and run.stopping is not None:
            _this_task().uncancel()
            await _stop(run, run.stopping.verdict, run.stopping.reason)
            return run.state
        # Stopped from outside, or a bug: either way it is written down, and the run can be resumed.
        stopped_by_user = isinstance(error, asyncio.CancelledError | KeyboardInterrupt)
        reason = "stopped from outside" if stopped_by_user else f"{type(error).__name__}: {error}"
        with suppress(Exception):
            await run.record(e.RunInterrupted(reason=reason))
        raise
    finally:
        watching.cancel()
        run.fuse_box.close()
    return run.state


def _this_task() -> asyncio.Task[Any]:
    task = asyncio.current_task()
    assert task is not None
    return task


async def _stop(run: Run, verdict: Verdict, reason: str) -> None:
    if verdict is Verdict.WAITING:
        await run.enter(Stage.WAITING, reason)
        return
    await abandon_running(run)
    outcome = stopped(run.state, await _observe(run), verdict, reason)
    await run.record(e.StageEntered(stage=Stage.FAILED, reason=reason), e.RunEnded(outcome=outcome))


async def _observe(run: Run) -> Observed:
    changes = await asyncio.to_thread(run.workspace.changes, run.state.snapshot)
    kinds = {"added": "added", "removed": "removed"}
    by_kind: dict[str, list[str]] = {"added": [], "removed": [], "changed": []}
    for change in changes:
        by_kind[kinds.get(change.kind, "changed")].append(as_text(change.path))
    look = await asyncio.to_thread(run.workspace.look)
    return Observed(**by_kind, not_captured=look.not_captured)
