"""The view of a run, from which its rows are made: the folded state, and data for display, such as past attempts."""

from dataclasses import dataclass, field
from typing import Any

from surefoot.core.outcome import Failure, StepReflection
from surefoot.core.transitions import StepStatus
from surefoot.journal import events as e
from surefoot.journal.state import RunState
from surefoot.view.rows import ActionRow, NextTry, Now, RedLook, RevisionRow, StepRow, Tokens


@dataclass(slots=True)
class Used:
    """Model calls, and what they used."""

    calls: int = 0
    prompt: int = 0
    output: int = 0
    cached: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0
    """Calls whose price is unknown."""
    seconds: float = 0.0

    def add(self, event: e.ModelAnswered, cost_usd: float | None) -> None:
        self.calls += 1
        self.prompt += event.prompt_tokens
        self.output += event.output_tokens
        self.cached += event.cached_tokens
        self.seconds += event.duration_ms / 1000
        if cost_usd is None:
            self.unpriced += 1
        else:
            self.cost_usd += cost_usd

    @property
    def tokens(self) -> Tokens:
        return {"prompt": self.prompt, "output": self.output, "cached": self.cached}

    @property
    def cost(self) -> float | None:
        """None if the price of a call is unknown."""
        return None if self.unpriced else round(self.cost_usd, 6)


@dataclass(slots=True)
class Try:
    """One attempt of a step."""

    number: int
    started_at: float
    status: StepStatus = StepStatus.RUNNING
    ended_at: float | None = None
    failure: Failure | None = None
    reflection: StepReflection | None = None
    rung: str | None = None
    rolled_back: bool = False
    used: Used = field(default_factory=Used)
    recovery_seconds: float = 0.0
    """The time of the calls that were made after the attempt had ended."""
    red_looks: list[RedLook] = field(default_factory=list)


@dataclass(slots=True)
class Span:
    """A span of time. `ended` is None if it has not ended."""

    began: float
    ended: float | None = None


@dataclass(slots=True)
class ReceivedCommand:
    """A command that the run has taken up."""

    seq: int
    refused: str = ""
    """Why the run did not carry it out after all."""


@dataclass(slots=True)
class GivenAnswer:
    """The answer to a question."""

    seq: int
    answer: str
    by: str
    timed_out: bool


@dataclass(slots=True)
class RunView:
    state: RunState = field(default_factory=RunState)
    live: bool = False
    """Whether a process drives the run. This is not in the journal."""
    based_on: str = ""
    changed_at: dict[str, int] = field(default_factory=dict)
    """By key of a row: the number of the event that changed it last."""
    removed_at: dict[str, int] = field(default_factory=dict)
    """By key of a row that is gone: the number of the event that removed it."""
    tries: dict[str, list[Try]] = field(default_factory=dict)
    waits: dict[str, list[Span]] = field(default_factory=dict)
    actions: dict[str, ActionRow] = field(default_factory=dict)
    """By key of the row, in order."""
    revisions: list[RevisionRow] = field(default_factory=list)
    added_in: dict[str, int] = field(default_factory=dict)
    """By step: the revision of the plan that added it."""
    gone: dict[str, StepRow] = field(default_factory=dict)
    """The last rows of steps that a revision removed."""
    dependents: dict[str, list[str]] = field(default_factory=dict)
    phases: dict[str, Span] = field(default_factory=dict)
    commands: dict[str, ReceivedCommand] = field(default_factory=dict)
    """By the id of a command."""
    answers: dict[str, GivenAnswer] = field(default_factory=dict)
    """By the id of a question."""
    resumed_at: int = 0
    """The number of the event with which a process last took the run up again."""
    refusals: list[str] = field(default_factory=list)
    now: Now | None = None
    next_try: NextTry | None = None
    ended_at: float | None = None
    blobs: set[str] = field(default_factory=set)
    """The hashes of contents that belong to the run and may be fetched."""
    messages: list[tuple[int, str, dict[str, Any]]] = field(default_factory=list)
    """The messages of the tool protocol (`messages.py`), each with the number of its event and its name."""
    messages_dropped: int = 0
    """The number of the last event whose messages are no longer kept."""
    open_messages: set[str] = field(default_factory=set)
    """Steps whose message was started and is not complete."""
