"""Killing the writer at any moment loses no acknowledged event, and no content that one refers to."""

import asyncio
import os
import random
import signal
import time
from pathlib import Path

import pytest

from support.samples import created, finished_with, messages, seqs, warned
from surefoot.journal.events import ActionFinished, RunCreated
from surefoot.journal.store.blobs import LARGE
from surefoot.journal.store.sqlite import SqliteJournal

ROUNDS = 25


def _write_until_killed(path: Path, run_id: str, acknowledgements: int) -> None:
    """After each append, write the number of the last acknowledged event to a pipe."""

    async def write() -> None:
        journal = SqliteJournal(path)
        last = (await journal.append(run_id, [created(run_id)]))[-1].seq
        while True:
            os.write(acknowledgements, f"{last}\n".encode())
            small = journal.put_blob(f"{last} small".encode() * 20)
            large = journal.put_blob(os.urandom(LARGE + 100)) if last % 9 == 0 else small
            journal.note(run_id, warned(f"note {last}"))
            journal.note(run_id, finished_with(small))
            records = await journal.append(run_id, [warned(f"append {last}"), finished_with(large)])
            together = await asyncio.gather(*(journal.append(run_id, [warned(f"{last} {n}")]) for n in range(3)))
            last = max(record.seq for some in (records, *together) for record in some)

    asyncio.run(write())


def _killed_after(seconds: float, path: Path, run_id: str) -> int:
    """Kill a writer. Returns the number of its last acknowledged event; 0 if none was."""
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
    assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL, "the writer ended by itself"
    with os.fdopen(read_end) as pipe:
        numbers_written = pipe.read().split("\n")[:-1]
    return int(numbers_written[-1]) if numbers_written else 0


@pytest.mark.slow
@pytest.mark.req("P14", "X2")
@pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning")
def test_no_acknowledged_event_is_lost_when_the_writer_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    rng = random.Random(2)
    acknowledged = {}
    for n in range(ROUNDS):
        # The first rounds are short, so that they interrupt the creation of the file.
        acknowledged[f"r{n}"] = _killed_after(rng.uniform(0.0, 0.02 if n < 8 else 0.15), path, f"r{n}")
    assert sum(acknowledged.values()) > 0

    journal = SqliteJournal(path)
    runs = {summary.run_id: summary.events for summary in journal.summaries(limit=ROUNDS)}
    for run_id, last in acknowledged.items():
        assert runs.get(run_id, 0) >= last
        if run_id in runs:
            _check_run(journal, run_id)
    journal.close()


def _check_run(journal: SqliteJournal, run_id: str) -> None:
    records = list(journal.read(run_id))
    assert seqs(records) == list(range(1, len(records) + 1))
    assert isinstance(records[0].event, RunCreated)
    for record in records:
        if isinstance(record.event, ActionFinished):
            assert journal.get_blob(record.event.output)
    # A note and the append after it are in one transaction.
    texts = messages(records)
    for at, text in enumerate(texts):
        if text.startswith("note"):
            assert texts[at + 1] == text.replace("note", "append")
