"""The state of a run and of its steps, as folded from its events by `journal/reducers`. It is never stored."""

from surefoot.journal.state.conversation import CallResult, Conversation
from surefoot.journal.state.history import FinishedAttempt, History
from surefoot.journal.state.run import ActionResults, RunState, phase_result
from surefoot.journal.state.step import Action, Compensation, FailedAnswer, StepRun, commands_of, logs_of, outputs_of

__all__ = [
    "Action",
    "ActionResults",
    "CallResult",
    "Compensation",
    "Conversation",
    "FailedAnswer",
    "FinishedAttempt",
    "History",
    "RunState",
    "StepRun",
    "commands_of",
    "logs_of",
    "outputs_of",
    "phase_result",
]
