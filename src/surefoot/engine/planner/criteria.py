"""Judges what each phase produced. Pure: the confidence is the weighted share of the points that hold.

A mandatory point fails the gate by itself; the others lower the confidence. Messages go into the next prompt: they say
what is wrong and what would be right.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from surefoot.core.outcome import CheckResult, CriterionResult
from surefoot.core.phases import ApproachOutput, UnderstandingOutput, ValidationOutput, ValidationResult
from surefoot.core.plan import CommandCheck, DetailedPlan, ExpressionCheck, FileCheck, ParsesCheck
from surefoot.engine.scheduler.graph import check_acyclic
from surefoot.errors import PlanCycle


@dataclass(frozen=True, slots=True)
class Point:
    holds: bool
    message: str
    """What is wrong if it does not hold."""
    weight: float = 1.0
    must: bool = False


def judge(points: Iterable[Point], threshold: float, warnings: Sequence[str] = ()) -> ValidationResult:
    points = list(points)
    total = sum(point.weight for point in points) or 1.0
    confidence = round(sum(point.weight for point in points if point.holds) / total, 3)
    broken = [point for point in points if not point.holds]
    passed = confidence >= threshold and not any(point.must for point in broken)
    return ValidationResult(
        passed=passed,
        confidence=confidence,
        messages=tuple(point.message for point in broken),
        warnings=tuple(warnings),
    )


def judge_understanding(
    output: UnderstandingOutput, task: str, named_files: Sequence[str], threshold: float
) -> ValidationResult:
    echo = output.understanding.strip().lower() == "string" or len(output.understanding.strip()) < 4
    files = set(output.target_files)
    odd = [f for f in files if f.startswith("/") or ".." in f.split("/") or any(c in f for c in "*?<>|\n")]
    shared = _words(output.understanding + " " + " ".join(output.key_requirements)) & _words(task)
    return judge(
        [
            Point(not echo, "`understanding` is empty or a placeholder: say what is wanted", 3, must=True),
            Point(
                bool(output.key_requirements),
                "`requirements` is empty: list what must be true at the end",
                3,
                must=True,
            ),
            Point(not odd, f"`files` must be plain relative paths; these are not: {', '.join(odd)}", 2),
            Point(
                bool(shared),
                "the understanding shares no word with the task: it is about something else",
                2,
            ),
            Point(len(output.key_requirements) <= 12, "more than 12 requirements: keep what matters", 1),
        ],
        threshold,
        [f"the task names {f}, the understanding does not" for f in named_files if f not in files],
    )


def judge_approach(output: ApproachOutput, threshold: float) -> ValidationResult:
    names = [a.name.lower() for a in output.alternatives]
    return judge(
        [
            Point(
                len(output.approach.strip()) >= 4, "`approach` says nothing: describe how it will be done", 3, must=True
            ),
            Point(bool(output.expected_outcomes), "`expected_outcomes` is empty: what will be there at the end?", 2),
            Point(bool(output.alternatives), "`alternatives` is empty: name one other way, in case this one fails", 1),
            Point(len(names) == len(set(names)), "two alternatives are the same", 1),
        ],
        threshold,
    )


def judge_plan(
    plan: DetailedPlan, required_files: Sequence[str], protected: Collection[str], max_steps: int, threshold: float
) -> ValidationResult:
    writers: dict[str, list[str]] = {}
    for step in plan.steps:
        for path in step.writes:
            writers.setdefault(path, []).append(step.id)
    missing = [f for f in required_files if f not in writers and f not in protected]
    doubled = [f"{path} ({', '.join(ids)})" for path, ids in writers.items() if len(ids) > 1]
    weakened = [path for path in writers if path in protected]
    idle = [s.id for s in plan.steps if not s.description and not s.writes and not s.tool]
    unchecked = [s.id for s in plan.steps if not s.checks]
    return judge(
        [
            Point(bool(plan.steps), "the plan has no steps", 3, must=True),
            Point(len(plan.steps) <= max_steps, f"more than {max_steps} steps: condense the plan", 3, must=True),
            Point(*_acyclic(plan), 3, must=True),
            Point(not missing, f"no step produces {', '.join(missing)}, which the task names", 3, must=True),
            Point(not doubled, f"two steps write the same file: {'; '.join(doubled)}", 2, must=True),
            Point(not weakened, f"given tests may not be rewritten: {', '.join(weakened)}", 2, must=True),
            Point(not idle, f"these steps do not say what to do: {', '.join(idle)}", 2),
        ],
        threshold,
        [f"step {step_id} has no check of its own" for step_id in unchecked],
    )


def judge_validation(output: ValidationOutput, threshold: float) -> ValidationResult:
    """Judge the final tree: every deciding check is green, and the criteria that could be evaluated are met."""
    results = decisive(output.checks)
    points = [Point(r.passed, f"{r.check.label}: {r.detail or 'failed'}", _weight(r), must=True) for r in results]
    points += [Point(c.met, f"not met: {c.criterion} ({c.because})", 1) for c in output.criteria if c.met is not None]
    unknown = [f"cannot tell: {c.criterion}" for c in output.criteria if c.met is None]
    return judge(points, threshold, unknown)


def decisive(results: Sequence[CheckResult]) -> tuple[CheckResult, ...]:
    """Return the results that decide. A check of the plan may itself be wrong: if the user or the project has checks,
    the plan's are only shown."""
    if any(r.check.origin in ("user", "project") for r in results):
        return tuple(r for r in results if r.check.origin != "plan")
    return tuple(results)


