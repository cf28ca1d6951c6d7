"""Measure the engine's cost on top of a durable commit, compared with LangGraph, DBOS and Burr: make bench

    python benchmarks/engine.py [--only surefoot,burr] [--rounds 3] [--quick] [--json FILE] [--plot FILE]

Every measurement runs in its own process: some bare commits, the work, some bare commits. The figures are ratios to the
mean of the bare commits, and medians over the rounds. All contenders make 1 KB per step durable before the next step
begins, in WAL mode with the same `synchronous` setting, on the same file system. Preparation (imports, opening the
database, a first step, compiling a graph) is not counted; starting the run, its plan and its end are.
"""

import argparse
import gc
import importlib
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from measuring import PAYLOAD_BYTES, Bare, Contender, Sync, bytes_below, resident_mb

CONTENDERS = {
    "surefoot": ("peers_surefoot", "Contender", "Surefoot"),
    "burr": ("peers_burr", "Contender", "Burr"),
    "burr-async": ("peers_burr", "AsyncContender", "Burr, async"),
    "langgraph": ("peers_langgraph", "Contender", "LangGraph"),
    "langgraph-async": ("peers_langgraph", "AsyncContender", "LangGraph, async"),
    "dbos": ("peers_dbos", "Contender", "DBOS"),
    "burr-all": ("peers_burr", "Gathering", "Burr, all results kept"),
    "langgraph-all": ("peers_langgraph", "Gathering", "LangGraph, all results kept"),
}
CHAINS_ONLY = ("burr-async", "burr-all", "langgraph-all")
CHAINS = (100, 1_000, 10_000)
FAN_OUT = RESUMED = 1_000
BARE_COMMITS: dict[Sync, int] = {"normal": 1_000, "full": 100}


class Task(NamedTuple):
    """One cell of the table."""

    contender: str
    shape: str
    steps: int
    sync: Sync

    @property
    def key(self) -> str:
        return f"{self.shape} {self.steps} {self.sync}"


# -- inside the measuring process -----------------------------------------------------------------------------------


def measure(task: Task, folder: Path) -> dict[str, float]:
    folder.mkdir(exist_ok=True)
    if task.shape in ("syncs", "queries"):
        import engine_counts

        count = engine_counts.syncs_per_commit if task.shape == "syncs" else engine_counts.queries_to_resume
        return {task.shape: count(folder, task.steps)}
    contender = load(task.contender, folder, task.sync)
    if task.shape == "die":
        contender.die_in_step(task.steps + 1)
    if task.shape == "resume":
        return {"ms": 1000 * contender.resume(task.steps + 1)}
    bare = Bare(folder.parent, task.sync)
    commits = BARE_COMMITS[task.sync]
    work = contender.chain(task.steps) if task.shape == "chain" else contender.fan_out(task.steps)
    gc.collect()
    memory = resident_mb()
    before = bare.seconds_each(commits)
    started = time.perf_counter()
    work()
    seconds = time.perf_counter() - started
    after = bare.seconds_each(commits)
    resident = resident_mb()
    bare.close()
    contender.close()
    return {
        "ratio": seconds / task.steps / ((before + after) / 2),
        "us": 1e6 * seconds / task.steps,
        "bare_us": 1e6 * (before + after) / 2,
        "bytes": bytes_below(folder),
        "resident_mb": resident,
        "grown_mb": resident - memory,
    }


def load(name: str, folder: Path, sync: Sync) -> Contender:
    module, kind, _ = CONTENDERS[name]
    contender: Contender = getattr(importlib.import_module(module), kind)(folder, sync)
    return contender


# -- starting the measurements --------------------------------------------------------------------------------------


def in_own_process(task: Task, folder: Path) -> dict[str, float]:
    command = [sys.executable, __file__, "--measure", *map(str, task), "--folder", str(folder)]
    # A fixed hash seed removes a source of noise: the layout of sets and dicts depends on it.
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    process = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, task))} failed:\n{process.stderr}")
    result: dict[str, float] = json.loads(process.stdout.splitlines()[-1]) if process.stdout.strip() else {}
    return result


def one_round(task: Task, base: Path) -> dict[str, float]:
    with tempfile.TemporaryDirectory(prefix="surefoot-bench-", dir=base) as name:
        folder = Path(name) / "own"
        if task.shape in ("resume", "queries"):
            in_own_process(task._replace(shape="die"), folder)
        return in_own_process(task, folder)


def tasks_for(contender: str, quick: bool) -> Iterator[Task]:
    # These grow quadratically: the longest chain would take hours.
    chains = CHAINS[:2] if quick or contender.endswith("-all") else CHAINS
    for steps in chains:
        yield Task(contender, "chain", steps, "normal")
    yield Task(contender, "chain", 100, "full")
    if contender not in CHAINS_ONLY:
        yield Task(contender, "fan_out", FAN_OUT, "normal")
        yield Task(contender, "resume", RESUMED, "normal")


