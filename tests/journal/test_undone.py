"""Whether a run was undone, from stored events that were not decoded."""

from typing import Any

import pytest

from surefoot.journal import events as e
from surefoot.journal.events.record import encode
from surefoot.journal.undone import UndoEvent, UndoHistory, undone_by

REVIEWED = e.RolledBack(step_id="", snapshot="b" * 64, towards="b" * 64, scope="review")
UNDOS: list[list[Any]] = [
    [e.RolledBack(step_id="s1", snapshot="a" * 64, paths=("x",))],
    [e.RolledBack(step_id="", snapshot="a" * 64, paths=("x",), towards="c" * 64, by="me", scope="run")],
    [e.RolledBack(step_id="", snapshot="a" * 64, scope="step", from_step="s1")],
    [REVIEWED, e.RolledBack(step_id="", snapshot="", scope="review", by="me")],
    [e.RolledBack(step_id="", snapshot="a" * 64, scope="run"), e.UndoIncomplete(paths=("x", "y"))],
    [e.Applied(folder="/work", before="a" * 64, after="b" * 64, paths=("x",), reverts=True, by="me")],
    [e.Applied(folder="/work", before="a" * 64, after="b" * 64, paths=("x",))],
]


@pytest.mark.parametrize("events", UNDOS)
def test_the_list_reads_what_the_events_say(events: list[Any]) -> None:
    decoded, stored = UndoHistory(), UndoHistory()
    for at, event in enumerate(events):
        decoded.apply(event, at)
        stored.apply(UndoEvent.read(event.type, encode(event)), at)
    assert stored.current == decoded.current
    label = undone_by((0.0, event.type, encode(event)) for event in events)
    assert bool(label) == (decoded.current is not None)


@pytest.mark.parametrize("body", [b"", b"[]", b'{"paths": null}', b'{"snapshot": 1}'])
def test_a_damaged_body_is_an_error(body: bytes) -> None:
    with pytest.raises(ValueError, match=r"body of rolled_back|Expecting value"):
        undone_by([(0.0, "rolled_back", body)])
