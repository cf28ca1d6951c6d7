"""Measure the journal's cost on top of a bare INSERT and commit: python benchmarks/journal.py [--events 100000]

Bare commits and journal alternate in small batches, so that other load on the machine affects both. The figures are
ratios of wall time and of CPU time. CPU time is more stable on a shared machine, but does not include the disk.
Both use the same file system, SQLite, WAL and synchronous setting, and 1 KB of payload per event.
"""

import argparse
import asyncio
import gc
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from surefoot.config.model import ExecutionConfig
from surefoot.core.task import Task
from surefoot.journal.events import RunCreated, Warned, encode
from surefoot.journal.store import sqlite
from surefoot.journal.store.connection import SYNCHRONOUS, Durability
from surefoot.journal.store.sqlite import SqliteJournal

PAYLOAD = 1024
EVENT = Warned(message="x" * (PAYLOAD - len(encode(Warned(message="")))))
BATCH = 250


class Bare:
    """The minimum that makes 1 KB durable."""

    def __init__(self, path: Path, durability: Durability) -> None:
        self.path = path
        self._connection = apsw.Connection(str(path))
        self._connection.pragma("journal_mode", "wal")
        self._connection.pragma("synchronous", SYNCHRONOUS[durability])
        self._connection.execute("CREATE TABLE events (id INTEGER PRIMARY KEY, body BLOB)")
        self._body = encode(EVENT)

    async def write(self, count: int) -> None:
        for _ in range(count):
            self._connection.execute("INSERT INTO events (body) VALUES (?)", (self._body,))

    def close(self) -> None:
        self._connection.close()


async def open_journal(path: Path, durability: Durability) -> SqliteJournal:
    journal = SqliteJournal(path, durability=durability)
    task = Task(text="benchmark", workspace="/")
    created = RunCreated(run_id="run", task=task, config=ExecutionConfig(), model="none", surefoot="0")
    await journal.append("run", [created])
    return journal


class Duration(NamedTuple):
    wall: float
    cpu: float


async def timed(work: Awaitable[Any]) -> Duration:
    wall, cpu = time.perf_counter(), time.process_time()
    await work
    return Duration(time.perf_counter() - wall, time.process_time() - cpu)


async def chain(journal: SqliteJournal, count: int) -> None:
    for _ in range(count):
        await journal.append("run", [EVENT])


async def fan_out(journal: SqliteJournal, count: int) -> None:
    await asyncio.gather(*(journal.append("run", [EVENT]) for _ in range(count)))


Write = Callable[[SqliteJournal, int], Awaitable[None]]


async def alternate(
    folder: Path, durability: Durability, write: Write, events: int, batch: int
) -> list[tuple[Duration, Duration]]:
    """Return the durations of bare commits and journal for each batch."""
    bare = Bare(folder / "bare.db", durability)
    journal = await open_journal(folder / "journal.db", durability)
    times = []
    for _ in range(events // batch):
        times.append((await timed(bare.write(batch)), await timed(write(journal, batch))))
    bare.close()
    await journal.aclose()
    return times


def report(title: str, times: list[tuple[Duration, Duration]], batch: int) -> None:
    bare, journal = ([pair[index] for pair in times] for index in (0, 1))
    wall = sum(duration.wall for duration in journal) / sum(duration.wall for duration in bare)
    cpu = sum(duration.cpu for duration in journal) / sum(duration.cpu for duration in bare)
    each = 1e6 * sum(duration.wall for duration in bare) / (len(bare) * batch)
    print(f"{title:<46}{wall:>6.2f}x {cpu:>7.2f}x {each:>14.1f}")


async def growth(folder: Path, events: int) -> None:
    """Measure a long chain: the cost per event at its beginning and its end, and its size."""
    times = await alternate(folder, "process", chain, events, BATCH)
    report(f"chain of {events:,}, process-safe", times, BATCH)
    tenth = max(1, len(times) // 10)
    report("    its first tenth", times[:tenth], BATCH)
    report("    its last tenth", times[-tenth:], BATCH)
    per_event = (folder / "journal.db").stat().st_size / (len(times) * BATCH)
    bare_per_event = (folder / "bare.db").stat().st_size / (len(times) * BATCH)
    print(f"    bytes per event beyond its {PAYLOAD}: {per_event - PAYLOAD:.0f} (bare {bare_per_event - PAYLOAD:.0f})")
    start = time.perf_counter()
    journal = SqliteJournal(folder / "journal.db", read_only=True)
    count = sum(1 for _ in journal.read("run"))
    print(f"    reading it back: {1e6 * (time.perf_counter() - start) / count:.1f} us per event")
    journal.close()


async def scheduling(folder: Path, events: int) -> None:
    """Compare committing immediately with waiting for a turn of the event loop, for a task that runs alone."""
    default = sqlite.MAX_COMMITS_ALONE
    for name, turns in (("always waits for the loop", 0), (f"alone: immediately, {default} times", default)):
        sqlite.MAX_COMMITS_ALONE = turns
        part = folder / str(turns)
        part.mkdir()
        report(f"    {name}", await alternate(part, "process", chain, events, BATCH), BATCH)
    sqlite.MAX_COMMITS_ALONE = default


async def main(events: int) -> None:
    print(f"{'events of 1 KB, relative to bare commits':<46}{'wall':>7} {'CPU':>8} {'bare us/event':>14}")
    gc.collect()
    with tempfile.TemporaryDirectory(prefix="surefoot-bench-", dir=".") as name:
        folders = iter(Path(name) / str(n) for n in range(100))

        def folder() -> Path:
            path = next(folders)
            path.mkdir()
            return path

        await growth(folder(), events)
        few = max(BATCH, events // 50)
        report(f"chain of {few:,}, power-safe", await alternate(folder(), "power", chain, few, 50), 50)
        for durability in SYNCHRONOUS:
            times = await alternate(folder(), durability, fan_out, few, 1000 if few >= 1000 else few)
            report(f"fan-out of 1,000 tasks, {durability}-safe", times, 1000)
        print("when a chain commits")
        await scheduling(folder(), few)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=100_000)
    asyncio.run(main(parser.parse_args().events))
