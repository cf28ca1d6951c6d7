"""Judges the draft of a plan: its steps, their order, and the fields that can be wrong. Pure."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field

from surefoot.core.phases import ValidationResult
from surefoot.core.plan import StepDependency
from surefoot.engine.planner.criteria import Point, judge
from surefoot.engine.planner.evidence import files_required
from surefoot.engine.planner.normalize import clean_path
from surefoot.engine.planner.subject import is_covered, is_placeholder, subject_words
from surefoot.engine.scheduler.conditions import problem_with
from surefoot.engine.scheduler.graph import check_acyclic
from surefoot.errors import PlanCycle
from surefoot.prompting.drafts.full import AnyPlanDraft, AnyStepDraft


@dataclass(frozen=True, slots=True)
class PlanFacts:
    """Facts about the run that a plan is judged by."""

    required: Sequence[str] = ()
    """Files that the plan has to produce."""
    protected: Collection[str] = ()
    max_steps: int = 12
    is_cut: bool = False
    """Whether a plan that is too long is cut instead of refused."""
    tools: Collection[str] = ()
    """The available tools. Empty: unknown."""
    exists: Callable[[str], bool] = field(default=lambda path: True)


def judge_plan(
    draft: AnyPlanDraft, facts: PlanFacts, threshold: float, warnings: Sequence[str] = ()
) -> ValidationResult:
    steps: Sequence[AnyStepDraft] = draft.steps
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
        *_field_points(steps, facts),
        *(_one_file_points(steps, facts) if draft.one_file_a_step else _check_points(draft)),
    ]
    unchecked = [number for number, step in enumerate(steps, 1) if not step.has_check]
    proof = [f"give these steps a check of their own: {_numbers(unchecked)}"] if unchecked else []
    return judge(points, threshold, warnings, proof)


def _one_file_points(steps: Sequence[AnyStepDraft], facts: PlanFacts) -> Iterable[Point]:
    """Yield points about plans whose steps write one file each. They do not apply where a step may write several."""
    paths = [clean_path(path) for step in steps for path in step.paths]
    doubled = sorted({path for path in paths if path and paths.count(path) > 1})
    weakened = sorted({path for path in paths if path in facts.protected})
    only_weakens = bool(weakened) and len(weakened) == len(steps)
    yield Point(not doubled or None, f"two steps write the same file: {', '.join(doubled)}", 2)
    rewritten = f"given tests may not be rewritten: {', '.join(weakened)}"
    yield Point(not weakened or (False if only_weakens else None), rewritten, 2, must=True)


def _field_points(steps: Sequence[AnyStepDraft], facts: PlanFacts) -> Iterable[Point]:
    numbered = list(enumerate(steps, 1))
    conditions = [f"step {n}: {problem}" for n, step in numbered if (problem := problem_with(step.when))]
    absent = list(_absent_files(steps, facts))
    unknown = sorted({t for _, step in numbered for t in step.tools if facts.tools and t not in facts.tools})
    yield Point(not conditions, f"conditions that cannot be evaluated: {'; '.join(conditions)}", 2, must=True)
    yield Point(
        not absent, f"preconditions that do not hold and that no step brings about: {'; '.join(absent)}", 2, must=True
    )
    yield Point(not unknown or None, f"there are no such tools: {', '.join(unknown)}", 1)


def _absent_files(steps: Sequence[AnyStepDraft], facts: PlanFacts) -> Iterable[str]:
    for number, step in enumerate(steps, 1):
        others = [other for other in steps if other is not step]
        for condition in step.preconditions:
            for path in files_required(condition):
                if not facts.exists(path) and not is_covered(path, others):
                    yield f"step {number}: {condition}"


def _check_points(draft: AnyPlanDraft) -> Iterable[Point]:
    """Yield points about checks that the plan has to write out. What a short draft checks is normalized instead."""
    problems = draft.check_problems
    yield Point(not problems, f"checks that cannot be run: {'; '.join(problems)}", 2, must=True)


def _says_nothing(step: AnyStepDraft) -> bool:
    described = not is_placeholder(step.description) if step.description.strip() else False
    named = len(subject_words(step.name)) >= 2 and not is_placeholder(step.name)
    return not described and not named and not any(path.strip() for path in step.paths) and not step.has_check


def _numbers(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))


def _acyclic(draft: AnyPlanDraft) -> tuple[bool, str]:
    """Return whether the plan as given has no cycle, and the problem if it has one.

    Dependencies on the step itself, or on a number that no step has, are slips and are ignored.
    """
    steps: Sequence[AnyStepDraft] = draft.steps
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
