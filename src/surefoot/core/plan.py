"""A plan: steps, dependencies between them, and the checks that prove them."""

import hashlib
import json
from enum import StrEnum
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field, StringConstraints, model_validator

from surefoot.core.transitions import Condition as Condition
from surefoot.core.values import Secrecy, Tagged, Value, Wording


class StepType(StrEnum):
    PREPARATION = "preparation"
    CODE_GENERATION = "code_generation"
    CONFIGURATION = "configuration"
    FILE_OPERATION = "file_operation"
    COMMAND_EXECUTION = "command_execution"
    TESTING = "testing"
    DEPLOYMENT = "deployment"
    CLEANUP = "cleanup"


class StepKind(StrEnum):
    """How a step is carried out. The strategy decides this when the step starts, and `step_started` records it."""

    CALL = "call"
    """One call of the tool that the step names; no model is asked."""
    FILE = "file"
    """One answer with one file, or with edits to it."""
    PROGRAM = "program"
    """One answer with a program that computes the step's file."""
    FREE_ANSWER = "free_answer"
    """One answer with any number of files and commands."""
    ACTIONS = "actions"
    """Actions chosen one at a time, each from the result of the last one."""
    CONVERSATION = "conversation"
    """A conversation in which the model calls tools, several at a time, until it says that the step is done."""

    @property
    def is_one_answer(self) -> bool:
        """Whether one answer carries the whole step, so that checks can judge the answer."""
        return self in (StepKind.FILE, StepKind.PROGRAM, StepKind.FREE_ANSWER)


class StepDependency(Value):
    step_id: str
    depends_on: str
    condition: Condition = Condition.SUCCESS


Origin = Literal["user", "project", "plan", "engine"]
"""Where a check comes from. Checks of the user and the project are strong evidence, those of a plan are weaker."""


_RELATIVE_PATH = r"^[^/\x00][^\x00]*$"
"""A path relative to the workspace root."""


class _Check(Tagged):
    origin: Origin = "plan"

    @property
    def key(self) -> str:
        """Identifies the check. Origin and declared inputs do not count."""
        canonical = json.dumps(self.model_dump(mode="json", exclude={"origin", "reads"}), sort_keys=True)
        return hashlib.sha256(canonical.encode()).hexdigest()[:16]


class CommandCheck(_Check):
    kind: Literal["command"] = "command"
    command: Annotated[str, StringConstraints(strip_whitespace=True, pattern=r"\S")]
    expect_exit: int = 0
    reads: tuple[Annotated[str, Field(pattern=_RELATIVE_PATH)], ...] = ()
    """Declared inputs: files, folders, globs such as `src/*.py`. Empty: the whole workspace. Between steps the check
    runs again only when one of them has changed. The final pass does not rely on them."""

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
    """The file exists and is well-formed for its type (Python, JSON, TOML, ...)."""

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
    name: Wording
    description: Wording = ""
    step_type: StepType = StepType.CODE_GENERATION
    estimated_duration: int = Field(default=0, ge=0)
    """In minutes."""
    preconditions: tuple[Wording, ...] = ()
    expected_outputs: tuple[Wording, ...] = ()
    validation_criteria: tuple[Wording, ...] = ()
    rollback_steps: tuple[Wording, ...] = ()
    """Shell commands that undo effects outside the workspace; the workspace itself is restored from its snapshot."""
    requires_confirmation: bool = False
    allow_failure: bool = False

    checks: tuple[Check, ...] = ()
    writes: tuple[str, ...] = ()
    """Files that the step declares it will write. Empty: it may write anywhere in the workspace. The scheduler relies
    on it only for steps that are one file."""
    critical: bool = True
    """A step that is not critical may be skipped when it fails."""
    max_retries: int | None = Field(default=None, ge=0, le=20)
    """How often the step is retried when it fails, also for temporary errors. None: as the configuration says."""
    priority: int = 0
    when: str = ""
    """A Python expression over earlier results. If it is false, the step is skipped and the reason recorded."""
    fallback: Annotated[Any, Secrecy.WORDING] = None
    """The result to use, marked as degraded, when the step fails."""
    pinned: bool = False
    """Whether its result never expires."""
    tool: str = ""
    """The tool to call with `parameters`. Empty: a model chooses the actions."""
    parameters: Annotated[dict[str, Any], Secrecy.WORDING] = Field(default_factory=dict)
    expected_tools: tuple[str, ...] = ()
    """Tools that the step is expected to use. The model is told; it may use others."""


class Milestone(Value):
    name: Wording
    step_ids: tuple[str, ...] = ()


class DetailedPlan(Value):
    steps: tuple[ExecutionStep, ...]
    dependencies: tuple[StepDependency, ...] = ()
    estimated_duration: int = 0
    """In minutes."""
    required_resources: tuple[Wording, ...] = ()
    milestones: tuple[Milestone, ...] = ()
    success_criteria: tuple[Wording, ...] = ()
    criterion_checks: tuple[str, ...] = ()
    """For each success criterion: the key of the check that shows whether it is met; empty if the plan names none."""
    checks: tuple[Check, ...] = ()
    """Checks on the final tree, in addition to the checks of the steps."""

    @model_validator(mode="after")
    def _ids_are_unique_and_known(self) -> "DetailedPlan":
        ids = [step.id for step in self.steps]
        known: set[str] = set()
        for step_id in ids:
            if step_id in known:
                raise ValueError(f"two steps have the id {step_id!r}")
            known.add(step_id)
        for dependency in self.dependencies:
            for step_id in (dependency.step_id, dependency.depends_on):
                if step_id not in known:
                    raise ValueError(f"a dependency names step {step_id!r}, which is not in the plan")
        return self

    def step(self, step_id: str) -> ExecutionStep:
        for step in self.steps:
            if step.id == step_id:
                return step
        raise KeyError(step_id)
