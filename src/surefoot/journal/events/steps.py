"""Events of a step: attempts, results of checks, recovery."""

from typing import Annotated, Any, Literal

from pydantic import Field

from surefoot.core.outcome import CheckResult, Failure, StepReflection, decisive
from surefoot.core.phases import Artifact, StepExecutionOutput
from surefoot.core.plan import StepKind
from surefoot.core.transitions import Rung, StepStatus
from surefoot.core.values import FreeText, Secrecy, Value
from surefoot.journal.events.run import Actor


class StepStarted(Value):
    type: Literal["step_started"] = "step_started"
    step_id: str
    attempt: int
    kind: StepKind | None = None
    """None in older journals: before kinds were recorded, and later still for a step that names its tool."""


CheckTime = Literal["before", "during", "after", "criteria", "final"]
"""When checks ran, relative to the step or the run. `criteria`: they show whether the criteria of a plan are met, and
neither fail nor prove a step."""


class ChecksRan(Value):
    type: Literal["checks_ran"] = "checks_ran"
    step_id: str = ""
    when: CheckTime
    results: tuple[CheckResult, ...]
    changed: tuple[str, ...] = ()
    """The paths that running the checks changed in the workspace."""


ORIGINAL_FILE = 0
"""The number that stands for the original file among the candidates."""


class CandidateTried(Value):
    """One of several answers to the same question, checked in its own copy of the workspace."""

    type: Literal["candidate_tried"] = "candidate_tried"
    step_id: str
    attempt: int
    number: int
    of: int
    temperature: float
    tool: str = ""
    arguments: Annotated[dict[str, Any], Secrecy.WORDING] = Field(default_factory=dict)
    body: str = ""
    """The hash of the file or the edits."""
    fingerprint: str = ""
    unusable: FreeText = ""
    """Why no check was run: it cannot be parsed or applied, or equals a failed one."""
    made_of: tuple[int, ...] = ()
    """The candidates whose functions it merges; empty for an answer of the model. 0 is the original file."""
    results: tuple[CheckResult, ...] = ()
    conversation: str = ""
    """The conversation in which it was made. Its `conversation_opened` has the parent, and how much of it is shared."""

    @property
    def label(self) -> str:
        """`candidate 2 of 3`, `candidates 1, 3 put together`, `candidate 2 and what was there put together`."""
        if not self.made_of:
            return f"candidate {self.number} of {self.of}"
        answers = [str(number) for number in self.made_of if number != ORIGINAL_FILE]
        candidates = f"candidate{'s' if len(answers) > 1 else ''} {', '.join(answers)}"
        return f"{candidates}{' and what was there' if ORIGINAL_FILE in self.made_of else ''} put together"

    @property
    def passed(self) -> bool:
        """Whether it is usable and all its decisive checks pass."""
        return not self.unusable and all(result.passed for result in decisive(self.results))


class StepFinished(Value):
    type: Literal["step_finished"] = "step_finished"
    step_id: str
    status: StepStatus
    attempt: int
    output: StepExecutionOutput | None = None
    """None: it succeeded and changed nothing, so its output follows from its actions."""
    duration_ms: int = 0
    failure: Failure | None = None
    checks: tuple[CheckResult, ...] = ()
    snapshot: str = ""
    """The workspace after the step."""
    artifact: Artifact | None = None
    """The result for dependent steps, if there is an `output`."""
    expires_at: float | None = None
    """Without an `output`: when the results of its actions expire. None: pinned, never."""


class StepReset(Value):
    """The step gets another attempt. `rung` says which kind, `note` what is different this time."""

    type: Literal["step_reset"] = "step_reset"
    step_id: str
    rung: Rung
    by: Actor = "engine"
    note: FreeText = ""
    parameters: Annotated[dict[str, Any], Secrecy.WORDING] = Field(default_factory=dict)
    tool: str = ""


class Reflected(Value):
    type: Literal["reflected"] = "reflected"
    step_id: str
    reflection: StepReflection


class RungChosen(Value):
    type: Literal["rung_chosen"] = "rung_chosen"
    step_id: str
    rung: Rung
    why: FreeText


class RolledBack(Value):
    type: Literal["rolled_back"] = "rolled_back"
    step_id: str
    snapshot: str
    paths: tuple[str, ...] = ()
    towards: str = ""
    """For an undo by a person: the snapshot it restored. `snapshot` also contains changes by others that it kept."""
    by: str = ""
    """For an undo by a person: who, and with which command."""
    scope: Literal["", "run", "step", "snapshot", "review"] = ""
    """`review`: parts of the result were undone or edited, and the rest is the result of the run. Without a snapshot:
    the review left nothing of the result."""
    from_step: str = ""
    """With the scope `step`: the first step that was undone."""
    redoes: str = ""
    """The snapshot of an earlier undo that this one takes back."""
    undone: tuple[str, ...] = ()
    """With the scope `review`: the files that were restored to their state before the run."""


class UndoIncomplete(Value):
    """The preceding undo could not restore these files: the disk had no room, or they were changed meanwhile."""

    type: Literal["undo_incomplete"] = "undo_incomplete"
    paths: tuple[str, ...]


class WorkKept(Value):
    """The step failed, and the next attempt continues from its partial work."""

    type: Literal["work_kept"] = "work_kept"
    step_id: str
    why: FreeText
