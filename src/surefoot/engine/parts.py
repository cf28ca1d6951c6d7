"""Drives a run one part at a time, for a program that decides itself when to continue, such as a graph engine.

The journal alone says where a run is. A part that the journal is past is not carried out again, so the program may
repeat a part, and may know less about the run than the journal does.
"""

import asyncio
import contextlib
from collections.abc import Collection
from dataclasses import dataclass

from surefoot.config.model import ExecutionConfig
from surefoot.core.task import Task
from surefoot.core.transitions import Stage
from surefoot.engine.loop import STAGES, Work, create_run, drive, reopen_run, require_usable
from surefoot.engine.resume import pick_up
from surefoot.engine.runtime.run import Run
from surefoot.engine.runtime.services import Services
from surefoot.engine.verifier.before_run import check_before
from surefoot.errors import CheckpointAhead, UnknownRun, UsageError
from surefoot.journal.reducers import fold
from surefoot.journal.state import RunState
from surefoot.workspace.lock import WorkspaceLock

OPEN_SECONDS = 2.0
"""How long a run stays open, with its workspace locked, after a part. A part that comes later resumes the run."""
_HALTED = (Stage.WAITING, Stage.FAILED)


@dataclass
class _OpenRun:
    """A run between two parts, with the lock of its folder."""

    run: Run
    lock: WorkspaceLock
    loop: asyncio.AbstractEventLoop
    timer: asyncio.TimerHandle


class Parts:
    """Drives runs with the same services, each one part at a time."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._open_runs: dict[str, _OpenRun] = {}

    def exists(self, run_id: str) -> bool:
        """Whether the journal has the run."""
        try:
            self._services.journal.read(run_id)
        except UnknownRun:
            return False
        return True

    def state_of(self, run_id: str, seen: int = 0) -> RunState:
        """Return the state of a run. Raises CheckpointAhead if the journal ends before the event number `seen`."""
        if run_id in self._open_runs:
            state = self._open_runs[run_id].run.state
        elif seen and not self.exists(run_id):
            state = RunState(run_id=run_id)
        else:
            state = fold(self._services.journal.read(run_id))
        if state.seq < seen:
            raise CheckpointAhead(run_id, seen, state.seq)
        return state

    async def begin(self, run_id: str, task: Task, config: ExecutionConfig, part: Work) -> RunState:
        """Start a run and carry out its first part. A run that exists already is left as it is."""
        if self.exists(run_id):
            return _with_same_task(self.state_of(run_id), task)
        require_usable(task)
        with contextlib.ExitStack() as undo:
            lock = undo.enter_context(WorkspaceLock(task.folder, self._services.home, run_id))
            run = await create_run(self._services, task, config, run_id)
            await drive(run, None, check_before, part)
            await self._keep(run, lock, undo)
        return run.state

    async def advance(
        self, run_id: str, part: Work, stages: Collection[Stage], *, seen: int = 0, go_on_at: int = 0
    ) -> RunState:
        """Carry out a part of a run, if the run is in one of these stages. Otherwise nothing is done.

        `seen` is the number of the last event that the caller knows. A run that waits or has failed goes on only if
        `go_on_at` is the number of its last event: then nobody else has continued it in the meantime.
        """
        state = self.state_of(run_id, seen)
        if not _is_due(state, stages, go_on_at):
            return state

        async def work(run: Run) -> None:
            # The stage in which a halted run goes on is known only now.
            if run.state.stage in stages:
                await part(run)

        lock, open_run = self._take(state)
        with contextlib.ExitStack() as undo:
            undo.callback(lock.release)
            run = open_run
            if run is None:
                # Read again, now that nobody else can write to it.
                records = list(self._services.journal.read(run_id))
                state = fold(records)
                if not _is_due(state, stages, go_on_at):
                    return state
                run = await reopen_run(self._services, state, records)
            await drive(run, None, pick_up, work)
            await self._keep(run, lock, undo)
        return run.state

    def close(self) -> None:
        """Release the folders of runs that are between two parts."""
        for run_id in list(self._open_runs):
            self._release(run_id)

    def __del__(self) -> None:
        for open_run in self._open_runs.values():
            open_run.lock.release()

    # -- between two parts -----------------------------------------------------------------------------------------

    async def _keep(self, run: Run, lock: WorkspaceLock, undo: contextlib.ExitStack) -> None:
        """Flush the journal, so that the caller can rely on the last event, and keep a run in progress open."""
        await self._services.journal.flush()
        if run.state.stage in STAGES:
            run_id, loop = run.state.run_id, asyncio.get_running_loop()
            self._open_runs[run_id] = _OpenRun(run, lock, loop, loop.call_later(OPEN_SECONDS, self._release, run_id))
            undo.pop_all()

    def _take(self, state: RunState) -> tuple[WorkspaceLock, Run | None]:
        """Return the lock of a run's folder, and the run itself if it has been kept."""
        open_run = self._open_runs.get(state.run_id)
        if open_run is not None and open_run.loop is asyncio.get_running_loop():
            open_run.timer.cancel()
            del self._open_runs[state.run_id]
            return open_run.lock, open_run.run
        self._release(state.run_id)
        lock = WorkspaceLock(require_usable(state.task).folder, self._services.home, state.run_id)
        lock.acquire()
        return lock, None

    def _release(self, run_id: str) -> None:
        if open_run := self._open_runs.pop(run_id, None):
            open_run.timer.cancel()
            open_run.lock.release()


def _is_due(state: RunState, stages: Collection[Stage], go_on_at: int) -> bool:
    """Whether a part for these stages can be carried out now."""
    if state.stage in _HALTED:
        return go_on_at == state.seq
    # A completed run without an outcome was killed before its verdict was recorded.
    return state.stage in stages or (state.stage is Stage.COMPLETED and state.outcome is None)


def _with_same_task(state: RunState, task: Task) -> RunState:
    if state.task != task:
        known = state.task.text.strip().partition("\n")[0] if state.task else ""
        raise UsageError(
            f"run {state.run_id} exists already, with another task or other checks: {known!r}",
            remedy="give no run id, or one that is not used yet; to continue that run, give its id without a task",
        )
    return state
