"""The engine's loop: carries out the current stage of a run, until the run ends. A resumed run enters the same loop."""

import asyncio
import os
import secrets
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, TypeAlias

from surefoot._version import __version__
from surefoot.config.model import ExecutionConfig, PhasePolicy
from surefoot.core.outcome import Outcome, Verdict
from surefoot.core.task import Task
from surefoot.core.transitions import RUN_TRANSITIONS, Stage
from surefoot.core.values import error_in_words
from surefoot.engine.alerts.alerting import alert_on, send_after_end, send_alerts
from surefoot.engine.controls import refused, step_again
from surefoot.engine.executor.own_evidence import parts_missing_from
from surefoot.engine.planner.approach import choose_approach
from surefoot.engine.planner.plan import make_plan
from surefoot.engine.planner.understand import understand
from surefoot.engine.reflector.recover import recover
from surefoot.engine.reflector.restore import changed_by_others, note_incidents
from surefoot.engine.reflector.rollback import abandon_running
from surefoot.engine.refusal import refuse_missing_commands, refuse_secrets
from surefoot.engine.resume import pick_up
from surefoot.engine.runtime.run import Run
from surefoot.engine.runtime.services import Services
from surefoot.engine.runtime.stop import Stopped, reason_of
from surefoot.engine.scheduler.run_ready import execute
from surefoot.engine.verdict import Observed, conclude, stopped
from surefoot.engine.verifier.before_run import check_before
from surefoot.engine.verifier.protected import files_to_protect
from surefoot.engine.verifier.validate import validate
from surefoot.errors import LeaseLost, ModelError, SurefootError, TaskImpossible, UsageError
from surefoot.journal import events as e
from surefoot.journal.redact import PLACEHOLDER
from surefoot.journal.reducers import fold
from surefoot.journal.state import RunState
from surefoot.models.base import LanguageModel
from surefoot.project.commits import newest_changes
from surefoot.tools.fs.tool_files import is_made_by_tools
from surefoot.workspace.errors import as_text, named, printable
from surefoot.workspace.lock import WorkspaceLock
from surefoot.workspace.snapshots.tree import around

_ID_LETTERS = "0123456789abcdefghijkmnpqrstuvwxyz"
"""Without `l` and `o`, which look like digits."""
CHANGED_BY_OTHERS = "changed since the run was interrupted, not by it"
_MAX_NAMED = 10
Work: TypeAlias = Callable[[Run], Awaitable[None]]
"""A function that advances a run."""


STAGES: dict[Stage, Work] = {
    Stage.UNDERSTANDING: understand,
    Stage.APPROACH: choose_approach,
    Stage.PLANNING: make_plan,
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
    branch: tuple[str, str] = ("", ""),
) -> RunState:
    """Start a run and drive it to its end, or to where it waits for a person.

    `given` are results of earlier phases, made by hand or taken from the run `based_on`. With `last`, the run stops
    after that stage. `branch` is the git branch that was made for the run, and the branch that it was made from.
    """
    require_usable(task)
    run_id = run_id or new_run_id()
    with WorkspaceLock(task.folder, services.home, run_id):
        run = await create_run(
            services, task, config, run_id, first=first, given=given, based_on=based_on, branch=branch
        )
        return await drive(run, last, check_before)


async def create_run(
    services: Services,
    task: Task,
    config: ExecutionConfig,
    run_id: str,
    *,
    first: Stage = Stage.UNDERSTANDING,
    given: Sequence[e.Event] = (),
    based_on: str = "",
    branch: tuple[str, str] = ("", ""),
) -> Run:
    """Record the start of a run. The caller holds the lock of the workspace."""
    refuse_secrets(services.redactor, task, given)
    config = config_from(first, config)
    refuse_missing_commands(task)
    run = Run(services, RunState(run_id=run_id, task=task, config=config))
    run.budget.require_enforceable(config)
    # A restore of this folder that was killed has to be completed first.
    finished = await asyncio.to_thread(run.workspace.finish_restore)
    snapshot = await run.snapshot()
    created = e.RunCreated(
        run_id=run_id,
        task=task,
        config=config,
        model=services.model.name,
        surefoot=__version__,
        snapshot=snapshot,
        protected=await asyncio.to_thread(files_to_protect, run.workspace, snapshot, task),
        starts_at=first,
        based_on=based_on,
        model_traits=traits_of(services.model),
        model_address=_address_of(services.model),
        isolation=run.sandbox.name if run.sandbox else "",
        system=_system(),
        branch=branch[0],
        branched_from=branch[1],
        newest_changes=await asyncio.to_thread(newest_changes, task.folder, task.text),
    )
    await run.record(created, *given)
    note_incidents(run, finished)
    return run


