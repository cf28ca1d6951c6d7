"""Turns drafts of plans and steps into what is run. Pure.

A full draft, with all its fields, is taken as it is: steps are neither dropped nor added. A short draft goes through
`normalize.py`, which repairs it. The two cannot be one type: a repair looks at the one file and the one check of a
step, also at a check without a kind, which a full draft cannot express. So the form of a draft decides here how it is
read, and nowhere else in the engine.
"""

from collections.abc import Collection

from surefoot.core.plan import (
    Check,
    CommandCheck,
    DetailedPlan,
    ExecutionStep,
    FileCheck,
    Milestone,
    StepDependency,
    TextCheck,
)
from surefoot.engine.planner.normalize import clean_path, distinct, plan_from, step_from, step_of
from surefoot.engine.planner.plan_criteria import PlanFacts
from surefoot.prompting.drafts.full import (
    AnyChangeDraft,
    AnyPlanDraft,
    AnyStepDraft,
    FullChangeDraft,
    FullCheckDraft,
    FullPlanDraft,
    FullStepDraft,
)


def runnable_plan(draft: AnyPlanDraft, facts: PlanFacts, task: str) -> tuple[DetailedPlan | None, list[str]]:
    """Return the plan that would be run, and the repairs that were made; None if one of its checks cannot be run."""
    if draft.check_problems:
        return None, []
    too_long = len(draft.steps) > facts.max_steps
    if isinstance(draft, FullPlanDraft):
        shorter = joined(draft, facts.max_steps) if too_long and facts.is_cut else None
        plan, repairs = _submitted_plan(shorter or draft)
        note = f"steps {facts.max_steps} to {len(draft.steps)} became one: a plan has at most {facts.max_steps} steps"
        return plan, [*([note] if shorter else []), *repairs]
    if too_long and not facts.is_cut:
        return plan_from(draft, (), (), len(draft.steps))[0], []
    return plan_from(draft, facts.required, facts.protected, facts.max_steps, task)


def new_step(draft: AnyStepDraft, step_id: str, protected: Collection[str]) -> ExecutionStep:
    """Return the step that a draft describes."""
    return full_step(draft, step_id) if isinstance(draft, FullStepDraft) else step_of(draft, step_id, protected)


def changed_step(draft: AnyChangeDraft, old: ExecutionStep, protected: Collection[str]) -> ExecutionStep:
    """Return the step `old` with the changes of a draft. Checks that do not come from the plan stay."""
    return _with_fields(draft, old) if isinstance(draft, FullChangeDraft) else step_from(draft, old, protected)


def _submitted_plan(draft: FullPlanDraft) -> tuple[DetailedPlan, list[str]]:
    """Return the plan, and the repairs that were made: references to steps that do not exist are dropped."""
    repairs: list[str] = []
    known = range(1, len(draft.steps) + 1)
    dependencies: list[StepDependency] = []
    for number, step in enumerate(draft.steps, 1):
        for before in dict.fromkeys(step.after):
            if before in known and before != number:
                dependencies.append(StepDependency(step_id=f"s{number}", depends_on=f"s{before}"))
            else:
                repairs.append(f"dropped the dependency of step {number} on {before}, which is not another step")
    repairs += [
        f"dropped step {n} from the milestone {m.name!r}: there is none"
        for m in draft.milestones
        for n in m.after
        if n not in known
    ]
    check_for = {
        c.criterion.strip(): CommandCheck(command=c.check.strip()) for c in draft.success_criteria if c.check.strip()
    }
    criteria = distinct([c.criterion for c in draft.success_criteria])
    plan = DetailedPlan(
        steps=tuple(full_step(step, f"s{number}", number - 1) for number, step in enumerate(draft.steps, 1)),
        dependencies=tuple(dependencies),
        estimated_duration=sum(step.estimated_minutes for step in draft.steps),
        required_resources=distinct(draft.required_resources),
        milestones=tuple(
            Milestone(name=m.name, step_ids=tuple(f"s{n}" for n in m.after if n in known)) for m in draft.milestones
        ),
        success_criteria=criteria,
        criterion_checks=tuple(check_for[c].key if c in check_for else "" for c in criteria) if check_for else (),
        checks=tuple({c.key: c for c in (*map(check_from_full_draft, draft.checks), *check_for.values())}.values()),
    )
    return plan, repairs


