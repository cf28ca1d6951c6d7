"""Steps that are running or about to run: their tasks, and the controls that interrupt them."""

import asyncio
from typing import Any

from surefoot.journal import events as e


class ActiveSteps:
    def __init__(self) -> None:
        self._chosen: set[str] = set()
        self._tasks: dict[str, asyncio.Task[Any]] = {}
        self._interruptions: dict[str, e.ControlReceived] = {}

    def add(self, step_id: str) -> None:
        """Count a step as active from the moment it is chosen, before its start is recorded."""
        self._chosen.add(step_id)

    def discard(self, step_id: str) -> None:
        self._chosen.discard(step_id)

    def clear(self) -> None:
        self._chosen.clear()

    def __contains__(self, step_id: object) -> bool:
        return step_id in self._chosen

    def runs_in(self, step_id: str, task: asyncio.Task[Any]) -> None:
        self._tasks[step_id] = task

    def task_of(self, step_id: str) -> asyncio.Task[Any] | None:
        return self._tasks.get(step_id)

    def interrupt(self, control: e.ControlReceived) -> None:
        """Cancel the task of a step that a person wants skipped or retried, unless it is interrupted already."""
        task = self._tasks.get(control.step_id)
        if task is not None and control.step_id not in self._interruptions:
            self._interruptions[control.step_id] = control
            task.cancel()

    def is_interrupted(self, step_id: str) -> bool:
        return step_id in self._interruptions

    def interruption_of(self, step_id: str) -> e.ControlReceived:
        return self._interruptions[step_id]

    def end_interruption(self, step_id: str) -> None:
        """Let another control interrupt the next attempt. Called after the step is undone and its end is recorded."""
        del self._interruptions[step_id]
