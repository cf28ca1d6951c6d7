"""The facts of a run. Each is one small typed event; long content lives in the blob store under its hash.

A run's state is the fold of these (`fold.py`), and every view of a run is a reader of them.
"""

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias, get_args

from pydantic import Field, TypeAdapter
from pydantic_core import PydanticSerializationError

from surefoot.config import ExecutionConfig
from surefoot.errors import JournalError
from surefoot.machine import Rung, Stage, StepStatus
from surefoot.outcome import (
    ApproachOutput,
    Artifact,
    CheckResult,
    Failure,
    Outcome,
    PhaseResult,
    StepExecutionOutput,
    StepReflection,
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


class StepStarted(Value):
    type: Literal["step_started"] = "step_started"
    step_id: str
    attempt: int


class ChecksRan(Value):
    type: Literal["checks_ran"] = "checks_ran"
    step_id: str = ""
    when: Literal["before", "during", "after", "final"]
    results: tuple[CheckResult, ...]
    changed: tuple[str, ...] = ()
    """What running them left in the workspace."""


class ModelAnswered(Value):
    """One call of the model. Prompt and answer are blobs."""

    type: Literal["model_answered"] = "model_answered"
    purpose: str
    step_id: str = ""
    prompt: str
    answer: str
    prompt_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    duration_ms: int = 0
    finish_reason: str = "stop"
    temperature: float = 0.0
    unreadable: str = ""
    """Why the answer could not be used, if so; the model is told."""
    key: str = ""
    """Under which the same question finds this answer again."""


class ModelRetried(Value):
    type: Literal["model_retried"] = "model_retried"
    error: str
    attempt: int
    of: int
    wait_seconds: float


class Decided(Value):
    """What the model decided to do next inside a step, and why."""

    type: Literal["decided"] = "decided"
    step_id: str
    decision: Literal["act", "done", "replan"]
    thought: str = ""


class ActionStarted(Value):
    """Written before the effect: an intent without a result is an interrupted action."""

    type: Literal["action_started"] = "action_started"
    action_id: str
    step_id: str
    tool: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    body: str = ""
    """The hash of a file body that came outside the arguments."""
    fingerprint: str = ""
    snapshot: str = ""
    """The workspace before an action that may write: where an interrupted one goes back to."""
    external: bool = False
    """It may have effects outside the workspace, which no snapshot undoes."""


class ActionFinished(Value):
    type: Literal["action_finished"] = "action_finished"
    action_id: str
    step_id: str
    ok: bool
    summary: str
    """What the model is shown: short, with the key parts quoted."""
    output: str = ""
    """The hash of the whole output."""
    duration_ms: int = 0
    command: str = ""
    data: Any = None
    temporary: bool = False
    changed: tuple[str, ...] = ()
    """What it changed in the workspace, as observed: this and nothing else is undone with it."""


class ActionRefused(Value):
    """Proposed, and not run: it repeats one that failed, is out of bounds, or was denied."""

    type: Literal["action_refused"] = "action_refused"
    step_id: str
    tool: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    reason: str


class ActionInterrupted(Value):
    type: Literal["action_interrupted"] = "action_interrupted"
    action_id: str
    step_id: str


class CandidateTried(Value):
    """One of several answers to the same question, judged by the checks in a copy of the workspace of its own."""

    type: Literal["candidate_tried"] = "candidate_tried"
    step_id: str
    attempt: int
    number: int
    of: int
    temperature: float
    tool: str = ""
    arguments: dict[str, Any] = Field(default_factory=dict)
    body: str = ""
    """The hash of the file or the edits."""
    fingerprint: str = ""
    unusable: str = ""
    """Why no check was run: it cannot be read or applied, or is the same as one that failed."""
    results: tuple[CheckResult, ...] = ()


class StepFinished(Value):
    type: Literal["step_finished"] = "step_finished"
    step_id: str
    status: StepStatus
    attempt: int
    output: StepExecutionOutput | None = None
    """None: it succeeded and changed nothing, so its actions have said all there is."""
    duration_ms: int = 0
    failure: Failure | None = None
    checks: tuple[CheckResult, ...] = ()
    snapshot: str = ""
    """The workspace after the step."""
    artifact: Artifact | None = None
    """What it hands on, where there is an `output`."""
    expires_at: float | None = None
    """Without an `output`: until when what its actions gave can be had; None: it is pinned and stays."""


class StepReset(Value):
    """The step gets another try; `rung` says which, and `note` what is different this time."""

    type: Literal["step_reset"] = "step_reset"
    step_id: str
    rung: Rung
    by: Actor = "engine"
    note: str = ""
    parameters: dict[str, Any] = Field(default_factory=dict)
    tool: str = ""


class Reflected(Value):
    type: Literal["reflected"] = "reflected"
    step_id: str
    reflection: StepReflection


class RungChosen(Value):
    type: Literal["rung_chosen"] = "rung_chosen"
    step_id: str
    rung: Rung
    why: str


class RolledBack(Value):
    type: Literal["rolled_back"] = "rolled_back"
    step_id: str
    snapshot: str
    paths: tuple[str, ...] = ()
    towards: str = ""
    """Of an undo by a person: what it went back to; `snapshot` also holds what others did and it left alone."""


class WorkKept(Value):
    """The step failed, and part of what it did is worth keeping: the next try goes on from there."""

    type: Literal["work_kept"] = "work_kept"
    step_id: str
    why: str


class CompensationStarted(Value):
    """Undoing what a failed step did outside the workspace. Written before it is done, like an action."""

    type: Literal["compensation_started"] = "compensation_started"
    compensation_id: str
    step_id: str
    undoes: str
    """The action, or the plan's own rollback command."""
    tool: str
    arguments: dict[str, Any] = Field(default_factory=dict)


class CompensationFinished(Value):
    type: Literal["compensation_finished"] = "compensation_finished"
    compensation_id: str
    step_id: str
    ok: bool
    summary: str
    duration_ms: int = 0
    changed: tuple[str, ...] = ()
    """What it changed in the workspace; that is undone with the rest."""
    after: str = ""
    """The workspace as the step and this left it, where this changed something."""


class LeftOutside(Value):
    """What a failed step did outside the workspace and nobody undid, and why not."""

    type: Literal["left_outside"] = "left_outside"
    step_id: str
    undoes: str
    what: str


class QuestionAsked(Value):
    type: Literal["question_asked"] = "question_asked"
    question_id: str
    kind: Literal["clarification", "confirmation", "approval", "conflict"]
    text: str
    options: tuple[str, ...] = ()
    step_id: str = ""
    subject: str = ""
    """The hash of exactly what is being approved."""


class QuestionAnswered(Value):
    type: Literal["question_answered"] = "question_answered"
    question_id: str
    answer: str
    by: str = "user"
    timed_out: bool = False
    """Nobody answered in time, which counts as a no."""


class ControlReceived(Value):
    type: Literal["control_received"] = "control_received"
    command: Literal["pause", "resume", "cancel", "skip", "retry", "edit"]
    step_id: str = ""
    by: str = "user"
    why: str = ""
    plan: str = ""
    """The steps still to come, as a person wants them (`editing.py`)."""


class ControlRefused(Value):
    """What a person asked for could not be done; they can see why."""

    type: Literal["control_refused"] = "control_refused"
    command: str
    step_id: str = ""
    by: str = "user"
    reason: str


class Warned(Value):
    type: Literal["warned"] = "warned"
    message: str


class RunEnded(Value):
    type: Literal["run_ended"] = "run_ended"
    outcome: Outcome


Event: TypeAlias = Annotated[
    RunCreated
    | RunResumed
    | RunInterrupted
    | StageEntered
    | PhaseStarted
    | GateRefused
    | Understood
    | ApproachChosen
    | PlanMade
    | PlanRevised
    | Validated
    | StepStarted
    | ChecksRan
    | ModelAnswered
    | ModelRetried
    | Decided
    | ActionStarted
    | ActionFinished
    | ActionRefused
    | ActionInterrupted
    | CandidateTried
    | StepFinished
    | StepReset
    | Reflected
    | RungChosen
    | RolledBack
    | WorkKept
    | CompensationStarted
    | CompensationFinished
    | LeftOutside
    | QuestionAsked
    | QuestionAnswered
    | ControlReceived
    | ControlRefused
    | Warned
    | RunEnded,
    Field(discriminator="type"),
]

event_adapter: TypeAdapter[Event] = TypeAdapter(Event)


class Record(NamedTuple):
    """An event in its place in the journal."""

    seq: int
    at: float
    """Seconds since the epoch."""
    event: Event


as_record: Callable[[tuple[int, float, Event]], Record] = partial(tuple.__new__, Record)
"""What `Record._make` does, in one call."""


def encode(event: Event) -> bytes:
    try:
        return _WRITERS[type(event)](event, exclude_defaults=True, serialize_as_any=False)
    except (PydanticSerializationError, ValueError) as error:
        raise JournalError(
            f"the event {event.type} holds something that cannot be written as JSON: {error}",
            remedy="this is text that is not valid Unicode, or an object: hand over plain text, numbers and lists",
        ) from error


def decode(kind: str, body: bytes) -> Event:
    """`exclude_defaults` drops the tag, which the journal keeps in its own column."""
    event: Event = _READERS[kind](body)
    return event


_CLASSES: tuple[type[Value], ...] = get_args(get_args(Event)[0])
KINDS: dict[type[Value], str] = {cls: cls.model_fields["type"].default for cls in _CLASSES}
"""What an event's class is called in the journal. Attributes of values are slow to read, also that of their class."""
_READERS: dict[str, Callable[[bytes], Any]] = {KINDS[cls]: cls.__pydantic_validator__.validate_json for cls in _CLASSES}
_WRITERS: dict[type[Value], Callable[..., bytes]] = {cls: cls.__pydantic_serializer__.to_json for cls in _CLASSES}
