"""A reader of a run's events: folds its own state and remembers what is going on right now, for whoever shows it."""

from collections.abc import Iterable

from surefoot import events as e
from surefoot.cli import words
from surefoot.fold import apply
from surefoot.machine import Stage
from surefoot.outcome import CheckResult
from surefoot.state import RunState

TAIL_CHARS = 2_000

_PHASE_WORDS = {
    "understanding": "reading the task",
    "approach": "choosing an approach",
    "planning": "making the plan",
    "validation": "validating the result",
}


class Follower:
    def __init__(self) -> None:
        self.state = RunState()
        self.now = ""
        """What is being done, in a few words."""
        self.tail = ""
        """The end of the answer that is being written."""
        self.thought = ""
        self.rung: e.RungChosen | None = None
        """How the last failure is being recovered from; None once that has worked."""
        self.final: tuple[CheckResult, ...] = ()
        self.seconds: dict[str, float] = {}
        """How long each finished step took, over all its tries."""

    def replay(self, records: Iterable[e.Record]) -> None:
        for record in records:
            self.on_record(record)

    def on_record(self, record: e.Record) -> None:
        if record.seq <= self.state.seq:
            return
        apply(self.state, record)
        self._notice(record.event)

    def on_text(self, piece: str) -> None:
        self.tail = (self.tail + piece)[-TAIL_CHARS:]

    def _notice(self, event: e.Event) -> None:
        match event:
            case e.PhaseStarted():
                self.now, self.tail, self.thought = _PHASE_WORDS[event.phase], "", ""
            case e.StageEntered(stage=Stage.WAITING):
                self.now = "waiting for an answer"
            case e.StepStarted():
                self.now, self.tail, self.thought = "looking at how things are", "", ""
            case e.ChecksRan(when="before"):
                self.now = "deciding what is next"
            case e.ChecksRan(when="final"):
                self.final = event.results
            case e.StepFinished():
                taken = self.seconds.get(event.step_id, 0.0) + event.duration_ms / 1000
                self.seconds[event.step_id] = taken
                self.now, self.thought = "", ""
                self.rung = self.rung if event.failure else None
            case e.RungChosen():
                self.rung = event
            case _:
                self._notice_inside(event)

    def _notice_inside(self, event: e.Event) -> None:
        """What happens inside a step."""
        match event:
            case e.ModelAnswered():
                self.tail = ""
            case e.ModelRetried():
                wait = words.duration(event.wait_seconds)
                self.now = f"{words.line(event.error, 100)}; again in {wait} ({event.attempt} of {event.of})"
            case e.Decided():
                self.thought = words.line(event.thought, 200)
                self.now = "checking the step" if event.decision == "done" else self.now
            case e.ActionStarted():
                self.now, self.tail = words.action(event.tool, event.arguments), ""
            case e.CandidateTried():
                self.now, self.tail = f"candidate {event.number} of {event.of} was judged", ""
            case e.CompensationStarted():
                self.now, self.tail = f"undoing: {words.action(event.tool, event.arguments)}", ""
            case e.ActionFinished():
                self.now = "deciding what is next" if event.ok else "looking at what went wrong"
            case _:
                pass
