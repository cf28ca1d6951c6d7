"""A step, what its current attempt has done, and what came of it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic_core import to_json

from surefoot import events as e
from surefoot.machine import StepStatus
from surefoot.outcome import Artifact, CheckResult, ExecutionStatus, Failure, StepExecutionOutput, StepReflection
from surefoot.plan import ExecutionStep

LOGGED_CHARS = 200
"""What the log of a step shows of each action."""


@dataclass(slots=True)
class Action:
    """One tool call inside a step's current attempt."""

    id: str
    step_id: str
    tool: str
    arguments: dict[str, Any]
    fingerprint: str
    body: str = ""
    snapshot: str = ""
    external: bool = False
    ok: bool | None = None
    """None while it runs, or when it was interrupted."""
    summary: str = ""
    output: str = ""
    command: str = ""
    data: Any = None
    temporary: bool = False
    """It failed, and the same call may work a moment later."""


@dataclass(slots=True)
class Compensation:
    """Undoing what an action, or the step as a whole, did outside the workspace."""

    id: str
    undoes: str
    tool: str
    arguments: dict[str, Any]
    ok: bool | None = None
    """None while it runs, or when it was interrupted."""


@dataclass(slots=True)
class StepRun:
    """A step and what has become of it."""

    step: ExecutionStep
    status: StepStatus = StepStatus.PENDING
    attempt: int = 0
    started_at: float = 0.0
    snapshot: str = ""
    """The workspace before the attempt's first write, or that of an earlier one whose work was kept: what a rollback
    goes back to."""
    after: str = ""
    actions: list[Action] = field(default_factory=list)
    """Of the current attempt."""
    baseline: tuple[CheckResult, ...] = ()
    checks: tuple[CheckResult, ...] = ()
    ended: bool = False
    """It has come to an end, in this attempt or before. What follows is about that end."""
    written: StepExecutionOutput | None = None
    """As the journal has it; `output` is the same with what the actions gave. None: the actions say all of it."""
    filed: Artifact | None = None
    """As the journal has it; `artifact` is also there for what the actions say."""
    expires_at: float | None = None
    failures: tuple[Failure, ...] = ()
    reflections: tuple[StepReflection, ...] = ()
    rungs: list[str] = field(default_factory=list)
    """What recovery tried for this step, in order."""
    notes: tuple[str, ...] = ()
    """What the next attempt is told to do differently."""
    failed_fingerprints: frozenset[str] = frozenset()
    """Everything done in attempts that failed: not to be repeated unchanged."""
    refusals: int = 0
    refused: tuple[str, ...] = ()
    """What was proposed in this attempt and not run, and why."""
    retries: int = 0
    repairs: int = 0
    temporary_retries: int = 0
    parameters: dict[str, Any] = field(default_factory=dict)
    tool: str = ""
    touched: frozenset[str] = frozenset()
    """What this attempt changed in the workspace: all that a rollback may touch, because the rest is other people's."""
    red_looks: tuple[tuple[int, tuple[CheckResult, ...]], ...] = ()
    """Checks that failed during this attempt, each time with the number of actions done by then."""
    kept: bool = False
    """What the failed attempt did stays, and the next one goes on from there."""
    candidates: tuple[e.CandidateTried, ...] = ()
    """Of all attempts, in order."""
    compensations: tuple[Compensation, ...] = ()
    """Of the current attempt."""
    shared: bool = False
    """Another step ran at the same time during this attempt: not all that changed is its doing."""

    @property
    def output(self) -> StepExecutionOutput | None:
        return whole(self.step.id, self.written, self.filed, self.actions) if self.ended else None

    @property
    def outputs(self) -> dict[str, Any]:
        """What it handed on, or where that is to be found."""
        if not self.ended:
            return {}
        own = self.written.outputs if self.written is not None else {}
        return own or (outputs_of(self.actions) if self.written is None or self.filed is not None else {})

    @property
    def artifact(self) -> Artifact | None:
        if not self.ended or self.written is not None or not (outputs := outputs_of(self.actions)):
            return self.filed
        size = len(to_json(outputs, fallback=str))
        return Artifact(
            id=f"{self.step.id}@{self.attempt}", producer=self.step.id, size=size, expires_at=self.expires_at
        )


def whole(
    step_id: str, written: StepExecutionOutput | None, filed: Artifact | None, actions: Sequence[Action]
) -> StepExecutionOutput:
    """What actions gave is in their own events, and not kept twice in memory either."""
    if written is None:
        return StepExecutionOutput(
            step_id=step_id,
            status=ExecutionStatus.SUCCESS,
            outputs=outputs_of(actions),
            logs=logs_of(actions),
            executed_commands=commands_of(actions),
        )
    if filed is None or written.outputs:
        return written
    return written.model_copy(update={"outputs": outputs_of(actions)})


def logs_of(actions: Sequence[Action]) -> tuple[str, ...]:
    return tuple([f"{action.tool}: {_first_line(action.summary)}" for action in actions])


def _first_line(text: str) -> str:
    return "".join(text[:LOGGED_CHARS].splitlines()[:1])


def commands_of(actions: Sequence[Action]) -> tuple[str, ...]:
    return tuple([action.command for action in actions if action.command])


def outputs_of(actions: Sequence[Action]) -> dict[str, Any]:
    """What a step's actions gave: the data of each, and as the result what the last good one ended with."""
    outputs: dict[str, Any] = {}
    last: Action | None = None
    for number, action in enumerate(actions, 1):
        if action.data is not None:
            outputs[f"action_{number}"] = action.data
        if action.ok:
            last = action
    if last is not None:
        outputs["result"] = last.summary if last.data is None else last.data
    return outputs
