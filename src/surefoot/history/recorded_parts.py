"""The parts of a run that a replay replaces: each does what the journal says instead of acting."""

import asyncio
import hashlib
import os
import shutil
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from surefoot.core.outcome import CheckResult, FailureKind
from surefoot.core.plan import Check, CommandCheck
from surefoot.core.proof import SuiteEvidence
from surefoot.core.questions import Question
from surefoot.engine.runtime.recorder import Recorder
from surefoot.engine.runtime.run import Run
from surefoot.engine.runtime.services import Services
from surefoot.engine.verifier.scratch import Place
from surefoot.engine.verifier.suite.running import SuiteRunner
from surefoot.engine.verifier.verifier import Verifier
from surefoot.errors import ModelUnavailable, ToolError
from surefoot.history.recording import Recording
from surefoot.journal import events as e
from surefoot.journal.state import RunState
from surefoot.journal.store.base import Journal
from surefoot.journal.store.memory import MemoryJournal
from surefoot.models.base import ModelReply, ModelRequest, ModelTraits, OnText, Usage
from surefoot.models.items import AssistantTurn, load_item
from surefoot.tools.context import ToolContext
from surefoot.tools.registry import Toolbox, default_toolbox
from surefoot.tools.tool import Tool, ToolResult, Writes
from surefoot.workspace.errors import as_path
from surefoot.workspace.sandbox.bubblewrap import Bubblewrap
from surefoot.workspace.sandbox.landlock import Landlock
from surefoot.workspace.sandbox.sandbox import Sandbox
from surefoot.workspace.snapshots.manifest import Entry
from surefoot.workspace.snapshots.snapshot import Workspace

GetBlob = Callable[[str], bytes]
CONTROL_SECONDS = 3.0
"""How long an interrupted call waits for the control that interrupted it."""


class ReplayJournal(MemoryJournal):
    """The journal of the replay. Every event is compared before it is written; content comes from the record too."""

    def __init__(self, source: Journal, files: "Files") -> None:
        super().__init__()
        self._source = source
        self.files = files
        self.recording = Recording((), is_last=True)

    async def take_over(self, run_id: str, events: Sequence[e.Event]) -> None:
        """Write the events that a fork was made with. Nobody decided them in this run, so they are not compared."""
        await super().append(run_id, events)

    async def append(self, run_id: str, events: Sequence[e.Event]) -> list[e.Record]:
        for event in events:
            self.recording.match(event)
        return await super().append(run_id, events)

    def note(self, run_id: str, event: e.Event) -> e.Record:
        self.recording.match(event)
        return super().note(run_id, event)

    def get_blob(self, digest: str) -> bytes:
        return super().get_blob(digest) if super().has_blob(digest) else self._source.get_blob(digest)


class RecordedModel:
    """Gives the recorded answers: to the same question, or else in their order."""

    def __init__(self, records: Iterable[e.Record], get_blob: GetBlob) -> None:
        self.name = ""
        self.traits = ModelTraits()
        self.used: list[int] = []
        """The numbers of the events whose answers were given, in order."""
        self._get_blob = get_blob
        self._answers = [(r.seq, r.event) for r in records if isinstance(r.event, e.ModelAnswered)]
        self.recording: Callable[[], Recording] = lambda: Recording((), is_last=True)
        self.lane: Callable[[], str] = str

    def begin(self, event: e.Event) -> None:
        """Take on the name and the traits of the model of a process."""
        assert isinstance(event, e.RunCreated | e.RunResumed)
        self.name = event.model
        talks = any(answer.conversation for _, answer in self._answers)
        guessed = ModelTraits(tools="native") if talks else ModelTraits(inline_bodies=False)
        self.traits = ModelTraits.model_validate(event.model_traits) if event.model_traits else guessed

    async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelReply:
        recording, lane = self.recording(), self.lane()
        found = self._next(request, recording, lane)
        if found is None:
            await wait_for_control(recording)
            match recording.ends_by(lane):
                case FailureKind.TIMEOUT:
                    raise TimeoutError
                case FailureKind.MODEL_ERROR:
                    raise ModelUnavailable("the model was not available")
            raise recording.unanswered(lane, request.messages[-1].content)
        self._answers.remove(found)
        seq, answer = found
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
        """The answer to exactly this question; else the next one of the step, else the next one."""
        last = recording.records[-1].seq if recording.records else 0
        waiting = [(seq, answer) for seq, answer in self._answers if seq <= last]
        fingerprint = request.fingerprint()
        text = "\n\n".join(f"[{m.role}]\n{m.content}" for m in request.messages)
        text += f"\n\n[assistant begins]\n{request.begin}" if request.begin else ""
        prompt = hashlib.sha256(text.encode()).hexdigest()
        for seq, answer in waiting:
            if answer.request == fingerprint if answer.item else answer.prompt == prompt:
                return seq, answer
        return next((found for found in waiting if found[1].step_id == lane), waiting[0] if waiting else None)


