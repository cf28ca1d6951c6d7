"""Messages that reach a run from other processes."""

from collections.abc import Sequence

import pytest

from support.kit import Bench, steps
from surefoot.core.plan import ExecutionStep
from surefoot.journal import events as e
from surefoot.journal.messages import InboxItem, UnreadableMessage
from surefoot.journal.store.memory import MemoryJournal


class UnreadableInbox(MemoryJournal):
    """Holds one unreadable message."""

    def __init__(self) -> None:
        super().__init__()
        self.unread = [InboxItem(7, UnreadableMessage("command is wrong"))]

    def receive(self, run_id: str) -> list[InboxItem]:
        return list(self.unread)

    def acknowledge(self, run_id: str, ids: Sequence[int]) -> None:
        self.unread = [item for item in self.unread if item.id not in ids]


@pytest.mark.req("A8")
async def test_unreadable_message_becomes_a_warning_and_is_acknowledged(bench: Bench) -> None:
    bench.journal = journal = UnreadableInbox()
    state = await bench.run_plan(steps(ExecutionStep(id="a", name="a", tool="list_files")))
    assert [event.message for event in bench.events(e.Warned)] == [
        "a message to this run was left out, command is wrong"
    ]
    assert journal.unread == []
    assert state.outcome is not None
