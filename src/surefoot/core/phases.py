"""The phases of a run and the result of each: its gate, its output, its status."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Generic, Literal, TypeAlias, TypeVar

from pydantic import Field

from surefoot.core.outcome import CheckResult, CriterionResult
from surefoot.core.proof import SuiteEvidence
from surefoot.core.transitions import Stage, StepStatus
from surefoot.core.values import FreeText, Secrecy, Tagged, Value, Wording, now

T = TypeVar("T")


class ExecutionPhase:
    """The phases of a run. Match on them: `case ExecutionPhase.Failed(reason=reason): ...`."""

    class Understanding(Tagged):
        kind: Literal["understanding"] = "understanding"

    class Approach(Tagged):
        kind: Literal["approach"] = "approach"

    class Planning(Tagged):
        kind: Literal["planning"] = "planning"

    class Execution(Tagged):
        kind: Literal["execution"] = "execution"
        current_step: int = 0
        total_steps: int = 0

    class Validation(Tagged):
        kind: Literal["validation"] = "validation"

    class Completed(Tagged):
        kind: Literal["completed"] = "completed"

    class Failed(Tagged):
        kind: Literal["failed"] = "failed"
        failed_at: "Phase"
        reason: FreeText


Phase: TypeAlias = Annotated[
    ExecutionPhase.Understanding
    | ExecutionPhase.Approach
    | ExecutionPhase.Planning
    | ExecutionPhase.Execution
    | ExecutionPhase.Validation
    | ExecutionPhase.Completed
    | ExecutionPhase.Failed,
    Field(discriminator="kind"),
]
ExecutionPhase.Failed.model_rebuild()

_PHASES: dict[Stage, Phase] = {
    Stage.UNDERSTANDING: ExecutionPhase.Understanding(),
    Stage.APPROACH: ExecutionPhase.Approach(),
    Stage.PLANNING: ExecutionPhase.Planning(),
    Stage.VALIDATION: ExecutionPhase.Validation(),
    Stage.COMPLETED: ExecutionPhase.Completed(),
}


def phase_of(stage: Stage, *, started_steps: int, total_steps: int) -> Phase:
    """Return the phase that a stage belongs to. Recovery is part of execution."""
    return _PHASES.get(stage) or execution_phase(started_steps, total_steps)


def execution_phase(started_steps: int, total_steps: int) -> ExecutionPhase.Execution:
    return ExecutionPhase.Execution(current_step=max(started_steps - 1, 0), total_steps=total_steps)


class PhaseStatus(StrEnum):
    PENDING = "pending"
    RUNNING = "running"
    SUCCESS = "success"
    FAILED = "failed"
    SKIPPED = "skipped"
    AWAITING_CONFIRMATION = "awaiting_confirmation"


PHASE_STATUS: dict[StepStatus, PhaseStatus] = {
    StepStatus.PENDING: PhaseStatus.PENDING,
    StepStatus.RUNNING: PhaseStatus.RUNNING,
    StepStatus.SUCCEEDED: PhaseStatus.SUCCESS,
    StepStatus.PARTIAL: PhaseStatus.SUCCESS,
    StepStatus.DEGRADED: PhaseStatus.SUCCESS,
    StepStatus.FAILED: PhaseStatus.FAILED,
    StepStatus.SKIPPED: PhaseStatus.SKIPPED,
    StepStatus.BLOCKED: PhaseStatus.SKIPPED,
}
"""The status of a step's `PhaseResult`."""


class ValidationResult(Value):
    """The verdict of a gate. `confidence` is computed from checks; the model is not asked for it."""

    passed: bool
    confidence: float = Field(ge=0, le=1)
    messages: tuple[FreeText, ...] = ()
    warnings: tuple[FreeText, ...] = ()
    suggestions: tuple[FreeText, ...] = ()


class PhaseResult(Value, Generic[T]):
    phase: Phase
    status: PhaseStatus
    output: T | None = None
    duration_ms: int = 0
    validation: ValidationResult | None = None
    executed_at: datetime = Field(default_factory=now)
    error: FreeText | None = None
    retry_count: int = 0


class TaskComplexity(StrEnum):
    SIMPLE = "simple"
    MODERATE = "moderate"
    COMPLEX = "complex"


