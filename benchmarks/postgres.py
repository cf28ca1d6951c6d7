"""What an append costs in PostgreSQL, beside SQLite in the same run. Starts its own server; needs the dev dependencies.

Both make each commit durable: SQLite with `durability="power"`, PostgreSQL with fsync and synchronous_commit on.
"""

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.postgres import PostgresServer
from support.samples import created, warned
from surefoot.journal.store.base import Journal
from surefoot.journal.store.postgres.journal import PostgresJournal
from surefoot.journal.store.sqlite import SqliteJournal

KILOBYTE = "x" * 1000


async def one_after_the_other(journal: Journal, run_id: str, appends: int) -> float:
    """The median time of an append of one event of 1 KB, in microseconds."""
    await journal.append(run_id, [created(run_id)])
    times = []
    for _ in range(appends):
        started = time.perf_counter()
        await journal.append(run_id, [warned(KILOBYTE)])
        times.append(time.perf_counter() - started)
    return statistics.median(times) * 1e6


async def together(journal: Journal, run_id: str, appends: int) -> float:
    """The time for each of many appends of tasks that write at the same time, in microseconds."""
    await journal.append(run_id, [created(run_id)])
    started = time.perf_counter()
    for _ in range(appends // 20):
        await asyncio.gather(*(journal.append(run_id, [warned(KILOBYTE)]) for _ in range(20)))
    return (time.perf_counter() - started) / (appends // 20 * 20) * 1e6


async def measure(server: PostgresServer, folder: Path, appends: int, rounds: int) -> dict[str, dict[str, float]]:
    journals: dict[str, Journal] = {
        "SQLite, process": SqliteJournal(folder / "process.sqlite"),
        "SQLite, power": SqliteJournal(folder / "power.sqlite", durability="power"),
        "PostgreSQL": PostgresJournal(server.url(server.new_database())),
    }
    found: dict[str, dict[str, list[float]]] = {name: {"alone": [], "together": []} for name in journals}
    for n in range(rounds):  # in turns, because the machine may be busy with other things
        for name, journal in journals.items():
            found[name]["alone"].append(await one_after_the_other(journal, f"a{n}", appends))
            found[name]["together"].append(await together(journal, f"t{n}", appends))
    for journal in journals.values():
        await journal.aclose()
    return {
        name: {kind: round(statistics.median(times)) for kind, times in kinds.items()} for name, kinds in found.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--appends", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    server = PostgresServer(durable=True)
    try:
        with tempfile.TemporaryDirectory() as folder:
            results = asyncio.run(measure(server, Path(folder), options.appends, options.rounds))
    finally:
        server.stop()
    base = results["SQLite, power"]
    for name, kinds in results.items():
        words = ", ".join(f"{kind} {value:,.0f} us ({value / base[kind]:.1f}x)" for kind, value in kinds.items())
        print(f"{name:<16} {words}")
    if options.json:
        options.json.write_text(json.dumps({"server": server.version, "microseconds": results}, indent=2) + "\n")


if __name__ == "__main__":
    main()