def run_all(names: list[str], rounds: int, quick: bool, base: Path) -> dict[str, dict[str, dict[str, float]]]:
    """Measure round by round, not task by task, so that temporary load on the machine affects all contenders."""
    measurements: dict[Task, list[dict[str, float]]] = {}
    for number in range(rounds):
        for name in names:
            for task in tasks_for(name, quick):
                # The longest chains are stable enough with one round.
                if number == 0 or task.steps < CHAINS[-1]:
                    measurements.setdefault(task, []).append(one_round(task, base))
                    print(".", end="", flush=True, file=sys.stderr)
    print(file=sys.stderr)
    results: dict[str, dict[str, dict[str, float]]] = {name: {} for name in names}
    for task, rows in measurements.items():
        results[task.contender][task.key] = {k: statistics.median(row[k] for row in rows) for k in rows[0]}
    return results


def counts(base: Path) -> dict[str, float]:
    """Count Surefoot's fsyncs per commit and its queries to resume."""
    syncs = one_round(Task("surefoot", "syncs", 100, "full"), base)
    return {**syncs, **one_round(Task("surefoot", "queries", 100, "normal"), base)}


# -- the table ------------------------------------------------------------------------------------------------------


def table(results: dict[str, dict[str, dict[str, float]]]) -> str:
    columns: list[tuple[str, Any]] = [
        *((f"chain {n:,}", lambda row, n=n: _times(row, f"chain {n} normal")) for n in CHAINS),
        ("exponent", _exponent),
        ("fan-out", lambda row: _times(row, f"fan_out {FAN_OUT} normal")),
        ("steps/s", lambda row: _number(row, f"fan_out {FAN_OUT} normal", "us", lambda us: f"{1e6 / us:,.0f}")),
        ("FULL", lambda row: _times(row, "chain 100 full")),
        ("resume ms", lambda row: _number(row, f"resume {RESUMED} normal", "ms", "{:.0f}".format)),
        ("B/step", _growth),
        ("MB", lambda row: _number(row, f"chain {CHAINS[-1]} normal", "resident_mb", "{:.0f}".format)),
        ("MB grown", lambda row: _number(row, f"chain {CHAINS[-1]} normal", "grown_mb", "{:.0f}".format)),
    ]
    lines = [["", *(title for title, _ in columns)]]
    lines += [[CONTENDERS[name][2], *(render(row) for _, render in columns)] for name, row in results.items()]
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    rows = ["| " + " | ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)) + " |" for line in lines]
    rows.insert(1, "|" + "|".join(" --- ".ljust(w + 2) for w in widths) + "|")
    return "\n".join(rows)


def _times(row: dict[str, dict[str, float]], key: str) -> str:
    return _number(row, key, "ratio", "{:.1f}x".format)


def _number(row: dict[str, dict[str, float]], key: str, field: str, render: Any) -> str:
    return render(row[key][field]) if key in row else "-"


def _exponent(row: dict[str, dict[str, float]]) -> str:
    """Return the growth exponent of the total time from the shortest chain to the longest; 1 is linear."""
    points = [(n, n * row[f"chain {n} normal"]["us"]) for n in CHAINS if f"chain {n} normal" in row]
    if len(points) < 2:
        return "-"
    (few, short), (many, long) = points[0], points[-1]
    return f"{math.log(long / short) / math.log(many / few):.2f}"


def _growth(row: dict[str, dict[str, float]]) -> str:
    """Return the growth of the closed database per step without the payload, between the two shortest chains."""
    few, many = CHAINS[:2]
    if f"chain {many} normal" not in row:
        return "-"
    added = row[f"chain {many} normal"]["bytes"] - row[f"chain {few} normal"]["bytes"]
    return f"{added / (many - few) - PAYLOAD_BYTES:,.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(CONTENDERS), help="contenders, separated by commas")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="without the chain of 10,000")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--plot", type=Path, help="write the plot to this file (needs matplotlib)")
    parser.add_argument(
        "--folder", type=Path, default=Path(), help="folder for the databases; on a disk, not in memory"
    )
    parser.add_argument("--measure", nargs=4, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        name, shape, steps, sync = args.measure
        print(json.dumps(measure(Task(name, shape, int(steps), sync), args.folder)))
        return
    results = run_all(args.only.split(","), args.rounds, args.quick, args.folder)
    print(table(results))
    if "surefoot" in results:
        counters = counts(args.folder)
        results["surefoot"]["counts"] = counters
        print(f"fsyncs per commit, power-safe: {counters['syncs']:.2f}; queries to resume: {counters['queries']:.0f}")
    if args.json:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_text(json.dumps(results, indent=1) + "\n")
    if args.plot:
        from engine_plot import plot

        plot(results, {name: CONTENDERS[name][2] for name in results}, CHAINS, args.plot)


if __name__ == "__main__":
    main()