def joined(draft: AnyPlanDraft, max_steps: int) -> FullPlanDraft | None:
    """Return a plan that is too long with its last steps joined into one.

    None if the plan is not too long, an earlier step waits for one of the last, or the draft is short: a step of one
    file cannot do the work of several.
    """
    if len(draft.steps) <= max_steps or not isinstance(draft, FullPlanDraft):
        return None
    first_steps, last_steps = draft.steps[: max_steps - 1], draft.steps[max_steps - 1 :]
    if any(number >= max_steps for step in first_steps for number in step.after):
        return None
    parts = [
        f"{n}. {s.name}{f' (only if {s.when})' if s.when else ''}: {s.description}" for n, s in enumerate(last_steps, 1)
    ]
    last = FullStepDraft(
        name=f"The rest of the plan: {last_steps[0].name} and {len(last_steps) - 1} more",
        description="Do these in order:\n" + "\n".join(parts),
        type=last_steps[0].type,
        files=[path for step in last_steps for path in step.files],
        after=sorted({number for step in last_steps for number in step.after if number < max_steps}),
        checks=[check for step in last_steps for check in step.checks],
        preconditions=last_steps[0].preconditions,
        expected_outputs=[output for step in last_steps for output in step.expected_outputs],
        validation_criteria=[criterion for step in last_steps for criterion in step.validation_criteria],
        rollback_steps=[command for step in reversed(last_steps) for command in step.rollback_steps],
        requires_confirmation=any(step.requires_confirmation for step in last_steps),
        allow_failure=all(step.allow_failure for step in last_steps),
        critical=any(step.critical for step in last_steps),
        tools=[tool for step in last_steps for tool in step.tools],
        estimated_minutes=sum(step.estimated_minutes for step in last_steps),
    )
    milestones = [
        m.model_copy(update={"after": sorted({min(n, max_steps) for n in m.after})}) for m in draft.milestones
    ]
    return draft.model_copy(update={"steps": [*first_steps, last], "milestones": milestones})


def full_step(draft: FullStepDraft, step_id: str, sequence: int = 0) -> ExecutionStep:
    return ExecutionStep(
        id=step_id,
        sequence=sequence,
        name=draft.name.strip(),
        description=draft.description.strip(),
        step_type=draft.type,
        estimated_duration=draft.estimated_minutes,
        preconditions=distinct(draft.preconditions),
        expected_outputs=distinct([*draft.files, *draft.expected_outputs]),
        validation_criteria=distinct(draft.validation_criteria),
        rollback_steps=distinct(draft.rollback_steps),
        requires_confirmation=draft.requires_confirmation,
        allow_failure=draft.allow_failure,
        checks=tuple(map(check_from_full_draft, draft.checks)),
        critical=draft.critical,
        priority=draft.priority,
        when=draft.when.strip(),
        fallback=draft.fallback,
        expected_tools=distinct(draft.tools),
    )


def _with_fields(draft: FullChangeDraft, old: ExecutionStep) -> ExecutionStep:
    """Return the step `old` with the fields that the draft sets."""
    new = full_step(draft, old.id, old.sequence)
    set_fields = {_FIELDS.get(name, name) for name in draft.model_fields_set} & vars(new).keys()
    changes = {name: getattr(new, name) for name in set_fields if name not in ("name", "checks") or getattr(new, name)}
    if "checks" in changes:
        changes["checks"] = (*(check for check in old.checks if check.origin != "plan"), *new.checks)
    return old.with_(**changes)


_FIELDS = {
    "type": "step_type",
    "files": "expected_outputs",
    "estimated_minutes": "estimated_duration",
    "tools": "expected_tools",
}
"""Fields of a step that have another name in a draft."""


def check_from_full_draft(draft: FullCheckDraft) -> Check:
    match draft.kind:
        case "file_exists":
            return FileCheck(path=clean_path(draft.value) or draft.value)
        case "text_matches" if draft.path:
            return TextCheck(path=clean_path(draft.path) or draft.path, pattern=draft.value)
    return CommandCheck(command=draft.value)
