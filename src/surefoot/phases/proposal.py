"""What is to be done next inside a step, before anybody has agreed to it."""

from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Proposal:
    decision: Literal["act", "done", "replan"]
    tool: str = ""
    arguments: dict[str, Any] = field(default_factory=dict)
    body: str = ""
    """File content, which came outside the arguments."""
    thought: str = ""


class Wording(Enum):
    """How a small model is asked for the same thing: what it gets wrong in one wording it may get right in another."""

    PLAIN = "as at first"
    ANEW = "in other words, and without sight of the code that is wrong"
    THOUGHT = "how first, then the answer"
