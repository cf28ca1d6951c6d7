"""Parses a plan from text that a model or a person has written. Pure.

Tolerant of the form: code fences, text around the JSON, trailing commas, single quotes, a truncated end, other names
for the same fields. Strict about the content: ids are unique, dependencies exist, there is no cycle.
"""

from typing import Any

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError, field_validator

from surefoot.core.plan import DetailedPlan, ExecutionStep, Milestone, StepDependency, StepType
from surefoot.core.values import what_is_wrong
from surefoot.engine.planner.normalize import distinct
from surefoot.engine.planner.normalize_full import check_from_full_draft, full_step
from surefoot.engine.scheduler.conditions import problem_with
from surefoot.engine.scheduler.graph import check_acyclic
from surefoot.errors import PlanError
from surefoot.models.parsing.answer import read_json
from surefoot.prompting.drafts.full import FullCheckDraft, FullStepDraft, MilestoneDraft

MAX_STEPS = 12


class _Step(BaseModel):
    """A step in any of the forms that are in use."""

    model_config = ConfigDict(extra="ignore", coerce_numbers_to_str=True)

    id: str = ""
    name: str = Field(default="", validation_alias=AliasChoices("name", "title", "goal"))
    description: str = Field(default="", validation_alias=AliasChoices("description", "task", "details"))
    type: StepType = Field(default=StepType.CODE_GENERATION, validation_alias=AliasChoices("type", "step_type"))
    after: list[str] = Field(
        default=[], validation_alias=AliasChoices("after", "dependencies", "depends_on", "dependsOn", "deps")
    )
    tools: list[str] = Field(
        default=[], validation_alias=AliasChoices("tools", "tools_expected", "expected_tools", "tools_needed")
    )
    files: list[str] = []
    checks: list[FullCheckDraft] = []
    preconditions: list[str] = []
    expected_outputs: list[str] = Field(
        default=[], validation_alias=AliasChoices("expected_outputs", "expected_output", "outputs")
    )
    validation_criteria: list[str] = []
    rollback_steps: list[str] = []
    requires_confirmation: bool = False
    allow_failure: bool = False
    critical: bool = True
    priority: int = 0
    when: str = Field(default="", validation_alias=AliasChoices("when", "condition"))
    fallback: Any = None
    estimated_minutes: int = Field(
        default=0, ge=0, validation_alias=AliasChoices("estimated_minutes", "estimated_duration")
    )

    @field_validator("after", "tools", "expected_outputs", mode="before")
    @classmethod
    def _as_list(cls, value: Any) -> Any:
        return [] if value is None else value if isinstance(value, list) else [value]


class _Plan(BaseModel):
    model_config = ConfigDict(extra="ignore", coerce_numbers_to_str=True)

    steps: list[_Step] = Field(min_length=1, validation_alias=AliasChoices("steps", "plan", "tasks"))
    success_criteria: list[str] = []
    checks: list[FullCheckDraft] = []
    milestones: list[MilestoneDraft] = []
    required_resources: list[str] = []


def parse_plan_from_text(text: str, *, max_steps: int = MAX_STEPS) -> DetailedPlan:
    """Return the plan in a text.

    Raises `UnreadableAnswer` if there is none, and `PlanError` if it is invalid. Both say what is wrong.
    """
    draft = read_json(text, _Plan)
    if len(draft.steps) > max_steps:
        raise PlanError(f"the plan has {len(draft.steps)} steps, more than {max_steps}", remedy="condense it")
    ids = [step.id.strip() or f"s{number}" for number, step in enumerate(draft.steps, 1)]
    if doubled := sorted({step_id for step_id in ids if ids.count(step_id) > 1}):
        raise PlanError(f"two steps have the id {doubled[0]!r}", remedy="give each an id of its own")
    try:
        steps = tuple(_step(step, ids[i], i) for i, step in enumerate(draft.steps))
        plan = DetailedPlan(
            steps=steps,
            dependencies=tuple(_dependencies(draft, ids)),
            estimated_duration=sum(step.estimated_duration for step in steps),
            required_resources=distinct(draft.required_resources),
            milestones=tuple(
                Milestone(name=m.name, step_ids=tuple(ids[n - 1] for n in m.after if 0 < n <= len(ids)))
                for m in draft.milestones
            ),
            success_criteria=distinct(draft.success_criteria),
            checks=tuple(map(check_from_full_draft, draft.checks)),
        )
    except ValidationError as error:
        raise PlanError(what_is_wrong(error, 1)) from None
    check_acyclic(ids, plan.dependencies)
    return plan


def _step(draft: _Step, step_id: str, sequence: int) -> ExecutionStep:
    name = draft.name.strip() or draft.description.strip()[:80]
    if not name:
        raise PlanError(
            f"step {step_id} has neither a name nor a description", remedy="give it a name or a description"
        )
    if problem := problem_with(draft.when) or next(filter(None, (check.problem for check in draft.checks)), ""):
        raise PlanError(f"step {step_id}: {problem}")
    fields = draft.model_dump(exclude={"id", "after", "name"})
    return full_step(FullStepDraft(name=name, **fields), step_id, sequence)


def _dependencies(draft: _Plan, ids: list[str]) -> list[StepDependency]:
    """Return the dependencies. A number that is not an id is the position of a step, counted from 1."""
    dependencies = []
    for step, step_id in zip(draft.steps, ids, strict=True):
        for before in dict.fromkeys(step.after):
            reference = before.strip()
            if reference not in ids and reference.isdigit() and 0 < int(reference) <= len(ids):
                reference = ids[int(reference) - 1]
            if reference not in ids:
                raise PlanError(
                    f"step {step_id} depends on {before!r}, which is not in the plan",
                    remedy=f"there are: {', '.join(ids)}",
                )
            dependencies.append(StepDependency(step_id=step_id, depends_on=reference))
    return dependencies
