"""Writers and servers are killed at random moments: no half event, no gap, nothing acknowledged is lost."""

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support.postgres import PostgresServer
from support.samples import TESTS, created, messages, seqs, warned
from surefoot.errors import JournalUnreachable
from surefoot.journal.events import ActionFinished, RunCreated
from surefoot.journal.objects.files import FileObjects
from surefoot.journal.store.postgres.journal import PostgresJournal

pytestmark = pytest.mark.slow
ROUNDS = 12

_WRITER = """
import asyncio, os, sys
from pathlib import Path
from support.samples import created, finished_with, warned
from surefoot.journal.objects.files import FileObjects
from surefoot.journal.store.blobs import LARGE
from surefoot.journal.store.postgres.journal import PostgresJournal

async def main(url, folder, runs):
    print("ready", flush=True)
    journal = PostgresJournal(url, objects=FileObjects(Path(folder)))
    await asyncio.gather(*(write(journal, run_id) for run_id in runs.split()))

async def write(journal, run_id):
    last = (await journal.append(run_id, [created(run_id)]))[-1].seq
    while True:
        os.write(1, f"{run_id} {last}\\n".encode())
        small = journal.put_blob(f"{last} small".encode() * 20)
        large = journal.put_blob(os.urandom(LARGE + 100)) if last % 9 == 0 else small
        journal.note(run_id, warned(f"note {last}"))
        journal.note(run_id, finished_with(small))
        records = await journal.append(run_id, [warned(f"append {last}"), finished_with(large)])
        together = await asyncio.gather(*(journal.append(run_id, [warned(f"{last} {n}")]) for n in range(3)))
        last = max(record.seq for some in (records, *together) for record in some)

asyncio.run(main(*sys.argv[1:]))
"""


def _killed_after(rounds: int, seconds: float, url: str, folder: Path, runs: list[str]) -> dict[str, int]:
    """Kill a writer some time after it has acknowledged something so often. Returns its last acknowledged events."""
    process = subprocess.Popen(
        [sys.executable, "-c", _WRITER, url, str(folder), " ".join(runs)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(TESTS)},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    seen = "".join(process.stdout.readline() for _ in range(rounds))
    time.sleep(seconds)
    process.kill()
    out, _ = process.communicate()
    assert process.returncode == -signal.SIGKILL, "the writer ended by itself"
    lines = [line.split() for line in (seen + out).splitlines(keepends=True) if line.endswith("\n")]
    return {run_id: int(last) for run_id, last in lines}


@pytest.mark.req("P14", "X2")
def test_no_acknowledged_event_is_lost_when_the_writer_is_killed(database: str, tmp_path: Path) -> None:
    rng = random.Random(2)
    acknowledged: dict[str, int] = {}
    for n in range(ROUNDS):
        runs = [f"r{n}", f"s{n}"]
        # The first rounds interrupt the start.
        rounds = 0 if n < 4 else rng.randrange(1, 25)
        acknowledged |= _killed_after(rounds, rng.uniform(0.0, 0.5 if n < 4 else 0.02), database, tmp_path, runs)
    assert sum(acknowledged.values()) > 100
    journal = PostgresJournal(database, objects=FileObjects(tmp_path))
    runs_found = {summary.run_id: summary.events for summary in journal.summaries(limit=10 * ROUNDS)}
    for run_id in runs_found:
        _check_run(journal, run_id)
    for run_id, last in acknowledged.items():
        assert runs_found.get(run_id, 0) >= last
    journal.close()


def _check_run(journal: PostgresJournal, run_id: str) -> None:
    """The run is a prefix of what was written: whole transactions, in order."""
    records = list(journal.read(run_id))
    assert seqs(records) == list(range(1, len(records) + 1))
    assert isinstance(records[0].event, RunCreated)
    for record in records:
        if isinstance(record.event, ActionFinished):
            assert journal.get_blob(record.event.output)
    texts = messages(records)
    for at, text in enumerate(texts):
        if text.startswith("note"):
            assert texts[at + 1] == text.replace("note", "append"), "a note and the append after it are together"
    # What the writer does next depends on what it wrote before, so a lost or doubled event would show here.
    last, at = 1, 0
    while at + 5 <= len(texts):
        assert texts[at : at + 2] == [f"note {last}", f"append {last}"]
        assert sorted(texts[at + 2 : at + 5]) == [f"{last} {n}" for n in range(3)]
        at, last = at + 5, last + 7


@pytest.mark.req("P14")
async def test_a_server_that_crashes_and_comes_back_loses_and_doubles_nothing() -> None:
    server = PostgresServer()
    try:
        url = server.url(server.new_database())
        journal = PostgresJournal(url, lease_seconds=600)
        await journal.append("r1", [created("r1")])
        written: list[str] = []
        ended = asyncio.Event()

        async def write() -> None:
            while not ended.is_set():
                text = str(len(written))
                await journal.append("r1", [warned(text)])
                written.append(text)

        writing = asyncio.create_task(write())
        for _ in range(3):
            await asyncio.sleep(0.4)
            await asyncio.to_thread(server.kill)
            await asyncio.to_thread(server.start)
        await asyncio.sleep(0.4)
        ended.set()
        await writing
        assert len(written) > 10
        assert messages(journal.read("r1")) == written
        await journal.aclose()
    finally:
        server.stop()


async def test_a_server_that_does_not_come_back_is_an_error_that_says_so() -> None:
    server = PostgresServer()
    try:
        url = server.url(server.new_database())
        journal = PostgresJournal(url, lease_seconds=600, patience=0.5)
        await journal.append("r1", [created("r1")])
        server.kill()
        journal.note("r1", warned("a note"))
        with pytest.raises(JournalUnreachable, match="does not answer") as raised:
            await journal.append("r1", [warned("not written")])
        assert raised.value.temporary
        server.start()
        # The note was kept, and the number of what failed is used again.
        assert seqs(await journal.append("r1", [warned("written")])) == [3]
        assert messages(journal.read("r1")) == ["a note", "written"]
        await journal.aclose()
    finally:
        server.stop()


async def test_closing_without_a_server_loses_nothing_and_is_no_error() -> None:
    server = PostgresServer()
    try:
        url = server.url(server.new_database())
        journal = PostgresJournal(url, lease_seconds=600, patience=0.5)
        await journal.append("r1", [created("r1"), warned("a")])
        server.kill()
        await journal.aclose()
        server.start()
        again = PostgresJournal(url)
        assert messages(again.read("r1")) == ["a"]
        # The lease was not released, but its process is this one.
        assert again.acquire("r1") == 2
        await again.aclose()
    finally:
        server.stop()
