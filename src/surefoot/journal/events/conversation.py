"""Events of a conversation with a model. Its items are blobs; an event has only their hashes."""

from typing import Annotated, Any, Literal

from pydantic import Field

from surefoot.core.values import FreeText, Secrecy, Value, Wording


class ContextGiven(Value):
    """The context from the earlier run that a run continues. Recorded when the run is created: the earlier run may be
    undone or removed later."""

    type: Literal["context_given"] = "context_given"
    run: str
    """The earlier run."""
    session: str
    """The first run of the chain that it belongs to."""
    title: Wording
    """The first line of the earlier task."""
    facts: str
    """The hash of the facts that the engine knows: the task, the plan, the outcome, files, checks, decisions."""
    brief: str
    """The hash of the same in a few lines, for prompts that must be short."""
    items: tuple[str, ...] = ()
    """The hashes of the items of the earlier conversation, without the system item; empty if there was none."""
    before: tuple[FreeText, ...] = ()
    """One line for each of the newest runs before that one, oldest first."""


class ConversationOpened(Value):
    """A new conversation, or a branch of an earlier one: the first items of its parent, and then its own."""

    type: Literal["conversation_opened"] = "conversation_opened"
    conversation: str
    step_id: str = ""
    """Empty for the survey: understanding, approach and plan."""
    attempt: int = 0
    parent: str = ""
    keep: int = 0
    """How many items of the parent it starts with."""
    items: tuple[str, ...] = ()
    tools: str = ""
    """The hash of the tools that the model is offered."""
    reason: FreeText = ""
    candidate: int = 0
    """The number of the candidate that is worked out in it; 0 for work in the workspace."""
    earlier: int = 0
    """How many items after the first come from the run that this one continues."""


class ConversationGrew(Value):
    """Messages of the engine and results of calls, as the model is shown them."""

    type: Literal["conversation_grew"] = "conversation_grew"
    conversation: str
    items: tuple[str, ...]


class ConversationMasked(Value):
    """Old results that are from now on shown as one line each."""

    type: Literal["conversation_masked"] = "conversation_masked"
    conversation: str
    positions: tuple[int, ...]
    window: int = 0
    """The context window that the server reported when it refused a request as too long; 0 if it reported none."""


class CallAnswered(Value):
    """The result of a call that is not an action of a step: a read during the survey, or a request to the engine."""

    type: Literal["call_answered"] = "call_answered"
    conversation: str
    call_id: str
    tool: str
    arguments: Annotated[dict[str, Any], Secrecy.WORDING] = Field(default_factory=dict)
    ok: bool = True
    result: str = ""
    """The hash of the text that the model is shown."""
