"""Events of the run as a whole: start and end, phases, plan."""

from typing import Any, Literal

from pydantic import Field

from surefoot.config.model import AlertOccasion, ExecutionConfig
from surefoot.core.outcome import Outcome
from surefoot.core.phases import ApproachOutput, PhaseResult, UnderstandingOutput, ValidationOutput
from surefoot.core.plan import DetailedPlan, ExecutionStep, StepDependency
from surefoot.core.task import Task
from surefoot.core.transitions import Stage
from surefoot.core.values import FreeText, Value, Wording

PhaseName = Literal["understanding", "approach", "planning", "validation"]
Actor = Literal["engine", "model", "user"]


class Cloned(Value):
    """The repository that was cloned for a run."""

    address: Wording
    """Without a password or token."""
    commit: str
    ref: str = ""
    """The branch or tag that was asked for; empty if it was the default branch."""


class RunCreated(Value):
    type: Literal["run_created"] = "run_created"
    run_id: str
    task: Task
    config: ExecutionConfig
    model: str
    surefoot: str
    snapshot: str = ""
    """The workspace before the run."""
    protected: tuple[str, ...] = ()
    """Existing tests, scripts of checks, and files that the task says to leave alone. `Run.not_writable` says which of
    them may not be written at all."""
    starts_at: Stage = Stage.UNDERSTANDING
    based_on: str = ""
    """The run whose earlier phases this one reuses."""
    copied: int = 0
    """For a fork: how many of the next events were copied from that run."""
    forked_at: str = ""
    """For a fork: the snapshot that its folder was made from. Empty in journals written before this was recorded."""
    model_traits: dict[str, Any] = Field(default_factory=dict)
    """The traits of the model that differ from the defaults (`models/base.py`). They decide how it is asked."""
    model_address: Wording = ""
    """The spec of a model that is named by the address of its server (`models/select.py`), without credentials."""
    isolation: str = ""
    """The sandbox of commands; empty if there is none, and in journals written before this was recorded."""
    system: str = ""
    """Python and the operating system; empty in journals written before this was recorded."""
    remote: bool = False
    """Whether workers drive it, perhaps on other machines than the one where it was created. If so, its snapshots are
    stored with the journal."""
    branch: str = ""
    """The git branch that was made for the run; empty if none was asked for."""
    branched_from: str = ""
    """The branch that it was made from."""
    cloned: Cloned | None = None
    """For a run that began with a clone: its origin."""
    newest_changes: FreeText = ""
    """The newest commit and the uncommitted changes, if the task speaks of changes (`project/commits.py`)."""


class RunResumed(Value):
    type: Literal["run_resumed"] = "run_resumed"
    run_id: str = ""
    """For programs that follow events as they happen; empty in journals written before this was recorded."""
    model: str
    surefoot: str
    pid: int = 0
    config: ExecutionConfig | None = None
    """New settings from here on, such as a larger budget."""
    model_traits: dict[str, Any] = Field(default_factory=dict)
    model_address: Wording = ""
    isolation: str = ""
    system: str = ""
    changed: tuple[str, ...] = ()
    """The paths that somebody else changed since the run left the folder. Empty if that is not known, and in journals
    written before this was recorded."""


class WorkspaceStored(Value):
    """The files of a remote run as they are now. Recorded together with the events that changed them."""

    type: Literal["workspace_stored"] = "workspace_stored"
    snapshot: str


class RunInterrupted(Value):
    type: Literal["run_interrupted"] = "run_interrupted"
    reason: FreeText
    as_asked: bool = False
    """Whether the run stopped after the phase that it was asked to stop after."""
    snapshot: str = ""
    """The workspace as the run left it; empty if that could not be recorded, and in older journals."""


class StageEntered(Value):
    type: Literal["stage_entered"] = "stage_entered"
    stage: Stage
    reason: FreeText = ""
    snapshot: str = ""
    """If the run waits from now on: the workspace as it left it; empty in older journals."""


class PhaseStarted(Value):
    type: Literal["phase_started"] = "phase_started"
    phase: PhaseName
    attempt: int = 0


