"""The recovery ladder: chooses the next rung from a failure, its diagnosis and counters. Pure.

The first row of `TABLE` whose condition holds decides, and `recover.py` carries the rung out.

- Layer 1: the step is tried again. After a temporary error it is repeated unchanged, after a wait. After any other
  error (of parameters, a tool, the environment, or an unknown one) it is retried in another way while retries remain:
  with another tool or with the failure in the prompt. If checks can judge several answers, one retry tries candidates:
  the last retry, or the first if `candidates_first`.
- Layer 2: the step is planned differently. Dependency and decomposition errors go straight there. If that diagnosis is
  only a guess, a retry comes first, because it is cheaper.
- If neither helps, the plan may have an answer: the declared fallback result of the step, steps for its failure, or
  skipping a step that is not critical.
- Layer 3: the task is planned again, then with the next alternative approach. A model that asks for a new plan gets one
  at once while replans remain. The steps of a new plan start with fresh counters.
- Finally the run ends with a diagnosis.

With step-level reflection switched off, layers 1 and 2 are left out. Errors are not compared with each other: counters
decide, and a diagnosis that repeats its category becomes surer (`diagnose.weighed`). Every rung that can be taken again
has a counter with a limit, so recovery always ends.
"""

from collections.abc import Callable
from dataclasses import dataclass

from surefoot.config.model import ReflectionConfig
from surefoot.core.outcome import ErrorCategory
from surefoot.core.transitions import Rung

SURE_ENOUGH = 0.4
"""The confidence from which a diagnosis may skip a cheaper rung. A model's diagnosis starts with 0.3 to 0.7."""


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything that the choice of a rung depends on."""

    limits: ReflectionConfig
    category: ErrorCategory
    recoverable: bool = True
    confidence: float = 1.0
    """How sure the diagnosis is, from 0 to 1. See `weighed` in `diagnose.py`."""
    temporary: bool = False
    max_retries: int | None = None
    """The step's own limit of retries, including those after temporary errors. None: the limits of the run."""
    step_retry_count: int = 0
    temporary_retries: int = 0
    single_step_repair_count: int = 0
    task_replan_count: int = 0
    consecutive_failures: int = 0
    """How many failures came one after the other in this plan, including the last one. A failure after a retry and the
    failure before it count as one."""
    has_alternative_tool: bool = False
    would_repeat: bool = False
    """Another attempt would repeat the call that failed."""
    critical: bool = True
    has_fallback: bool = False
    has_failure_branch: bool = False
    approach_index: int = 0
    alternative_approaches: int = 0
    """How many alternative approaches may be tried, including those that were."""
    can_try_candidates: bool = False
    """Several answers can be tried side by side: the step is one answer, and checks can judge it."""
    candidates_first: bool = False
    """Candidates are the first retry instead of the last one, and no other retry follows them."""
    candidates_failed: bool = False
    """The candidates rung was taken, and a check that is not the plan's is still red."""
    candidates_in_earlier_plan: bool = False
    """An earlier plan of this run had candidates. Where they come first, a step of a later plan gets one attempt, and
    neither retries nor repairs."""
    replan_requested: bool = False
    """The model asked for a new plan."""
    may_change_plan: bool = True
    """False for a plan that must be run as given."""

    @property
    def straight_to_repair(self) -> bool:
        """Whether a retry is left out, because the step itself is known to be wrong."""
        return self.category in _STRAIGHT_TO_REPAIR and self.sure

    @property
    def sure(self) -> bool:
        return self.confidence >= SURE_ENOUGH

    @property
    def hopeless(self) -> bool:
        """Whether no rung can help. A guess does not end a run."""
        return not self.recoverable and self.sure

    @property
    def may_wait(self) -> bool:
        """Whether the step may be tried again unchanged after a temporary error."""
        limit = self.limits.max_temporary_retries if self.max_retries is None else self.max_retries
        return self.temporary and self.temporary_retries < limit

    @property
    def may_retry(self) -> bool:
        """Layer 1: whether the same step may be tried again."""
        limit = self.limits.max_step_retries if self.max_retries is None else self.max_retries
        return (
            not self.hopeless
            and not self.candidates_were_the_only_retry
            and self.limits.enable_step_level_reflection
            and self.step_retry_count < limit
        )

    @property
    def time_for_candidates(self) -> bool:
        """Whether the next retry is the one with candidates."""
        if self.limits.candidates == 1 or self.candidates_failed or not self.can_try_candidates:
            return False
        if self.candidates_first:
            return True
        limit = self.limits.max_step_retries if self.max_retries is None else self.max_retries
        return not self.straight_to_repair and 0 < self.step_retry_count == limit - 1

    @property
    def candidates_were_the_only_retry(self) -> bool:
        """Whether no retry is left, because the candidates were the only one."""
        return self.candidates_first and (self.candidates_failed or self.candidates_in_earlier_plan)

    @property
    def may_use_other_tool(self) -> bool:
        """Whether another tool may help: the tool failed, or it is unclear how its call should change."""
        unclear = self.category in (ErrorCategory.UNKNOWN, ErrorCategory.ENVIRONMENT_ERROR) and self.would_repeat
        return self.has_alternative_tool and (self.category is ErrorCategory.TOOL_ERROR or unclear)

    @property
    def may_repair(self) -> bool:
        """Layer 2: whether this one step may be planned differently. After too many failures in a row it may not."""
        return (
            self.may_change_plan
            and not self.hopeless
            and not self.candidates_in_earlier_plan
            and self.limits.enable_step_level_reflection
            and self.single_step_repair_count < self.limits.max_single_step_repairs
            and self.consecutive_failures <= self.limits.max_consecutive_failures
        )

    @property
    def may_replan(self) -> bool:
        """Layer 3: whether another plan or approach may still help."""
        return self.may_change_plan and not self.hopeless

    @property
    def replans_left(self) -> bool:
        return self.may_replan and self.task_replan_count < self.limits.max_task_replanning_attempts


