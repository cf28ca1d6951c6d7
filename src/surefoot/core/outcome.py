"""Outcomes: results of checks, failures and their reflections, the verdict and the diagnosis of a run."""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field

from surefoot.core.plan import Check
from surefoot.core.proof import ProofLevel, SuiteCounts, SuiteEvidence
from surefoot.core.transitions import Verdict as Verdict
from surefoot.core.values import FreeText, Secrecy, Value, Wording

IN_PART = "done in part: "
"""Begins the summary of a run whose result lacks a part that the task asks for."""
NOTHING_DONE = "nothing done: "
"""Begins the summary of a run in which no step was carried out. The reason follows."""
NOTHING_CHANGED = "nothing was changed"
"""The reason why a step is unproven: it changed nothing, although the model was told what is missing."""


class CheckResult(Value):
    """The result of a check that the engine ran. It expires when one of its inputs changes."""

    check: Check
    passed: bool
    detail: FreeText = ""
    """The relevant lines of the output: why it failed."""
    exit_code: int | None = None
    output_hash: str = ""
    duration_ms: int = 0
    tree: str = ""
    """The hash of the workspace tree that it was run on."""
    inputs: dict[str, str] = Field(default_factory=dict)
    """Hashes of the inputs by name: files, the paths a check declares, results of steps. The hash of a missing input is
    empty. A command without declared inputs depends on the whole tree."""
    exact_tree: str = ""
    """For a command: the hash of the tree including file times. Empty if the tree does not show every change."""
    reused: bool = False
    """Whether this is an earlier result, reused because no input has changed."""
    counts: SuiteCounts | None = None
    """How many tests the command ran, if its output says so."""


class CheckCount(NamedTuple):
    """The number of distinct checks, and how many of them pass. Every view shows these numbers."""

    passed: int
    total: int

    def __str__(self) -> str:
        """`3 checks pass`, `2 of 3 checks pass`, `1 check fails`."""
        if self.total == 1:
            return f"1 check {'passes' if self.passed else 'fails'}"
        of_all = "" if self.passed == self.total else f"{self.passed} of "
        return f"{of_all}{self.total} checks pass"


def distinct_checks(results: Iterable[CheckResult]) -> tuple[CheckResult, ...]:
    """Return the last result of each check, in the order of the checks."""
    return tuple({result.check.key: result for result in results}.values())


def count_checks(results: Iterable[CheckResult]) -> CheckCount:
    distinct = distinct_checks(results)
    return CheckCount(sum(result.passed for result in distinct), len(distinct))


def given(results: Iterable[CheckResult]) -> tuple[CheckResult, ...]:
    """Return the results of checks from the user or the project, which the plan did not make."""
    return tuple(r for r in results if r.check.origin in ("user", "project"))


def decisive(results: Sequence[CheckResult]) -> tuple[CheckResult, ...]:
    """Return the results that decide whether the work is done. A check of the plan may itself be wrong, so the plan's
    checks do not decide if the user or the project has checks."""
    if given(results):
        return tuple(r for r in results if r.check.origin != "plan")
    return tuple(results)


def evidence_of(red: Iterable[CheckResult], most: int = 2) -> str:
    """Return the output of failed checks. Checks with the same output share one entry, whose first line names them."""
    outputs: dict[str, list[str]] = {}
    for result in red:
        outputs.setdefault(result.detail, []).append(result.check.label)
    return "\n".join(f"{', '.join(labels)}\n{detail}" for detail, labels in list(outputs.items())[:most])


class CriterionResult(Value):
    criterion: Wording
    met: bool | None
    """None: no check that ran can tell. A model's opinion does not count."""
    because: FreeText = ""


class FailureKind(StrEnum):
    CHECK_FAILED = "check_failed"
    REFUTED = "refuted"
    """The step's checks passed after the step and fail on the final tree."""
    REGRESSION = "regression"
    """Tests of the project that passed before the run fail on the final tree."""
    TOOL_ERROR = "tool_error"
    TIMEOUT = "timeout"
    MODEL_ERROR = "model_error"
    MISSING_ARTIFACT = "missing_artifact"
    OUT_OF_REACH = "out_of_reach"
    """The step needs something that is not available here, so no retry can help."""
    UNREADABLE_ANSWER = "unreadable_answer"
    MAX_ACTIONS = "max_actions"
    LOOP = "loop"
    NO_PROGRESS = "no_progress"
    DENIED = "denied"
    REPLAN_REQUESTED = "replan_requested"


