"""Events about people: questions, answers, controls."""

from typing import Literal, TypeAlias

from surefoot.core.values import FreeText, Value, Wording

ControlCommand: TypeAlias = Literal["pause", "resume", "cancel", "skip", "retry", "edit"]
QuestionKind: TypeAlias = Literal["clarification", "confirmation", "approval", "conflict"]


class QuestionAsked(Value):
    type: Literal["question_asked"] = "question_asked"
    question_id: str
    kind: QuestionKind
    text: FreeText
    options: tuple[Wording, ...] = ()
    step_id: str = ""
    subject: str = ""
    """Identifies what the question is about. For an approval: a hash of the action."""
    draft: str = ""
    """The blob of the text that a person may edit before it is used."""
    proposed: str = ""
    """The blob of the model's answer that the question is about; the step continues with it after a pause. Empty in a
    conversation, which has the answer itself, and in older journals."""


class QuestionAnswered(Value):
    type: Literal["question_answered"] = "question_answered"
    question_id: str
    answer: Wording
    by: str = "user"
    timed_out: bool = False
    """Nobody answered in time. This counts as a no."""


class ControlReceived(Value):
    type: Literal["control_received"] = "control_received"
    command: ControlCommand
    step_id: str = ""
    by: str = "user"
    why: FreeText = ""
    plan: Wording = ""
    """The pending steps as a person wants them, in the format of `engine/planner/plan_toml.py`."""
    removes: tuple[str, ...] | None = None
    """The steps that `plan` leaves out on purpose. None: all that it lacks, as in older journals."""
    id: str = ""
    """The id that the sender gave the command, if any."""


class ControlRefused(Value):
    """A control that could not be carried out, with the reason."""

    type: Literal["control_refused"] = "control_refused"
    command: str
    step_id: str = ""
    by: str = "user"
    reason: FreeText
    id: str = ""
    """The id that the sender gave the command, if any."""
