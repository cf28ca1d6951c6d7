"""Turns a submitted plan with all its fields into the plan that is run. Nothing is dropped or added. Pure."""

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
from surefoot.engine.planner.normalize import clean_path, distinct
from surefoot.prompting.conversation.submissions import (
    FullChangeDraft,
    FullCheckDraft,
    FullPlanDraft,
    FullStepDraft,
)


def submitted_plan(draft: FullPlanDraft) -> DetailedPlan:
    dependencies = [
        StepDependency(step_id=f"s{number}", depends_on=f"s{before}")
        for number, step in enumerate(draft.steps, 1)
        for before in dict.fromkeys(step.after)
        # A number that no step has is a slip of counting; the order of the steps stays.
        if 1 <= before <= len(draft.steps) and before != number
    ]
    return DetailedPlan(
        steps=tuple(full_step(step, f"s{number}", number - 1) for number, step in enumerate(draft.steps, 1)),
        dependencies=tuple(dependencies),
        estimated_duration=sum(step.estimated_minutes for step in draft.steps),
        required_resources=distinct(draft.required_resources),
        milestones=tuple(
            Milestone(name=m.name, step_ids=tuple(f"s{n}" for n in m.after if 1 <= n <= len(draft.steps)))
            for m in draft.milestones
        ),
        success_criteria=distinct(draft.success_criteria),
        checks=tuple(map(_check, draft.checks)),
    )


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
        checks=tuple(map(_check, draft.checks)),
        critical=draft.critical,
        priority=draft.priority,
        when=draft.when.strip(),
        fallback=draft.fallback,
    )


def changed_step(draft: FullChangeDraft, old: ExecutionStep) -> ExecutionStep:
    """Return a step with the fields that are given. Checks that the plan does not come from stay."""
    new = full_step(draft, old.id, old.sequence)
    given = {_FIELDS.get(name, name) for name in draft.model_fields_set} & vars(new).keys()
    changes = {name: getattr(new, name) for name in given if name not in ("name", "checks") or getattr(new, name)}
    if "checks" in changes:
        changes["checks"] = (*(check for check in old.checks if check.origin != "plan"), *new.checks)
    return old.with_(**changes)


_FIELDS = {"type": "step_type", "files": "expected_outputs", "estimated_minutes": "estimated_duration"}
"""Fields of a step that have another name in a draft."""


def _check(draft: FullCheckDraft) -> Check:
    match draft.kind:
        case "file_exists":
            return FileCheck(path=clean_path(draft.value) or draft.value)
        case "text_matches" if draft.path:
            return TextCheck(path=clean_path(draft.path) or draft.path, pattern=draft.value)
    return CommandCheck(command=draft.value)