_STRAIGHT_TO_REPAIR = (ErrorCategory.DEPENDENCY_ERROR, ErrorCategory.DECOMPOSITION_ERROR)

TABLE: tuple[tuple[Rung, str, Callable[[Facts], bool]], ...] = (
    (Rung.RETRY_LATER, "the error is temporary and waiting may be enough", lambda f: f.may_wait),
    (Rung.REPLAN_TASK, "the model asks for a new plan", lambda f: f.replan_requested and f.replans_left),
    (
        Rung.ALTERNATIVE_TOOL,
        "the tool failed and another one can do the same",
        lambda f: f.may_retry and not f.straight_to_repair and f.may_use_other_tool,
    ),
    (
        Rung.CANDIDATES,
        "ask for several answers and take the one that passes the checks",
        lambda f: f.may_retry and (f.candidates_first or not f.straight_to_repair) and f.time_for_candidates,
    ),
    (
        Rung.ADJUST_PARAMETERS,
        "another attempt, with the failure in the prompt",
        lambda f: f.may_retry and not f.straight_to_repair and not f.would_repeat,
    ),
    (Rung.REPAIR_STEP, "the step itself has to be planned differently", lambda f: f.may_repair),
    (Rung.FALLBACK, "the step declares a fallback result", lambda f: f.has_fallback),
    (Rung.FAILURE_BRANCH, "the plan has steps for this failure", lambda f: f.has_failure_branch),
    (Rung.SKIP_STEP, "the step is not critical", lambda f: not f.critical),
    (Rung.REPLAN_TASK, "the plan no longer leads to the goal", lambda f: f.replans_left),
    (
        Rung.NEXT_APPROACH,
        "the approach did not work and there is another",
        lambda f: f.may_replan and f.approach_index < f.alternative_approaches,
    ),
    (Rung.GIVE_UP, "nothing is left to try", lambda f: True),
)


def next_rung(facts: Facts) -> tuple[Rung, str]:
    return next((rung, why) for rung, why, holds in TABLE if holds(facts))


LIMITED_BY: dict[Rung, str] = {
    Rung.RETRY_LATER: "`max_temporary_retries`; each wait is twice the last, from `backoff_seconds`",
    Rung.ALTERNATIVE_TOOL: "`max_step_retries`, and the tools there are",
    Rung.CANDIDATES: "once: the last of `max_step_retries`, or a small model's only one; `candidates` answers at most",
    Rung.ADJUST_PARAMETERS: "`max_step_retries`",
    Rung.REPAIR_STEP: "`max_single_step_repairs`; also `max_consecutive_failures`, after which the plan is replaced",
    Rung.REPLAN_TASK: "`max_task_replanning_attempts`",
    Rung.NEXT_APPROACH: "`max_alternative_approaches`, and the approaches there are",
}
"""What limits how often each rung is taken, for the documentation."""
