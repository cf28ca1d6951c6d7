"""How many runs per second workers drive, by their number: python benchmarks/workers.py [--runs N] [--workers 1 2 4]
    [--rounds N]

Starts PostgreSQL and a Temporal dev server of its own. A run has one step that calls `true`, so this measures what
Surefoot, the database and Temporal cost for a run: its files are brought, it is resumed, driven, stored and ended. All
runs are recorded and all workers are ready before the clock starts and the runs are handed over.
The numbers of workers take turns, so that other work on the machine hits all of them, and the median of the rounds
counts. Temporal's dev server keeps its state in SQLite; a production server takes more. Needs the dev dependencies.
"""

import argparse
import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.farm import Farm
from support.postgres import PostgresServer
from support.temporal import TemporalServer
from surefoot.config.workers import read_workers
from surefoot.core.plan import DetailedPlan, ExecutionStep
from surefoot.integrations.temporal.client import connect, hand_over
from surefoot.integrations.temporal.names import workflow_id

HAND_OVERS = 8
"""How many runs the client hands over at the same time."""
PLAN = DetailedPlan(steps=(ExecutionStep(id="s1", name="nothing", tool="run_command", parameters={"command": "true"}),))


async def measure(folder: Path, database: str, temporal: TemporalServer, workers: int, runs: int) -> dict[str, float]:
    """Runs per second with so many worker processes, and what the workers took of the processor for each run."""
    folder.mkdir()
    farm = Farm(folder, database, temporal.address, f"bench-{folder.name}")
    os.environ.update(farm.environ | {"SUREFOOT_STORAGE__LEASE_SECONDS": "30"})
    farm.environ |= {"SUREFOOT_STORAGE__LEASE_SECONDS": "30", "SUREFOOT_WORKERS__HEARTBEAT_SECONDS": "30"}
    run_ids = [await farm.create_run(PLAN) for _ in range(runs)]
    for _ in range(workers):
        farm.add_worker(runs=8)
    for worker in farm.workers:
        worker.wait_until_ready()
    assert farm.journals.count("run_resumed") == 0, "no worker has begun"
    client = await connect(read_workers())
    turns = asyncio.Semaphore(HAND_OVERS)

    async def hand_over_in_turn(run_id: str) -> None:
        async with turns:
            await hand_over(run_id)

    started, before = time.perf_counter(), processor_seconds(farm)
    await asyncio.gather(*map(hand_over_in_turn, run_ids))
    for run_id in run_ids:
        await client.get_workflow_handle(workflow_id(run_id)).result()
    seconds, cpu = time.perf_counter() - started, processor_seconds(farm) - before
    farm.close()
    return {"runs_per_second": round(runs / seconds, 2), "cpu_ms": round(cpu / runs * 1000)}


def processor_seconds(farm: Farm) -> float:
    """What the workers and the commands of their runs have taken of the processor so far."""
    fields = [
        Path(f"/proc/{worker.process.pid}/stat").read_text().rpartition(")")[2].split() for worker in farm.workers
    ]
    return sum(int(field) for one in fields for field in one[11:15]) / os.sysconf("SC_CLK_TCK")


def row_of(workers: int, runs: int, rounds: list[dict[str, float]]) -> dict[str, Any]:
    middle = {name: statistics.median(one[name] for one in rounds) for name in ("runs_per_second", "cpu_ms")}
    return {"workers": workers, "runs": runs, **middle, "rounds": rounds}


def table(rows: list[dict[str, Any]]) -> str:
    """The table of docs/deploy.md."""
    first = rows[0]["runs_per_second"]
    lines = [
        "| worker processes, eight runs each | runs per second | against one | processor time of workers per run |",
        "| --- | ---: | ---: | ---: |",
    ]
    for row in rows:
        speed = row["runs_per_second"]
        lines.append(f"| {row['workers']} | {speed:.1f} | {speed / first:.2f} | {row['cpu_ms']:.0f} ms |")
    return "\n".join(lines)


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    server, temporal = PostgresServer(), TemporalServer()
    rounds: dict[int, list[dict[str, float]]] = {workers: [] for workers in options.workers}
    rows: list[dict[str, Any]] = []
    try:
        with tempfile.TemporaryDirectory(prefix="sf-bench-") as scratch:
            for number in range(options.rounds):
                for workers in options.workers:
                    database, folder = server.url(server.new_database()), Path(scratch, f"{number}-{workers}")
                    rounds[workers].append(await measure(folder, database, temporal, workers, options.runs))
                    print(workers, rounds[workers][-1], flush=True)
                rows = [row_of(workers, options.runs, measured) for workers, measured in rounds.items()]
                if options.json:
                    options.json.write_text(json.dumps(rows, indent=1) + "\n")
    finally:
        temporal.stop()
        server.stop()
    print(table(rows))


if __name__ == "__main__":
    asyncio.run(main())
