"""The drafts that a model submits during the survey, with every field that a plan and its steps can have."""

from typing import Any, Literal

from pydantic import ConfigDict, Field, JsonValue, model_validator

from surefoot.core.plan import StepType
from surefoot.prompting.drafts.short import (
    AlternativeDraft,
    ApproachDraft,
    DecisionDraft,
    Draft,
    ReflectionDraft,
    UnderstandingDraft,
)

BRIEF: dict[str, JsonValue] = {"brief": True}
"""Marks a field that is seldom needed: it is only named in the description of the object that has it."""


def _require_requirements(schema: dict[str, Any]) -> None:
    """Show `requirements` as required. They have a default, so that the gate can refuse a draft without them."""
    schema["required"] = [*schema.get("required", ()), "requirements"]


class FullUnderstandingDraft(UnderstandingDraft):
    model_config = ConfigDict(json_schema_extra=_require_requirements)

    understanding: str = Field(min_length=1, description="in one or two sentences")
    requirements: list[str] = Field(default=[], description="what must be true at the end")
    files: list[str] = Field(default=[], description="to create or change")
    risks: list[str] = Field(default=[], json_schema_extra=BRIEF)
    questions: list[str] = Field(default=[], description="only what makes it impossible to start")


class FullApproachDraft(ApproachDraft):
    approach: str = Field(min_length=1, description="in a few sentences")
    tech_stack: list[str] = Field(default=[], json_schema_extra=BRIEF)
    architecture_pattern: str = Field(default="", json_schema_extra=BRIEF)
    key_decisions: list[DecisionDraft] = Field(default=[], description="{decision, rationale}", json_schema_extra=BRIEF)
    expected_outcomes: list[str] = Field(min_length=1)
    alternatives: list[AlternativeDraft] = Field(default=[], description="other ways, tried if this one fails")


class FullCheckDraft(Draft):
    kind: Literal["command", "file_exists", "text_matches"] = "command"
    value: str = Field(description="command that must exit with 0, path, or regex")
    path: str = Field(default="", description="the file of text_matches")


class FullStepDraft(Draft):
    name: str = Field(min_length=1)
    description: str = Field(default="", description="what to do, in which files")
    type: StepType = StepType.CODE_GENERATION
    files: list[str] = Field(default=[], description="files that it certainly changes")
    after: list[int] = Field(default=[], description="numbers of the steps it needs, from 1")
    checks: list[FullCheckDraft] = Field(default=[], description="what must hold when it is done")
    preconditions: list[str] = Field(default=[], description="a command or `FILE exists`", json_schema_extra=BRIEF)
    expected_outputs: list[str] = Field(default=[], json_schema_extra=BRIEF)
    validation_criteria: list[str] = Field(default=[], json_schema_extra=BRIEF)
    rollback_steps: list[str] = Field(
        default=[], description="commands that undo effects outside the folder", json_schema_extra=BRIEF
    )
    requires_confirmation: bool = Field(default=False, description="by a person", json_schema_extra=BRIEF)
    allow_failure: bool = Field(default=False, description="go on if it fails", json_schema_extra=BRIEF)
    critical: bool = Field(default=True, description="false: may be skipped", json_schema_extra=BRIEF)
    priority: int = Field(default=0, description="highest first", json_schema_extra=BRIEF)
    when: str = Field(
        default="",
        description="Python over `outputs` of earlier steps; if false, it is skipped",
        json_schema_extra=BRIEF,
    )
    fallback: Any = Field(default=None, description="stand-in result if it fails", json_schema_extra=BRIEF)
    tools: list[str] = Field(default=[], json_schema_extra=BRIEF)
    estimated_minutes: int = Field(default=0, ge=0, json_schema_extra=BRIEF)


class FullChangeDraft(FullStepDraft):
    """Fields that are not given stay as they are."""

    step: str = Field(min_length=1)
    name: str = ""


class MilestoneDraft(Draft):
    name: str
    after: list[int] = Field(default=[], description="steps that complete it")


class CriterionDraft(Draft):
    criterion: str = Field(min_length=1)
    check: str = Field(default="", description="a shell command that ends with 0 if it is met; empty if there is none")

    @model_validator(mode="before")
    @classmethod
    def _plain_text(cls, value: Any) -> Any:
        return {"criterion": value} if isinstance(value, str) else value


class FullPlanDraft(Draft):
    steps: list[FullStepDraft] = Field(min_length=1)
    success_criteria: list[CriterionDraft] = Field(
        default=[], description="{criterion, check: command}", json_schema_extra=BRIEF
    )
    checks: list[FullCheckDraft] = Field(default=[], description="what must hold at the end, as for steps")
    milestones: list[MilestoneDraft] = Field(default=[], description="{name, after}", json_schema_extra=BRIEF)
    required_resources: list[str] = Field(default=[], json_schema_extra=BRIEF)


class Revision(Draft):
    """Changes of the plan that a conversation asks for. Steps have the same fields as in a submitted plan."""

    reason: str = ""
    thought: str = ""
    add_steps: list[FullStepDraft] = Field(default=[])
    change_steps: list[FullChangeDraft] = Field(default=[])
    remove_steps: list[str] = Field(default=[])


class FullReflectionDraft(ReflectionDraft):
    confidence: float = Field(default=0.5, description="0 to 1", json_schema_extra=BRIEF)
    recoverable: bool = Field(default=True, json_schema_extra=BRIEF)
    parameters: dict[str, Any] = Field(
        default={}, description="for a step that names its tool", json_schema_extra=BRIEF
    )
