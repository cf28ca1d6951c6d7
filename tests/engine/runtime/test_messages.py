"""Messages that reach a run from other processes."""

import asyncio
from collections.abc import Sequence

import pytest

from support.kit import Bench, steps, understanding
from surefoot.core.plan import ExecutionStep
from surefoot.engine.runtime.inbox import WATCH_SECONDS
from surefoot.engine.runtime.run import Run
from surefoot.journal import events as e
from surefoot.journal.messages import AnswerMessage, InboxItem, UnreadableMessage
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


@pytest.mark.req("P12", "X6")
async def test_an_answer_that_comes_while_the_run_halts_is_left_for_its_next_process(bench: Bench) -> None:
    state = await bench.run("Write adder.py.", [understanding("adder.py")], require_confirmation=True)
    (question,) = state.open_questions
    bench.journal.send(state.run_id, AnswerMessage(question_id=question.id, answer="yes"))
    run, driver = Run(bench.services([]), state), asyncio.create_task(asyncio.sleep(60))
    watching = asyncio.create_task(run.inbox.watch(driver, run.heartbeat))
    await asyncio.sleep(3 * WATCH_SECONDS)
    watching.cancel()
    driver.cancel()
    assert state.open_questions == [question]
    assert len(bench.journal.receive(state.run_id)) == 1
