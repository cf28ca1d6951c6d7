"""Judges what each phase produced. Pure: the confidence is the weighted share of the points that hold.

The gates of understanding, approach and plan look at the draft as the model gave it, not at its normalized form. A
mandatory point fails the gate by itself; the others lower the confidence. A point that cannot be told, or that was
repaired, counts half and is a warning: a gate that refused what is right would cost more than it saves. Messages go into
the next prompt: they say what is wrong and what would be right.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field

from surefoot.core.outcome import CheckResult
from surefoot.core.phases import ValidationOutput, ValidationResult
from surefoot.core.plan import CommandCheck, ExpressionCheck, FileCheck, ParsesCheck, StepDependency, TextCheck
from surefoot.engine.planner.coverage import impossible_path, is_covered
from surefoot.engine.planner.evidence import files_required
from surefoot.engine.planner.normalize import clean_path
from surefoot.engine.planner.subject import is_placeholder, same_subject, subject_words
from surefoot.engine.scheduler.conditions import problem_with
from surefoot.engine.scheduler.graph import check_acyclic
from surefoot.errors import PlanCycle
from surefoot.prompting.conversation.submissions import FullCheckDraft, FullPlanDraft, FullStepDraft
from surefoot.prompting.schemas import ApproachDraft, PlanDraft, StepDraft, UnderstandingDraft

TOO_LOW = "Validation confidence too low"
REPAIRED = "repaired: "
"""How a warning begins that tells what the engine has changed."""


@dataclass(frozen=True, slots=True)
class Point:
    holds: bool | None
    """None: it cannot be told, or was repaired."""
    message: str
    """What is wrong if it does not hold; if that cannot be told, a warning."""
    weight: float = 1.0
    must: bool = False
    suggestion: str = ""
    """What would make it hold, if the message does not say so."""


_SHARE = {True: 1.0, None: 0.5, False: 0.0}


def judge(
    points: Iterable[Point], threshold: float, warnings: Sequence[str] = (), suggestions: Sequence[str] = ()
) -> ValidationResult:
    points = list(points)
    total = sum(point.weight for point in points)
    share = sum(point.weight * _SHARE[point.holds] for point in points) / total if total else 0.0
    broken = [point for point in points if point.holds is False]
    refused = any(point.must for point in broken)
    # Whatever the average says, nobody can trust an output in which something mandatory is wrong.
    confidence = round(share / 2 if refused else share, 3)
    doubtful = [point for point in points if point.holds is None and point.message]
    return ValidationResult(
        passed=confidence >= threshold and not refused,
        confidence=confidence,
        messages=tuple(point.message for point in broken),
        warnings=tuple(dict.fromkeys([*(point.message for point in doubtful), *warnings])),
        suggestions=tuple(
            dict.fromkeys([*(point.suggestion or point.message for point in (*broken, *doubtful)), *suggestions])
        ),
    )


def error_of(verdict: ValidationResult, threshold: float) -> str:
    """Say why a phase did not pass its gate."""
    what = f"{TOO_LOW} ({verdict.confidence:.2f} of {threshold:.2f})" if verdict.confidence < threshold else "Refused"
    return f"{what}: {'; '.join(verdict.messages)}" if verdict.messages else what


# -- understanding and approach --------------------------------------------------------------------------------------


def judge_understanding(
    draft: UnderstandingDraft,
    task: str,
    threshold: float,
    *,
    root: str = "",
    existing: Collection[str] = (),
    warnings: Sequence[str] = (),
) -> ValidationResult:
    requirements = [text for text in draft.requirements if not is_placeholder(text)]
    said = " ".join([draft.understanding, *draft.requirements])
    odd = [path for path in draft.files if impossible_path(path, task, root, existing)]
    shared = same_subject(task, said)
    if shared is False and same_subject(task, " ".join(draft.files)):
        shared = None  # other words for the right files
    no_word = "the understanding shares no word with the task"
    return judge(
        [
            Point(
                not is_placeholder(draft.understanding),
                "`understanding` is empty or a placeholder: say what is wanted",
                3,
                must=True,
            ),
            Point(bool(requirements), "`requirements` is empty: list what must be true at the end", 3, must=True),
            Point(
                not odd,
                f"`files` must be plain paths inside the folder; these are not: {', '.join(odd)}",
                2,
                must=True,
            ),
            Point(
                shared,
                f"{no_word}: it is about something else"
                if shared is False
                else f"{no_word} that would tell its subject",
                2,
                must=True,
                suggestion="say it with the names and words of the task",
            ),
        ],
        threshold,
        warnings,
        [f"answer the open question: {question}" for question in draft.questions],
    )


def judge_approach(draft: ApproachDraft, threshold: float) -> ValidationResult:
    outcomes = [text for text in draft.expected_outcomes if not is_placeholder(text)]
    names = [a.name.strip().lower() for a in draft.alternatives if not is_placeholder(a.name)]
    others = [name for name in names if name != draft.approach.strip().lower()]
    return judge(
        [
            Point(
                not is_placeholder(draft.approach),
                "`approach` says nothing: describe how it will be done",
                3,
                must=True,
            ),
            Point(bool(outcomes), "`expected_outcomes` is empty: what will be there at the end?", 2),
            Point(bool(others), "`alternatives` is empty: name one other way, in case this one fails", 1),
            Point(len(names) == len(set(names)), "two alternatives are the same", 1),
        ],
        threshold,
    )


# -- plan ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PlanFacts:
    """What a plan is judged by, besides itself."""

    required: Sequence[str] = ()
    """Files that are to be made."""
    protected: Collection[str] = ()
    max_steps: int = 12
    is_cut: bool = False
    """Whether a plan that is too long was cut."""
    tools: Collection[str] = ()
    """The tools that there are. Empty: not known."""
    exists: Callable[[str], bool] = field(default=lambda path: True)


def judge_plan(
    draft: PlanDraft | FullPlanDraft, facts: PlanFacts, threshold: float, warnings: Sequence[str] = ()
) -> ValidationResult:
    steps: Sequence[StepDraft | FullStepDraft] = draft.steps
    idle = [number for number, step in enumerate(steps, 1) if _says_nothing(step)]
    too_long = len(steps) > facts.max_steps
    missing = [path for path in facts.required if path not in facts.protected and not is_covered(path, steps)]
    without = f"no step produces {', '.join(missing)}, which the task asks for"
    points = [
        Point(len(idle) < len(steps), "the plan has no steps that say what to do", 3, must=True),
        Point(
            not too_long or (None if facts.is_cut else False),
            f"more than {facts.max_steps} steps: condense the plan",
            3,
            must=True,
        ),
        Point(*_acyclic(draft), 3, must=True),
        Point(not missing or None, without, 3, suggestion=f"give {', '.join(missing)} a step"),
        Point(not idle, f"these steps do not say what to do: {_numbers(idle)}", 2),
        *(_full_points(draft, facts) if isinstance(draft, FullPlanDraft) else _small_points(draft, facts)),
    ]
    unchecked = [number for number, step in enumerate(steps, 1) if not _has_check(step)]
    proof = [f"give these steps a check of their own: {_numbers(unchecked)}"] if unchecked else []
    return judge(points, threshold, warnings, proof)


def _small_points(draft: PlanDraft, facts: PlanFacts) -> Iterable[Point]:
    """Points that hold by themselves where a step may write any number of files."""
    paths = [clean_path(step.file) for step in draft.steps if step.file.strip()]
    doubled = sorted({path for path in paths if path and paths.count(path) > 1})
    weakened = sorted({path for path in paths if path in facts.protected})
    only_weakens = bool(weakened) and len(weakened) == len(draft.steps)
    yield Point(not doubled or None, f"two steps write the same file: {', '.join(doubled)}", 2)
    rewritten = f"given tests may not be rewritten: {', '.join(weakened)}"
    yield Point(not weakened or (False if only_weakens else None), rewritten, 2, must=True)


def _full_points(draft: FullPlanDraft, facts: PlanFacts) -> Iterable[Point]:
    steps = list(enumerate(draft.steps, 1))
    conditions = [f"step {n}: {problem}" for n, step in steps if (problem := problem_with(step.when))]
    checks = [f"step {n}: {problem}" for n, step in steps for c in step.checks if (problem := problem_with_check(c))]
    checks += [problem for check in draft.checks if (problem := problem_with_check(check))]
    absent = list(_absent_files(draft, facts))
    unknown = sorted({t for _, step in steps for t in step.tools if facts.tools and t not in facts.tools})
    yield Point(not conditions, f"conditions that cannot be evaluated: {'; '.join(conditions)}", 2, must=True)
    yield Point(not checks, f"checks that cannot be run: {'; '.join(checks)}", 2, must=True)
    yield Point(
        not absent, f"preconditions that do not hold and that no step brings about: {'; '.join(absent)}", 2, True
    )
    yield Point(not unknown or None, f"there are no such tools: {', '.join(unknown)}", 1)


def _absent_files(draft: FullPlanDraft, facts: PlanFacts) -> Iterable[str]:
    for number, step in enumerate(draft.steps, 1):
        others = [other for other in draft.steps if other is not step]
        for condition in step.preconditions:
            for path in files_required(condition):
                if not facts.exists(path) and not is_covered(path, others):
                    yield f"step {number}: {condition}"


def problem_with_check(check: FullCheckDraft) -> str:
    """Say why a check cannot be run; empty if it can."""
    if not check.value.strip():
        return f"a check of the kind {check.kind} without a value"
    if check.kind == "text_matches" and not check.path.strip():
        return f"text_matches {check.value!r} names no file in `path`"
    return ""


def _says_nothing(step: StepDraft | FullStepDraft) -> bool:
    files = step.files if isinstance(step, FullStepDraft) else [step.file]
    described = not is_placeholder(step.description) if step.description.strip() else False
    named = len(subject_words(step.name)) >= 2 and not is_placeholder(step.name)
    return not described and not named and not any(path.strip() for path in files) and not _has_check(step)


def _has_check(step: StepDraft | FullStepDraft) -> bool:
    return bool(step.checks) if isinstance(step, FullStepDraft) else step.check.kind != "none"


def _numbers(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))


def _acyclic(draft: PlanDraft | FullPlanDraft) -> tuple[bool, str]:
    """Look for a circle in the plan as it was given. Numbers that no step has, and a step's own, are slips."""
    steps: Sequence[StepDraft | FullStepDraft] = draft.steps
    count = len(steps)
    numbers = [
        (number, before)
        for number, step in enumerate(steps, 1)
        for before in step.after
        if 1 <= before <= count and before != number
    ]
    dependencies = [StepDependency(step_id=f"step {n}", depends_on=f"step {before}") for n, before in numbers]
    try:
        check_acyclic((f"step {n}" for n in range(1, count + 1)), dependencies)
    except PlanCycle as error:
        return False, str(error)
    return True, ""


