"""The short drafts: shapes that even small models fill in well.

Their fields are few and flat, kinds come from enumerations, and the model is not asked for what the engine can find out
by itself. `engine/planner/normalize.py` turns drafts into the full values.
"""

from collections.abc import Mapping
from copy import deepcopy
from functools import cache
from typing import Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator
from pydantic.json_schema import SkipJsonSchema

from surefoot.core.phases import TaskComplexity
from surefoot.core.plan import StepType
from surefoot.models.json_schema import map_schema, without_references


class Draft(BaseModel):
    # Models add fields that nobody asked for.
    model_config = ConfigDict(extra="ignore", frozen=True)


class UnderstandingDraft(Draft):
    understanding: str = Field(min_length=1, description="what is wanted, in one or two sentences")
    requirements: list[str] = Field(default=[], max_length=12, description="each thing that must be true at the end")
    files: list[str] = Field(default=[], max_length=12, description="files to create or change, nothing else")
    task_type: Literal["write_code", "fix_bug", "change_code", "data", "shell", "docs", "question", "other"] = "other"
    complexity: TaskComplexity = TaskComplexity.MODERATE
    risks: list[str] = Field(default=[], max_length=5)
    questions: list[str] = Field(default=[], max_length=3, description="only what makes the task impossible to start")


class AlternativeDraft(Draft):
    name: str
    description: str = ""


class DecisionDraft(Draft):
    decision: str
    rationale: str = ""


class ApproachDraft(Draft):
    approach: str = Field(min_length=1)
    tech_stack: list[str] = Field(default=[], max_length=8)
    architecture_pattern: str = ""
    key_decisions: list[DecisionDraft] = Field(default=[], max_length=5)
    expected_outcomes: list[str] = Field(default=[], max_length=8)
    alternatives: list[AlternativeDraft] = Field(default=[], max_length=3)


class CheckDraft(Draft):
    kind: Literal["command", "file_exists", "text_matches", "none"] = "none"
    value: str = ""


class StepDraft(Draft):
    name: str = Field(min_length=1)
    description: str = ""
    type: StepType = StepType.CODE_GENERATION
    file: str = Field(default="", description="the one file this step writes, or empty")
    after: list[int] = Field(default=[], description="numbers of the steps that must be done before")
    check: CheckDraft = CheckDraft()
    # Not asked for, because small models fill in everything that they are asked for. Read where a model gives them.
    preconditions: SkipJsonSchema[list[str]] = []
    validation_criteria: SkipJsonSchema[list[str]] = []
    rollback_steps: SkipJsonSchema[list[str]] = []
    requires_confirmation: SkipJsonSchema[bool] = False
    allow_failure: SkipJsonSchema[bool] = False
    critical: SkipJsonSchema[bool] = True
    priority: SkipJsonSchema[int] = 0
    when: SkipJsonSchema[str] = ""
    tools: SkipJsonSchema[list[str]] = []
    estimated_minutes: SkipJsonSchema[int] = Field(default=0, ge=0)

    @model_validator(mode="before")
    @classmethod
    def _read_expected_output(cls, values: Any) -> Any:
        """Accept `expected_output`, which some models write, as part of the description."""
        if not isinstance(values, Mapping) or not isinstance(expected := values.get("expected_output"), str):
            return values
        description = str(values.get("description") or "")
        if not expected.strip() or expected.strip() in description:
            return values
        return {**values, "description": f"{description}\nExpected output: {expected.strip()}".strip()}

    @property
    def paths(self) -> list[str]:
        """The files that the step writes."""
        return [self.file] if self.file.strip() else []

    @property
    def texts(self) -> list[str]:
        """Everything in which the step can name a file."""
        return [self.name, self.description, self.file, self.check.value]

    @property
    def has_check(self) -> bool:
        return self.check.kind != "none"

    @property
    def check_problems(self) -> list[str]:
        """Why checks cannot be run. Always empty: a check of a short draft that cannot be run is left out."""
        return []


