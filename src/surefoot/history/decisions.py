"""The decisions inside the steps of a run, in order: thought, choice and result.

`fork.py` can start a new run before any of them.
"""

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import Field

from surefoot.core.purpose import STEP_PURPOSES
from surefoot.core.transitions import Rung
from surefoot.core.values import FreeText, Secrecy, Value
from surefoot.journal import events as e


class Decision(Value):
    number: int
    """Starting at 1."""
    begins: int
    """The number of the decision's first event. A fork before the decision copies only the events before this one."""
    at: float
    step_id: str
    attempt: int
    kind: Literal["act", "done", "replan", "recover"]
    """`recover` is the engine's decision after a failed step. The others are made by the model or by the plan."""
    thought: FreeText = ""
    asked: bool = False
    """Whether a model was asked; otherwise the plan or a rule decided."""
    tool: str = ""
    arguments: Annotated[dict[str, Any], Secrecy.WORDING] = Field(default_factory=dict)
    action_id: str = ""
    ok: bool | None = None
    """Whether the action succeeded. None if it was refused or interrupted, has not ended, or if there was no action."""
    result: FreeText = ""
    """The summary of the action, or why it was refused."""
    rung: Rung | None = None
    plan_changes: tuple[str, ...] = ()
    """The steps that the decision added, changed or removed: `+ s4`, `~ s5`, `- s6`."""


def decisions(records: Iterable[e.Record]) -> list[Decision]:
    collector = _Collector()
    for record in records:
        collector.add(record)
    return collector.decisions


class _Collector:
    """Collects decisions from events. Details of a step's next decision are held until the decision is complete."""

    def __init__(self) -> None:
        self.decisions: list[Decision] = []
        self._first_event: dict[str, int] = {}
        """By step: the first event of its next decision."""
        self._asked: set[str] = set()
        self._thoughts: dict[str, str] = {}
        self._changes: dict[str, tuple[str, ...]] = {}
        self._attempts: dict[str, int] = {}
        self._open: dict[str, int] = {}
        """By open action: the index of its decision."""

    def add(self, record: e.Record) -> None:
        event = record.event
        match event:
            case e.StepStarted():
                self._attempts[event.step_id] = event.attempt
                self._reset(event.step_id)
            case e.ModelAnswered() if event.purpose in STEP_PURPOSES:
                self._first_event.setdefault(event.step_id, record.seq)
                self._asked.add(event.step_id)
            case e.PlanRevised() if event.by == "model":
                self._first_event.setdefault(event.after, record.seq)
                self._changes[event.after] = plan_changes(event)
            case e.Decided(decision="act"):
                self._first_event.setdefault(event.step_id, record.seq)
                self._thoughts[event.step_id] = event.thought
            case e.Decided():
                self._thoughts[event.step_id] = event.thought
                self._append(record, event.step_id, kind=event.decision)
            case e.ActionStarted():
                self._open[event.action_id] = len(self.decisions)
                action = {"tool": event.tool, "arguments": event.arguments, "action_id": event.action_id}
                self._append(record, event.step_id, kind="act", **action)
            case e.ActionRefused():
                action = {"tool": event.tool, "arguments": event.arguments}
                self._append(record, event.step_id, kind="act", result=f"refused: {event.reason}", **action)
            case e.ActionFinished() if event.action_id in self._open:
                self._complete(event.action_id, ok=event.ok, result=event.summary)
            case e.ActionInterrupted() if event.action_id in self._open:
                self._complete(event.action_id, result="interrupted, and undone")
            case e.RungChosen():
                self._reset(event.step_id)
                self._append(record, event.step_id, kind="recover", rung=event.rung, result=event.why)

    def _append(self, record: e.Record, step_id: str, **values: Any) -> None:
        self.decisions.append(
            Decision(
                number=len(self.decisions) + 1,
                begins=self._first_event.get(step_id, record.seq),
                at=record.at,
                step_id=step_id,
                attempt=self._attempts.get(step_id, 0),
                thought=self._thoughts.get(step_id, ""),
                asked=step_id in self._asked,
                plan_changes=self._changes.get(step_id, ()),
                **values,
            )
        )
        self._reset(step_id)

    def _complete(self, action_id: str, **result: Any) -> None:
        index = self._open.pop(action_id)
        self.decisions[index] = self.decisions[index].with_(**result)

    def _reset(self, step_id: str) -> None:
        self._asked.discard(step_id)
        for by_step in (self._first_event, self._thoughts, self._changes):
            by_step.pop(step_id, None)


def plan_changes(event: e.PlanRevised) -> tuple[str, ...]:
    return (
        *(f"+ {step.id}" for step in event.added),
        *(f"~ {step.id}" for step in event.changed),
        *(f"- {step_id}" for step_id in event.removed),
    )