# -- validation ------------------------------------------------------------------------------------------------------

_PROVEN, _OWN_TEST, _GREEN_BEFORE, _PLANNED, _FILES_ONLY = 1.0, 0.95, 0.9, 0.85, 0.5
"""How much the best evidence is worth: a given check that failed before; a new test that does; a given check that passed
before too; a command of the plan; files that exist and can be parsed."""
_UNKNOWN_CRITERIA = 0.1
"""How much confidence is lost if none of the criteria can be told."""
NOT_VERIFIED = "not verified: no check was run, so nothing shows that the task is done"
GIVE_A_CHECK = "give a check that fails before the run and passes after it: --check 'COMMAND'"


def judge_validation(
    output: ValidationOutput, threshold: float, red_at_start: Collection[str] = ()
) -> ValidationResult:
    """Judge the final tree: every deciding check is green, and the confidence says how much that proves."""
    results = decisive(output.checks)
    unknown = [c for c in output.criteria if c.met is None]
    doubts = [f"cannot tell: {c.criterion} ({c.because})" for c in unknown]
    checks = [f"give a check for: {c.criterion}" for c in unknown]
    if not results:
        return ValidationResult(
            passed=False,
            confidence=0.0,
            messages=(NOT_VERIFIED,),
            warnings=tuple(doubts),
            suggestions=(GIVE_A_CHECK, *checks),
        )
    points = [Point(r.passed, f"{r.check.label}: {r.detail or 'failed'}", _weight(r), must=True) for r in results]
    verdict = judge(points, threshold, doubts, checks)
    unmet = [c for c in output.criteria if c.met is False]
    strength = _strength(output, results, red_at_start)
    share = (len(unmet) + _UNKNOWN_CRITERIA * len(unknown)) / len(output.criteria) if output.criteria else 0.0
    confidence = round(verdict.confidence * strength * (1 - share), 3)
    weak = [] if strength >= _OWN_TEST else [GIVE_A_CHECK]
    return verdict.with_(
        passed=verdict.passed and confidence >= threshold,
        confidence=confidence,
        messages=(*verdict.messages, *(f"not met: {c.criterion} ({c.because})" for c in unmet)),
        suggestions=(*weak, *verdict.suggestions),
    )


def _strength(output: ValidationOutput, results: Sequence[CheckResult], red_at_start: Collection[str]) -> float:
    given = [r for r in results if r.check.origin in ("user", "project")]
    if any(r.check.key in red_at_start and r.check.key not in output.hollow for r in given):
        return _PROVEN
    if output.tests is not None and output.tests.own_tests:
        return _OWN_TEST
    if given:
        return _GREEN_BEFORE
    seen = any(isinstance(r.check, CommandCheck | ExpressionCheck | TextCheck) for r in results)
    return _PLANNED if seen else _FILES_ONLY


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


def _weight(result: CheckResult) -> float:
    if isinstance(result.check, FileCheck | ParsesCheck):
        return 1.0
    return 3.0 if result.check.origin in ("user", "project") else 2.0
