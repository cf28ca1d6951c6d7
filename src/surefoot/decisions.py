"""Every decision inside the steps of a run, in order: what was thought, what was chosen, and what came of it.

Each can be gone back to: `fork.py` makes a new run that stands right before it.
"""

from collections.abc import Iterable
from typing import Any, Literal

from pydantic import Field

from surefoot import events as e
from surefoot.machine import Rung
from surefoot.values import Value

_OF_THE_STEP = ("act", "act and write", "write", "edit")
"""What a model is asked for inside a step; all else that it is asked belongs to phases and to recovery."""


class Decision(Value):
    number: int
    """Counted from 1."""
    begins: int
    """The first event that belongs to it: up to there, a run that decides differently is the same."""
    at: float
    step_id: str
    attempt: int
    kind: Literal["act", "done", "replan", "recover"]
    """By the model or the plan; recover: by the engine, after the step failed."""
    thought: str = ""
    asked: bool = False
    """A model was asked; otherwise the plan said what to do, or rules did."""
    tool: str = ""
    arguments: dict[str, Any] = Field(default_factory=dict)
    action_id: str = ""
    ok: bool | None = None
    """What became of the action; None: it was refused, interrupted, or there was none."""
    result: str = ""
    """The action's result in short, or why it was refused."""
    rung: Rung | None = None
    plan_changes: tuple[str, ...] = ()
    """Steps that it added, changed or removed: `+ s4`, `~ s5`, `- s6`."""


def decisions(records: Iterable[e.Record]) -> list[Decision]:
    history = _History()
    for record in records:
        history.take(record)
    return history.found


class _History:
    def __init__(self) -> None:
        self.found: list[Decision] = []
        self._begun: dict[str, int] = {}
        """By step: the first event of the decision that is being made."""
        self._asked: set[str] = set()
        self._thoughts: dict[str, str] = {}
        self._changes: dict[str, tuple[str, ...]] = {}
        self._attempts: dict[str, int] = {}
        self._open: dict[str, int] = {}
        """By action: the place of its decision in the list."""

    def take(self, record: e.Record) -> None:
        event = record.event
        match event:
            case e.StepStarted():
                self._attempts[event.step_id] = event.attempt
                self._forget(event.step_id)
            case e.ModelAnswered() if event.purpose in _OF_THE_STEP:
                self._begun.setdefault(event.step_id, record.seq)
                self._asked.add(event.step_id)
            case e.PlanRevised() if event.by == "model":
                self._begun.setdefault(event.after, record.seq)
                self._changes[event.after] = plan_changes(event)
            case e.Decided(decision="act"):
                self._begun.setdefault(event.step_id, record.seq)
                self._thoughts[event.step_id] = event.thought
            case e.Decided():
                self._thoughts[event.step_id] = event.thought
                self._add(record, event.step_id, kind=event.decision)
            case e.ActionStarted():
                self._open[event.action_id] = len(self.found)
                told = {"tool": event.tool, "arguments": event.arguments, "action_id": event.action_id}
                self._add(record, event.step_id, kind="act", **told)
            case e.ActionRefused():
                told = {"tool": event.tool, "arguments": event.arguments}
                self._add(record, event.step_id, kind="act", result=f"refused: {event.reason}", **told)
            case e.ActionFinished() if event.action_id in self._open:
                self._came_of(event.action_id, ok=event.ok, result=event.summary)
            case e.ActionInterrupted() if event.action_id in self._open:
                self._came_of(event.action_id, result="interrupted, and undone")
            case e.RungChosen():
                self._forget(event.step_id)
                self._add(record, event.step_id, kind="recover", rung=event.rung, result=event.why)

    def _add(self, record: e.Record, step_id: str, **told: Any) -> None:
        self.found.append(
            Decision(
                number=len(self.found) + 1,
                begins=self._begun.get(step_id, record.seq),
                at=record.at,
                step_id=step_id,
                attempt=self._attempts.get(step_id, 0),
                thought=self._thoughts.get(step_id, ""),
                asked=step_id in self._asked,
                plan_changes=self._changes.get(step_id, ()),
                **told,
            )
        )
        self._forget(step_id)

    def _came_of(self, action_id: str, **result: Any) -> None:
        place = self._open.pop(action_id)
        self.found[place] = self.found[place].with_(**result)

    def _forget(self, step_id: str) -> None:
        self._asked.discard(step_id)
        for kept in (self._begun, self._thoughts, self._changes):
            kept.pop(step_id, None)


def plan_changes(event: e.PlanRevised) -> tuple[str, ...]:
    return (
        *(f"+ {step.id}" for step in event.added),
        *(f"~ {step.id}" for step in event.changed),
        *(f"- {step_id}" for step_id in event.removed),
    )
