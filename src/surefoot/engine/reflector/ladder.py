"""The recovery ladder: (failure, reflection, counters) -> the next rung. Pure; `recover.py` carries it out.

The first row of `TABLE` whose condition holds decides. Parameter and tool errors are retried while retries remain, once
with several candidates if checks can judge them: as the last retry, or as the first one where the strategy's profile
says so. Then the step is repaired. Dependency and decomposition errors go straight to the repair. Then the task is
replanned, and finally the run ends with a diagnosis. With step-level reflection switched off, the retries and the
repair of a step are left out. Every rung that can be taken again has a counter with a limit, so recovery always ends.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from surefoot.config.model import ReflectionConfig
from surefoot.core.outcome import ErrorCategory
from surefoot.core.transitions import RUNG_COUNTERS, Rung


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything that the choice depends on."""

    limits: ReflectionConfig
    category: ErrorCategory
    recoverable: bool = True
    temporary: bool = False
    retries: int = 0
    temporary_retries: int = 0
    repairs: int = 0
    replans: int = 0
    consecutive_failures: int = 0
    has_alternative_tool: bool = False
    would_repeat: bool = False
    """Another attempt would be the same call that failed."""
    critical: bool = True
    has_fallback: bool = False
    has_failure_branch: bool = False
    approach_index: int = 0
    alternatives: int = 0
    """How many alternative approaches there are, tried or not."""
    can_try_candidates: bool = False
    """Several answers can be tried side by side: the step is one answer, and checks can judge it."""
    candidates_first: bool = False
    """Candidates are the first retry instead of the last one."""
    stop_after_candidates: bool = False
    """A model whose candidates all failed will not do better with a repaired step or a new plan."""
    candidates_failed: bool = False
    """The step had its candidates, and the given checks refused them all."""
    may_change_plan: bool = True
    """False for a plan that is to be run as given."""

    @property
    def may_retry(self) -> bool:
        """Layer 1: the same step again."""
        return (
            self.recoverable
            and not self.exhausted
            and self.limits.enable_step_level_reflection
            and self.retries < self.limits.max_step_retries
        )

    @property
    def time_for_candidates(self) -> bool:
        """Whether the next retry is the one with candidates."""
        if self.limits.candidates == 1 or self.candidates_failed or not self.can_try_candidates:
            return False
        if self.candidates_first:
            return True
        return self.category not in _STRAIGHT_TO_REPAIR and 0 < self.retries == self.limits.max_step_retries - 1

    @property
    def exhausted(self) -> bool:
        """Whether the model has shown what it can do: all its candidates failed."""
        return self.stop_after_candidates and self.candidates_failed

    @property
    def can_vary(self) -> bool:
        """Whether a retry would differ from what failed. A call with an unknown cause is repeated once: some things
        fail only once."""
        if not self.would_repeat:
            return True
        return self.retries == 0 and self.category is not ErrorCategory.PARAMETER_ERROR and not self.temporary

    @property
    def worth_replanning(self) -> bool:
        """Layer 3: another plan or approach may still help."""
        enough = self.exhausted or self.consecutive_failures >= self.limits.max_consecutive_failures
        return self.recoverable and not enough

    @property
    def may_repair(self) -> bool:
        """Layer 2: this one step is planned differently."""
        return self.may_change_plan and self.worth_replanning and self.limits.enable_step_level_reflection


_STRAIGHT_TO_REPAIR = (ErrorCategory.DEPENDENCY_ERROR, ErrorCategory.DECOMPOSITION_ERROR)

TABLE: tuple[tuple[Rung, str, Callable[[Facts], bool]], ...] = (
    (
        Rung.RETRY_LATER,
        "the error is temporary and waiting may be enough",
        lambda f: f.temporary and f.temporary_retries < f.limits.max_temporary_retries,
    ),
    (
        Rung.ALTERNATIVE_TOOL,
        "the tool failed and there is another one for the job",
        lambda f: f.may_retry and f.category is ErrorCategory.TOOL_ERROR and f.has_alternative_tool,
    ),
    (
        Rung.CANDIDATES,
        "several answers side by side, and the checks choose",
        lambda f: (
            f.may_retry and (f.candidates_first or f.category not in _STRAIGHT_TO_REPAIR) and f.time_for_candidates
        ),
    ),
    (
        Rung.ADJUST_PARAMETERS,
        "another try with what the failure taught",
        lambda f: f.may_retry and f.category not in _STRAIGHT_TO_REPAIR and f.can_vary,
    ),
    (
        Rung.REPAIR_STEP,
        "the step itself has to be planned differently",
        lambda f: f.may_repair and f.repairs < f.limits.max_single_step_repairs,
    ),
    (Rung.FALLBACK, "the step declares a stand-in result", lambda f: f.has_fallback),
    (Rung.FAILURE_BRANCH, "the plan has steps for this failure", lambda f: f.has_failure_branch),
    (Rung.SKIP_STEP, "the step is not critical", lambda f: not f.critical),
    (
        Rung.REPLAN_TASK,
        "the plan no longer leads to the goal",
        lambda f: f.may_change_plan and f.worth_replanning and f.replans < f.limits.max_task_replanning_attempts,
    ),
    (
        Rung.NEXT_APPROACH,
        "the approach did not work and there is another",
        lambda f: f.may_change_plan and f.worth_replanning and f.approach_index < f.alternatives,
    ),
    (Rung.GIVE_UP, "nothing is left to try", lambda f: True),
)


def next_rung(facts: Facts) -> tuple[Rung, str]:
    return next((rung, why) for rung, why, holds in TABLE if holds(facts))


def counted(facts: Facts, rung: Rung) -> Facts:
    """Return the facts with the counters after a rung was taken. In a run, `journal/reducers` keep the counters."""
    counters = {name: getattr(facts, name) + 1 for name in RUNG_COUNTERS.get(rung, ())}
    return replace(facts, **counters, candidates_failed=facts.candidates_failed or rung is Rung.CANDIDATES)


def climb(facts: Facts) -> list[Rung]:
    """List the rungs that are taken if a step goes on failing in the same way."""
    taken: list[Rung] = []
    while not taken or taken[-1] not in ENDS:
        taken.append(next_rung(facts)[0])
        facts = counted(facts, taken[-1])
    return taken


ENDS = (Rung.FALLBACK, Rung.FAILURE_BRANCH, Rung.SKIP_STEP, Rung.GIVE_UP)
"""Rungs after which nothing more is tried for the step."""

LIMITED_BY: dict[Rung, str] = {
    Rung.RETRY_LATER: "`max_temporary_retries`; each wait is twice the last, from `backoff_seconds`",
    Rung.ALTERNATIVE_TOOL: "`max_step_retries`, and the tools there are",
    Rung.CANDIDATES: "once: the last of `max_step_retries`, or a small model's first; `candidates` answers at most",
    Rung.ADJUST_PARAMETERS: "`max_step_retries`",
    Rung.REPAIR_STEP: "`max_single_step_repairs`, `max_consecutive_failures`",
    Rung.REPLAN_TASK: "`max_task_replanning_attempts`, `max_consecutive_failures`",
    Rung.NEXT_APPROACH: "the approaches there are, `max_consecutive_failures`",
}
"""What limits how often each rung is taken, for the documentation."""
