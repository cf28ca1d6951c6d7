"""The activity of a worker: drives one run until it ends or waits, with the normal engine and the shared journal.

A worker that is slow looks dead to Temporal, which then starts the activity for the same run on another machine too.
Only the worker that holds the lease of the run in the database can write.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from temporalio import activity
from temporalio.exceptions import ApplicationError

from surefoot.config import paths
from surefoot.config.layers import load
from surefoot.core.questions import times_out_at
from surefoot.core.transitions import Stage
from surefoot.engine.loop import resume_run
from surefoot.engine.runtime.services import Services
from surefoot.errors import SurefootError, UnknownRun, UsageError
from surefoot.integrations.attach import attached, equipped, secrets_of
from surefoot.integrations.temporal.files import bring_files, putting, remove_files
from surefoot.integrations.temporal.names import DRIVE
from surefoot.journal import events as e
from surefoot.journal.reducers import fold
from surefoot.journal.state import RunState
from surefoot.journal.store.base import Reader
from surefoot.journal.store.opening import open_reader
from surefoot.journal.store.postgres.journal import PostgresJournal
from surefoot.models.select import choose_model, reusable_spec

BEATS = 4
"""The number of heartbeats within the timeout after which a run is given to another worker."""
UNEXPECTED_TRIES = 5
"""The number of attempts after which an unexpected error is not retried, and left for people to look at."""


class Driver:
    """Drives the runs of one worker process. They share its event loop and one journal."""

    def __init__(self, journal: PostgresJournal, model: str | None, say: Callable[[str], None]) -> None:
        self._journal, self._model, self._say = journal, model, say
        self._driving: set[str] = set()

    @activity.defn(name=DRIVE)
    async def drive(self, order: dict[str, Any]) -> dict[str, Any]:
        """Drive a run until it ends or waits. Returns whether it has ended, and if not, in how many seconds to look
        again.

        `order` has the keys `run_id` and `after`, which is the `seen_seq` of `hand_over` in `client.py`.
        """
        run_id = str(order["run_id"])
        if run_id in self._driving:
            raise ApplicationError(f"this worker is still ending an earlier attempt at run {run_id}", type="Busy")
        self._driving.add(run_id)
        beating = asyncio.create_task(_beat())
        try:
            return await self._drive(run_id, seen_seq=int(order["after"]))
        except asyncio.CancelledError:
            if activity.is_worker_shutdown():
                # Makes another worker continue at once. Otherwise Temporal would consider the run cancelled.
                raise ApplicationError("the worker was stopped", type="WorkerStopped") from None
            raise
        except SurefootError as error:
            remedy = f" ({error.remedy})" if error.remedy else ""
            final = isinstance(error, UnknownRun | UsageError)
            raise ApplicationError(f"{error}{remedy}", type=type(error).__name__, non_retryable=final) from error
        except Exception as error:
            final = activity.info().attempt >= UNEXPECTED_TRIES
            raise ApplicationError(str(error), type=type(error).__name__, non_retryable=final) from error
        finally:
            beating.cancel()
            self._driving.discard(run_id)

    async def _drive(self, run_id: str, seen_seq: int) -> dict[str, Any]:
        records = list(self._journal.read(run_id))
        state = fold(records)
        if not state.remote:
            raise UsageError(f"run {run_id} is not a remote run", remedy="start it with: surefoot run --remote")
        if (rest := self._at_rest(state, records, seen_seq)) is not None:
            return rest
        try:
            self._journal.acquire(run_id)
            state = await self._resume(run_id, records)
        finally:
            # Even if cancelled: while this process holds the lease, no other can continue.
            await asyncio.shield(self._journal.release(run_id))
        return self._at_rest(state, list(self._journal.read(run_id)), seen_seq) or _LOOK_AGAIN_AT_ONCE

    def _at_rest(self, state: RunState, records: Sequence[e.Record], seen_seq: int) -> dict[str, Any] | None:
        """The result of the activity for a run that has ended or waits; None if the run can be driven now."""
        if seen_seq >= _halted_at(records) > 0:
            # The caller has seen that the run halted, and wants it to continue.
            return None
        if state.stage in (Stage.COMPLETED, Stage.FAILED) and state.outcome is not None and not state.alerts:
            return {"ended": True, "verdict": str(state.outcome.verdict)}
        if state.stage is not Stage.WAITING or self._journal.receive(state.run_id):
            return None
        if not state.open_questions and _has_new_answer(records):
            return None
        limit = state.config.question_timeout_seconds
        due = [until for q in state.open_questions if (until := times_out_at(q, limit)) is not None]
        seconds = min(due) - time.time() if due else None
        return None if seconds is not None and seconds <= 0 else {"ended": False, "seconds": seconds}

    async def _resume(self, run_id: str, records: Sequence[e.Record]) -> RunState:
        state, home = fold(records), paths.state_home()
        assert state.task is not None
        folder = work_folder(run_id, state.task.folder.name)
        put = putting(self._journal)

        def bring() -> Any:
            reader: Reader = open_reader(home)
            try:
                return bring_files(records, folder, home, state.config, put, reader)
            finally:
                reader.close()

        mirror = await asyncio.to_thread(bring)
        settings, tell = load(folder), partial(self._tell, run_id)
        servers = tuple(settings.mcp_servers.values())
        model = await choose_model(self._model or reusable_spec(state.model), settings.model)
        try:
            services = Services(
                self._journal, model, home, alerts=settings.alerts, mirror=mirror, secrets=secrets_of(servers)
            )
            async with attached(services, settings.integrations, tell), equipped(services, servers, folder, tell):
                return await resume_run(services, run_id, folder=folder)
        finally:
            await model.aclose()
            await asyncio.to_thread(remove_files, folder, home, run_id)

    def _tell(self, run_id: str, message: str) -> None:
        """Report a problem that does not stop the run, such as that telemetry cannot be delivered."""
        self._say(f"run {run_id}: {message}")


_LOOK_AGAIN_AT_ONCE = {"ended": False, "seconds": 0.0}
"""The result if a message arrived while the run was about to halt."""


def work_folder(run_id: str, name: str) -> Path:
    """Where the files of a run are while this machine drives it. The last part is the name of the original folder."""
    return (paths.cache_home() / "remote" / run_id / (name or "workspace")).absolute()


def _has_new_answer(records: Sequence[e.Record]) -> bool:
    """Whether the last process received the answer that it was about to wait for. A run that was paused is not meant
    to continue.
    """
    for _, _, event in reversed(records):
        if isinstance(event, e.QuestionAsked | e.RunResumed) or _is_pause(event):
            return False
        if isinstance(event, e.QuestionAnswered):
            return True
    return False


def _is_pause(event: e.Event) -> bool:
    return isinstance(event, e.ControlReceived) and event.command == "pause"


def _halted_at(records: Sequence[e.Record]) -> int:
    """The number of the event with which the run last ended, or began to wait; 0 if it never did."""
    for seq, _, event in reversed(records):
        if isinstance(event, e.RunEnded) or (isinstance(event, e.StageEntered) and event.stage is Stage.WAITING):
            return seq
    return 0


async def _beat() -> None:
    """Send heartbeats to Temporal. The replies to them deliver a cancellation."""
    timeout = activity.info().heartbeat_timeout
    seconds = timeout.total_seconds() / BEATS if timeout else 5.0
    while True:
        activity.heartbeat()
        await asyncio.sleep(seconds)
