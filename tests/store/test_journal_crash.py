"""Killed at any moment: all that was acknowledged is there, in order, and so is the content it names."""

import asyncio
import os
import random
import signal
import time
from pathlib import Path

import pytest

from store.samples import created, messages, named, numbers, said
from surefoot.events import ActionFinished, RunCreated
from surefoot.store.blobs import LARGE
from surefoot.store.sqlite import SqliteJournal

ROUNDS = 25


def _write_until_killed(path: Path, run_id: str, acknowledgements: int) -> None:
    """Tell over a pipe, after each append, up to which event all was acknowledged."""

    async def write() -> None:
        journal = SqliteJournal(path)
        last = (await journal.append(run_id, [created(run_id)]))[-1].seq
        while True:
            os.write(acknowledgements, f"{last}\n".encode())
            small = journal.put_blob(f"{last} small".encode() * 20)
            large = journal.put_blob(os.urandom(LARGE + 100)) if last % 9 == 0 else small
            journal.note(run_id, said(f"note {last}"))
            journal.note(run_id, named(small))
            records = await journal.append(run_id, [said(f"append {last}"), named(large)])
            together = await asyncio.gather(*(journal.append(run_id, [said(f"{last} {n}")]) for n in range(3)))
            last = max(record.seq for some in (records, *together) for record in some)

    asyncio.run(write())


def _killed_after(seconds: float, path: Path, run_id: str) -> int:
    """The number of the last event that was acknowledged; 0 if none was."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(read_end)
            _write_until_killed(path, run_id, write_end)
        finally:
            os._exit(1)
    os.close(write_end)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL, "it must not have ended by itself"
    with os.fdopen(read_end) as pipe:
        told = pipe.read().split("\n")[:-1]
    return int(told[-1]) if told else 0


@pytest.mark.req("P14", "X2")
@pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning")
def test_nothing_acknowledged_is_lost_to_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    chance = random.Random(2)
    acknowledged = {}
    for n in range(ROUNDS):
        # The first rounds are short: they hit the making of the file.
        acknowledged[f"r{n}"] = _killed_after(chance.uniform(0.0, 0.02 if n < 8 else 0.15), path, f"r{n}")
    assert sum(acknowledged.values()) > 0

    journal = SqliteJournal(path)
    there = {summary.run_id: summary.events for summary in journal.summaries(limit=ROUNDS)}
    for run_id, last in acknowledged.items():
        assert there.get(run_id, 0) >= last
        if run_id in there:
            _check_run(journal, run_id)
    journal.close()


def _check_run(journal: SqliteJournal, run_id: str) -> None:
    records = list(journal.read(run_id))
    assert numbers(records) == list(range(1, len(records) + 1))
    assert isinstance(records[0].event, RunCreated)
    for record in records:
        if isinstance(record.event, ActionFinished):
            assert journal.get_blob(record.event.output)
    # A note is followed by the append it went with: they were one transaction.
    told = messages(records)
    for at, text in enumerate(told):
        if text.startswith("note"):
            assert told[at + 1] == text.replace("note", "append")
