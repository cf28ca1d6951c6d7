"""How events change the list of runs: the event that creates a run, and the status of a run after each event."""

from surefoot.core.outcome import Verdict
from surefoot.core.transitions import WORKING
from surefoot.errors import JournalError, UnknownRun
from surefoot.journal.events import Event, RunCreated, RunEnded, RunInterrupted, RunResumed, StageEntered


def require_creation(run_id: str, event: Event | None) -> RunCreated:
    """Return the first event of a run. Raises if it is not its `RunCreated`."""
    if not isinstance(event, RunCreated):
        raise UnknownRun(f"there is no run {run_id}", remedy="see `surefoot list`")
    if event.run_id != run_id:
        raise JournalError(
            f"the creation of run {event.run_id} cannot be written as run {run_id}", remedy="use the same id for both"
        )
    return event


def status_after(event: Event, stage: str, verdict: str | None) -> tuple[str, str | None]:
    """Return the stage and verdict of a run in the list of runs after this event. Most events do not change them."""
    match event:
        case RunCreated():
            return event.starts_at, None
        case StageEntered():
            return event.stage, None if event.stage in WORKING else verdict
        case RunResumed():
            return stage, None
        case RunInterrupted(as_asked=False):
            return stage, Verdict.INTERRUPTED
        case RunEnded():
            return stage, event.outcome.verdict
        case _:
            return stage, verdict


CHANGES_STATUS = frozenset({RunCreated, StageEntered, RunResumed, RunInterrupted, RunEnded})
"""The events for which `status_after` can return a new status."""
