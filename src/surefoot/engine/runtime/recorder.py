"""Records the events of one run: writes them to the journal, folds them into the state, publishes them on the bus.

Secrets are removed here, before the journal gets them: from the fields of events that `core.values.Secrecy` marks, and
from outputs (`put_output`). Whoever stores another blob with `journal.put_blob` removes its secrets first.
"""

import asyncio
from collections.abc import Sequence

from surefoot.core.transitions import RUN_TRANSITIONS, Stage, check_transition
from surefoot.journal import events as e
from surefoot.journal.bus import Bus
from surefoot.journal.cancelled import CancelledAfterAppend
from surefoot.journal.redact import Redactor
from surefoot.journal.redacted_values import redacted_for_storage
from surefoot.journal.reducers import apply
from surefoot.journal.state import RunState
from surefoot.journal.store.base import Journal


class Recorder:
    def __init__(self, journal: Journal, bus: Bus, state: RunState, redactor: Redactor) -> None:
        self.journal = journal
        self.bus = bus
        self.state = state
        self.redactor = redactor

    async def record(self, *events: e.Event) -> None:
        """Write events to the journal, then apply them. The state matches the journal, even if this is cancelled."""
        self._check_stages(events)
        safe = [redacted_for_storage(event, self.redactor) for event in events]
        try:
            self._apply(await self.journal.append(self.state.run_id, safe))
        except CancelledAfterAppend as cancelled:
            self._apply(cancelled.records)
            raise asyncio.CancelledError(*cancelled.args) from None

    def _check_stages(self, events: Sequence[e.Event]) -> None:
        """Raise IllegalTransition before anything is written: a journal with such an event could not be read again."""
        stage = self.state.stage
        for event in events:
            if isinstance(event, e.StageEntered):
                check_transition(RUN_TRANSITIONS, stage, event.stage)
                stage = event.stage

    def _apply(self, records: Sequence[e.Record]) -> None:
        for record in records:
            apply(self.state, record)
            self.bus.publish(record)

    def note(self, event: e.Event) -> None:
        """Apply an event now and write it with the next transaction. For usage, thoughts and progress."""
        self._apply([self.journal.note(self.state.run_id, redacted_for_storage(event, self.redactor))])

    def put_output(self, output: str) -> str:
        """Store the output of a command or a tool. Returns its hash."""
        return self.journal.put_blob(self.redactor.redact(output).encode())

    def warn(self, message: str) -> None:
        """Record a warning, which the outcome repeats. Each message is recorded once."""
        if message not in self.state.warnings:
            self.note(e.Warned(message=message))

    async def enter(self, stage: Stage, reason: str = "") -> None:
        await self.record(e.StageEntered(stage=stage, reason=reason))
