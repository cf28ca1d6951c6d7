"""The state of a conversation with a model: which items it has, and which of its calls have been answered."""

from dataclasses import dataclass, field


@dataclass(slots=True)
class CallResult:
    ok: bool
    text: str
    """The hash of the text that the model is shown. Empty: the call was interrupted."""


@dataclass(slots=True)
class Conversation:
    id: str
    step_id: str = ""
    attempt: int = 0
    parent: str = ""
    tools: str = ""
    items: list[str] = field(default_factory=list)
    """Hashes of its items, in order, those of its parent included."""
    prefix: int = 0
    """How many of the first items every branch of it shares: the instructions and the task."""
    masked: set[int] = field(default_factory=set)
    """Positions of results that are shown as one line."""
    results: dict[str, CallResult] = field(default_factory=dict)
    """Results of calls that are not actions of a step, by the id of the call."""
    prompt_tokens: int = 0
    """The size of the newest request with its answer, as the server counted it."""
    counted: int = 0
    """How many items that size includes."""
    candidate: int = 0
    """The number of the candidate that is worked out in it; 0 for work in the workspace."""
    window: int = 0
    """The context window that the server reported when a request was too long; 0 if it reported none."""
    turns: int = 0
    """How often the model answered in it."""
    resumed_after: int = -1
    """After how many of these turns a person resumed the run, which had ended; -1 if nobody did."""
    news: tuple[str, ...] = ()
    """Files that somebody else changed while the run had stopped, and of which the model was not told yet."""
    earlier: int = 0
    """How many items after the first come from the run that this one continues. They are part of the prefix, but a new
    window begins without them."""