class PlanDraft(Draft):
    one_file_a_step: ClassVar[bool] = True
    """Whether a step writes one file at most."""

    steps: list[StepDraft] = Field(min_length=1)
    success_criteria: list[str] = Field(default=[], max_length=8)

    @property
    def check_problems(self) -> list[str]:
        return []


class ChangeDraft(StepDraft):
    corrects_checks: ClassVar[bool] = False
    """Whether the checks of a step that is under way can be replaced."""

    step: str = Field(min_length=1, description="the id or the name of the step to change")
    name: str = ""

    def only_checks(self) -> Self:
        """Return the part of the change that concerns the checks of the step."""
        return type(self)(step=self.step, check=self.check)

    @property
    def new_order(self) -> list[int] | None:
        """The numbers of the steps that the step is to come after; None if its place stays."""
        return None


class StepDecision(Draft):
    """One decision inside a step. The body of a file to write comes outside, in a fenced block."""

    thought: str = ""
    decision: Literal["act", "done", "replan"] = "act"
    reason: str = ""
    tool: str = ""
    arguments: dict[str, Any] = Field(default={})
    add_steps: list[StepDraft] = Field(default=[], max_length=4)
    change_steps: list[ChangeDraft] = Field(default=[], max_length=4)
    remove_steps: list[str] = Field(default=[], max_length=4)

    @model_validator(mode="before")
    @classmethod
    def _read_other_form(cls, values: Any) -> Any:
        """Accept `is_complete`, `suggested_next_steps` and `steps_to_remove`, the other form of a decision."""
        if not isinstance(values, Mapping):
            return values
        found = dict(values)
        complete = found.pop("is_complete", None)
        if isinstance(complete, bool) and "decision" not in found:
            found["decision"] = "done" if complete else "act"
        for other, name in (("suggested_next_steps", "add_steps"), ("steps_to_remove", "remove_steps")):
            given = found.pop(other, None)
            if given and not found.get(name):
                found[name] = given
        for name in ("add_steps", "change_steps", "remove_steps"):
            if found.get(name) is None:
                found.pop(name, None)
        return found

    @property
    def is_complete(self) -> bool:
        return self.decision == "done"

    @property
    def only_revises(self) -> bool:
        """Whether the decision changes the plan and neither acts nor ends the step."""
        return (
            self.decision == "act" and not self.tool and bool(self.add_steps or self.remove_steps or self.change_steps)
        )


class CallDraft(Draft):
    """Another call for a step that is one call."""

    thought: str = ""
    tool: str = ""
    arguments: dict[str, Any] = Field(default={})


class ReflectionDraft(Draft):
    category: Literal[
        "parameter_error", "tool_error", "dependency_error", "decomposition_error", "environment_error", "unknown"
    ] = "unknown"
    root_cause: str = ""
    recoverable: bool = True
    fix: str = ""
    parameters: dict[str, Any] = Field(default={}, description="for a step that names its tool: what to change")
    confidence: float = Field(default=0.5, description="how sure you are, from 0 to 1")

    @field_validator("confidence", mode="before")
    @classmethod
    def _between_0_and_1(cls, value: Any) -> float:
        """Read a number or a percentage. Anything else, such as a word, counts as 0.5."""
        try:
            number = float(str(value).strip().rstrip("%"))
        except ValueError:
            return 0.5
        return min(max(number / 100 if number > 1 else number, 0.0), 1.0)


_LEFT_OUT = frozenset({"title", "default", "description", "minLength"})


def schema_of(draft: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON schema without titles and references, in the subset that servers' grammars understand."""
    return deepcopy(_schema_of(draft))


@cache
def _schema_of(draft: type[BaseModel]) -> dict[str, Any]:

    def plain(node: dict[str, Any]) -> dict[str, Any]:
        kept = {key: value for key, value in node.items() if key not in _LEFT_OUT}
        if isinstance(kept.get("properties"), dict):
            # Constrained decoding writes required fields, in order. Small models leave optional ones out.
            kept |= {"required": list(kept["properties"]), "additionalProperties": False}
        return kept

    schema = map_schema(without_references(draft.model_json_schema()), plain)
    assert isinstance(schema, dict)
    return schema