def config_from(first: Stage, config: ExecutionConfig) -> ExecutionConfig:
    """Return the settings of a run that starts with this stage. A run that is given a plan does not stop after it."""
    has_plan = first in (Stage.EXECUTION, Stage.VALIDATION)
    return config.with_(phases=PhasePolicy.AUTO) if has_plan and config.phases is PhasePolicy.PLAN else config


async def resume_run(
    services: Services,
    run_id: str,
    *,
    last: Stage | None = None,
    config: ExecutionConfig | None = None,
    folder: Path | None = None,
) -> RunState:
    """Continue a run that stopped for whatever reason. `config` replaces its settings.

    `folder` is where the files of a remote run are on this machine.
    """
    records = list(services.journal.read(run_id))
    state = fold(records)
    completed = state.stage is Stage.COMPLETED and state.outcome is not None
    if completed and not state.alerts:
        return state
    if folder is not None and state.task is not None:
        state.task = state.task.with_(workspace=str(folder))
    task = require_usable(state.task)
    with WorkspaceLock(task.folder, services.home, run_id):
        run = await reopen_run(services, state, records, config)
        return state if completed else await drive(run, last, pick_up)


async def reopen_run(
    services: Services, state: RunState, records: Sequence[e.Record], config: ExecutionConfig | None = None
) -> Run:
    """Send alerts that are left, and record that the run goes on, unless it is completed.

    The caller holds the lock of the workspace.
    """
    run = Run(services, state)
    await send_alerts(run)
    if state.stage is not Stage.COMPLETED or state.outcome is None:
        run.artifacts.sweep()
        run.verifier.recall(records, run.toolbox)
        run.budget.require_enforceable(config or state.config)
        await record_resumed(run, config)
    return run


async def retry_step(
    services: Services, run_id: str, step_id: str, parameters: Mapping[str, Any], tool: str = ""
) -> RunState:
    """Repeat one step of a run, with other parameters or another tool, and continue from there."""
    state = fold(services.journal.read(run_id))
    task = require_usable(state.task)
    with WorkspaceLock(task.folder, services.home, run_id):
        run = Run(services, state)
        run.budget.require_enforceable(state.config)
        revised = step_again(state, run.toolbox, step_id, parameters, tool)

        async def begin(run: Run) -> None:
            await pick_up(run)
            await begin_again(run, revised, step_id)

        await record_resumed(run)
        return await drive(run, None, begin)


async def begin_again(run: Run, revised: Sequence[e.Event], step_id: str) -> None:
    """Record a person's changes to a step, and enter the execution stage to do the step again."""
    await run.record(*revised)
    if Stage.EXECUTION not in (run.state.stage, *RUN_TRANSITIONS[run.state.stage]):
        await run.enter(Stage.FAILED, "a person asks for a step again")
    if run.state.stage is not Stage.EXECUTION:
        await run.enter(Stage.EXECUTION, f"'{run.state.step(step_id).name}' again")


