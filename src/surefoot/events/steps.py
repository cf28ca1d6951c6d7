"""About a step: its tries, what its checks found, and what was done when it failed."""

from typing import Any, Literal

from pydantic import Field

from surefoot.events.run import Actor
from surefoot.machine import Rung, StepStatus
from surefoot.outcome import Artifact, CheckResult, Failure, StepExecutionOutput, StepReflection
from surefoot.values import Value


class StepStarted(Value):
    type: Literal["step_started"] = "step_started"
    step_id: str
    attempt: int


class ChecksRan(Value):
    type: Literal["checks_ran"] = "checks_ran"
    step_id: str = ""
    when: Literal["before", "during", "after", "final"]
    results: tuple[CheckResult, ...]
    changed: tuple[str, ...] = ()
    """What running them left in the workspace."""


WHAT_WAS_THERE = 0
"""Among the numbers of candidates: the file as it was before any of them."""


class CandidateTried(Value):
    """One of several answers to the same question, judged by the checks in a copy of the workspace of its own."""

    type: Literal["candidate_tried"] = "candidate_tried"
    step_id: str
    attempt: int
    number: int
    of: int
    temperature: float
    tool: str = ""
    arguments: dict[str, Any] = Field(default_factory=dict)
    body: str = ""
    """The hash of the file or the edits."""
    fingerprint: str = ""
    unusable: str = ""
    """Why no check was run: it cannot be read or applied, or is the same as one that failed."""
    made_of: tuple[int, ...] = ()
    """Not an answer of its own, but functions of these put together; 0 is the file as it was."""
    results: tuple[CheckResult, ...] = ()

    @property
    def label(self) -> str:
        """`candidate 2 of 3`, `candidates 1, 3 put together`, `candidate 2 and what was there put together`."""
        if not self.made_of:
            return f"candidate {self.number} of {self.of}"
        asked = [str(number) for number in self.made_of if number != WHAT_WAS_THERE]
        one_or_more = f"candidate{'s' if len(asked) > 1 else ''} {', '.join(asked)}"
        return f"{one_or_more}{' and what was there' if WHAT_WAS_THERE in self.made_of else ''} put together"


class StepFinished(Value):
    type: Literal["step_finished"] = "step_finished"
    step_id: str
    status: StepStatus
    attempt: int
    output: StepExecutionOutput | None = None
    """None: it succeeded and changed nothing, so its actions have said all there is."""
    duration_ms: int = 0
    failure: Failure | None = None
    checks: tuple[CheckResult, ...] = ()
    snapshot: str = ""
    """The workspace after the step."""
    artifact: Artifact | None = None
    """What it hands on, where there is an `output`."""
    expires_at: float | None = None
    """Without an `output`: until when what its actions gave can be had; None: it is pinned and stays."""


class StepReset(Value):
    """The step gets another try; `rung` says which, and `note` what is different this time."""

    type: Literal["step_reset"] = "step_reset"
    step_id: str
    rung: Rung
    by: Actor = "engine"
    note: str = ""
    parameters: dict[str, Any] = Field(default_factory=dict)
    tool: str = ""


class Reflected(Value):
    type: Literal["reflected"] = "reflected"
    step_id: str
    reflection: StepReflection


class RungChosen(Value):
    type: Literal["rung_chosen"] = "rung_chosen"
    step_id: str
    rung: Rung
    why: str


class RolledBack(Value):
    type: Literal["rolled_back"] = "rolled_back"
    step_id: str
    snapshot: str
    paths: tuple[str, ...] = ()
    towards: str = ""
    """Of an undo by a person: what it went back to; `snapshot` also holds what others did and it left alone."""


class WorkKept(Value):
    """The step failed, and part of what it did is worth keeping: the next try goes on from there."""

    type: Literal["work_kept"] = "work_kept"
    step_id: str
    why: str
