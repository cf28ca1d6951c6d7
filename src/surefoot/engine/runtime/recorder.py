"""Writes the facts of one run: durable in the journal, folded into the state, published on the bus.

Secrets are removed here from free text, such as the output of commands, whatever journal a run has.
"""

from surefoot.core.transitions import Stage
from surefoot.journal import events as e
from surefoot.journal.bus import Bus
from surefoot.journal.redact import Redactor
from surefoot.journal.redacted_values import stored
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
        """Make events durable, then apply them: the state never holds what the journal does not."""
        safe = [stored(event, self.redactor) for event in events]
        for record in await self.journal.append(self.state.run_id, safe):
            apply(self.state, record)
            self.bus.publish(record)

    def note(self, event: e.Event) -> None:
        """Record an event with the next transaction: usage, thoughts, progress."""
        record = self.journal.note(self.state.run_id, stored(event, self.redactor))
        apply(self.state, record)
        self.bus.publish(record)

    def put_output(self, output: str) -> str:
        """Store the output of a command or a tool. Returns its hash."""
        return self.journal.put_blob(self.redactor.redact(output).encode())

    def warn(self, message: str) -> None:
        """Tell the user something that the outcome must repeat; each message once."""
        if message not in self.state.warnings:
            self.note(e.Warned(message=message))

    async def enter(self, stage: Stage, reason: str = "") -> None:
        await self.record(e.StageEntered(stage=stage, reason=reason))
