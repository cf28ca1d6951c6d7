"""Stand-ins for the journal, the model, the person and the files of a run. In a replay, they follow the journal."""

import asyncio
import hashlib
import os
import shutil
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from surefoot.core.outcome import FailureKind
from surefoot.core.questions import Question
from surefoot.errors import ModelUnavailable
from surefoot.history.replay.recording import Recording, lane_of
from surefoot.journal import events as e
from surefoot.journal.store.base import Journal
from surefoot.journal.store.memory import MemoryJournal
from surefoot.models.base import ModelReply, ModelRequest, ModelTraits, OnText, Usage
from surefoot.models.items import AssistantTurn, load_item
from surefoot.workspace.errors import as_path
from surefoot.workspace.snapshots.manifest import Entry
from surefoot.workspace.workspace import Workspace

GetBlob = Callable[[str], bytes]
CONTROL_SECONDS = 3.0
"""How long an interrupted call waits for the control that interrupted it."""


class ReplayJournal(MemoryJournal):
    """The journal of the replay. Every event is compared with the record before it is written. Blobs that the replay
    did not store are read from the recorded run."""

    def __init__(self, source: Journal, files: "Files", folder: str) -> None:
        super().__init__()
        self._source = source
        self.folder = folder
        """The workspace of the recorded run."""
        self.files = files
        self.recording = Recording((), is_last=True)

    async def take_over(self, run_id: str, events: Sequence[e.Event]) -> None:
        """Write the events that a fork was created with. They are not compared, because another run decided them."""
        await super().append(run_id, events)

    async def append(self, run_id: str, events: Sequence[e.Event]) -> list[e.Record]:
        return await super().append(run_id, [self._matched(event) for event in events])

    def note(self, run_id: str, event: e.Event) -> e.Record:
        return super().note(run_id, self._matched(event))

    def _matched(self, event: e.Event) -> e.Event:
        """Compare an event. A question gets the recorded `proposed`: with none, as in older journals, the model is
        asked again."""
        record = self.recording.peek(lane_of(event))
        self.recording.match(event)
        if isinstance(event, e.QuestionAsked) and record is not None and isinstance(record.event, e.QuestionAsked):
            return event.model_copy(update={"proposed": record.event.proposed})
        return event

    def get_blob(self, digest: str) -> bytes:
        return super().get_blob(digest) if super().has_blob(digest) else self._source.get_blob(digest)


class RecordedModel:
    """Returns recorded answers: the answer to the same request, or else the next one."""

    def __init__(self, records: Iterable[e.Record], get_blob: GetBlob) -> None:
        self.name = ""
        self.traits = ModelTraits()
        self.used: list[int] = []
        """The numbers of the events whose answers were returned, in order."""
        self._get_blob = get_blob
        self._answers = [(r.seq, r.event) for r in records if isinstance(r.event, e.ModelAnswered)]
        self.recording: Callable[[], Recording] = lambda: Recording((), is_last=True)
        self.lane: Callable[[], str] = str

    def begin(self, event: e.Event) -> None:
        """Take the name and the traits of the model from the event that began a process."""
        assert isinstance(event, e.RunCreated | e.RunResumed)
        self.name = event.model
        talks = any(answer.conversation for _, answer in self._answers)
        guessed = ModelTraits(tools="native") if talks else ModelTraits(inline_bodies=False)
        self.traits = ModelTraits.model_validate(event.model_traits) if event.model_traits else guessed

    async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelReply:
        recording, lane = self.recording(), self.lane()
        recorded = self._next(request, recording, lane)
        if recorded is None:
            await wait_for_control(recording)
            match recording.ends_by(lane):
                case FailureKind.TIMEOUT:
                    raise TimeoutError
                case FailureKind.MODEL_ERROR:
                    raise ModelUnavailable("the model was not available")
            raise recording.unanswered(lane, request.messages[-1].content)
        self._answers.remove(recorded)
        seq, answer = recorded
        self.used.append(seq)
        usage = Usage(
            prompt_tokens=answer.prompt_tokens, output_tokens=answer.output_tokens, cached_tokens=answer.cached_tokens
        )
        turn = load_item(self._get_blob(answer.item)) if answer.item else None
        assert turn is None or isinstance(turn, AssistantTurn)
        text = turn.content if turn else self._get_blob(answer.answer).decode()
        reply = ModelReply(text=text, usage=usage, model=self.name, turn=turn)
        return reply.model_copy(update={"finish_reason": answer.finish_reason})

    async def aclose(self) -> None:
        pass

    def _next(self, request: ModelRequest, recording: Recording, lane: str) -> tuple[int, e.ModelAnswered] | None:
        """The answer to exactly this request; else the next of the step, else the next of all; None if all are used."""
        last = recording.records[-1].seq if recording.records else 0
        waiting = [(seq, answer) for seq, answer in self._answers if seq <= last]
        fingerprint = request.fingerprint()
        text = "\n\n".join(f"[{m.role}]\n{m.content}" for m in request.messages)
        text += f"\n\n[assistant begins]\n{request.begin}" if request.begin else ""
        prompt = hashlib.sha256(text.encode()).hexdigest()
        for seq, answer in waiting:
            if answer.request == fingerprint if answer.item else answer.prompt == prompt:
                return seq, answer
        return next((recorded for recorded in waiting if recorded[1].step_id == lane), waiting[0] if waiting else None)