def worth_keeping(before: Sequence[CheckResult], after: Sequence[CheckResult]) -> str:
    """Say why the work of a failed attempt should stay; empty if no check shows it.

    It stays if a check that failed before passes now, and none that passed fails. That a file exists or parses does not
    count.
    """
    passed = {result.check.key: result.passed for result in before}
    results = [r for r in decisive(after) if isinstance(r.check, CommandCheck | ExpressionCheck)]
    compared = [r for r in results if r.check.key in passed]
    gained = [r for r in compared if r.passed and not passed[r.check.key]]
    if not gained or any(passed[r.check.key] and not r.passed for r in compared):
        return ""
    return f"{gained[0].check.label!r} failed before and passes now"[:200]


def evaluate_criteria(
    criteria: Sequence[str], plan: DetailedPlan, results: Sequence[CheckResult]
) -> tuple[CriterionResult, ...]:
    """Evaluate each criterion by the checks about the same subject. Without one, it is unknown."""
    evaluated = []
    for criterion in criteria:
        words = _words(criterion)
        about = [r for r in results if words & _words(r.check.label)]
        strong = [r for r in results if r.check.origin in ("user", "project") and isinstance(r.check, CommandCheck)]
        if not (relevant := about or strong):
            evaluated.append(CriterionResult(criterion=criterion, met=None, because="no check speaks of it"))
            continue
        red = [r for r in relevant if not r.passed]
        evaluated.append(
            CriterionResult(
                criterion=criterion,
                met=not red,
                because=(f"failed: {red[0].check.label}" if red else f"passed: {relevant[0].check.label}"),
            )
        )
    return tuple(evaluated)


def _acyclic(plan: DetailedPlan) -> tuple[bool, str]:
    try:
        check_acyclic((step.id for step in plan.steps), plan.dependencies)
    except PlanCycle as error:
        return False, str(error)
    return True, ""


def _weight(result: CheckResult) -> float:
    if isinstance(result.check, FileCheck | ParsesCheck):
        return 1.0
    return 3.0 if result.check.origin in ("user", "project") else 2.0


def _words(text: str) -> set[str]:
    """Return words and file names, and single characters of Chinese text: enough to see a common subject."""
    words = {w.strip(".,;:()[]'\"`").lower() for w in text.replace("/", " ").split()}
    words |= {c for c in text if "\u4e00" <= c <= "\u9fff"}
    return {w for w in words if len(w) > 2 or "\u4e00" <= w <= "\u9fff"} - _COMMON


_COMMON = frozenset((
    "the", "and", "for", "with", "that", "this", "from", "must", "should", "file", "code", "into", "all", "are", "has",
    "have", "not", "its", "can", "will",
))  # fmt: skip
