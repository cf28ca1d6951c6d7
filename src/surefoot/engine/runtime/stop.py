"""The exception that ends a run with a verdict."""

from surefoot.core.outcome import FailureKind, Verdict
from surefoot.journal import events as e

VERDICTS = {
    FailureKind.LOOP: Verdict.LOOP,
    FailureKind.NO_PROGRESS: Verdict.LOOP,
    FailureKind.MAX_ACTIONS: Verdict.LOOP,
    FailureKind.TIMEOUT: Verdict.TIME,
}
"""Failures at a limit, which end the run with a verdict and an exit code of their own."""


class Stopped(BaseException):
    """Ends the run with a verdict. The engine records the outcome.

    It is a BaseException because, like a cancellation, it is no failure of the code that it passes through: a tool that
    asks a person has not failed if nobody is there to answer.
    """

    def __init__(self, verdict: Verdict, reason: str, next_steps: tuple[str, ...] = ()) -> None:
        super().__init__(reason)
        self.verdict = verdict
        self.reason = reason
        self.next_steps = next_steps
        """What a person can do about it, if the usual advice does not apply."""


class StopReason(str):
    """The message of a cancellation, if it tells people why the run was stopped."""

    __slots__ = ()


def reason_of(cancelled: BaseException) -> str:
    """Return why a run was cancelled or interrupted."""
    message = next(iter(cancelled.args), None)
    return message if isinstance(message, StopReason) else "stopped from outside"


def stop_for(control: e.ControlReceived) -> Stopped:
    """Return the stop that a `cancel` or `pause` control asks for."""
    if control.command == "cancel":
        return Stopped(Verdict.CANCELLED, f"cancelled {sender(control)}")
    return Stopped(Verdict.WAITING, f"paused {sender(control)}")


def sender(control: e.ControlReceived) -> str:
    """Return who sent a control, and why, as the end of a sentence."""
    return f"by {control.by}" + (f": {control.why}" if control.why else "")
