"""A plan: steps, what they depend on, and the checks that prove them."""

import hashlib
import json
from enum import StrEnum
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field, model_validator

from surefoot.values import Tagged, Value


class StepType(StrEnum):
    PREPARATION = "preparation"
    CODE_GENERATION = "code_generation"
    CONFIGURATION = "configuration"
    FILE_OPERATION = "file_operation"
    COMMAND_EXECUTION = "command_execution"
    TESTING = "testing"
    DEPLOYMENT = "deployment"
    CLEANUP = "cleanup"


class Condition(StrEnum):
    """What must have become of a dependency before its dependant may run."""

    SUCCESS = "success"
    FAILURE = "failure"
    ALWAYS = "always"


class StepDependency(Value):
    step_id: str
    depends_on: str
    condition: Condition = Condition.SUCCESS


Origin = Literal["user", "project", "plan", "engine"]
"""Who asked for a check. The user's and the project's are strong evidence, a plan's own are weaker."""


_INSIDE = r"^[^/\x00][^\x00]*$"
"""A path from the workspace's root."""


class _Check(Tagged):
    origin: Origin = "plan"

    @property
    def key(self) -> str:
        """Equal checks have equal keys, whoever asked for them and whatever they are said to depend on."""
        canonical = json.dumps(self.model_dump(mode="json", exclude={"origin", "reads"}), sort_keys=True)
        return hashlib.sha256(canonical.encode()).hexdigest()[:16]


class CommandCheck(_Check):
    kind: Literal["command"] = "command"
    command: str = Field(pattern=r"\S")
    expect_exit: int = 0
    reads: tuple[Annotated[str, Field(pattern=_INSIDE)], ...] = ()
    """What its result depends on: files, folders, globs such as `src/*.py`; empty means anything in the workspace. What
    else changes need not run it again. This is believed between steps, never in the last pass."""

    @property
    def label(self) -> str:
        return self.command if self.expect_exit == 0 else f"{self.command} (exit code {self.expect_exit})"


class FileCheck(_Check):
    kind: Literal["file_exists"] = "file_exists"
    path: str

    @property
    def label(self) -> str:
        return f"{self.path} exists"


class ParsesCheck(_Check):
    """The file is there and is well-formed for its kind (Python, JSON, TOML, ...)."""

    kind: Literal["parses"] = "parses"
    path: str

    @property
    def label(self) -> str:
        return f"{self.path} parses"


class TextCheck(_Check):
    kind: Literal["text_matches"] = "text_matches"
    path: str
    pattern: str

    @property
    def label(self) -> str:
        return f"{self.path} matches /{self.pattern}/"


class JsonSchemaCheck(_Check):
    kind: Literal["json_schema"] = "json_schema"
    path: str
    json_schema: dict[str, Any]

    @property
    def label(self) -> str:
        return f"{self.path} fits its JSON schema"


class ExpressionCheck(_Check):
    """A Python expression over the outputs of the steps so far, such as `outputs["load"]["rows"] > 0`."""

    kind: Literal["expression"] = "expression"
    expression: str

    @property
    def label(self) -> str:
        return self.expression


Check: TypeAlias = Annotated[
    CommandCheck | FileCheck | ParsesCheck | TextCheck | JsonSchemaCheck | ExpressionCheck, Field(discriminator="kind")
]


class ExecutionStep(Value):
    id: str = Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$")
    sequence: int = 0
    name: str
    description: str = ""
    step_type: StepType = StepType.CODE_GENERATION
    estimated_duration: int = Field(default=0, ge=0)
    """In minutes."""
    preconditions: tuple[str, ...] = ()
    expected_outputs: tuple[str, ...] = ()
    validation_criteria: tuple[str, ...] = ()
    rollback_steps: tuple[str, ...] = ()
    """Shell commands that undo effects outside the workspace; the workspace itself is restored from its snapshot."""
    requires_confirmation: bool = False
    allow_failure: bool = False

    checks: tuple[Check, ...] = ()
    writes: tuple[str, ...] = ()
    """Files the step says it will write. Empty means: it may write anywhere in the workspace."""
    critical: bool = True
    """A step that is not critical may be skipped when it cannot be done."""
    priority: int = 0
    when: str = ""
    """A Python expression over earlier results; not true means the step is skipped, with the reason."""
    fallback: Any = None
    """A declared stand-in result, used and marked as degraded when the step cannot be done."""
    pinned: bool = False
    """Its result does not expire."""
    tool: str = ""
    """A step that names its tool needs no decision by a model: the tool is called with `parameters`."""
    parameters: dict[str, Any] = Field(default_factory=dict)


class Milestone(Value):
    name: str
    step_ids: tuple[str, ...] = ()


class DetailedPlan(Value):
    steps: tuple[ExecutionStep, ...]
    dependencies: tuple[StepDependency, ...] = ()
    estimated_duration: int = 0
    """In minutes."""
    required_resources: tuple[str, ...] = ()
    milestones: tuple[Milestone, ...] = ()
    success_criteria: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()
    """What must hold on the final tree, beyond the steps' own checks."""

    @model_validator(mode="after")
    def _ids_are_unique_and_known(self) -> "DetailedPlan":
        ids = [step.id for step in self.steps]
        seen: set[str] = set()
        for step_id in ids:
            if step_id in seen:
                raise ValueError(f"two steps have the id {step_id!r}")
            seen.add(step_id)
        for dependency in self.dependencies:
            for step_id in (dependency.step_id, dependency.depends_on):
                if step_id not in seen:
                    raise ValueError(f"a dependency names step {step_id!r}, which is not in the plan")
        return self

    def step(self, step_id: str) -> ExecutionStep:
        for step in self.steps:
            if step.id == step_id:
                return step
        raise KeyError(step_id)
