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
from surefoot.prompting.conversation.submissions import FullCheckDraft, FullPlanDraft, FullStepDraft


def submitted_plan(draft: FullPlanDraft) -> DetailedPlan:
    dependencies = [
        StepDependency(step_id=f"s{number}", depends_on=f"s{before}")
        for number, step in enumerate(draft.steps, 1)
        for before in dict.fromkeys(step.after)
        # A number that no step has is a slip of counting; the order of the steps stays.
        if 1 <= before <= len(draft.steps) and before != number
    ]
    return DetailedPlan(
        steps=tuple(_step(step, number) for number, step in enumerate(draft.steps, 1)),
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


def _step(draft: FullStepDraft, number: int) -> ExecutionStep:
    return ExecutionStep(
        id=f"s{number}",
        sequence=number - 1,
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


def _check(draft: FullCheckDraft) -> Check:
    match draft.kind:
        case "file_exists":
            return FileCheck(path=clean_path(draft.value) or draft.value)
        case "text_matches" if draft.path:
            return TextCheck(path=clean_path(draft.path) or draft.path, pattern=draft.value)
    return CommandCheck(command=draft.value)