async def record_resumed(run: Run, config: ExecutionConfig | None = None, *then: e.Event) -> None:
    """Record that this process continues a run, and which files somebody else changed meanwhile."""
    changed = await changed_by_others(run)
    resumed = e.RunResumed(
        run_id=run.state.run_id,
        model=run.model.name,
        surefoot=__version__,
        pid=os.getpid(),
        config=config,
        model_traits=traits_of(run.model),
        model_address=_address_of(run.model),
        isolation=run.sandbox.name if run.sandbox else "",
        system=_system(),
        changed=changed,
    )
    await run.record(resumed, *then)
    if changed:
        files = named(changed, _MAX_NAMED)
        run.recorder.warn(f"{CHANGED_BY_OTHERS}: {files}; undo and rollback stop at those that the run changes too")


def _system() -> str:
    """`Python 3.11.2 on Linux 6.1.0 x86_64`."""
    machine = os.uname()
    return f"Python {sys.version.split()[0]} on {machine.sysname} {machine.release} {machine.machine}"


def _address_of(model: LanguageModel) -> str:
    """Return the spec of a model that is named by an address, so that a resumed run finds it; empty for others."""
    return str(getattr(model, "address", ""))


def traits_of(model: LanguageModel) -> dict[str, Any]:
    """Return the traits of a model that differ from the defaults. A replay asks in the same way."""
    return model.traits.model_dump(mode="json", exclude_defaults=True)


def new_run_id() -> str:
    """Return an id such as `1118-194350-k7x2`: a million are possible in each second."""
    return time.strftime("%m%d-%H%M%S-") + "".join(secrets.choice(_ID_LETTERS) for _ in range(4))


def require_usable(task: Task | None) -> Task:
    assert task is not None
    folder = task.folder
    if not folder.is_dir():
        raise UsageError(f"{folder} is not a folder", remedy="create it first, or name another one with -C")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UsageError(f"{folder} cannot be written to", remedy="change its permissions, or work in a copy")
    return task


async def drive(run: Run, last: Stage | None, begin: Work, work: Work | None = None) -> RunState:
    """Run stage after stage, or only `work`. However it ends, the end is recorded, and the run can be resumed."""
    async with run.live_text.sending(run.bus), _watched(run):
        await begin(run)
        if work is not None:
            await work(run)
        while work is None and run.state.stage in STAGES:
            stage = run.state.stage
            await STAGES[stage](run)
            if stage is last and run.state.stage is not stage:
                if run.state.stage in STAGES:
                    reason, left = f"stopped after {stage}, as asked", await _left(run)
                    await run.record(e.RunInterrupted(reason=reason, as_asked=True, snapshot=left))
                break
    await send_after_end(run)
    return run.state


async def run_stage(run: Run) -> None:
    """Carry out the current stage."""
    await STAGES[run.state.stage](run)


@asynccontextmanager
async def _watched(run: Run) -> AsyncIterator[None]:
    """Limit the time of a run, receive messages for it, and record how it ends.

    It is a context, so that neither of its parts is on the stack of everything that the run calls.
    """
    with run.watchdog.watching():
        watching = asyncio.create_task(run.inbox.watch(_current_task(), run.heartbeat))
        try:
            async with asyncio.timeout(run.budget.seconds_left()) as limit:
                run.timeouts.limit_run(limit, run.watchdog.set_last_resort)
                yield
            if run.state.stage is Stage.COMPLETED:
                await _complete(run)
        except Stopped as stop:
            await _stop(run, stop.verdict, stop.reason, next_steps=stop.next_steps)
        except TimeoutError:
            await _stop(run, Verdict.TIME, f"the time limit of {run.config.budget.max_seconds:g} seconds is reached")
        except TaskImpossible as error:
            await _stop(run, Verdict.BLOCKED, f"it cannot be done as asked: {error}")
        except LeaseLost:
            # Nothing here may be recorded or undone any more: another process goes on with the run.
            raise
        except SurefootError as error:
            prefix = "the model could not be asked: " if isinstance(error, ModelError) else ""
            await _stop(run, Verdict.FAILED, f"{prefix}{error}", error)
        except BaseException as error:
            await _cut_short(run, error)
        finally:
            watching.cancel()
            run.timeouts.close()