class RecordedPerson:
    """Returns recorded answers. A question that was not answered in the recorded process stays open."""

    def __init__(self, records: Iterable[e.Record]) -> None:
        self._answers = {r.event.question_id: r for r in records if isinstance(r.event, e.QuestionAnswered)}
        self.recording: Callable[[], Recording] = lambda: Recording((), is_last=True)

    async def answer(self, question: Question) -> str | None:
        recorded, records = self._answers.get(question.id), self.recording().records
        if recorded is None or not records or recorded.seq > records[-1].seq:
            return None
        assert isinstance(recorded.event, e.QuestionAnswered)
        if recorded.event.timed_out:
            raise TimeoutError
        return recorded.event.answer


class Files:
    """Changes the files of the replay as the run changed them, from the run's snapshots."""

    def __init__(self, storage: Workspace, root: Path, records: Iterable[e.Record]) -> None:
        self._storage = storage
        self.root = root
        self._snapshots = [
            (r.seq, r.event.snapshot)
            for r in records
            if isinstance(r.event, e.ActionStarted | e.StepFinished) and r.event.snapshot
        ]

    def start(self, snapshot: str) -> None:
        self._storage.copy_to(snapshot, self.root)

    def change(self, paths: Sequence[str], seq: int) -> None:
        """Bring paths to their state after an event, from the next snapshot."""
        place = bisect_right(self._snapshots, (seq, ""))
        if place == len(self._snapshots) or "." in paths:
            return
        entries = self._storage.manifest(self._snapshots[place][1]).entries
        changed = {path: entries.get(path) for path in map(as_path, paths) if path}
        for path in sorted(changed, reverse=True):
            if changed[path] is None or changed[path].kind != "dir":  # type: ignore[union-attr]
                _remove(self.root / path)
        for path in sorted(changed):
            if (entry := changed[path]) is not None:
                self._write(entry)

    def _write(self, entry: Entry) -> None:
        place = self.root / entry.path
        place.parent.mkdir(parents=True, exist_ok=True)
        match entry.kind:
            case "dir":
                place.mkdir(exist_ok=True)
            case "symlink":
                place.symlink_to(entry.target)
                return
            case "file" if entry.digest:
                place.write_bytes(self._storage.blobs.get(entry.digest))
                os.utime(place, ns=(entry.mtime_ns, entry.mtime_ns))
            case _:
                return
        place.chmod(entry.mode)


def _remove(place: Path) -> None:
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    else:
        place.unlink(missing_ok=True)


async def wait_for_control(recording: Recording) -> None:
    """If the record has a control, wait so that it can take effect."""
    if any(isinstance(record.event, e.ControlReceived) for record in recording.records):
        await asyncio.sleep(CONTROL_SECONDS)
