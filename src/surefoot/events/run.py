"""About the run as a whole: its beginning and end, its phases, its plan."""

from typing import Literal

from pydantic import Field

from surefoot.config import ExecutionConfig
from surefoot.machine import Stage
from surefoot.outcome import (
    ApproachOutput,
    Outcome,
    PhaseResult,
    UnderstandingOutput,
    ValidationOutput,
)
from surefoot.plan import DetailedPlan, ExecutionStep, StepDependency
from surefoot.task import Task
from surefoot.values import Value

PhaseName = Literal["understanding", "approach", "planning", "validation"]
Actor = Literal["engine", "model", "user"]


class RunCreated(Value):
    type: Literal["run_created"] = "run_created"
    run_id: str
    task: Task
    config: ExecutionConfig
    model: str
    surefoot: str
    snapshot: str = ""
    """The workspace before anything was done."""
    protected: tuple[str, ...] = ()
    """Tests that exist already: the agent may read and run them, not change them."""
    starts_at: Stage = Stage.UNDERSTANDING
    based_on: str = ""
    """The run whose earlier phases this one takes over."""


class RunResumed(Value):
    type: Literal["run_resumed"] = "run_resumed"
    model: str
    surefoot: str
    pid: int = 0
    config: ExecutionConfig | None = None
    """Other settings from here on: more time, more tokens."""


class RunInterrupted(Value):
    type: Literal["run_interrupted"] = "run_interrupted"
    reason: str


class StageEntered(Value):
    type: Literal["stage_entered"] = "stage_entered"
    stage: Stage
    reason: str = ""


class PhaseStarted(Value):
    type: Literal["phase_started"] = "phase_started"
    phase: PhaseName
    attempt: int = 0


class GateRefused(Value):
    """A phase's output did not pass its gate; the messages go into the next prompt."""

    type: Literal["gate_refused"] = "gate_refused"
    phase: PhaseName
    attempt: int
    confidence: float
    messages: tuple[str, ...]


class Understood(Value):
    type: Literal["understood"] = "understood"
    result: PhaseResult[UnderstandingOutput]


class ApproachChosen(Value):
    type: Literal["approach_chosen"] = "approach_chosen"
    result: PhaseResult[ApproachOutput]


class PlanMade(Value):
    type: Literal["plan_made"] = "plan_made"
    result: PhaseResult[DetailedPlan]
    mended: tuple[str, ...] = ()
    """What was put right mechanically in what the model proposed."""
    dropped: tuple[str, ...] = ()
    """The names of the steps of the plan before it that are not in this one."""


class PlanRevised(Value):
    """The plan changed while it ran. Only the difference is written."""

    type: Literal["plan_revised"] = "plan_revised"
    by: Actor
    reason: str
    after: str = ""
    """The step behind which added steps come."""
    added: tuple[ExecutionStep, ...] = ()
    changed: tuple[ExecutionStep, ...] = ()
    removed: tuple[str, ...] = ()
    depends_on: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """What these steps depend on from now on, by id; a dependency that was there before keeps its condition."""
    waits_for: tuple[StepDependency, ...] = ()
    """The same with conditions."""
    order: tuple[str, ...] = ()
    """The steps still to come in a new order, where a person gave one."""


class Validated(Value):
    type: Literal["validated"] = "validated"
    result: PhaseResult[ValidationOutput]


class Warned(Value):
    type: Literal["warned"] = "warned"
    message: str


class RunEnded(Value):
    type: Literal["run_ended"] = "run_ended"
    outcome: Outcome
