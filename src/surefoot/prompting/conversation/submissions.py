"""What a model submits during the survey: the full types of a plan, with everything that a step can have."""

from typing import Any, Literal

from pydantic import BaseModel, Field, model_validator

from surefoot.core.plan import StepType
from surefoot.prompting.schemas import AlternativeDraft, ApproachDraft, Draft


class FullApproachDraft(ApproachDraft):
    approach: str = Field(min_length=1, description="how it will be done, in a few sentences")
    expected_outcomes: list[str] = Field(min_length=1, description="what will be there at the end")
    alternatives: list[AlternativeDraft] = Field(min_length=1, description="another way, tried if this one fails")


class FullCheckDraft(Draft):
    kind: Literal["command", "file_exists", "text_matches"] = "command"
    value: str = Field(description="a shell command that must end with 0, a path, or a regular expression")
    path: str = Field(default="", description="for text_matches: the file")


class FullStepDraft(Draft):
    name: str = Field(min_length=1, description="a few words")
    description: str = Field(default="", description="what to do, and in which files")
    type: StepType = StepType.CODE_GENERATION
    files: list[str] = Field(
        default=[], description="files that the step creates or changes, if they are known for certain"
    )
    after: list[int] = Field(default=[], description="numbers of the steps that must be done before, counted from 1")
    checks: list[FullCheckDraft] = Field(default=[], description="what must hold when the step is done")
    preconditions: list[str] = Field(
        default=[],
        description="what must hold before the step can start: `a shell command` in backquotes, or `FILE exists`, is "
        "looked at, and the step is blocked if it does not hold",
    )
    expected_outputs: list[str] = Field(default=[], description="files or results that exist afterwards")
    validation_criteria: list[str] = Field(default=[], description="how to tell that it was done right")
    rollback_steps: list[str] = Field(
        default=[], description="shell commands that undo effects outside the folder; files are restored anyway"
    )
    requires_confirmation: bool = Field(default=False, description="a person must agree before the step starts")
    allow_failure: bool = Field(default=False, description="the run goes on if the step fails")
    critical: bool = Field(default=True, description="false: the step may be skipped if it fails")
    priority: int = Field(default=0, description="among steps that are ready, the highest goes first")
    when: str = Field(
        default="", description="a Python expression over `outputs` of earlier steps; if false, the step is skipped"
    )
    fallback: Any = Field(default=None, description="the result to use, marked as a stand-in, if the step fails")
    tools: list[str] = Field(default=[], description="tools that the step is expected to use")
    estimated_minutes: int = Field(default=0, ge=0)


class MilestoneDraft(Draft):
    name: str
    after: list[int] = Field(default=[], description="numbers of the steps that complete it")


class CriterionDraft(Draft):
    criterion: str = Field(min_length=1)
    check: str = Field(default="", description="a shell command that ends with 0 if it is met; empty if there is none")

    @model_validator(mode="before")
    @classmethod
    def _plain_text(cls, value: Any) -> Any:
        return {"criterion": value} if isinstance(value, str) else value


class FullPlanDraft(Draft):
    steps: list[FullStepDraft] = Field(min_length=1)
    success_criteria: list[CriterionDraft] = Field(default=[], description="what must be true at the end")
    checks: list[FullCheckDraft] = Field(default=[], description="what must hold at the end, besides the given checks")
    milestones: list[MilestoneDraft] = Field(default=[])
    required_resources: list[str] = Field(default=[])


def tool_schema(draft: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON schema of a draft as the parameters of a tool: with descriptions, without references."""
    schema = draft.model_json_schema()
    definitions = schema.pop("$defs", {})

    def plain(node: Any) -> Any:
        if isinstance(node, list):
            return [plain(item) for item in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node:
            rest = {key: value for key, value in node.items() if key in ("description", "default")}
            return {**plain(definitions[node["$ref"].rsplit("/", 1)[-1]]), **rest}
        kept = {key: plain(value) for key, value in node.items() if key != "title"}
        if isinstance(node.get("properties"), dict):
            kept["properties"] = {key: plain(value) for key, value in node["properties"].items()}
        return kept

    result: dict[str, Any] = plain(schema)
    result.pop("description", None)
    result.setdefault("properties", {})
    return result
