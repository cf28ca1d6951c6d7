"""Replays a run from its journal, and verifies that today's code would decide the same.

`play` gives the recorded events to a view, at their original speed or faster. `verify` runs the engine again in a
temporary folder. Answers of the model and of people, results of tools and checks, and changes of files come from the
record. No process is started, nothing is sent, and nothing is written outside the temporary folder.
"""

import asyncio
import contextlib
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from surefoot.config.model import ExecutionConfig
from surefoot.core.transitions import Stage
from surefoot.engine.loop import STAGES, begin_again, drive
from surefoot.engine.resume import pick_up
from surefoot.engine.runtime.services import Services
from surefoot.engine.verifier.before_run import check_before
from surefoot.errors import UsageError, WorkspaceError
from surefoot.history.replay.recorded_parts import Files, RecordedModel, RecordedPerson, ReplayJournal
from surefoot.history.replay.recorded_tools import recorded_toolbox
from surefoot.history.replay.recording import Divergence, Halted, Recording, segments
from surefoot.history.replay.replayed_run import ReplayedRun
from surefoot.history.timeline import build_timeline, snapshot_storage
from surefoot.journal import events as e
from surefoot.journal.reducers import fold
from surefoot.journal.state import RunState
from surefoot.journal.store.base import Journal
from surefoot.tools.registry import Toolbox
from surefoot.workspace.lock import WorkspaceLock
from surefoot.workspace.workspace import Workspace

MAX_PAUSE_SECONDS = 3.0
"""Longer pauses in the record, such as a night without an answer, are shortened to this."""
_PHASE_EVENTS = (e.Understood, e.ApproachChosen, e.PlanMade)


async def play(records: Sequence[e.Record], show: Callable[[e.Record], None], *, speed: float = 0.0) -> None:
    """Give recorded events to a view. With a speed, the pauses of the run are kept, divided by that speed."""
    previous = records[0].at if records else 0.0
    for record in records:
        if speed:
            await asyncio.sleep(min(max(record.at - previous, 0.0), MAX_PAUSE_SECONDS * speed) / speed)
        previous = record.at
        show(record)


@dataclass(frozen=True, slots=True)
class Verification:
    events: int
    """The number of events in the journal."""
    compared: int
    """The number of decisions that were made again and compared."""
    divergence: Divergence | None
    """The first decision that differs; None if all are the same."""
    other_questions: tuple[int, ...] = ()
    """The numbers of model calls that would be worded differently now. That alone is not a divergence."""

    def as_object(self) -> dict[str, Any]:
        return {
            "events": self.events,
            "compared": self.compared,
            "divergence": self.divergence._asdict() if self.divergence else None,
            "other_questions": list(self.other_questions),
        }


async def verify(journal: Journal, home: Path, run_id: str, toolbox: Toolbox | None = None) -> Verification:
    """Make every decision of a run again, from the recorded answers and results.

    `toolbox` has the tools of the run, if they are not the built-in ones. For a fork, only the decisions after the
    copied events are verified. Raises UsageError if the files of the run are no longer stored.
    """
    records = list(journal.read(run_id))
    created = records[0].event
    assert isinstance(created, e.RunCreated)
    with tempfile.TemporaryDirectory(prefix="surefoot-replay-") as folder:
        replay = _Replay(journal, home, Path(folder), records, created, toolbox)
        return await replay.run()