class Failure(Value):
    kind: FailureKind
    message: FreeText
    evidence: FreeText = ""
    """Quoted output: the failing assertion, the error line."""
    tool: str = ""
    temporary: bool = False
    cause: str = ""
    """The `cause` of the error, if it is a problem of the setup."""
    remedy: FreeText = ""
    made: tuple[str, ...] = ()
    """Files that the attempt made although others are missing."""
    missing: tuple[str, ...] = ()
    """Files that the attempt should have made and did not, if it made others."""


class ErrorCategory(StrEnum):
    PARAMETER_ERROR = "parameter_error"
    TOOL_ERROR = "tool_error"
    DEPENDENCY_ERROR = "dependency_error"
    DECOMPOSITION_ERROR = "decomposition_error"
    ENVIRONMENT_ERROR = "environment_error"
    UNKNOWN = "unknown"


class StepReflection(Value):
    category: ErrorCategory
    root_cause: FreeText
    recoverable: bool = True
    suggested_fix: FreeText = ""
    adjusted_parameters: Annotated[dict[str, Any], Secrecy.WORDING] = Field(default_factory=dict)
    alternative_tool: str = ""
    confidence: float = Field(default=0.5, ge=0, le=1)
    evidence: FreeText = ""
    decided_by: Literal["rules", "model"] = "rules"
    keep: FreeText = ""
    """Why the partial work is worth keeping. Empty: it is undone before the next attempt."""


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
    """Why a run did not finish, and what to do about it. Every view shows the same text."""

    what_failed: FreeText
    cause: str = ""
    """The `cause` of the error that ended the run, if it is a problem of the setup (`surefoot.errors`)."""
    root_cause: FreeText = ""
    evidence: FreeText = ""
    tried: tuple[FreeText, ...] = ()
    left_behind: tuple[str, ...] = ()
    left_outside: tuple[FreeText, ...] = ()
    next_steps: tuple[Wording, ...] = ()

    def as_text(self) -> str:
        parts = [f"What failed: {self.what_failed}"]
        if self.root_cause and self.root_cause != self.what_failed:
            parts.append(f"Root cause: {self.root_cause}")
        if self.evidence:
            parts.append("Evidence:\n" + "\n".join(f"  | {line}" for line in self.evidence.splitlines()))
        for title, lines in (
            ("Tried, in order", self.tried),
            ("Left in the workspace", self.left_behind or ("nothing: no changes remain",)),
            ("Left outside the workspace", self.left_outside),
            ("What to do next", self.next_steps),
        ):
            if lines:
                indented = [line.replace("\n", "\n    ") for line in lines]
                parts.append(f"{title}:\n" + "\n".join(f"  - {line}" for line in indented))
        return "\n".join(parts)


class Outcome(Value):
    verdict: Verdict
    summary: FreeText
    proof: ProofLevel = ProofLevel.NONE
    """How strong the evidence is. A verified run has `given_check`."""
    accepted: bool = False
    """Whether the user accepts this level of proof, so that the exit code is 0."""
    tests: SuiteEvidence | None = None
    """The results of the project's tests. None: the run ended before its final validation."""
    checks: tuple[CheckResult, ...] = ()
    """The results on the final tree."""
    generated_files: tuple[str, ...] = ()
    modified_files: tuple[str, ...] = ()
    deleted_files: tuple[str, ...] = ()
    protected_changes: tuple[str, ...] = ()
    """Files that the task says to leave alone and that the run changed or removed."""
    degraded_steps: tuple[str, ...] = ()
    """Steps that failed and have their declared stand-in as result. For programs that read JSON; people see it in the
    status of the steps."""
    unproven_steps: tuple[str, ...] = ()
    """Steps that appear to be done, but that no check could prove."""
    not_captured: tuple[str, ...] = ()
    """Files that snapshots leave out, so that no undo restores them: excluded, special or unreadable ones."""
    left_outside: tuple[FreeText, ...] = ()
    """Effects of failed attempts outside the workspace that were not undone."""
    warnings: tuple[FreeText, ...] = ()
    diagnosis: Diagnosis | None = None

    @property
    def exit_code(self) -> int:
        return 0 if self.accepted else EXIT_CODES[self.verdict]

    @property
    def changed_files(self) -> tuple[str, ...]:
        return (*self.generated_files, *self.modified_files, *self.deleted_files)
