"""The checkpoint and the journal: an older checkpoint catches up, one that is ahead of the journal is refused."""

import asyncio
import shutil
from pathlib import Path
from typing import Any

import pytest
from langgraph.types import Command

from integrations.langgraph.program import INPUT, RIGHT, THREAD, UNDERSTOOD, WRONG, Program
from support.hanging import Hanging
from support.kit import Bench
from surefoot.errors import CheckpointAhead
from surefoot.journal import events as e
from surefoot.journal.store.memory import MemoryJournal
from surefoot.journal.store.sqlite import SqliteJournal


async def checkpoints(program: Program) -> list[Any]:
    """All checkpoints of the thread, oldest first."""
    return [item async for item in program.graph.aget_state_history(THREAD)][::-1]


@pytest.mark.req("A9", "P14")
async def test_every_older_checkpoint_catches_up_with_the_journal(bench: Bench) -> None:
    """As if the process had been killed after the journal was written and before each of the checkpoints was."""
    program = Program(bench, [UNDERSTOOD, WRONG, RIGHT])
    done = await program.go(INPUT)
    before, files = program.records(done["run_id"]), bench.files()
    older = [point for point in await checkpoints(program) if point.values.get("run_id") and point.next]
    assert len(older) >= 7
    for point in older:
        program.events.clear()
        state = await program.go(None, point.config)
        assert state["outcome"]["verdict"] == "verified"
        assert state["seq"] == len(before)
        assert program.records(done["run_id"]) == before, f"{point.next} did something again"
        caught_up = [event["seq"] for event in program.events if event.get("caught_up")]
        assert caught_up == list(range(point.values["seq"] + 1, len(before) + 1))
    assert bench.files() == files


@pytest.mark.req("A9")
async def test_a_checkpoint_without_its_journal_is_refused(bench: Bench) -> None:
    program = Program(bench, [UNDERSTOOD, RIGHT], approve="ask")
    waiting = await program.go(INPUT)
    bench.journal = MemoryJournal()
    other = Program(bench, [UNDERSTOOD, RIGHT], saver=program.saver)
    with pytest.raises(CheckpointAhead) as refused:
        await other.go(None)
    assert str(refused.value) == (
        f"the checkpoint is ahead of the journal: it knows event {waiting['seq']} of run {waiting['run_id']}, "
        "and the journal does not have this run"
    )
    assert "open the journal that the checkpoint was made with" in refused.value.remedy
    assert bench.journal.summaries() == []


@pytest.mark.req("A9")
async def test_a_checkpoint_that_is_ahead_of_a_restored_journal_is_refused(bench: Bench, tmp_path: Path) -> None:
    file, copy = bench.home / "journal.sqlite", tmp_path / "copy.sqlite"

    def keep_a_copy(request: object) -> str:
        # In the middle of the executor: the last checkpoint is the one before it.
        shutil.copy(file, copy)
        if Path(f"{file}-wal").exists():
            shutil.copy(f"{file}-wal", f"{copy}-wal")
        return RIGHT

    bench.journal = SqliteJournal(file)
    program = Program(bench, [UNDERSTOOD, keep_a_copy], approve="ask")
    waiting = await program.go(INPUT)
    await bench.journal.aclose()
    bench.journal = SqliteJournal(copy)
    restored = Program(bench, [RIGHT], saver=program.saver)
    last = len(restored.records(waiting["run_id"]))
    assert 0 < last < waiting["seq"]
    with pytest.raises(CheckpointAhead, match=f"its journal ends with event {last}"):
        await restored.go(None)
    assert len(restored.records(waiting["run_id"])) == last, "nothing was written to it"
    # The remedy: go on without the checkpoint.
    thread = {"configurable": {"thread_id": "new"}}
    await restored.go({"given_run_id": waiting["run_id"]}, thread)
    state = await restored.go(Command(resume="yes"), thread)
    assert state["outcome"]["verdict"] == "verified"
    await bench.journal.aclose()


@pytest.mark.req("A9", "A11")
async def test_a_cancelled_graph_goes_on_where_it_was(bench: Bench) -> None:
    model = Hanging(UNDERSTOOD)
    program = Program(bench, model)
    going = asyncio.create_task(program.go(INPUT))
    await model.hangs.wait()
    going.cancel()
    with pytest.raises(asyncio.CancelledError):
        await going
    again = Program(bench, [RIGHT], saver=program.saver)
    state = await again.go(None)
    assert state["outcome"]["verdict"] == "verified"
    assert len(again.recorded(state["run_id"], e.Understood)) == 1
    assert len(again.recorded(state["run_id"], e.RunInterrupted)) == 1
