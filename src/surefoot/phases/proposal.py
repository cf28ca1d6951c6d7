"""What is to be done next inside a step, before anybody has agreed to it."""

from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Proposal:
    decision: Literal["act", "done", "replan"]
    tool: str = ""
    arguments: dict[str, Any] = field(default_factory=dict)
    body: str = ""
    """File content, which came outside the arguments."""
    thought: str = ""
