"""One owner per run: leases, fences, and owners that are killed or stopped, with real processes."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import psycopg
import pytest

from support.samples import TESTS, created, messages, seqs, warned, worker
from surefoot.errors import JournalBusy, LeaseLost, UnknownRun
from surefoot.journal.store.postgres.journal import PostgresJournal

_WRITER = """
import asyncio, sys
from support.samples import created, warned
from surefoot.errors import JournalError
from surefoot.journal.store.postgres.journal import PostgresJournal

async def main(url, owner, lease, pause):
    journal = PostgresJournal(url, owner=owner or None, lease_seconds=float(lease))
    n = 0
    await journal.append("r1", [created("r1")])
    while True:
        await journal.append("r1", [warned(f"first {n}")])
        n += 1
        print(n, flush=True)
        await asyncio.sleep(float(pause))

try:
    asyncio.run(main(*sys.argv[1:]))
except JournalError as error:
    print(f"{type(error).__name__}: {error}", file=sys.stderr)
    sys.exit(7)
"""


@pytest.fixture
def start() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts writers of the run r1, and waits for their first events."""
    started: list[subprocess.Popen[str]] = []

    def start(url: str, owner: str = "first", lease: float = 1.0, pause: float = 0.01) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", _WRITER, url, owner, str(lease), str(pause)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(TESTS)},
        )
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "1\n"
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


def _acquire_when_free(journal: PostgresJournal, run_id: str = "r1") -> int:
    while True:
        try:
            return journal.acquire(run_id)
        except JournalBusy:
            time.sleep(0.05)


def _fences(url: str) -> list[int]:
    """The fence of each event, in order."""
    with psycopg.connect(url) as connection:
        return [fence for (fence,) in connection.execute("SELECT fence FROM surefoot.events ORDER BY run, seq")]


async def test_a_run_has_one_owner_until_its_lease_is_released(database: str) -> None:
    first, second = (PostgresJournal(database, owner=name) for name in ("first", "second"))
    with pytest.raises(UnknownRun):
        first.acquire("r1")
    await first.append("r1", [created("r1")])
    with pytest.raises(JournalBusy, match="driven by first, whose lease ends in"):
        await second.append("r1", [warned("no")])
    with pytest.raises(JournalBusy):
        second.acquire("r1")
    await first.aclose()
    assert second.acquire("r1") == 2
    assert seqs(await second.append("r1", [warned("yes")])) == [2]
    await second.aclose()


async def test_a_stale_fence_is_refused_by_the_database(database: str) -> None:
    """The former owner does not know yet that it has lost the run, so only the database can refuse."""
    first = PostgresJournal(database, owner="first", lease_seconds=3600)
    second = PostgresJournal(database, owner="second")
    await first.append("r1", [created("r1")])
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("UPDATE surefoot.runs SET lease_until = now() - interval '1 s'")
    fence = second.acquire("r1", seconds=60)
    await second.append("r1", [warned("second")])
    first.note("r1", warned("late note"))
    with pytest.raises(LeaseLost, match="r1 was taken over by second"):
        await first.append("r1", [warned("late")])
    with pytest.raises(LeaseLost, match="taken over"):
        await first.append("r1", [warned("later")])
    with pytest.raises(LeaseLost):
        first.receive("r1")
    with pytest.raises(LeaseLost):
        first.note("r1", warned("even later"))
    assert messages(second.read("r1")) == ["second"]
    assert _fences(database) == [fence - 1, fence]
    # It still writes its other runs.
    await first.append("r2", [created("r2")])
    await first.aclose()
    assert seqs(await second.append("r1", [warned("goes on")])) == [3]
    await second.aclose()


async def test_a_stale_fence_is_refused_before_the_new_owner_has_written(database: str) -> None:
    """The run is still at the event where the former owner left it: only the fence tells."""
    first = PostgresJournal(database, owner="first", lease_seconds=3600)
    second = PostgresJournal(database, owner="second")
    await first.append("r1", [created("r1")])
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("UPDATE surefoot.runs SET lease_until = now() - interval '1 s'")
    second.acquire("r1")
    with pytest.raises(LeaseLost, match="taken over by second"):
        await first.append("r1", [warned("late")])
    assert seqs(await second.append("r1", [warned("second")])) == [2]
    assert messages(second.read("r1")) == ["second"]
    await first.aclose()
    await second.aclose()


async def test_every_part_of_an_append_is_refused_together(database: str) -> None:
    """Neither events nor the status nor acknowledgements of a stale owner get through."""
    first, second = PostgresJournal(database, owner="first"), PostgresJournal(database, owner="second")
    await first.append("r1", [created("r1")])
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO surefoot.inbox (run, crc, body) SELECT number, 0, '' FROM surefoot.runs RETURNING id"
        )
        before = connection.execute("SELECT last, stage, lease_until FROM surefoot.runs").fetchone()
        with pytest.raises(psycopg.Error) as refused:
            connection.execute(
                "SELECT surefoot.append(number, fence + 1, last, 60, 'failed', 'failed', 2, ARRAY[1.0], "
                "ARRAY['warned'], ARRAY[0], ARRAY[''::bytea], "
                "(SELECT array_agg(id) FROM surefoot.inbox)) FROM surefoot.runs"
            )
        assert refused.value.diag.sqlstate == "SF001"
        assert connection.execute("SELECT last, stage, lease_until FROM surefoot.runs").fetchone() == before
        assert connection.execute("SELECT count(*) FROM surefoot.inbox").fetchone() == (1,)
    await first.aclose()
    await second.aclose()