async def _cut_short(run: Run, error: BaseException) -> None:
    """Record that a signal or an internal error interrupted the run, and raise the error again.

    A stop that a person sent through the inbox (cancel, pause) ends the run normally instead. A lost lease is raised
    without a record, because another process owns the journal now.
    """
    if isinstance(error, asyncio.CancelledError) and run.inbox.lost is not None:
        _current_task().uncancel()
        raise run.inbox.lost from None
    if isinstance(error, asyncio.CancelledError) and run.inbox.stop is not None:
        _current_task().uncancel()
        await _stop(run, run.inbox.stop.verdict, run.inbox.stop.reason)
        return
    cancelled = isinstance(error, asyncio.CancelledError | KeyboardInterrupt)
    reason = reason_of(error) if cancelled else error_in_words(error)
    with suppress(Exception):
        await run.record(e.RunInterrupted(reason=reason, snapshot=await _left(run)))
    raise error


async def _left(run: Run) -> str:
    """Return a snapshot of the workspace as the run leaves it, so that later changes by others can be told from its
    own. Empty if there can be none: that must not keep the end from being recorded. Remote runs store their files
    themselves."""
    if run.state.remote:
        return ""
    try:
        return await run.snapshot()
    except (Exception, asyncio.CancelledError):
        return ""


def _current_task() -> asyncio.Task[Any]:
    task = asyncio.current_task()
    assert task is not None
    return task


async def _complete(run: Run) -> None:
    """Record the outcome of a completed run. Controls that came too late for it are refused."""
    outcome = conclude(run.state, await _compare_with_start(run))
    too_late = [refused(control, "the run is completed") for control in run.state.controls]
    await run.record(*too_late, e.RunEnded(outcome=outcome), *alert_on(run, outcome))


async def _stop(
    run: Run, verdict: Verdict, reason: str, error: SurefootError | None = None, next_steps: tuple[str, ...] = ()
) -> None:
    if run.state.stage is Stage.COMPLETED:
        await _complete(run)
        return
    if verdict is Verdict.WAITING:
        waiting = Outcome(verdict=verdict, summary=reason)
        entered = e.StageEntered(stage=Stage.WAITING, reason=reason, snapshot=await _left(run))
        await run.record(entered, *alert_on(run, waiting))
        return
    await abandon_running(run)
    outcome = stopped(run.state, await _compare_with_start(run), verdict, reason, error, next_steps)
    ended = e.RunEnded(outcome=outcome, snapshot=await _left(run))
    await run.record(e.StageEntered(stage=Stage.FAILED, reason=reason), ended, *alert_on(run, outcome))


async def _compare_with_start(run: Run) -> Observed:
    """Compare the workspace with its state before the run. Changes by others during the run are included and marked.

    Paths in folders that tools make (caches, environments) count only if an action or a check of the run touched them,
    or if they are protected.
    """
    paths: dict[str, list[str]] = {"added": [], "removed": [], "changed": []}
    protected, is_own = set(run.state.protected), _touched_by(run.state)
    by_others = set()
    changes = await asyncio.to_thread(run.workspace.changes, run.state.snapshot)
    for change in changes:
        path = as_text(change.path)
        own = is_own(path)
        if own or path in protected or not is_made_by_tools(path):
            paths[change.kind if change.kind in paths else "changed"].append(path)
        if not own:
            by_others.add(path)
    state = await asyncio.to_thread(run.workspace.tree_state)
    missing = await parts_missing_from(run, changes) if run.state.task is not None else ()
    own_output = {f"{printable(path)} (excluded)" for path in run.own_output}
    not_captured = [line for line in state.not_captured if line not in own_output]
    return Observed(**paths, not_captured=not_captured, missing_parts=missing, by_others=by_others)


def _touched_by(state: RunState) -> Callable[[str], bool]:
    """Return a predicate that says whether an action or a check of the run touched a path.

    It holds for every path if it is unknown what they touched, as long as an action has no result yet.
    """
    if "." in state.touched or state.open_actions or any(map(PLACEHOLDER.search, state.touched)):
        return lambda path: True
    return around(state.touched)
