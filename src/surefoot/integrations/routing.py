"""Finds the run of a record. Records do not name their run, and one bus may carry several runs at the same time."""

from collections.abc import Callable
from contextvars import ContextVar

from surefoot.journal import events as e

OnRunRecord = Callable[[str, e.Record], None]

_current: ContextVar[str] = ContextVar("surefoot_run", default="")
"""The run of the current task. The tasks that a run starts inherit it."""


def by_run(on_record: OnRunRecord) -> Callable[[e.Record], None]:
    """A subscriber for the bus that passes each record on with the id of its run.

    Records from before a run is created or resumed, such as of an alert that is still being delivered, are left out.
    """

    def route(record: e.Record) -> None:
        if isinstance(record.event, e.RunCreated | e.RunResumed) and record.event.run_id:
            _current.set(record.event.run_id)
        if run_id := _current.get():
            on_record(run_id, record)

    return route
