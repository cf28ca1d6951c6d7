"""About people: what they were asked, what they answered, what they wanted done."""

from typing import Literal

from surefoot.values import Value


class QuestionAsked(Value):
    type: Literal["question_asked"] = "question_asked"
    question_id: str
    kind: Literal["clarification", "confirmation", "approval", "conflict"]
    text: str
    options: tuple[str, ...] = ()
    step_id: str = ""
    subject: str = ""
    """The hash of exactly what is being approved."""


class QuestionAnswered(Value):
    type: Literal["question_answered"] = "question_answered"
    question_id: str
    answer: str
    by: str = "user"
    timed_out: bool = False
    """Nobody answered in time, which counts as a no."""


class ControlReceived(Value):
    type: Literal["control_received"] = "control_received"
    command: Literal["pause", "resume", "cancel", "skip", "retry", "edit"]
    step_id: str = ""
    by: str = "user"
    why: str = ""
    plan: str = ""
    """The steps still to come, as a person wants them (`editing.py`)."""


class ControlRefused(Value):
    """What a person asked for could not be done; they can see why."""

    type: Literal["control_refused"] = "control_refused"
    command: str
    step_id: str = ""
    by: str = "user"
    reason: str
