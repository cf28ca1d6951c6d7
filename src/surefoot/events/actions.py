"""About what happens inside a step: what the model said, what was done, and how it was undone outside the workspace."""

from typing import Any, Literal

from pydantic import Field

from surefoot.values import Value


class ModelAnswered(Value):
    """One call of the model. Prompt and answer are blobs."""

    type: Literal["model_answered"] = "model_answered"
    purpose: str
    step_id: str = ""
    prompt: str
    answer: str
    prompt_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    duration_ms: int = 0
    finish_reason: str = "stop"
    temperature: float = 0.0
    unreadable: str = ""
    """Why the answer could not be used, if so; the model is told."""
    key: str = ""
    """Under which the same question finds this answer again."""


class ModelRetried(Value):
    type: Literal["model_retried"] = "model_retried"
    error: str
    attempt: int
    of: int
    wait_seconds: float


class Decided(Value):
    """What the model decided to do next inside a step, and why."""

    type: Literal["decided"] = "decided"
    step_id: str
    decision: Literal["act", "done", "replan"]
    thought: str = ""


class ActionStarted(Value):
    """Written before the effect: an intent without a result is an interrupted action."""

    type: Literal["action_started"] = "action_started"
    action_id: str
    step_id: str
    tool: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    body: str = ""
    """The hash of a file body that came outside the arguments."""
    fingerprint: str = ""
    snapshot: str = ""
    """The workspace before an action that may write: where an interrupted one goes back to."""
    external: bool = False
    """It may have effects outside the workspace, which no snapshot undoes."""


class ActionFinished(Value):
    type: Literal["action_finished"] = "action_finished"
    action_id: str
    step_id: str
    ok: bool
    summary: str
    """What the model is shown: short, with the key parts quoted."""
    output: str = ""
    """The hash of the whole output."""
    duration_ms: int = 0
    command: str = ""
    data: Any = None
    temporary: bool = False
    changed: tuple[str, ...] = ()
    """What it changed in the workspace, as observed: this and nothing else is undone with it."""


class ActionRefused(Value):
    """Proposed, and not run: it repeats one that failed, is out of bounds, or was denied."""

    type: Literal["action_refused"] = "action_refused"
    step_id: str
    tool: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    reason: str


class ActionInterrupted(Value):
    type: Literal["action_interrupted"] = "action_interrupted"
    action_id: str
    step_id: str


class CompensationStarted(Value):
    """Undoing what a failed step did outside the workspace. Written before it is done, like an action."""

    type: Literal["compensation_started"] = "compensation_started"
    compensation_id: str
    step_id: str
    undoes: str
    """The action, or the plan's own rollback command."""
    tool: str
    arguments: dict[str, Any] = Field(default_factory=dict)


class CompensationFinished(Value):
    type: Literal["compensation_finished"] = "compensation_finished"
    compensation_id: str
    step_id: str
    ok: bool
    summary: str
    duration_ms: int = 0
    changed: tuple[str, ...] = ()
    """What it changed in the workspace; that is undone with the rest."""
    after: str = ""
    """The workspace as the step and this left it, where this changed something."""


class LeftOutside(Value):
    """What a failed step did outside the workspace and nobody undid, and why not."""

    type: Literal["left_outside"] = "left_outside"
    step_id: str
    undoes: str
    what: str
