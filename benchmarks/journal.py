"""What the journal adds to the bare INSERT and commit: python benchmarks/journal.py [--events 100000]

Bare and journal take turns in small portions, so that whatever else the machine does meets both; figures are ratios,
of wall time and of CPU time (the steadier one where others use the machine, but it does not see the disk).
Both have the same file system, SQLite, WAL and synchronous setting, and 1 KB of payload an event.
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

from surefoot.config import ExecutionConfig
from surefoot.events import RunCreated, Warned, encode
from surefoot.store import sqlite
from surefoot.store.connection import SYNCHRONOUS, Durability
from surefoot.store.sqlite import SqliteJournal
from surefoot.task import Task

PAYLOAD = 1024
EVENT = Warned(message="x" * (PAYLOAD - len(encode(Warned(message="")))))
PORTION = 250


class Bare:
    """The least that makes 1 KB durable."""

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


async def opened(path: Path, durability: Durability) -> SqliteJournal:
    journal = SqliteJournal(path, durability=durability)
    task = Task(text="benchmark", workspace="/")
    created = RunCreated(run_id="run", task=task, config=ExecutionConfig(), model="none", surefoot="0")
    await journal.append("run", [created])
    return journal


class Took(NamedTuple):
    wall: float
    cpu: float


async def timed(work: Awaitable[Any]) -> Took:
    wall, cpu = time.perf_counter(), time.process_time()
    await work
    return Took(time.perf_counter() - wall, time.process_time() - cpu)


async def chain(journal: SqliteJournal, count: int) -> None:
    for _ in range(count):
        await journal.append("run", [EVENT])


async def fan_out(journal: SqliteJournal, count: int) -> None:
    await asyncio.gather(*(journal.append("run", [EVENT]) for _ in range(count)))


Write = Callable[[SqliteJournal, int], Awaitable[None]]


async def in_turns(
    folder: Path, durability: Durability, write: Write, events: int, portion: int
) -> list[tuple[Took, Took]]:
    """What bare and journal took for each portion."""
    bare, journal = Bare(folder / "bare.db", durability), await opened(folder / "journal.db", durability)
    times = []
    for _ in range(events // portion):
        times.append((await timed(bare.write(portion)), await timed(write(journal, portion))))
    bare.close()
    await journal.aclose()
    return times


def report(title: str, times: list[tuple[Took, Took]], portion: int) -> None:
    bare, ours = ([took[which] for took in times] for which in (0, 1))
    wall = sum(took.wall for took in ours) / sum(took.wall for took in bare)
    cpu = sum(took.cpu for took in ours) / sum(took.cpu for took in bare)
    each = 1e6 * sum(took.wall for took in bare) / (len(bare) * portion)
    print(f"{title:<46}{wall:>6.2f}x {cpu:>7.2f}x {each:>14.1f}")


async def growth(folder: Path, events: int) -> None:
    """A chain to its full length: cost per event at the beginning and at the end, and the size of it all."""
    times = await in_turns(folder, "process", chain, events, PORTION)
    report(f"chain of {events:,}, process-safe", times, PORTION)
    tenth = max(1, len(times) // 10)
    report("    its first tenth", times[:tenth], PORTION)
    report("    its last tenth", times[-tenth:], PORTION)
    per_event = (folder / "journal.db").stat().st_size / (len(times) * PORTION)
    bare_per_event = (folder / "bare.db").stat().st_size / (len(times) * PORTION)
    print(f"    bytes an event beyond its {PAYLOAD}: {per_event - PAYLOAD:.0f} (bare {bare_per_event - PAYLOAD:.0f})")
    start = time.perf_counter()
    journal = SqliteJournal(folder / "journal.db", read_only=True)
    count = sum(1 for _ in journal.read("run"))
    print(f"    reading it back: {1e6 * (time.perf_counter() - start) / count:.1f} us an event")
    journal.close()


async def scheduling(folder: Path, events: int) -> None:
    """Why a task that is alone commits in its own turn, and only that one."""
    default = sqlite.TURNS_ALONE
    for name, turns in (("always waits for a turn of the loop", 0), (f"alone: at once, {default} times", default)):
        sqlite.TURNS_ALONE = turns
        part = folder / str(turns)
        part.mkdir()
        report(f"    {name}", await in_turns(part, "process", chain, events, PORTION), PORTION)
    sqlite.TURNS_ALONE = default


async def main(events: int) -> None:
    print(f"{'events of 1 KB, to the bare INSERT and commit':<46}{'wall':>7} {'CPU':>8} {'bare us/event':>14}")
    gc.collect()
    with tempfile.TemporaryDirectory(prefix="surefoot-bench-", dir=".") as name:
        folders = iter(Path(name) / str(n) for n in range(100))

        def folder() -> Path:
            made = next(folders)
            made.mkdir()
            return made

        await growth(folder(), events)
        few = max(PORTION, events // 50)
        report(f"chain of {few:,}, power-safe", await in_turns(folder(), "power", chain, few, 50), 50)
        for durability in SYNCHRONOUS:
            times = await in_turns(folder(), durability, fan_out, few, 1000 if few >= 1000 else few)
            report(f"fan-out of 1,000 tasks, {durability}-safe", times, 1000)
        print("how a chain commits")
        await scheduling(folder(), few)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=100_000)
    asyncio.run(main(parser.parse_args().events))
