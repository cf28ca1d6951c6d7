"""RunState is the fold of a run's events: one function an event, by subject. Nothing else changes a state.

`apply` depends on nothing but the state and the record it is given, and refuses records that the transition tables do
not allow.
"""

import gc
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from surefoot import events as e
from surefoot.fold import actions, people, plans, run, steps
from surefoot.fold.plans import revised
from surefoot.state import RunState

__all__ = ["apply", "fold", "revised"]


def fold(records: Iterable[e.Record]) -> RunState:
    state = RunState()
    with _not_collecting():
        for record in records:
            apply(state, record)
    return state


@contextmanager
def _not_collecting() -> Iterator[None]:
    """Nothing that is built here is garbage: looking for some meanwhile takes as long as the folding itself, and so it
    does afterwards unless what was built counts as old."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            if not gc.get_freeze_count():
                # The program around us has put nothing aside that this would bring back.
                gc.freeze()
                gc.unfreeze()
            gc.enable()


def apply(state: RunState, record: e.Record) -> None:
    seq, at, event = record
    kind, before = type(event), state.updated_at
    if at > before and before and kind not in _AFTER_WAITING:
        # Time between the end of one process and the start of the next is nobody's work, nor is what a person takes.
        state.active_seconds += at - before
    state.updated_at, state.seq = at, seq
    if handler := _HANDLERS.get(kind):
        handler(state, event, at)


_AFTER_WAITING = (e.RunResumed, e.QuestionAnswered)
_HANDLERS: dict[type[Any], Callable[[RunState, Any, float], None]] = {
    **run.HANDLERS,
    **plans.HANDLERS,
    **steps.HANDLERS,
    **actions.HANDLERS,
    **people.HANDLERS,
}
