"""Events inside a step: model calls, decisions, actions, and compensations outside the workspace."""

from typing import Annotated, Any, Literal

from pydantic import Field

from surefoot.core.purpose import Purpose
from surefoot.core.values import FreeText, Secrecy, Value, Wording


class ModelAnswered(Value):
    """A call of the model. Prompt and answer are hashes of blobs."""

    type: Literal["model_answered"] = "model_answered"
    purpose: Annotated[Purpose | str, Field(union_mode="left_to_right")]
    """A plain string is a purpose of another version."""
    step_id: str = ""
    prompt: str
    answer: str
    prompt_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost_usd: float | None = None
    """The cost of the call, by the price of the model at that time. None: the price is unknown."""
    duration_ms: int = 0
    finish_reason: str = "stop"
    temperature: float = 0.0
    unreadable: FreeText = ""
    """Why the answer could not be parsed; empty if it could. The next prompt contains it."""
    key: str = ""
    """The fingerprint of the request, under which an identical request finds this answer again."""
    conversation: str = ""
    """The conversation that the answer belongs to; empty for a single question."""
    item: str = ""
    """In a conversation: the hash of the answer as an item, with its calls and its reasoning."""
    request: str = ""
    """In a conversation: the fingerprint of the request."""


class ModelRetried(Value):
    type: Literal["model_retried"] = "model_retried"
    error: FreeText
    attempt: int
    of: int
    wait_seconds: float


class Decided(Value):
    """A decision of the model or the plan on what to do next in a step."""

    type: Literal["decided"] = "decided"
    step_id: str
    decision: Literal["act", "done", "replan"]
    thought: FreeText = ""


class ActionStarted(Value):
    """Written before the effect. A started action without a result was interrupted."""

    type: Literal["action_started"] = "action_started"
    action_id: str
    step_id: str
    tool: str
    arguments: Annotated[dict[str, Any], Secrecy.WORDING] = Field(default_factory=dict)
    body: str = ""
    """The hash of a file body that was not part of the arguments."""
    fingerprint: str = ""
    snapshot: str = ""
    """The workspace before an action that may write, to restore if it is interrupted."""
    external: bool = False
    """Whether it may have effects outside the workspace, which no snapshot undoes."""
    call_id: str = ""
    """The call of the model that asked for it, in a conversation."""


class ActionFinished(Value):
    type: Literal["action_finished"] = "action_finished"
    action_id: str
    step_id: str
    ok: bool
    summary: FreeText
    """What the model sees: short, with the key parts quoted."""
    output: str = ""
    """The hash of the complete output."""
    duration_ms: int = 0
    command: Wording = ""
    data: Annotated[Any, Secrecy.RESULT] = None
    temporary: bool = False
    changed: tuple[str, ...] = ()
    """The paths it changed in the workspace, as observed. A rollback restores only these."""


class ActionRefused(Value):
    """A proposed action that was not run: it repeats a failed one, is out of bounds, or was denied."""

    type: Literal["action_refused"] = "action_refused"
    step_id: str
    tool: str
    arguments: Annotated[dict[str, Any], Secrecy.WORDING] = Field(default_factory=dict)
    reason: FreeText
    call_id: str = ""


class ActionInterrupted(Value):
    type: Literal["action_interrupted"] = "action_interrupted"
    action_id: str
    step_id: str
    proposed: str = ""
    """The blob of the call, if it will be repeated unchanged: a question of the model that was waiting for its answer.
    Empty in a conversation, which has the call itself, and in older journals."""


class CompensationStarted(Value):
    """Starts undoing an effect of a failed step outside the workspace. Written before the effect, like an action."""

    type: Literal["compensation_started"] = "compensation_started"
    compensation_id: str
    step_id: str
    undoes: str
    """The id of the action, or the rollback command of the plan."""
    tool: str
    arguments: Annotated[dict[str, Any], Secrecy.WORDING] = Field(default_factory=dict)


class CompensationFinished(Value):
    type: Literal["compensation_finished"] = "compensation_finished"
    compensation_id: str
    step_id: str
    ok: bool
    summary: FreeText
    duration_ms: int = 0
    changed: tuple[str, ...] = ()
    """The paths it changed in the workspace. They are restored with the others."""
    after: str = ""
    """The workspace afterwards, if the compensation changed it."""


class LeftOutside(Value):
    """An effect of a failed step outside the workspace that was not undone, and why."""

    type: Literal["left_outside"] = "left_outside"
    step_id: str
    undoes: str
    what: FreeText
