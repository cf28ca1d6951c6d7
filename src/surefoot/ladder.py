"""The recovery ladder: (failure, reflection, counters) -> the next rung. Pure; `recovery.py` carries it out.

The first row of `TABLE` whose condition holds decides. Parameter and tool errors are retried while retries
remain, once with several candidates where programs can judge them (a small model, which repeats itself when it is to
correct something, begins with them, and has then shown what it can do); then the step is repaired. Dependency and
decomposition errors go straight to the repair; then the task is replanned; then it ends with a diagnosis. With
step-level reflection switched off, the retries and the repair of a step are left out. Every rung that can be taken
again has a counter with a limit, so no run climbs for ever.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from surefoot.config import ReflectionConfig
from surefoot.machine import Rung
from surefoot.outcome import ErrorCategory


@dataclass(frozen=True, slots=True)
class Facts:
    """All that the choice depends on."""

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
    """Another try would be the very call that failed."""
    critical: bool = True
    has_fallback: bool = False
    has_failure_branch: bool = False
    alternatives_left: int = 0
    can_choose: bool = False
    """Several answers can be tried side by side: the step is one answer, and programs can judge it."""
    small_model: bool = False
    has_chosen: bool = False
    """The step had its candidates, and the checks that were given for the task refused them all."""
    may_replan: bool = True
    """False for a plan that is to be run as given."""

    @property
    def layer_one(self) -> bool:
        return (
            self.recoverable
            and not self.exhausted
            and self.limits.enable_step_level_reflection
            and self.retries < self.limits.max_step_retries
        )

    @property
    def time_for_candidates(self) -> bool:
        """A small model's first retry; for others the last one, when a first has failed."""
        if self.limits.candidates == 1 or self.has_chosen or not self.can_choose:
            return False
        return self.small_model or 0 < self.retries == self.limits.max_step_retries - 1

    @property
    def exhausted(self) -> bool:
        """What a small model did not manage in several different answers, it will not by describing it anew."""
        return self.small_model and self.has_chosen

    @property
    def can_vary(self) -> bool:
        """What was wrong or down stays so when nothing changes. A cause that is not known gets one more try as it is:
        some things only fail once."""
        if not self.would_repeat:
            return True
        return self.retries == 0 and self.category is not ErrorCategory.PARAMETER_ERROR and not self.temporary

    @property
    def not_hopeless(self) -> bool:
        enough = self.exhausted or self.consecutive_failures >= self.limits.max_consecutive_failures
        return self.recoverable and not enough

    @property
    def layer_two(self) -> bool:
        return self.may_replan and self.not_hopeless and self.limits.enable_step_level_reflection


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
        lambda f: f.layer_one and f.category is ErrorCategory.TOOL_ERROR and f.has_alternative_tool,
    ),
    (
        Rung.CANDIDATES,
        "several answers side by side, and the checks choose",
        lambda f: f.layer_one and (f.small_model or f.category not in _STRAIGHT_TO_REPAIR) and f.time_for_candidates,
    ),
    (
        Rung.ADJUST_PARAMETERS,
        "another try with what the failure taught",
        lambda f: f.layer_one and f.category not in _STRAIGHT_TO_REPAIR and f.can_vary,
    ),
    (
        Rung.REPAIR_STEP,
        "the step itself has to be planned differently",
        lambda f: f.layer_two and f.repairs < f.limits.max_single_step_repairs,
    ),
    (Rung.FALLBACK, "the step declares a stand-in result", lambda f: f.has_fallback),
    (Rung.FAILURE_BRANCH, "the plan has steps for this failure", lambda f: f.has_failure_branch),
    (Rung.SKIP_STEP, "the step is not critical", lambda f: not f.critical),
    (
        Rung.REPLAN_TASK,
        "the plan no longer leads to the goal",
        lambda f: f.may_replan and f.not_hopeless and f.replans < f.limits.max_task_replanning_attempts,
    ),
    (
        Rung.NEXT_APPROACH,
        "the approach did not work and there is another",
        lambda f: f.may_replan and f.not_hopeless and f.alternatives_left > 0,
    ),
    (Rung.GIVE_UP, "nothing is left to try", lambda f: True),
)


def next_rung(facts: Facts) -> tuple[Rung, str]:
    return next((rung, why) for rung, why, holds in TABLE if holds(facts))


def counted(facts: Facts, rung: Rung) -> Facts:
    """The counters after a rung was taken; `fold/` keeps them in the state."""
    match rung:
        case Rung.RETRY_LATER:
            return replace(facts, temporary_retries=facts.temporary_retries + 1)
        case Rung.ADJUST_PARAMETERS | Rung.ALTERNATIVE_TOOL:
            return replace(facts, retries=facts.retries + 1)
        case Rung.CANDIDATES:
            return replace(facts, retries=facts.retries + 1, has_chosen=True)
        case Rung.REPAIR_STEP:
            return replace(facts, repairs=facts.repairs + 1, consecutive_failures=facts.consecutive_failures + 1)
        case Rung.REPLAN_TASK:
            return replace(facts, replans=facts.replans + 1, consecutive_failures=facts.consecutive_failures + 1)
        case Rung.NEXT_APPROACH:
            left = facts.alternatives_left - 1
            return replace(facts, alternatives_left=left, consecutive_failures=facts.consecutive_failures + 1)
    return facts


def climb(facts: Facts) -> list[Rung]:
    """Every rung until the end, when the same step goes on failing in the same way."""
    taken: list[Rung] = []
    while not taken or taken[-1] not in ENDS:
        taken.append(next_rung(facts)[0])
        facts = counted(facts, taken[-1])
    return taken


ENDS = (Rung.FALLBACK, Rung.FAILURE_BRANCH, Rung.SKIP_STEP, Rung.GIVE_UP)
"""After these nothing more is tried for the step."""

LIMITS: dict[Rung, str] = {
    Rung.RETRY_LATER: "`max_temporary_retries`; each wait is twice the last, from `backoff_seconds`",
    Rung.ALTERNATIVE_TOOL: "`max_step_retries`, and the tools there are",
    Rung.CANDIDATES: "once: the last of `max_step_retries`, or a small model's first; `candidates` answers at most",
    Rung.ADJUST_PARAMETERS: "`max_step_retries`",
    Rung.REPAIR_STEP: "`max_single_step_repairs`, `max_consecutive_failures`",
    Rung.REPLAN_TASK: "`max_task_replanning_attempts`, `max_consecutive_failures`",
    Rung.NEXT_APPROACH: "the approaches there are, `max_consecutive_failures`",
}
"""What keeps each rung from being taken for ever."""
