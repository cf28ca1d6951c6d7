"""What ends a step that takes too long. One timer serves all steps: nearly every one ends long before its time is up,
and to set and cancel a timer for each would cost more than many a step."""

import asyncio
from typing import Any, Protocol


class Pausable(Protocol):
    """A fuse, or a time-out of asyncio's own."""

    def when(self) -> float | None: ...

    def reschedule(self, when: float | None) -> None: ...


class Fuse:
    """Burns while a step runs in `task`. When its time is up, the task is cancelled."""

    __slots__ = ("_blown", "_box", "_cancelling", "_due", "_task")

    def __init__(self, box: "FuseBox", task: asyncio.Task[Any], due: float) -> None:
        self._box = box
        self._task = task
        self._due: float | None = due
        self._cancelling = task.cancelling()
        self._blown = False

    def when(self) -> float | None:
        return self._due

    def reschedule(self, when: float | None) -> None:
        self._due = when
        self._box.expect(when)

    @property
    def ended_it(self) -> bool:
        """The cancellation that has just arrived is this one's, and nobody else wants the task to end."""
        return self._blown and self._task.cancelling() - 1 <= self._cancelling

    def put_out(self) -> None:
        """The step has come to its end, in one way or another."""
        self._box.lit.discard(self)
        if self._blown:
            self._blown = False
            self._task.uncancel()

    def blow(self) -> None:
        self._due, self._blown = None, True
        self._task.cancel()


class FuseBox:
    def __init__(self) -> None:
        self.lit: set[Fuse] = set()
        self._timer: asyncio.TimerHandle | None = None

    def light(self, task: asyncio.Task[Any], seconds: float) -> Fuse:
        due = task.get_loop().time() + seconds
        fuse = Fuse(self, task, due)
        self.lit.add(fuse)
        self.expect(due)
        return fuse

    def expect(self, due: float | None) -> None:
        """Look no later than then. Looking too early does no harm, so the timer is never put off."""
        if due is None or (self._timer is not None and self._timer.when() <= due):
            return
        self.close()
        self._timer = asyncio.get_running_loop().call_at(due, self._look)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        self._timer = None
        now = asyncio.get_running_loop().time()
        burning = [(due, fuse) for fuse in self.lit if (due := fuse.when()) is not None]
        for due, fuse in burning:
            if due <= now:
                fuse.blow()
        self.expect(min((due for due, _ in burning if due > now), default=None))