class GateRefused(Value):
    """The output of a phase did not pass its gate. The messages go into the next prompt."""

    type: Literal["gate_refused"] = "gate_refused"
    phase: PhaseName
    attempt: int
    confidence: float
    messages: tuple[FreeText, ...]


class Understood(Value):
    type: Literal["understood"] = "understood"
    result: PhaseResult[UnderstandingOutput]


class ApproachChosen(Value):
    type: Literal["approach_chosen"] = "approach_chosen"
    result: PhaseResult[ApproachOutput]


class PlanMade(Value):
    type: Literal["plan_made"] = "plan_made"
    result: PhaseResult[DetailedPlan]
    mended: tuple[FreeText, ...] = ()
    """The corrections that were made to the plan of the model."""
    dropped: tuple[Wording, ...] = ()
    """The names of steps of the previous plan that are not in this one."""


class PlanRevised(Value):
    """A change of the plan during the run. Contains only the difference."""

    type: Literal["plan_revised"] = "plan_revised"
    by: Actor
    reason: FreeText
    after: str = ""
    """The step after which steps are added."""
    added: tuple[ExecutionStep, ...] = ()
    changed: tuple[ExecutionStep, ...] = ()
    removed: tuple[str, ...] = ()
    depends_on: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """The new dependencies of steps, by step id. An existing dependency keeps its condition."""
    waits_for: tuple[StepDependency, ...] = ()
    """New dependencies with conditions."""
    order: tuple[str, ...] = ()
    """The pending steps in a new order, if a person gave one."""


class Validated(Value):
    type: Literal["validated"] = "validated"
    result: PhaseResult[ValidationOutput]


class Applied(Value):
    """The changes of a run in a copy were applied to the folder that it was copied from, or removed from it again."""

    type: Literal["applied"] = "applied"
    folder: str
    before: str
    """The snapshot of the folder before the change."""
    after: str
    """The snapshot of the folder after the change."""
    towards: str = ""
    """The state of the copy that was applied. `after` also contains changes by others."""
    paths: tuple[str, ...] = ()
    reverts: bool = False
    """Whether the changes were removed again."""
    by: str = ""


class Committed(Value):
    """The changes of the run, or of one of its steps, were committed to the user's git repository."""

    type: Literal["committed"] = "committed"
    commit: str
    branch: str = ""
    parent: str = ""
    """The commit before it; empty if it is the first one of the repository."""
    paths: tuple[str, ...] = ()
    """The committed files, relative to the top folder of the repository."""
    step: str = ""
    """The step whose changes they are; empty if it is the whole run."""
    by: str = ""


class Pushed(Value):
    """The changes of the run were pushed to the repository that it was cloned from, as one commit."""

    type: Literal["pushed"] = "pushed"
    commit: str
    parent: str
    """The commit that the run began with."""
    branch: str
    address: Wording
    """Without a password or token."""
    paths: tuple[str, ...] = ()
    by: str = ""


class Warned(Value):
    type: Literal["warned"] = "warned"
    message: FreeText


class AlertStarted(Value):
    """An alert is due. Written together with the event that it reports, before anything is sent."""

    type: Literal["alert_started"] = "alert_started"
    alert_id: str
    """Sent with the alert, so that a receiver can detect duplicates."""
    on: AlertOccasion
    target: str
    """The host, or the program of the command. The rest of an address may be a secret."""
    document: str
    """The hash of the document that is sent."""


class AlertFinished(Value):
    """An alert was delivered, or given up. Without this event, the next process that resumes the run sends it."""

    type: Literal["alert_finished"] = "alert_finished"
    alert_id: str
    ok: bool
    attempts: int
    target: str = ""
    problem: FreeText = ""

    @property
    def warning(self) -> str:
        """The warning for the user if the alert was not delivered."""
        return f"the alert to {self.target} was not delivered: {self.problem}"


class RunEnded(Value):
    type: Literal["run_ended"] = "run_ended"
    outcome: Outcome
    snapshot: str = ""
    """The workspace as a run that can be resumed left it; empty otherwise, and in older journals."""