class _Replay:
    def __init__(
        self,
        journal: Journal,
        home: Path,
        folder: Path,
        records: Sequence[e.Record],
        created: e.RunCreated,
        toolbox: Toolbox | None,
    ) -> None:
        self._records = records
        self._created = created
        self._copied = created.copied + 1 if created.copied else 0
        """The number of records that a fork was created with; 0 if the run is not a fork."""
        self._parts = segments(records[self._copied :])
        self._root, self._home = folder / "workspace", folder / "home"
        self._home.mkdir()
        storage = snapshot_storage(home)
        self._files = Files(storage, self._root, records)
        try:
            self._files.start(self._start(storage))
            if self._copied:
                self._adopt(storage)
        except WorkspaceError as error:
            raise UsageError(
                f"the files of run {created.run_id} are no longer stored: {error}",
                remedy="it can be played, but not verified: leave out --verify",
            ) from error
        self._journal = ReplayJournal(journal, self._files, str(created.task.folder))
        self._model = RecordedModel(records[self._copied :], journal.get_blob)
        self._person = RecordedPerson(records)
        get_blob = journal.get_blob
        self._toolbox = recorded_toolbox(records, get_blob, self._files, self._journal, toolbox, self._copied)

    def _start(self, storage: Workspace) -> str:
        """The snapshot of the files with which the run began."""
        if not self._copied:
            return self._created.snapshot
        head = self._records[: self._copied]
        return self._created.forked_at or build_timeline(head).last_known.resolve(storage)

    def _adopt(self, storage: Workspace) -> None:
        """Copy the snapshots that the first events of a fork name. They are needed to compare the run with its start,
        and to roll back a step that was in progress."""
        own = snapshot_storage(self._home)
        for snapshot in build_timeline(self._records[: self._copied]).snapshots:
            is_start = snapshot == self._created.snapshot
            with contextlib.nullcontext() if is_start else contextlib.suppress(WorkspaceError):
                own.adopt(storage, snapshot)

    async def run(self) -> Verification:
        compared = 0
        divergence = None
        if self._copied:
            await self._journal.take_over(self._created.run_id, list(self._beginning()))
        for number, recording in enumerate(self._parts):
            self._journal.recording = recording
            self._model.begin(recording.records[0].event)
            with contextlib.suppress(Halted):
                await (self._next(recording) if number or self._copied else self._first())
            await self._journal.flush()
            compared += recording.compared
            divergence = recording.divergence if recording.ended_outside else recording.leftover()
            if divergence is not None:
                break
        return Verification(len(self._records), compared, divergence, tuple(self._other_questions()))

    def _beginning(self) -> Iterator[e.Event]:
        """The events that a fork was created with. Expiry is removed: no result had expired when the fork ran."""
        task = self._created.task.with_(workspace=str(self._root))
        yield self._created.model_copy(update={"task": task, "config": _quiet(self._created.config)})
        for record in self._records[1 : self._copied]:
            event = record.event
            if isinstance(event, e.StepFinished):
                artifact = event.artifact.with_(expires_at=None) if event.artifact else None
                event = event.model_copy(update={"expires_at": None, "artifact": artifact})
            yield event

    async def _first(self) -> RunState:
        created, task = self._created, self._created.task.with_(workspace=str(self._root))
        config = _quiet(created.config)
        services = self._services()
        run_id = created.run_id
        with WorkspaceLock(task.folder, self._home, run_id):
            run = ReplayedRun(services, RunState(run_id=run_id, task=task, config=config), self._journal, created)
            snapshot = await run.snapshot()
            update = {"task": task, "config": config, "snapshot": snapshot}
            await run.record(created.model_copy(update=update), *self._given_events())
            return await self._drive(run, check_before)

    async def _next(self, recording: Recording) -> RunState:
        resumed = recording.records[0].event
        assert isinstance(resumed, e.RunResumed)
        state = fold(self._journal.read(self._created.run_id))
        assert state.task is not None
        with WorkspaceLock(state.task.folder, self._home, state.run_id):
            run = ReplayedRun(self._services(), state, self._journal, resumed)
            config = _quiet(resumed.config) if resumed.config else None
            await run.record(resumed.model_copy(update={"config": config}))

            async def begin(run: ReplayedRun) -> None:
                await pick_up(run)
                if again := recording.asked_again():
                    resets = [event.step_id for event in again if isinstance(event, e.StepReset)]
                    await begin_again(run, again, resets[0])

            return await self._drive(run, begin)

    async def _drive(self, run: ReplayedRun, begin: Callable[..., object]) -> RunState:
        last = self._last_stage()
        try:
            return await drive(run, last, begin)  # type: ignore[arg-type]
        except BaseExceptionGroup as group:
            halted = group.subgroup(Halted)
            raise (halted.exceptions[0] if halted else group) from None

    def _last_stage(self) -> Stage | None:
        """The stage after which the process was asked to stop, inferred from its last events; None if it was not."""
        recording = self._journal.recording
        events = [r.event for r in recording.records]
        if isinstance(events[-1], e.RunInterrupted) and events[-1].as_asked:
            events.pop()
        entered = [event.stage for event in events if isinstance(event, e.StageEntered)]
        ended = isinstance(events[-1], e.StageEntered) and entered[-1] in STAGES
        order = list(STAGES)
        if not ended or not entered or entered[-1] is Stage.UNDERSTANDING:
            return None
        recording.ended_outside = False
        started_at = fold(self._records[: self._copied]).stage if self._copied else self._created.starts_at
        before = entered[-2] if len(entered) > 1 else started_at
        return before if before in order else None

    def _services(self) -> Services:
        return Services(self._journal, self._model, self._home, self._toolbox, self._person)

    def _given_events(self) -> Iterator[e.Event]:
        """The results of earlier phases and the context of an earlier run that the run was started with."""
        phases = _PHASE_EVENTS if self._created.starts_at is not Stage.UNDERSTANDING else ()
        for record in self._records[1:]:
            if not isinstance(record.event, (*phases, e.ContextGiven)):
                return
            yield record.event

    def _other_questions(self) -> Iterable[int]:
        replayed = list(self._journal.read(self._created.run_id))[self._copied :]
        own = [record.event for record in replayed if isinstance(record.event, e.ModelAnswered)]
        by_answer = {record.seq: record.event for record in self._records if isinstance(record.event, e.ModelAnswered)}
        for event, seq in zip(own, self._model.used, strict=False):
            recorded = by_answer[seq]
            if event.prompt != recorded.prompt:
                yield seq


def _quiet(config: ExecutionConfig) -> ExecutionConfig:
    """The settings without backoff and without a sandbox, which a replay does not need."""
    return config.with_(sandbox="off", reflection=config.reflection.with_(backoff_seconds=0))


def explain(verification: Verification) -> list[str]:
    """The result in a few lines of text, for people."""
    lines = []
    divergence = verification.divergence
    if divergence is None:
        lines.append(f"the same: {verification.compared} decisions in {verification.events} events")
    else:
        where = f"event {divergence.seq}" if divergence.seq else "after the last event"
        lines.append(f"diverges at {where}{f', step {divergence.step_id}' if divergence.step_id else ''}")
        lines += [f"  recorded: {divergence.recorded}", f"  now:      {divergence.now}"]
        lines.append(f"  {verification.compared} decisions before it are the same")
    if verification.other_questions:
        numbers = ", ".join(map(str, verification.other_questions[:5]))
        lines.append(f"{len(verification.other_questions)} questions to the model are worded differently: {numbers}")
    return lines