class RecordedPerson:
    """Answers what was answered, or lets the question wait as it did."""

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
        """Bring paths to their state after the event with this number: the next snapshot has it."""
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
    """If a person interrupted the run here, wait until that has its effect."""
    if any(isinstance(record.event, e.ControlReceived) for record in recording.records):
        await asyncio.sleep(CONTROL_SECONDS)


# -- tools -------------------------------------------------------------------------------------------------------------


def recorded_toolbox(
    records: Sequence[e.Record],
    get_blob: GetBlob,
    files: Files,
    journal: ReplayJournal,
    toolbox: Toolbox | None,
    copied: int = 0,
) -> Toolbox:
    """The tools of the run, with the recorded results. A tool that is not known here is declared from the record. The
    results of the `copied` records at the beginning are part of the state already."""
    results = _RecordedResults(records[copied:], get_blob, files, journal)
    known = list(toolbox or default_toolbox())
    names = {tool.name for tool in known}
    for record in records:
        event = record.event
        if isinstance(event, e.ActionStarted) and event.tool not in names:
            names.add(event.tool)
            writes = Writes.FREE if event.snapshot else Writes.NONE
            anything: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": True}
            known.append(Tool(event.tool, "", anything, results.run, writes=writes, external=event.external))
    return Toolbox(replace(tool, run=_for(results, tool), function=None) for tool in known)


def _for(results: "_RecordedResults", tool: Tool) -> Callable[..., Any]:
    async def run(context: ToolContext, **arguments: Any) -> ToolResult:
        return await results.run(context, tool, arguments)

    return run


class _RecordedResults:
    def __init__(self, records: Sequence[e.Record], get_blob: GetBlob, files: Files, journal: ReplayJournal) -> None:
        self._get_blob, self._files, self._journal = get_blob, files, journal
        self._actions = {r.event.action_id: r for r in records if isinstance(r.event, e.ActionFinished)}
        self._compensations = {
            r.event.compensation_id: r for r in records if isinstance(r.event, e.CompensationFinished)
        }
        self._looks = [r.event for r in records if isinstance(r.event, e.CallAnswered)]

    async def run(self, context: ToolContext, tool: Tool, arguments: Mapping[str, Any]) -> ToolResult:
        if context.root != self._files.root:
            return self._candidate(context, tool, arguments)
        if not context.action_id:
            return self._look(tool, arguments)
        recording = self._journal.recording
        recorded_id = recording.pairs.get(context.action_id, "")
        last = recording.records[-1].seq
        record = self._actions.get(recorded_id) or self._compensations.get(recorded_id)
        if record is None or record.seq > last:
            await wait_for_control(recording)
            lane = context.action_id.rpartition(".")[0]
            if recording.ends_by(lane) is FailureKind.TIMEOUT:
                raise TimeoutError
            raise recording.end(lane, f"waits for the result of {tool.name}")
        event = record.event
        assert isinstance(event, e.ActionFinished | e.CompensationFinished)
        self._files.change(event.changed, record.seq)
        if isinstance(event, e.CompensationFinished):
            return ToolResult(ok=event.ok, summary=event.summary)
        output = self._get_blob(event.output).decode("utf-8", "replace") if event.output else event.summary
        return ToolResult(
            ok=event.ok,
            summary=event.summary,
            output=output,
            data=event.data,
            command=event.command,
            temporary=event.temporary,
        )

    def _look(self, tool: Tool, arguments: Mapping[str, Any]) -> ToolResult:
        """A call outside of a step: the model looked around before it planned."""
        same = [
            look
            for look in self._looks
            if look.tool == tool.name and all(str(arguments.get(n)) == str(v) for n, v in look.arguments.items())
        ]
        if not same:
            raise self._journal.recording.end("", f"looks with {tool.name}({dict(arguments)!r})")
        self._looks.remove(same[0])
        return ToolResult(ok=same[0].ok, summary=self._get_blob(same[0].result).decode())

    def _candidate(self, context: ToolContext, tool: Tool, arguments: Mapping[str, Any]) -> ToolResult:
        """A call on a copy of the workspace. Its effects are not needed: the results of its checks are recorded."""
        tried = self._journal.recording.find(step_of_copy(context.root), e.CandidateTried)
        body = str(arguments.get(tool.body_argument, "")) if tool.body_argument else ""
        is_it = hashlib.sha256(body.encode()).hexdigest() == tried.body or not tried.tool
        if is_it and tried.unusable:
            raise ToolError(tried.unusable, tool=tool.name)
        (context.root / MARK).write_text("recorded" if is_it else "")
        return ToolResult(ok=True, summary="")


