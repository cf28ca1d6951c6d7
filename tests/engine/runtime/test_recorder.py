"""What a run records: secrets are removed before anything is stored, whichever way an event takes."""

import pytest

from support.recorded import RUN_ID, created
from surefoot.core.transitions import Stage
from surefoot.engine.runtime.recorder import Recorder
from surefoot.journal import events as e
from surefoot.journal.bus import Bus
from surefoot.journal.redact import Redactor
from surefoot.journal.state import RunState
from surefoot.journal.store.memory import MemoryJournal

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
