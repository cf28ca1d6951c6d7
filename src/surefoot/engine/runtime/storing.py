"""Records the events of a remote run together with its files, so that another machine can continue from there."""

import asyncio
from collections.abc import Sequence

from surefoot.engine.runtime.recorder import Recorder
from surefoot.journal import events as e
from surefoot.journal.bus import Bus
from surefoot.journal.redact import Redactor
from surefoot.journal.state import RunState
from surefoot.journal.store.base import Journal
from surefoot.workspace.mirror import Mirror
from surefoot.workspace.workspace import Workspace

_MAY_CHANGE_FILES = (
    e.ActionFinished,
    e.ActionInterrupted,
    e.CompensationFinished,
    e.ChecksRan,
    e.StepFinished,
    e.RolledBack,
    e.WorkKept,
    e.StageEntered,
    e.RunEnded,
)
"""Events after which the files may have changed. Each is recorded when the change is complete."""


class StoringRecorder(Recorder):
    """Uploads each snapshot that an event names before the event is written, and a new snapshot after each change.

    The journal therefore never records work whose files are missing. Appends are serialized, so that an older snapshot
    is never recorded after a newer one.
    """

    def __init__(
        self, journal: Journal, bus: Bus, state: RunState, redactor: Redactor, workspace: Workspace, mirror: Mirror
    ) -> None:
        super().__init__(journal, bus, state, redactor)
        self._workspace, self._mirror = workspace, mirror
        self._last = ""
        self._one_at_a_time = asyncio.Lock()

    async def record(self, *events: e.Event) -> None:
        async with self._one_at_a_time:
            await super().record(*events, *await asyncio.to_thread(self._store, events))

    def _store(self, events: Sequence[e.Event]) -> list[e.WorkspaceStored]:
        for event in events:
            for snapshot in named_snapshots(event):
                self._mirror.upload(snapshot)
        if not any(isinstance(event, _MAY_CHANGE_FILES) for event in events):
            return []
        snapshot = self._workspace.snapshot()
        if snapshot == self._last:
            return []
        self._mirror.upload(snapshot)
        self._last = snapshot
        return [e.WorkspaceStored(snapshot=snapshot)]


def named_snapshots(event: e.Event) -> tuple[str, ...]:
    """Return the snapshots of the workspace that an event refers to."""
    names = ("snapshot", "forked_at", "towards") if not isinstance(event, e.Applied) else ()
    return tuple(value for name in names if (value := getattr(event, name, "")))
