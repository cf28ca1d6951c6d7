"""Where a run is and what has become of its steps. `fold/` makes it from the run's events, event by event; it is
never written whole."""

from surefoot.state.history import History, Settled
from surefoot.state.run import ActionResults, Question, RunState
from surefoot.state.step import Action, Compensation, StepRun, commands_of, logs_of, outputs_of

__all__ = [
    "Action",
    "ActionResults",
    "Compensation",
    "History",
    "Question",
    "RunState",
    "Settled",
    "StepRun",
    "commands_of",
    "logs_of",
    "outputs_of",
]