async def test_an_append_at_another_event_is_refused(database: str) -> None:
    """What is sent again after a lost answer must not be written twice."""
    journal = PostgresJournal(database, owner="first")
    await journal.append("r1", [created("r1"), warned("a")])
    with psycopg.connect(database, autocommit=True) as connection, pytest.raises(psycopg.Error) as refused:
        connection.execute(
            "SELECT surefoot.append(number, fence, 3, 60, '', NULL, NULL, ARRAY[1.0], ARRAY['warned'], ARRAY[0], "
            "ARRAY[''::bytea], '{}') FROM surefoot.runs"
        )
    assert refused.value.diag.sqlstate == "SF001"
    await journal.aclose()


async def test_an_owner_that_was_late_goes_on_if_nobody_took_its_run(database: str) -> None:
    """A laptop that slept: the lease has ended, the fence is still the same."""
    first = PostgresJournal(database, owner="first", lease_seconds=60)
    await first.append("r1", [created("r1")])
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("UPDATE surefoot.runs SET lease_until = now() - interval '1 h'")
        assert seqs(await first.append("r1", [warned("late")])) == [2]
        held = connection.execute("SELECT lease_until > now() + interval '30 s' FROM surefoot.runs").fetchone()
        assert held == (True,)
    await first.aclose()


async def test_events_of_another_process_since_a_read_are_noticed(database: str) -> None:
    first, second = PostgresJournal(database, owner="first"), PostgresJournal(database, owner="second")
    await first.append("r1", [created("r1")])
    assert seqs(second.read("r1")) == [1]
    await first.append("r1", [warned("unseen")])
    await first.aclose()
    with pytest.raises(JournalBusy, match="since it was read"):
        await second.append("r1", [warned("on top of what it has not seen")])
    assert seqs(second.read("r1")) == [1, 2]
    assert seqs(await second.append("r1", [warned("seen")])) == [3]
    await second.aclose()


@pytest.mark.slow
async def test_a_heartbeat_keeps_the_lease_of_an_idle_owner(database: str) -> None:
    first = PostgresJournal(database, owner="first", lease_seconds=1)
    second = PostgresJournal(database, owner="second")
    await first.append("r1", [created("r1")])
    for _ in range(15):
        time.sleep(0.2)  # noqa: ASYNC251 - the event loop is held up too
        with pytest.raises(JournalBusy):
            second.acquire("r1")
    await first.aclose()
    await second.aclose()


@pytest.mark.slow
@pytest.mark.parametrize("pause", [0.01, 0.5], ids=["writing", "between writes"])
async def test_an_owner_stopped_for_longer_than_its_lease_cannot_write(
    database: str, start: Callable[..., subprocess.Popen[str]], pause: float
) -> None:
    process = start(database, "first", 1.0, pause)
    process.send_signal(signal.SIGSTOP)
    second = PostgresJournal(database, owner="second", lease_seconds=30)
    fence = _acquire_when_free(second)
    before = len(list(second.read("r1")))
    await second.append("r1", [warned("second")])
    process.send_signal(signal.SIGCONT)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 7, err
    assert "LeaseLost: run r1 was taken over" in err
    await second.append("r1", [warned("second again")])
    texts = messages(second.read("r1"))
    assert texts[-2:] == ["second", "second again"]
    assert texts[:-2] == [f"first {n}" for n in range(before - 1)]
    assert _fences(database) == [1] * before + [fence] * 2
    await second.aclose()


@pytest.mark.slow
async def test_the_run_of_a_killed_owner_is_taken_over_when_its_lease_has_ended(
    database: str, start: Callable[..., subprocess.Popen[str]]
) -> None:
    process = start(database, "a worker elsewhere", 2.0)
    process.kill()
    process.wait()
    second = PostgresJournal(database, owner="second")
    with pytest.raises(JournalBusy, match="driven by a worker elsewhere"):
        second.acquire("r1")
    assert _acquire_when_free(second) == 2
    await second.append("r1", [warned("second")])
    assert seqs(second.read("r1")) == list(range(1, len(messages(second.read("r1"))) + 2))
    await second.aclose()


@pytest.mark.slow
async def test_the_run_of_a_killed_process_of_this_machine_is_taken_over_at_once(
    database: str, start: Callable[..., subprocess.Popen[str]]
) -> None:
    process = start(database, "", 3600.0)
    second = PostgresJournal(database)
    with pytest.raises(JournalBusy, match=f"driven by process {process.pid} on "):
        second.acquire("r1")
    process.kill()
    process.wait()
    assert second.acquire("r1") == 2
    await second.aclose()


@pytest.mark.slow
async def test_only_one_of_many_takes_a_lost_run_over(database: str) -> None:
    first = PostgresJournal(database, owner="first")
    await first.append("r1", [created("r1")])
    await first.aclose()
    script = """
import sys
from surefoot.errors import JournalBusy
from surefoot.journal.store.postgres.journal import PostgresJournal
journal = PostgresJournal(sys.argv[1], owner=sys.argv[2])
sys.stdin.readline()
try:
    print(journal.acquire("r1"))
except JournalBusy:
    print("busy")
sys.stdout.flush()
sys.stdin.readline()
journal.close()
"""
    processes = [worker(script, database, f"worker {n}") for n in range(5)]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    answers = [process.stdout.readline().strip() for process in processes if process.stdout is not None]
    for process in processes:
        process.communicate("end\n", timeout=300)
    assert sorted(answers) == ["2", "busy", "busy", "busy", "busy"]
