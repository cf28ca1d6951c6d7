"""What a run records: secrets are removed before anything is stored, whichever way an event takes."""

import asyncio
from pathlib import Path

import pytest

from support.recorded import RUN_ID, created
from surefoot.core.transitions import Stage
from surefoot.engine.runtime.recorder import Recorder
from surefoot.errors import IllegalTransition
from surefoot.journal import events as e
from surefoot.journal.bus import Bus
from surefoot.journal.redact import Redactor
from surefoot.journal.reducers import fold
from surefoot.journal.state import RunState
from surefoot.journal.store.base import Journal
from surefoot.journal.store.memory import MemoryJournal
from surefoot.journal.store.postgres.journal import PostgresJournal
from surefoot.journal.store.sqlite import SqliteJournal

PASSWORD = "correct-horse-battery-9Xq"


@pytest.mark.attack("leak by output")
@pytest.mark.parametrize("way", ["record", "note", "warn", "enter"])
async def test_events_are_redacted_whichever_way_they_take(way: str) -> None:
    journal, bus = MemoryJournal(), Bus()
    published: list[e.Event] = []
    bus.subscribe(lambda record: published.append(record.event))
    recorder = Recorder(journal, bus, RunState(run_id=RUN_ID), Redactor({"SERVICE_PASSWORD": PASSWORD}))
    await recorder.record(created())
    text = f"it printed {PASSWORD}"
    match way:
        case "record":
            await recorder.record(e.Warned(message=text))
        case "note":
            recorder.note(e.Warned(message=text))
        case "warn":
            recorder.warn(text)
        case "enter":
            await recorder.enter(Stage.FAILED, text)
    await journal.flush()
    stored = [record.event for record in journal.read(RUN_ID)]
    assert len(stored) == 2
    for event in (stored[-1], published[-1]):
        assert PASSWORD not in event.model_dump_json()
        assert "it printed [redacted]" in event.model_dump_json()
    assert PASSWORD not in repr(recorder.state)


def test_outputs_are_redacted() -> None:
    journal = MemoryJournal()
    recorder = Recorder(journal, Bus(), RunState(), Redactor({"SERVICE_PASSWORD": PASSWORD}))
    assert journal.get_blob(recorder.put_output(f"a {PASSWORD} b")) == b"a [redacted] b"


@pytest.mark.req("O10")
@pytest.mark.parametrize("store", ["sqlite", "postgres"])
async def test_what_is_written_is_applied_if_the_task_is_cancelled_meanwhile(
    store: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Events are committed also if the task that waits for them is cancelled."""
    journal: Journal = SqliteJournal(tmp_path / "journal.sqlite")
    if store == "postgres":
        journal = PostgresJournal(request.getfixturevalue("database"))
    bus = Bus()
    published: list[e.Event] = []
    bus.subscribe(lambda record: published.append(record.event))
    recorder = Recorder(journal, bus, RunState(run_id=RUN_ID), Redactor({}))
    await recorder.record(created())
    recording = asyncio.create_task(recorder.record(e.Warned(message="one"), e.Warned(message="two")))
    await asyncio.sleep(0)
    recording.cancel("enough")
    with pytest.raises(asyncio.CancelledError, match="enough") as cancelled:
        await recording
    assert type(cancelled.value) is asyncio.CancelledError, "asyncio.timeout knows no other"
    assert recorder.state.warnings == fold(journal.read(RUN_ID)).warnings == ["one", "two"]
    assert recorder.state.seq == 3
    assert len(published) == 3
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await recorder.record(e.Warned(message="three"))
    assert recorder.state.warnings == fold(journal.read(RUN_ID)).warnings
    await journal.aclose()


@pytest.mark.req("O1")
async def test_an_illegal_stage_is_not_written() -> None:
    """A journal that has it could not be read any more."""
    journal = MemoryJournal()
    recorder = Recorder(journal, Bus(), RunState(run_id=RUN_ID), Redactor({}))
    await recorder.record(created())
    entered = [e.StageEntered(stage=stage) for stage in (Stage.WAITING, Stage.FAILED, Stage.COMPLETED)]
    with pytest.raises(IllegalTransition):
        await recorder.record(*entered)
    assert fold(journal.read(RUN_ID)).stage is recorder.state.stage
    assert recorder.state.seq == len(list(journal.read(RUN_ID))) == 1
    await recorder.record(*entered[:2])
    assert recorder.state.stage is Stage.FAILED
