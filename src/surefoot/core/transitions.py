"""The states of runs and steps, and the allowed transitions between them.

The diagrams in docs/architecture/stages.md are drawn from these tables by `draw()`; a test compares them. This module
imports very little, because every list of runs needs it.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Literal, TypeAlias, TypeVar

from surefoot.errors import IllegalTransition


class Stage(StrEnum):
    """The state of a run. Phases (`core/phases.py`) and orchestration states are views of it."""

    UNDERSTANDING = "understanding"
    APPROACH = "approach"
    PLANNING = "planning"
    EXECUTION = "execution"
    RECOVERY = "recovery"
    VALIDATION = "validation"
    WAITING = "waiting"
    COMPLETED = "completed"
    FAILED = "failed"


class Verdict(StrEnum):
    VERIFIED = "verified"
    UNVERIFIED = "unverified"
    """The run finished, but nothing proves the task: no given check that failed before passes now, steps are blocked
    or used a fallback result, a test was weakened, regressed or no longer runs, a check passes only because of files
    that the run changed or passes with empty files too, a file to be left alone was changed, the final gate did not
    pass, or only a plan was made."""
    FAILED = "failed"
    BLOCKED = "blocked"
    WAITING = "waiting"
    BUDGET = "budget"
    LOOP = "loop"
    TIME = "time"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"


class OrchestrationState(StrEnum):
    INTAKE = "INTAKE"
    PLANNING = "PLANNING"
    EXECUTING = "EXECUTING"
    RECOVERING = "RECOVERING"
    VERIFYING = "VERIFYING"
    BLOCKED = "BLOCKED"
    DONE = "DONE"


ORCHESTRATION: dict[Stage, OrchestrationState] = {
    Stage.UNDERSTANDING: OrchestrationState.INTAKE,
    Stage.APPROACH: OrchestrationState.PLANNING,
    Stage.PLANNING: OrchestrationState.PLANNING,
    Stage.EXECUTION: OrchestrationState.EXECUTING,
    Stage.RECOVERY: OrchestrationState.RECOVERING,
    Stage.VALIDATION: OrchestrationState.VERIFYING,
    # A waiting run and a failed run both need a person to continue.
    Stage.WAITING: OrchestrationState.BLOCKED,
    Stage.FAILED: OrchestrationState.BLOCKED,
    Stage.COMPLETED: OrchestrationState.DONE,
}

WORKING = (
    Stage.UNDERSTANDING,
    Stage.APPROACH,
    Stage.PLANNING,
    Stage.EXECUTION,
    Stage.RECOVERY,
    Stage.VALIDATION,
)

_FORWARD: dict[Stage, dict[Stage, str]] = {
    Stage.UNDERSTANDING: {Stage.APPROACH: "gate passed"},
    Stage.APPROACH: {Stage.PLANNING: "gate passed or skipped"},
    Stage.PLANNING: {Stage.EXECUTION: "gate passed", Stage.COMPLETED: "only a plan was asked for"},
    Stage.EXECUTION: {
        Stage.RECOVERY: "a step failed",
        Stage.VALIDATION: "every step settled",
    },
    Stage.RECOVERY: {
        Stage.EXECUTION: "retry, repaired step, skip or fallback",
        Stage.PLANNING: "replan the task",
        Stage.APPROACH: "next alternative approach",
    },
    Stage.VALIDATION: {
        Stage.COMPLETED: "every check ran on the final tree",
        Stage.RECOVERY: "a check is red",
    },
}

RUN_TRANSITIONS: dict[Stage, dict[Stage, str]] = {
    **{
        stage: {**_FORWARD[stage], Stage.WAITING: "a question", Stage.FAILED: "nothing left to try"}
        for stage in WORKING
    },
    Stage.WAITING: {**dict.fromkeys(WORKING, "answered"), Stage.FAILED: "denied or out of time"},
    Stage.FAILED: dict.fromkeys(WORKING, "resumed by a person"),
    Stage.COMPLETED: {Stage.VALIDATION: "a person changed the result"},
}


PHASE_NAMES = tuple(
    stage.value for stage in (Stage.UNDERSTANDING, Stage.APPROACH, Stage.PLANNING, Stage.EXECUTION, Stage.VALIDATION)
)
"""The names of the phases, in their order."""


RunStatus: TypeAlias = Literal[
    "running", "waiting", "paused", "interrupted", "queued", "plan", "done", "failed", "undone"
]
"""`running`: a process drives it. `waiting`: it has an open question. `paused`: a person stopped it. `interrupted`: its
process ended before the run did. `queued`: a remote run that no worker drives yet. `plan`: only a plan was asked for,
and it is made. `undone`: all or some of its changes were undone."""


class StepStatus(StrEnum):
    PENDING = "pending"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    PARTIAL = "partial"
    FAILED = "failed"
    SKIPPED = "skipped"
    DEGRADED = "degraded"
    BLOCKED = "blocked"


SETTLED = frozenset(
    {StepStatus.SUCCEEDED, StepStatus.PARTIAL, StepStatus.SKIPPED, StepStatus.DEGRADED, StepStatus.BLOCKED}
)
"""The final states of a step. Only a person or a new plan changes them."""

HAS_RESULT = frozenset({StepStatus.SUCCEEDED, StepStatus.PARTIAL, StepStatus.DEGRADED})
"""The final states of a step that ran and left a result."""

READY = "ready"
"""The status shown for a pending step whose dependencies are all met. It follows from the status of other steps, so it
is not recorded."""

_DONE = HAS_RESULT | {StepStatus.SKIPPED}
"""Statuses that satisfy a dependency. The dependants of a skipped step run without its result."""


class Condition(StrEnum):
    """How a dependency must have ended before the dependent step may run."""

    SUCCESS = "success"
    FAILURE = "failure"
    ALWAYS = "always"


def condition_met(condition: Condition, status: StepStatus) -> bool:
    """Whether a dependency with this status lets its dependant start."""
    match condition:
        case Condition.SUCCESS:
            return status in _DONE
        case Condition.FAILURE:
            return status is StepStatus.FAILED
        case Condition.ALWAYS:
            return status in SETTLED or status is StepStatus.FAILED


STEP_TRANSITIONS: dict[StepStatus, dict[StepStatus, str]] = {
    StepStatus.PENDING: {
        StepStatus.RUNNING: "its turn",
        StepStatus.SKIPPED: "condition not met, or a person said so",
        StepStatus.BLOCKED: "what it needs can no longer happen",
    },
    StepStatus.RUNNING: {
        StepStatus.SUCCEEDED: "its checks pass",
        StepStatus.PARTIAL: "allowed to fail, part is done",
        StepStatus.FAILED: "a check, a tool or a limit",
        StepStatus.SKIPPED: "a person said so",
        StepStatus.PENDING: "interrupted",
    },
    StepStatus.FAILED: {
        StepStatus.PENDING: "another try",
        StepStatus.SKIPPED: "not critical",
        StepStatus.DEGRADED: "declared fallback",
    },
    StepStatus.SUCCEEDED: {
        StepStatus.PENDING: "a person asks again",
        StepStatus.FAILED: "a check on the final tree refutes it",
    },
    StepStatus.PARTIAL: {StepStatus.PENDING: "a person asks again"},
    StepStatus.SKIPPED: {StepStatus.PENDING: "a person asks again"},
    StepStatus.DEGRADED: {StepStatus.PENDING: "a person asks again"},
    StepStatus.BLOCKED: {StepStatus.PENDING: "a person asks again"},
}


class Rung(StrEnum):
    """The recoveries after a failed step. `TABLE` in `engine/reflector/ladder.py` has their order and conditions."""

    RETRY_LATER = "retry_later"
    ADJUST_PARAMETERS = "adjust_parameters"
    ALTERNATIVE_TOOL = "alternative_tool"
    CANDIDATES = "candidates"
    REPAIR_STEP = "repair_step"
    SKIP_STEP = "skip_step"
    FALLBACK = "fallback"
    FAILURE_BRANCH = "failure_branch"
    REPLAN_TASK = "replan_task"
    NEXT_APPROACH = "next_approach"
    GIVE_UP = "give_up"


RUNG_COUNTERS: dict[Rung, str] = {
    Rung.RETRY_LATER: "temporary_retries",
    Rung.ADJUST_PARAMETERS: "step_retry_count",
    Rung.ALTERNATIVE_TOOL: "step_retry_count",
    Rung.CANDIDATES: "step_retry_count",
    Rung.REPAIR_STEP: "single_step_repair_count",
    Rung.REPLAN_TASK: "task_replan_count",
    Rung.NEXT_APPROACH: "approach_index",
}
"""The counter of the step or of the run that a rung raises. Each has a limit, so recovery always ends."""

RETRY_RUNGS = frozenset({Rung.RETRY_LATER, Rung.ADJUST_PARAMETERS, Rung.ALTERNATIVE_TOOL, Rung.CANDIDATES})
"""Layer 1: the step is tried again as it is planned."""

S = TypeVar("S", bound=StrEnum)


def check_transition(table: Mapping[S, Mapping[S, str]], old: S, new: S) -> None:
    """Raise IllegalTransition unless `new` may follow `old`. Staying in a state is allowed: resuming does that."""
    if new != old and new not in table[old]:
        allowed = ", ".join(table[old]) or "nothing: it is final"
        raise IllegalTransition(f"{new} cannot follow {old} (allowed: {allowed})")


def draw(table: Mapping[S, Mapping[S, str]], start: S) -> str:
    """Return the table as a Mermaid state diagram."""
    lines = ["stateDiagram-v2", f"    [*] --> {start}"]
    for old, targets in table.items():
        lines += [f"    {old} --> {new}: {reason}" for new, reason in targets.items()]
    lines += [f"    {state} --> [*]" for state, targets in table.items() if not targets]
    return "\n".join(lines)
