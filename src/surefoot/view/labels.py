"""Labels of states, recoveries and levels of proof. Every text for people uses these."""

from collections.abc import Iterable

from surefoot.core.outcome import IN_PART, NOTHING_DONE, Verdict
from surefoot.core.proof import ProofLevel
from surefoot.core.transitions import Rung, RunStatus, StepStatus

VERDICT_LABELS: dict[Verdict, str] = {
    Verdict.VERIFIED: "Verified",
    Verdict.UNVERIFIED: "Done, not verified",
    Verdict.FAILED: "Failed",
    Verdict.BLOCKED: "Blocked",
    Verdict.WAITING: "Waiting for you",
    Verdict.BUDGET: "Budget spent",
    Verdict.LOOP: "Stopped: no progress",
    Verdict.TIME: "Out of time",
    Verdict.CANCELLED: "Cancelled",
    Verdict.INTERRUPTED: "Interrupted",
}
STATUS_LABELS: dict[RunStatus, str] = {
    "running": "Running",
    "waiting": "Waiting for you",
    "paused": "Paused",
    "interrupted": "Interrupted",
    "queued": "Waiting for a worker",
    "plan": "Plan made",
    "done": "Done",
    "failed": "Failed",
    "undone": "Undone",
}
"""The labels of a run's status. A run that is done or failed has a verdict, which says more."""
OWN_TESTS = "Done, proven by its own tests"
"""The label of the verdict on a run that its own tests prove."""


def done_label(verdict: Verdict, summary: str, *, by_own_tests: bool) -> str:
    """The label of a verdict. If the summary begins with what is missing, or with why nothing was done, the label
    includes that."""
    if verdict is Verdict.UNVERIFIED and summary.startswith(NOTHING_DONE):
        return summary.partition(";")[0].capitalize()
    label = OWN_TESTS if by_own_tests else VERDICT_LABELS[verdict]
    if verdict not in (Verdict.VERIFIED, Verdict.UNVERIFIED) or not summary.startswith(IN_PART):
        return label
    default = "Verified" if verdict is Verdict.VERIFIED else "Done"
    return f"{default} {summary.partition(';')[0].removeprefix('done ')}"


PROOF_LABELS: dict[ProofLevel, str] = {
    ProofLevel.GIVEN_CHECK: "a given check failed before and passes now",
    ProofLevel.OWN_TEST: "a test that the run wrote fails on the old tree and passes now",
    ProofLevel.NONE: "no check that failed before is known to pass now",
}
_BY_PROJECT = "the project's tests failed before and pass now"


def proof_label(level: ProofLevel, origins: Iterable[str]) -> str:
    """The label of a level of proof. `origins` are the origins of the checks: if none is from the user, the project's
    tests prove the result."""
    known = set(origins)
    by_project = level is ProofLevel.GIVEN_CHECK and "project" in known and "user" not in known
    return _BY_PROJECT if by_project else PROOF_LABELS[level]


STEP_LABELS: dict[StepStatus, str] = {
    StepStatus.PENDING: "waiting",
    StepStatus.RUNNING: "running",
    StepStatus.SUCCEEDED: "done",
    StepStatus.PARTIAL: "partly done",
    StepStatus.FAILED: "failed",
    StepStatus.SKIPPED: "skipped",
    StepStatus.DEGRADED: "done with a fallback",
    StepStatus.BLOCKED: "blocked",
}
PHASE_ACTIVITIES = {
    "understanding": "reading the task",
    "approach": "choosing an approach",
    "planning": "making the plan",
    "validation": "validating the result",
}
"""What happens during a phase. In the execution, its steps are shown instead."""

UNPROVEN = "done, unproven"
"""The label of a step that is done, but that no check could prove."""

RUNG_LABELS: dict[Rung, str] = {
    Rung.RETRY_LATER: "wait and retry",
    Rung.ADJUST_PARAMETERS: "retry, adjusted",
    Rung.ALTERNATIVE_TOOL: "retry with another tool",
    Rung.CANDIDATES: "try several candidates",
    Rung.REPAIR_STEP: "repair the step",
    Rung.SKIP_STEP: "skip the step",
    Rung.FALLBACK: "use the declared fallback",
    Rung.FAILURE_BRANCH: "take the failure branch",
    Rung.REPLAN_TASK: "plan the task again",
    Rung.NEXT_APPROACH: "try the next approach",
    Rung.GIVE_UP: "give up",
}