MARK = ".surefoot-replay"
"""The file in the copy of a candidate that says whether its judgement was recorded."""


def step_of_copy(root: Path) -> str:
    """What a copy of the workspace is for: a step with candidates, or `judged`, `hollow` and `suite`."""
    return root.parent.name.partition(".")[2]


# -- checks ------------------------------------------------------------------------------------------------------------


class RecordedVerifier(Verifier):
    """Returns recorded results. Which checks are run is a decision, and compared."""

    journal: ReplayJournal
    files: Files

    async def check(self, checks: Sequence[Check], when: e.CheckTime, step_id: str = "") -> tuple[CheckResult, ...]:
        if not checks:
            return ()
        recording = self.journal.recording
        record = recording.peek(step_id)
        labels = sorted({check.key: check.label for check in checks}.values())
        if record is None or not isinstance(record.event, e.ChecksRan) or record.event.when != when:
            raise recording.end(step_id, f"runs the checks {labels} ({when})")
        by_key = {result.check.key: result for result in record.event.results}
        if by_key.keys() != {check.key for check in checks}:
            raise recording.end(step_id, f"runs the checks {labels} ({when})")
        self.files.change(record.event.changed, record.seq)
        await self._recorder.record(record.event)
        return record.event.results

    async def judge(self, checks: Sequence[Check], place: Place) -> tuple[CheckResult, ...]:
        recording, purpose = self.journal.recording, step_of_copy(place.root)
        if purpose in self._recorder.state.steps and place.root != self._place.root:
            recorded = (place.root / MARK).read_text() if (place.root / MARK).exists() else ""
            if recorded:
                found: tuple[CheckResult, ...] = recording.find(purpose, e.CandidateTried).results
                return found
            # A combination of candidates that was no better than they are: only better ones are recorded.
            return tuple(CheckResult(check=check, passed=False) for check in checks)
        output = recording.find("", e.Validated).result.output
        passed = set(output.hollow) if purpose == "hollow" else {c.key for c in checks}
        if purpose != "hollow" and output.view is not None:
            passed -= {result.check.key for result in output.view.red}
        return tuple(CheckResult(check=check, passed=check.key in passed) for check in checks)

    def may_run(self, check: Check) -> bool:
        """Whether copies can be made and commands confined was known then: a plan's check that was run may be run."""
        if isinstance(check, CommandCheck) and check.origin == "plan" and self._was_run(check):
            return True
        return super().may_run(check)

    def _was_run(self, check: Check) -> bool:
        ran = (r.event for r in self.journal.recording.records if isinstance(r.event, e.ChecksRan))
        return any(result.check.key == check.key for event in ran for result in event.results)


class RecordedSuite(SuiteRunner):
    journal: ReplayJournal

    def recorded_evidence(self) -> SuiteEvidence | None:
        output = self.journal.recording.find("", e.Validated).result.output
        return output.tests if output and output.tests else SuiteEvidence()


class _ReplayRecorder(Recorder):
    """Records what people asked for as soon as everything before it was decided."""

    async def record(self, *events: e.Event) -> None:
        await super().record(*events)
        assert isinstance(self.journal, ReplayJournal)
        for control in self.journal.recording.due_controls():
            await super().record(control)


class ReplayedRun(Run):
    """A run whose effects come from the journal. The decisions are those of the engine as it is."""

    def __init__(self, services: Services, state: RunState, journal: ReplayJournal, began: e.Event) -> None:
        self._replay, self._began = journal, began
        model, person = services.model, services.person
        super().__init__(services, state)
        if isinstance(model, RecordedModel):
            model.recording, model.lane = (lambda: journal.recording), self._lane
        if isinstance(person, RecordedPerson):
            person.recording = lambda: journal.recording

    def _lane(self) -> str:
        """The step whose task is running now."""
        task = asyncio.current_task()
        return next((step for step in self.state.running if self.active_steps.task_of(step) is task), "")

    def _make_sandbox(self) -> Sandbox | None:
        """The sandbox that the run had, by its name. Nothing is run in it."""
        match getattr(self._began, "isolation", ""):
            case "bubblewrap":
                return Bubblewrap(Path("bwrap"), "", self.root)
            case "landlock":
                return Landlock(self.root)
        return None

    def _make_recorder(self) -> Recorder:
        return _ReplayRecorder(self.journal, self.bus, self.state, self.redactor)

    def _make_verifier(self) -> Verifier:
        verifier = RecordedVerifier(
            self.recorder, self.workspace, Place(self.root, self.sandbox), self.artifacts, self.scratch
        )
        verifier.journal, verifier.files = self._replay, self._replay.files
        return verifier

    def _make_suite(self) -> SuiteRunner:
        suite = RecordedSuite(self.scratch, self.sandbox, self.state)
        suite.journal = self._replay
        return suite