class UnderstandingOutput(Value):
    understanding: Wording
    key_requirements: tuple[Wording, ...] = ()
    task_type: Wording = ""
    complexity: TaskComplexity = TaskComplexity.MODERATE
    potential_risks: tuple[Wording, ...] = ()
    clarification_needed: tuple[Wording, ...] = ()
    target_files: tuple[str, ...] = ()
    """Files to create or change, as far as the task and the workspace show."""


class TechnicalDecision(Value):
    decision: Wording
    rationale: Wording = ""


class AlternativeApproach(Value):
    name: Wording
    description: Wording = ""


class ApproachOutput(Value):
    approach: Wording
    tech_stack: tuple[Wording, ...] = ()
    architecture_pattern: Wording = ""
    key_decisions: tuple[TechnicalDecision, ...] = ()
    expected_outcomes: tuple[Wording, ...] = ()
    alternatives: tuple[AlternativeApproach, ...] = ()


class ExecutionStatus(StrEnum):
    SUCCESS = "success"
    PARTIAL_SUCCESS = "partial_success"
    FAILED = "failed"
    SKIPPED = "skipped"
    ROLLED_BACK = "rolled_back"


EXECUTION_STATUS: dict[StepStatus, ExecutionStatus] = {
    StepStatus.SUCCEEDED: ExecutionStatus.SUCCESS,
    StepStatus.PARTIAL: ExecutionStatus.PARTIAL_SUCCESS,
    StepStatus.DEGRADED: ExecutionStatus.PARTIAL_SUCCESS,
    StepStatus.FAILED: ExecutionStatus.FAILED,
    StepStatus.SKIPPED: ExecutionStatus.SKIPPED,
    StepStatus.BLOCKED: ExecutionStatus.SKIPPED,
}
"""The status of a finished step's output. A rollback changes it to `ROLLED_BACK`, kept work to `PARTIAL_SUCCESS`."""


class StepExecutionOutput(Value):
    """The observed effects of a step: files by comparing the workspace before and after, commands as they ran."""

    step_id: str
    status: ExecutionStatus
    outputs: Annotated[dict[str, Any], Secrecy.RESULT] = Field(default_factory=dict)
    logs: tuple[FreeText, ...] = ()
    generated_files: tuple[str, ...] = ()
    modified_files: tuple[str, ...] = ()
    deleted_files: tuple[str, ...] = ()
    executed_commands: tuple[Wording, ...] = ()
    proven: bool = False
    """Whether all decisive checks pass, at least one of them failed before the step, and no criterion is known to be
    unmet. Both this and `unproven` are False if the checks of the step passed before it as well."""
    unproven: bool = False
    """Whether the step succeeded without a check (and names no tool), or although a criterion is not met."""
    criteria: tuple[CriterionResult, ...] = ()
    """The criteria of the step as judged when it ended, and expected files that are missing."""
    degraded: bool = False


class Artifact(Value):
    """The result of a step, for the steps that depend on it."""

    id: str
    producer: str
    kind: str = "result"
    hash: str = ""
    """The blob that holds the content, if it is too long for the event."""
    size: int = 0
    summary: FreeText = ""
    expires_at: float | None = None
    """Seconds since the epoch. None: pinned, never expires."""
    degraded: bool = False


class JudgedView(Value):
    """The tree on which the final checks were judged, if it is not the workspace. In it, files that decide what checks
    do are as they were before the run."""

    restored: tuple[str, ...] = ()
    """Files that are as they were before the run, or have a part from before it."""
    left_out: tuple[str, ...] = ()
    """New files that this tree does not have."""
    red: tuple[CheckResult, ...] = ()
    """Checks that fail on this tree and pass in the workspace."""
    problem: FreeText = ""
    """Why the checks could not be judged on such a tree."""


class ValidationOutput(Value):
    checks: tuple[CheckResult, ...] = ()
    criteria: tuple[CriterionResult, ...] = ()
    hollow: tuple[str, ...] = ()
    """Keys of checks that would also pass if the files were empty."""
    view: JudgedView | None = None
    """None: the checks were judged in the workspace, because nothing that decides what they do was changed."""
    tests: SuiteEvidence | None = None
    """The results of the project's tests. None: a check failed, so they were not compared."""
