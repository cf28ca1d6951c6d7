"""What came of things: phases, steps, checks, failures, and the run as a whole."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Generic, Literal, TypeAlias, TypeVar

from pydantic import Field

from surefoot.config import ExecutionConfig
from surefoot.plan import Check, DetailedPlan
from surefoot.values import Tagged, Value, now

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
        reason: str


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


class PhaseStatus(StrEnum):
    PENDING = "pending"
    RUNNING = "running"
    SUCCESS = "success"
    FAILED = "failed"
    SKIPPED = "skipped"
    AWAITING_CONFIRMATION = "awaiting_confirmation"


class ValidationResult(Value):
    """A gate's judgement. `confidence` is computed from what was checked, never asked from the model."""

    passed: bool
    confidence: float = Field(ge=0, le=1)
    messages: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    suggestions: tuple[str, ...] = ()


class PhaseResult(Value, Generic[T]):
    phase: Phase
    status: PhaseStatus
    output: T | None = None
    duration_ms: int = 0
    validation: ValidationResult | None = None
    executed_at: datetime = Field(default_factory=now)
    error: str | None = None
    retry_count: int = 0


class TaskComplexity(StrEnum):
    SIMPLE = "simple"
    MODERATE = "moderate"
    COMPLEX = "complex"


class UnderstandingOutput(Value):
    understanding: str
    key_requirements: tuple[str, ...] = ()
    task_type: str = ""
    complexity: TaskComplexity = TaskComplexity.MODERATE
    potential_risks: tuple[str, ...] = ()
    clarification_needed: tuple[str, ...] = ()
    target_files: tuple[str, ...] = ()
    """Files that have to be made or changed, as far as they can be told from the task and the workspace."""


class TechnicalDecision(Value):
    decision: str
    rationale: str = ""


class AlternativeApproach(Value):
    name: str
    description: str = ""


class ApproachOutput(Value):
    approach: str
    tech_stack: tuple[str, ...] = ()
    architecture_pattern: str = ""
    key_decisions: tuple[TechnicalDecision, ...] = ()
    expected_outcomes: tuple[str, ...] = ()
    alternatives: tuple[AlternativeApproach, ...] = ()


class ExecutionStatus(StrEnum):
    SUCCESS = "success"
    PARTIAL_SUCCESS = "partial_success"
    FAILED = "failed"
    SKIPPED = "skipped"
    ROLLED_BACK = "rolled_back"


class StepExecutionOutput(Value):
    """What a step did, as observed: files from a look at the workspace before and after, commands as run."""

    step_id: str
    status: ExecutionStatus
    outputs: dict[str, Any] = Field(default_factory=dict)
    logs: tuple[str, ...] = ()
    generated_files: tuple[str, ...] = ()
    modified_files: tuple[str, ...] = ()
    deleted_files: tuple[str, ...] = ()
    executed_commands: tuple[str, ...] = ()
    proven: bool = False
    """True when a check that failed before the step passed after it."""
    degraded: bool = False


class Artifact(Value):
    """What a step handed on, as its dependants find it."""

    id: str
    producer: str
    kind: str = "result"
    hash: str = ""
    """Where the content is, when it is too long to stay with the step."""
    size: int = 0
    summary: str = ""
    expires_at: float | None = None
    """Seconds since the epoch; None: it is pinned and stays."""
    degraded: bool = False


class CheckResult(Value):
    """A check as run by the engine. With the hashes of what it looked at, it is a proof that can expire."""

    check: Check
    passed: bool
    detail: str = ""
    """The telling part of the output: why it failed, in a few lines."""
    exit_code: int | None = None
    output_hash: str = ""
    duration_ms: int = 0
    tree: str = ""
    """The hash of the tree that it holds for."""
    inputs: dict[str, str] = Field(default_factory=dict)
    """What it looked at, each with its hash: files, what the check says it reads, results of steps. Empty for what was
    not there. With no inputs named, a command may have looked at all of the tree."""
    reused: bool = False
    """Not run this time: nothing that it depends on had changed since it was."""


class CriterionResult(Value):
    criterion: str
    met: bool | None
    """None: nothing that was run can tell. A model's opinion does not count."""
    because: str = ""


class ValidationOutput(Value):
    checks: tuple[CheckResult, ...] = ()
    criteria: tuple[CriterionResult, ...] = ()
    hollow: tuple[str, ...] = ()
    """Keys of checks that would also pass for files that hold nothing."""


class FailureKind(StrEnum):
    CHECK_FAILED = "check_failed"
    REFUTED = "refuted"
    """The step's checks passed, and those on the final tree do not."""
    TOOL_ERROR = "tool_error"
    TIMEOUT = "timeout"
    MODEL_ERROR = "model_error"
    MISSING_ARTIFACT = "missing_artifact"
    OUT_OF_REACH = "out_of_reach"
    """What the step needs cannot be had here, whatever is tried."""
    UNREADABLE_ANSWER = "unreadable_answer"
    MAX_ACTIONS = "max_actions"
    LOOP = "loop"
    NO_PROGRESS = "no_progress"
    DENIED = "denied"
    INTERRUPTED = "interrupted"
    BLOCKED = "blocked"
    REPLAN_REQUESTED = "replan_requested"


class Failure(Value):
    kind: FailureKind
    message: str
    evidence: str = ""
    """Quoted output: the failing assertion, the error line."""
    tool: str = ""
    temporary: bool = False


