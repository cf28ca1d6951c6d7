"""The drafts that a model submits during the survey, with every field that a plan and its steps can have."""

from typing import Any, ClassVar, Literal, Self, TypeAlias

from pydantic import ConfigDict, Field, JsonValue, model_validator

from surefoot.core.plan import StepType
from surefoot.prompting.drafts.short import (
    AlternativeDraft,
    ApproachDraft,
    DecisionDraft,
    Draft,
    PlanDraft,
    ReflectionDraft,
    StepDecision,
    StepDraft,
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

    @property
    def problem(self) -> str:
        """Why the check cannot be run; empty if it can."""
        if not self.value.strip():
            return f"a check of the kind {self.kind} without a value"
        if self.kind == "text_matches" and not self.path.strip():
            return f"text_matches {self.value!r} names no file in `path`"
        return ""


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

    @property
    def paths(self) -> list[str]:
        """The files that the step writes."""
        return self.files

    @property
    def texts(self) -> list[str]:
        """Everything in which the step can name a file."""
        checks = [text for check in self.checks for text in (check.value, check.path)]
        return [self.name, self.description, *self.files, *self.expected_outputs, *checks]

    @property
    def has_check(self) -> bool:
        return bool(self.checks)

    @property
    def check_problems(self) -> list[str]:
        """Why checks cannot be run."""
        return [check.problem for check in self.checks if check.problem]


class FullChangeDraft(FullStepDraft):
    """Fields that are not given stay as they are."""

    corrects_checks: ClassVar[bool] = True
    """Whether the checks of a step that is under way can be replaced."""

    step: str = Field(min_length=1)
    name: str = ""

    def only_checks(self) -> Self:
        """Return the part of the change that concerns the checks of the step."""
        return type(self)(step=self.step, checks=self.checks)

    @property
    def new_order(self) -> list[int] | None:
        """The numbers of the steps that the step is to come after; None if its place stays."""
        return self.after if "after" in self.model_fields_set else None


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
    one_file_a_step: ClassVar[bool] = False
    """Whether a step writes one file at most."""

    steps: list[FullStepDraft] = Field(min_length=1)
    success_criteria: list[CriterionDraft] = Field(
        default=[], description="{criterion, check: command}", json_schema_extra=BRIEF
    )
    checks: list[FullCheckDraft] = Field(default=[], description="what must hold at the end, as for steps")
    milestones: list[MilestoneDraft] = Field(default=[], description="{name, after}", json_schema_extra=BRIEF)
    required_resources: list[str] = Field(default=[], json_schema_extra=BRIEF)

    @property
    def check_problems(self) -> list[str]:
        """Why checks cannot be run, those of steps with the number of the step."""
        steps = [f"step {number}: {p}" for number, step in enumerate(self.steps, 1) for p in step.check_problems]
        return steps + [check.problem for check in self.checks if check.problem]


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


AnyStepDraft: TypeAlias = StepDraft | FullStepDraft
AnyChangeDraft: TypeAlias = StepDraft | FullChangeDraft
"""What a failed step is changed by: a short draft of the whole step, or the fields that change."""
AnyPlanDraft: TypeAlias = PlanDraft | FullPlanDraft
AnyRevision: TypeAlias = StepDecision | Revision
