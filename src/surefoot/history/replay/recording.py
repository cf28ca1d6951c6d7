"""The recorded events of a run, and their comparison with the decisions that the engine makes in a replay.

Events of one step, and those of the run as a whole, are compared in order. Steps that ran in parallel are independent
of each other.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from pydantic_core import to_jsonable_python

from surefoot.core.outcome import FailureKind, Verdict
from surefoot.core.plan import StepKind
from surefoot.core.transitions import Stage
from surefoot.errors import ModelError
from surefoot.journal import events as e

_OUTSIDE = (Verdict.TIME, Verdict.CANCELLED, Verdict.INTERRUPTED)
"""Verdicts that a clock or a person caused. A replay has neither, so it ends where the record does."""


class Divergence(NamedTuple):
    seq: int
    """The number of the recorded event at which the replay differs; 0 if it goes on after the end of the record."""
    step_id: str
    recorded: str
    now: str


class Halted(BaseException):
    """Ends a replay. It is not an `Exception`, so that the engine does not treat it as the failure of a tool."""


class EndOfRecord(Halted):
    """The recorded process was stopped here."""


class Diverged(Halted):
    pass


_Decision = tuple[str, dict[str, Any]]
_COMPARED: dict[type[Any], Callable[[Any], dict[str, Any]]] = {
    e.PhaseStarted: lambda v: {"phase": v.phase},
    e.GateRefused: lambda v: {"phase": v.phase},
    e.Understood: lambda v: {"status": v.result.status, "output": v.result.output},
    e.ApproachChosen: lambda v: {"status": v.result.status, "output": v.result.output},
    e.PlanMade: lambda v: {"status": v.result.status, "plan": v.result.output},
    e.PlanRevised: lambda v: {
        "added": v.added,
        "changed": v.changed,
        "removed": v.removed,
        "waits for": sorted(
            {
                *((s, d) for s, ds in v.depends_on.items() for d in ds),
                *((d.step_id, d.depends_on) for d in v.waits_for),
            }
        ),
    },
    e.Validated: lambda v: {"status": v.result.status},
    e.StageEntered: lambda v: {"stage": v.stage},
    # Older journals have no kind for a call, which is no decision: the step names its tool.
    e.StepStarted: lambda v: {"attempt": v.attempt, "kind": None if v.kind is StepKind.CALL else v.kind},
    e.ChecksRan: lambda v: {"when": v.when, "checks": sorted(r.check.label for r in v.results)},
    e.Decided: lambda v: {"decision": v.decision},
    e.ActionStarted: lambda v: {"tool": v.tool, "arguments": v.arguments, "body": v.body},
    e.ActionRefused: lambda v: {"tool": v.tool, "arguments": v.arguments},
    e.CandidateTried: lambda v: {"number": v.number, "tool": v.tool, "body": v.body, "unusable": bool(v.unusable)},
    e.StepFinished: lambda v: {"status": v.status, "failure": v.failure.kind if v.failure else None},
    e.StepReset: lambda v: {"rung": v.rung, "parameters": v.parameters, "tool": v.tool},
    e.Reflected: lambda v: {"category": v.reflection.category, "recoverable": v.reflection.recoverable},
    e.RungChosen: lambda v: {"rung": v.rung},
    e.WorkKept: lambda v: {},
    e.CompensationStarted: lambda v: {"tool": v.tool, "arguments": v.arguments},
    e.QuestionAsked: lambda v: {"kind": v.kind, "text": v.text},
    e.RunEnded: lambda v: {"verdict": v.outcome.verdict, "proof": v.outcome.proof},
}
"""The events that are decisions, and the values to compare. All others are inputs, costs and observations."""


def decision_of(event: e.Event) -> _Decision | None:
    fields = _COMPARED.get(type(event))
    return (event.type, to_jsonable_python(fields(event), by_alias=False)) if fields else None


def lane_of(event: e.Event) -> str:
    """The step whose events are compared in order with this one; empty for the run as a whole."""
    if isinstance(event, e.PlanRevised):
        return event.after if event.by == "model" else ""
    return getattr(event, "step_id", "")


class Recording:
    """The events of one process of a run, from its start or resume to its end."""

    def __init__(self, records: Sequence[e.Record], *, is_last: bool) -> None:
        self.records = records
        self.is_last = is_last
        self.ended_outside = _ended_outside(records)
        self.divergence: Divergence | None = None
        self.compared = 0
        self._unanswered = ""
        self._lanes: dict[str, deque[e.Record]] = {}
        for record in records:
            if decision_of(record.event) is not None and not _from_outside(record.event):
                self._lanes.setdefault(lane_of(record.event), deque()).append(record)
        self._controls = deque(r for r in records if isinstance(r.event, e.ControlReceived))
        self.pairs: dict[str, str] = {}
        """By id of an action of the replay: the id of the recorded action."""

    # -- decisions ---------------------------------------------------------------------------------------------------

    def match(self, event: e.Event) -> None:
        """Compare an event of the replay with the next one of its lane. Raises Halted if they differ."""
        decided = decision_of(event)
        if decided is None or _from_outside(event):
            return
        lane = lane_of(event)
        record = self.peek(lane)
        if record is None or decision_of(record.event) != decided:
            self.diverge(lane, describe(event, against=record.event if record else None), event)
        assert record is not None
        self._lanes[lane].popleft()
        self.compared += 1
        self._unanswered = ""
        if isinstance(event, e.ActionStarted) and isinstance(record.event, e.ActionStarted):
            self.pairs[event.action_id] = record.event.action_id
        elif isinstance(event, e.CompensationStarted) and isinstance(record.event, e.CompensationStarted):
            self.pairs[event.compensation_id] = record.event.compensation_id

    def peek(self, lane: str) -> e.Record | None:
        waiting = self._lanes.get(lane)
        return waiting[0] if waiting else None

    def find(self, lane: str, kind: type[Any]) -> Any:
        """The next event of this kind in a lane. Raises Halted if there is none."""
        for record in self._lanes.get(lane, ()):
            if isinstance(record.event, kind):
                return record.event
        raise self.end(lane, f"waits for {kind.model_fields['type'].default}")

    def diverge(self, lane: str, now: str, event: e.Event | None = None) -> None:
        record = self.peek(lane)
        if record is None and self.ended_outside:
            raise EndOfRecord
        if self._unanswered:
            now += f" (after a question to the model that has no recorded answer: {self._unanswered[-200:]!r})"
        if self.divergence is None:
            recorded = describe(record.event, against=event) if record else "the record ends"
            self.divergence = Divergence(record.seq if record else 0, lane, recorded, now)
        raise Diverged

    def end(self, lane: str, now: str) -> Halted:
        """The exception for an input that is not recorded: the process was stopped here, or the replay diverged."""
        record = self.peek(lane)
        if record is None and self.ended_outside:
            return EndOfRecord()
        try:
            self.diverge(lane, now)
        except Halted as halted:
            return halted
        raise AssertionError("unreachable")

    def unanswered(self, lane: str, question: str) -> BaseException:
        """The exception for a request to the model that has no recorded answer.

        The model may have failed in the recorded run too, and the engine gone on, so that is assumed at first.
        """
        if self.ended_outside and not any(self._lanes.values()):
            return EndOfRecord()
        self._unanswered = question
        return ModelError("no answer to this question is recorded")

    def leftover(self) -> Divergence | None:
        """The divergence of a replay that has ended: the known one, or the first recorded decision not reached."""
        left = [lane[0] for lane in self._lanes.values() if lane]
        if not left or self.divergence is not None:
            return self.divergence
        first = min(left, key=lambda record: record.seq)
        return Divergence(first.seq, lane_of(first.event), describe(first.event), "the run ends before this")

    # -- inputs ------------------------------------------------------------------------------------------------------

    def ends_by(self, lane: str) -> FailureKind | None:
        """How the current attempt of a step failed, if that is the next recorded decision of the step; else None."""
        record = self.peek(lane)
        failure = record.event.failure if record and isinstance(record.event, e.StepFinished) else None
        return failure.kind if failure else None

    def due_controls(self) -> list[e.ControlReceived]:
        """Remove and return the controls that are due: all recorded decisions before them were made."""
        due = []
        while self._controls and all(not lane or lane[0].seq > self._controls[0].seq for lane in self._lanes.values()):
            event = self._controls.popleft().event
            assert isinstance(event, e.ControlReceived)
            due.append(event)
        return due

    def asked_again(self) -> list[e.Event]:
        """Remove and return the changes to steps that a person made before the process went on, as by
        `surefoot retry`."""
        records = []
        for lane in self._lanes.values():
            while lane and _by_user(lane[0].event):
                records.append(lane.popleft())
        return [record.event for record in sorted(records, key=lambda record: record.seq)]


def _by_user(event: e.Event) -> bool:
    return isinstance(event, e.StepReset | e.PlanRevised) and event.by == "user"


def _from_outside(event: e.Event) -> bool:
    """Whether a clock or a person caused an event: the end of a run, or an undo."""
    if isinstance(event, e.RunEnded):
        return event.outcome.verdict in _OUTSIDE
    return isinstance(event, e.RolledBack) and not event.step_id


def _ended_outside(records: Sequence[e.Record]) -> bool:
    """Whether a process was ended by something that a replay does not have: a kill, a clock, a person, a lost model."""
    for record in reversed(records):
        match record.event:
            case e.RunEnded(outcome=outcome):
                lost_model = outcome.summary.startswith("the model could not be asked")
                return outcome.verdict in _OUTSIDE or lost_model
            case e.StageEntered(stage=Stage.WAITING):
                return False
            case e.RunInterrupted():
                return True
    return True


def segments(records: Iterable[e.Record]) -> list[Recording]:
    """Split a journal into the processes that wrote it. A process starts with RunCreated or RunResumed.

    Processes after a review are left out: the result as a person changed it cannot be decided again.
    """
    parts: list[list[e.Record]] = []
    reviewed = False
    for record in records:
        reviewed = reviewed or (isinstance(record.event, e.RolledBack) and record.event.scope == "review")
        if isinstance(record.event, e.RunCreated | e.RunResumed):
            if reviewed:
                break
            parts.append([])
        parts[-1].append(record)
    return [Recording(part, is_last=part is parts[-1]) for part in parts]


def describe(event: e.Event, against: e.Event | None = None) -> str:
    """Describe a decision in one line. If `against` is an event of the same kind, only differing values are shown."""
    kind, fields = decision_of(event) or (event.type, {})
    other = decision_of(against) if against is not None else None
    if other is not None and other[0] == kind:
        fields = {name: value for name, value in fields.items() if other[1].get(name) != value} or fields
    text = ", ".join(f"{name} {_short(value)}" for name, value in fields.items())
    step = f" of {lane_of(event)}" if lane_of(event) else ""
    return f"{kind}{step}" + (f": {text}" if text else "")


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 300 else f"{text[:297]}..."