class ErrorCategory(StrEnum):
    PARAMETER_ERROR = "parameter_error"
    TOOL_ERROR = "tool_error"
    DEPENDENCY_ERROR = "dependency_error"
    DECOMPOSITION_ERROR = "decomposition_error"
    ENVIRONMENT_ERROR = "environment_error"
    UNKNOWN = "unknown"


class StepReflection(Value):
    category: ErrorCategory
    root_cause: str
    recoverable: bool = True
    suggested_fix: str = ""
    adjusted_parameters: dict[str, Any] = Field(default_factory=dict)
    alternative_tool: str = ""
    confidence: float = Field(default=0.5, ge=0, le=1)
    evidence: str = ""
    decided_by: Literal["rules", "model"] = "rules"
    keep: str = ""
    """Why the partial work is worth keeping; empty: it is undone before the next try."""


class Verdict(StrEnum):
    VERIFIED = "verified"
    UNVERIFIED = "unverified"
    """Everything planned was done, but no check that was red before is green now, or none could be run."""
    FAILED = "failed"
    BLOCKED = "blocked"
    WAITING = "waiting"
    BUDGET = "budget"
    LOOP = "loop"
    TIME = "time"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"


EXIT_CODES: dict[Verdict, int] = {
    Verdict.VERIFIED: 0,
    Verdict.FAILED: 1,
    Verdict.BLOCKED: 1,
    Verdict.UNVERIFIED: 3,
    Verdict.WAITING: 4,
    Verdict.BUDGET: 5,
    Verdict.LOOP: 6,
    Verdict.TIME: 124,
    Verdict.CANCELLED: 130,
    Verdict.INTERRUPTED: 130,
}


class Diagnosis(Value):
    """Why a run did not finish, and what to do about it. The same text everywhere it is shown."""

    what_failed: str
    root_cause: str = ""
    evidence: str = ""
    tried: tuple[str, ...] = ()
    left_behind: tuple[str, ...] = ()
    left_outside: tuple[str, ...] = ()
    next_steps: tuple[str, ...] = ()

    def as_text(self) -> str:
        parts = [f"What failed: {self.what_failed}"]
        if self.root_cause and self.root_cause != self.what_failed:
            parts.append(f"Root cause: {self.root_cause}")
        if self.evidence:
            parts.append("Evidence:\n" + "\n".join(f"  | {line}" for line in self.evidence.splitlines()))
        for title, lines in (
            ("Tried, in order", self.tried),
            ("Left in the workspace", self.left_behind or ("nothing: it is as it was before",)),
            ("Left outside the workspace", self.left_outside),
            ("What to do next", self.next_steps),
        ):
            if lines:
                parts.append(f"{title}:\n" + "\n".join(f"  - {line}" for line in lines))
        return "\n".join(parts)


class Outcome(Value):
    verdict: Verdict
    summary: str
    checks: tuple[CheckResult, ...] = ()
    """The last pass over the final tree."""
    generated_files: tuple[str, ...] = ()
    modified_files: tuple[str, ...] = ()
    deleted_files: tuple[str, ...] = ()
    protected_changes: tuple[str, ...] = ()
    """Tests that existed before the run and are different now: a reader must know."""
    degraded_steps: tuple[str, ...] = ()
    not_captured: tuple[str, ...] = ()
    """What snapshots leave out, so that no undo brings it back: excluded by the user, special or unreadable."""
    left_outside: tuple[str, ...] = ()
    """What failed tries did outside the workspace and nobody undid."""
    warnings: tuple[str, ...] = ()
    diagnosis: Diagnosis | None = None

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.verdict]

    @property
    def changed_files(self) -> tuple[str, ...]:
        return (*self.generated_files, *self.modified_files, *self.deleted_files)


class FailedStep(Value):
    """What `find_failed_step` tells."""

    id: str
    name: str
    error: str | None
    result: PhaseResult[StepExecutionOutput]


class SequentialExecutionPlan(Value):
    """A run as a whole, for programs: every phase's result and what came of it."""

    task_id: str
    current_phase: Phase
    understanding: PhaseResult[UnderstandingOutput] | None = None
    approach: PhaseResult[ApproachOutput] | None = None
    plan: PhaseResult[DetailedPlan] | None = None
    execution_history: tuple[PhaseResult[StepExecutionOutput], ...] = ()
    final_validation: PhaseResult[ValidationOutput] | None = None
    outcome: Outcome | None = None
    started_at: datetime
    updated_at: datetime
    completed_at: datetime | None = None
    config: ExecutionConfig

    def total_duration_minutes(self) -> float:
        return ((self.completed_at or self.updated_at) - self.started_at).total_seconds() / 60

    def completed_steps_count(self) -> int:
        done = {ExecutionStatus.SUCCESS, ExecutionStatus.PARTIAL_SUCCESS}
        return len({r.output.step_id for r in self.execution_history if r.output and r.output.status in done})

    def find_failed_step(self) -> FailedStep | None:
        """The step that stopped the run: the last one that failed and did not succeed later."""
        bad = {ExecutionStatus.FAILED, ExecutionStatus.ROLLED_BACK}
        seen: set[str] = set()
        for result in reversed(self.execution_history):
            if result.output is None or result.output.step_id in seen:
                continue
            seen.add(result.output.step_id)
            if result.output.status in bad:
                step_id = result.output.step_id
                return FailedStep(id=step_id, name=self._step_name(step_id), error=result.error, result=result)
        return None

    def _step_name(self, step_id: str) -> str:
        steps = self.plan.output.steps if self.plan and self.plan.output else ()
        return next((step.name for step in steps if step.id == step_id), step_id)
