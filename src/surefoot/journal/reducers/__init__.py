"""Reducers, which fold the events of a run into its RunState. Nothing else changes a state.

`apply` depends only on the state and the record, and rejects records that the transition tables do not allow.
"""

import gc
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from surefoot.journal import events as e
from surefoot.journal.reducers import actions, conversation, people, plans, run, steps
from surefoot.journal.reducers.plans import revised
from surefoot.journal.state import RunState

__all__ = ["apply", "fold", "revised"]

_MANY_OBJECTS = 10_000


def fold(records: Iterable[e.Record]) -> RunState:
    state = RunState()
    with _paused_gc():
        for record in records:
            apply(state, record)
    return state


@contextmanager
def _paused_gc() -> Iterator[None]:
    """Pause garbage collection. Folding creates no garbage, and collecting would take as long as the folding itself.

    Afterwards the new objects are moved to the oldest generation, so that the next collection does not scan them. For
    few objects that is not worth it, because `gc.get_freeze_count` itself walks all frozen objects.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            if gc.get_count()[0] > _MANY_OBJECTS and not gc.get_freeze_count():
                # Nothing is frozen yet, so unfreezing affects no objects of the surrounding program.
                gc.freeze()
                gc.unfreeze()
            gc.enable()


def apply(state: RunState, record: e.Record) -> None:
    """Update the state with one record."""
    seq, at, event = record
    kind, before = type(event), state.updated_at
    after_end = kind in _AFTER_RUN and not getattr(event, "step_id", "")
    if kind is e.PlanRevised and state.outcome is not None:
        after_end = True
    if kind is e.Warned:
        after_end = state.outcome is not None  # such as why the result was not committed
    if at > before and before and kind not in _AFTER_WAITING and not after_end:
        # Gaps between processes, waiting for a person, and events after the end of the run (such as an undo, an alert
        # or an edit) are not active time.
        state.active_seconds += at - before
    state.seq = seq
    if not (after_end and state.outcome is not None):
        state.updated_at = at
    if handler := _HANDLERS.get(kind):
        handler(state, event, at)


_AFTER_RUN = (e.RolledBack, e.UndoIncomplete, e.Applied, e.AlertFinished, e.Committed, e.Pushed)
_AFTER_WAITING = (e.RunResumed, e.QuestionAnswered)
_HANDLERS: dict[type[Any], Callable[[RunState, Any, float], None]] = {
    **run.HANDLERS,
    **plans.HANDLERS,
    **steps.HANDLERS,
    **actions.HANDLERS,
    **people.HANDLERS,
    **conversation.HANDLERS,
}
