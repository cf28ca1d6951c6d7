"""Follows the events of a run: folds them into its state, and tracks the current activity."""

from collections.abc import Iterable

from surefoot.cli.report import formatting as fmt
from surefoot.core.outcome import CheckResult
from surefoot.core.transitions import Stage
from surefoot.journal import events as e
from surefoot.journal.reducers import apply
from surefoot.journal.state import RunState
from surefoot.view.labels import PHASE_ACTIVITIES

TAIL_CHARS = 2_000
ACTIVITY_CHARS = 100


class Follower:
    def __init__(self) -> None:
        self.state = RunState()
        self.activity = ""
        """The current activity, in a few words."""
        self.tail = ""
        """The end of the text that the model is writing or a command is printing."""
        self.thought = ""
        self._is_writing = False
        """Whether the activity is a tool call that the model is writing."""
        self.rung: e.RungChosen | None = None
        """The recovery in progress; None when the step has succeeded."""
        self.final_checks: tuple[CheckResult, ...] = ()
        self.seconds: dict[str, float] = {}
        """The duration of each finished step, over all its attempts."""

    def replay(self, records: Iterable[e.Record]) -> None:
        for record in records:
            self.on_record(record)

    def on_record(self, record: e.Record) -> None:
        if record.seq <= self.state.seq:
            return
        apply(self.state, record)
        self._track(record.event)

    def on_text(self, piece: str) -> None:
        self.tail = (self.tail + piece)[-TAIL_CHARS:]

    def on_call(self, tool: str, subject: str) -> None:
        self.activity = fmt.line(f"writing {tool} {subject}".strip(), ACTIVITY_CHARS)
        self._is_writing = True

    def on_check(self, label: str) -> None:
        self.activity, self.tail = fmt.line(f"checking {label}", ACTIVITY_CHARS), ""

    def _track(self, event: e.Event) -> None:
        if isinstance(event, e.ChecksRan):
            self.tail = ""
        match event:
            case e.PhaseStarted():
                self.activity, self.tail, self.thought = PHASE_ACTIVITIES[event.phase], "", ""
            case e.StageEntered(stage=Stage.WAITING):
                self.activity = "waiting for an answer"
            case e.StepStarted():
                self.activity, self.tail, self.thought = "inspecting the workspace", "", ""
            case e.ChecksRan(when="before"):
                self.activity = "deciding what to do next"
            case e.ChecksRan(when="final"):
                self.final_checks = event.results
                self.activity = PHASE_ACTIVITIES["validation"]
            case e.StepFinished():
                earlier = self.seconds.get(event.step_id, 0.0)
                self.seconds[event.step_id] = earlier + event.duration_ms / 1000
                self.activity, self.thought = "", ""
                self.rung = self.rung if event.failure else None
            case e.RungChosen():
                self.rung = event
            case _:
                self._track_inside_step(event)

    def _track_inside_step(self, event: e.Event) -> None:
        match event:
            case e.ModelAnswered():
                self.tail = ""
                if self._is_writing:
                    # Reading files in the survey is quick and records no events: the next request follows at once.
                    self.activity, self._is_writing = "waiting for the model", False
            case e.ModelRetried():
                wait = fmt.duration(event.wait_seconds)
                self.activity = f"{fmt.line(event.error, 100)}; retry in {wait} ({event.attempt} of {event.of})"
            case e.Decided():
                self.thought = fmt.line(event.thought, 200)
                self.activity = "checking the step" if event.decision == "done" else self.activity
            case e.ActionStarted():
                self.activity, self.tail = fmt.action(event.tool, event.arguments), ""
            case e.CandidateTried():
                self.activity, self.tail = f"candidate {event.number} of {event.of} was checked", ""
            case e.CompensationStarted():
                self.activity, self.tail = f"undoing: {fmt.action(event.tool, event.arguments)}", ""
            case e.ActionFinished():
                self.activity = "deciding what to do next" if event.ok else "looking at what went wrong"
            case _:
                pass
