"""The result of a run, and the public names for the outputs of phases and steps."""

from datetime import datetime

from surefoot.config.model import ExecutionConfig
from surefoot.core.outcome import CheckResult, CriterionResult, Diagnosis, Outcome, StepReflection, Verdict
from surefoot.core.phases import (
    AlternativeApproach,
    ApproachOutput,
    Artifact,
    ExecutionPhase,
    ExecutionStatus,
    Phase,
    PhaseResult,
    PhaseStatus,
    StepExecutionOutput,
    TaskComplexity,
    TechnicalDecision,
    UnderstandingOutput,
    ValidationOutput,
    ValidationResult,
)
from surefoot.core.plan import DetailedPlan, ExecutionStep
from surefoot.core.values import Value, Wording

__all__ = [
    "AlternativeApproach",
    "ApproachOutput",
    "Artifact",
    "CheckResult",
    "CriterionResult",
    "DetailedPlan",
    "Diagnosis",
    "ExecutionPhase",
    "ExecutionStatus",
    "ExecutionStep",
    "FailedStep",
    "Outcome",
    "Phase",
    "PhaseResult",
    "PhaseStatus",
    "SequentialExecutionPlan",
    "StepExecutionOutput",
    "StepReflection",
    "StepState",
    "TaskComplexity",
    "TechnicalDecision",
    "UnderstandingOutput",
    "ValidationOutput",
    "ValidationResult",
    "Verdict",
]


class FailedStep(Value):
    """The step that stopped a run, as `SequentialExecutionPlan.find_failed_step` returns it."""

    id: str
    name: str
    error: str | None
    result: PhaseResult[StepExecutionOutput]


class StepState(Value):
    """The state of a step of the current plan, with its recovery counters."""

    id: str
    name: Wording
    status: str
    """A `StepStatus`, or `ready` for a pending step whose dependencies are met."""
    attempts: int = 0
    step_retry_count: int = 0
    single_step_repair_count: int = 0
    temporary_retries: int = 0
    rungs: tuple[str, ...] = ()
    """The recoveries that were chosen, in order."""
    reflections: tuple[StepReflection, ...] = ()


class SequentialExecutionPlan(Value):
    """A run as a whole: the result of every phase, and the outcome."""

    task_id: str
    current_phase: Phase
    understanding: PhaseResult[UnderstandingOutput] | None = None
    approach: PhaseResult[ApproachOutput] | None = None
    plan: PhaseResult[DetailedPlan] | None = None
    execution_history: tuple[PhaseResult[StepExecutionOutput], ...] = ()
    steps: tuple[StepState, ...] = ()
    task_replan_count: int = 0
    consecutive_failures: int = 0
    """How many step executions of the current plan failed in a row. An execution and its retries count once."""
    approach_index: int = 0
    """0: the chosen approach; 1: its first alternative, and so on."""
    final_validation: PhaseResult[ValidationOutput] | None = None
    outcome: Outcome | None = None
    started_at: datetime
    updated_at: datetime
    completed_at: datetime | None = None
    config: ExecutionConfig

    def total_duration_minutes(self) -> float:
        return ((self.completed_at or self.updated_at) - self.started_at).total_seconds() / 60

    def completed_steps_count(self) -> int:
        completed = {ExecutionStatus.SUCCESS, ExecutionStatus.PARTIAL_SUCCESS}
        return len({r.output.step_id for r in self.execution_history if r.output and r.output.status in completed})

    def find_failed_step(self) -> FailedStep | None:
        """Return the step that stopped the run: the last that failed and did not succeed later; None if none did."""
        failed = {ExecutionStatus.FAILED, ExecutionStatus.ROLLED_BACK}
        checked: set[str] = set()
        for result in reversed(self.execution_history):
            if result.output is None or result.output.step_id in checked:
                continue
            step_id = result.output.step_id
            checked.add(step_id)
            if result.output.status in failed:
                return FailedStep(id=step_id, name=self._step_name(step_id), error=result.error, result=result)
        return None

    def _step_name(self, step_id: str) -> str:
        steps = self.plan.output.steps if self.plan and self.plan.output else ()
        return next((step.name for step in steps if step.id == step_id), step_id)
