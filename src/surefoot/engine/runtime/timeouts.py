"""Ends steps that take too long, and pauses their clocks while a person is asked.

One timer serves all steps. Nearly every step ends long before its time is up, and a timer for each would cost more than
many steps do.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol


class Pausable(Protocol):
    """A step's timeout, or one of asyncio's own."""

    def when(self) -> float | None: ...

    def reschedule(self, when: float | None) -> None: ...


class StepTimeout:
    """Cancels the task of a step when its time is up."""

    __slots__ = ("_cancelling", "_due", "_expired", "_task", "_timeouts")

    def __init__(self, timeouts: "Timeouts", task: asyncio.Task[Any], due: float) -> None:
        self._timeouts = timeouts
        self._task = task
        self._due: float | None = due
        self._cancelling = task.cancelling()
        self._expired = False

    def when(self) -> float | None:
        return self._due

    def reschedule(self, when: float | None) -> None:
        self._due = when
        self._timeouts.wake_by(when)

    @property
    def caused_cancellation(self) -> bool:
        """Whether the cancellation that has just arrived was caused by this timeout alone."""
        return self._expired and self._task.cancelling() - 1 <= self._cancelling

    def end(self) -> None:
        """Take back the cancellation if the timeout has expired. Called when the step has ended."""
        if self._expired:
            self._expired = False
            self._task.uncancel()

    def expire(self) -> None:
        self._due, self._expired = None, True
        self._task.cancel()


class Timeouts:
    """The clocks of a run and of its steps."""

    def __init__(self) -> None:
        self._steps: dict[str, StepTimeout] = {}
        self._run: Pausable | None = None
        self._on_start: Callable[[], None] = lambda: None
        self._timer: asyncio.TimerHandle | None = None

    def start(self, step_id: str, task: asyncio.Task[Any], seconds: float) -> StepTimeout:
        due = task.get_loop().time() + seconds
        timeout = self._steps[step_id] = StepTimeout(self, task, due)
        self.wake_by(due)
        return timeout

    def end(self, step_id: str) -> None:
        if timeout := self._steps.pop(step_id, None):
            timeout.end()

    def limit_run(self, clock: Pausable, on_start: Callable[[], None] = lambda: None) -> None:
        """Set the clock of the run. `on_start` is called now, and whenever the clock continues after a pause."""
        self._run, self._on_start = clock, on_start
        on_start()

    def run_due(self) -> float | None:
        """When the run's time is up, by the monotonic clock; None while it is paused or not limited."""
        return self._run.when() if self._run is not None else None

    @contextmanager
    def paused(self, step_id: str) -> Iterator[None]:
        """Pause the clocks of the step and of the run inside the `with` block."""
        loop = asyncio.get_running_loop()
        clocks = (self._run, self._steps.get(step_id))
        left = {clock: when - loop.time() for clock in clocks if clock and (when := clock.when()) is not None}
        for clock in left:
            clock.reschedule(None)
        try:
            yield
        finally:
            for clock, seconds in left.items():
                clock.reschedule(loop.time() + seconds)
            self._on_start()

    def wake_by(self, due: float | None) -> None:
        """Check the clocks no later than `due`. An early check does no harm, so the timer is never postponed."""
        if due is None or (self._timer is not None and self._timer.when() <= due):
            return
        self.close()
        self._timer = asyncio.get_running_loop().call_at(due, self._expire_due)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _expire_due(self) -> None:
        self._timer = None
        now = asyncio.get_running_loop().time()
        ticking = [(due, timeout) for timeout in self._steps.values() if (due := timeout.when()) is not None]
        for due, timeout in ticking:
            if due <= now:
                timeout.expire()
        self.wake_by(min((due for due, _ in ticking if due > now), default=None))
