"""What watching costs: 100 runs in the journal, 1,000 idle sockets, and one run that works.

`python benchmarks/server.py [--json FILE]` starts a real server and the watchers as processes of their own and measures

- the slowdown of a run: rounds in turns, with the server and its watchers, and while both are stopped (SIGSTOP). The
  ratio of each pair is taken, and the median of the ratios with a 95% interval (bootstrap). CPU time of the run's own
  process is the figure where other work on the machine disturbs wall time;
- the server's CPU and memory with idle sockets;
- the delivery of a run of 500 steps that records 200 events a second, to ten sockets;
- the time until a late watcher has that run.

Counts and times are bounded; the whole takes about three minutes.
"""

import argparse
import asyncio
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).parents[1]
HERE = Path(__file__).parent
sys.path[:0] = [str(ROOT / "tests")]

from support.recorded import RUN_ID, created, whole_run  # noqa: E402
from surefoot.core.phases import ExecutionPhase, PhaseResult, PhaseStatus  # noqa: E402
from surefoot.core.plan import DetailedPlan, ExecutionStep  # noqa: E402
from surefoot.core.transitions import Stage, StepStatus  # noqa: E402
from surefoot.journal import events as e  # noqa: E402
from surefoot.journal.store.sqlite import SqliteJournal  # noqa: E402

IDLE_SECONDS = 20.0
EVENTS_PER_SECOND = 200
LONG_STEPS = 500
READERS = 10


async def fill(home: Path, count: int) -> list[str]:
    """Put runs into the journal, half of them unfinished."""
    journal = SqliteJournal(home / "journal.sqlite")
    ids = []
    for number in range(count):
        first, *rest = (record.event for record in whole_run())
        assert isinstance(first, e.RunCreated)
        run_id = f"{RUN_ID}-{number:03}"
        await journal.append(run_id, [first.with_(run_id=run_id), *rest[: -3 if number % 2 else None]])
        ids.append(run_id)
    journal.close()
    return ids


def cpu_of(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_of(pid: int) -> float:
    rows = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(row.split()[1]) for row in rows if row.startswith("VmRSS")) / 1024


@contextlib.contextmanager
def process(*words: str, **environ: str) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, *words]
    started = subprocess.Popen(command, env={**os.environ, **environ}, stdout=subprocess.PIPE, text=True)
    try:
        yield started
    finally:
        started.send_signal(signal.SIGCONT)
        started.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            started.wait(20)
        started.kill()


@contextlib.contextmanager
def watchers(base: str, token: str, count: int, *runs: str) -> Iterator["subprocess.Popen[str]"]:
    with process(str(HERE / "server_watchers.py"), base, token, str(count), *runs) as started:
        assert started.stdout is not None
        if runs[0] != "-":
            assert started.stdout.readline().strip() == "ready"
        yield started


def work(home: Path, folder: Path, steps: int) -> dict[str, float]:
    words = [sys.executable, str(HERE / "server_work.py"), str(home), str(folder), str(steps)]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=600)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def interval(ratios: list[float]) -> list[float]:
    """The 95% interval of the median, by drawing the pairs again."""
    draw = random.Random(0)
    medians = sorted(median(draw.choices(ratios, k=len(ratios))) for _ in range(5_000))
    return [round(medians[124], 3), round(medians[-125], 3)]


def slowdown(home: Path, folder: Path, stopped: list["subprocess.Popen[str]"], rounds: int, steps: int) -> Any:
    """Alternate rounds with and without the load; which of the two comes first changes too."""
    pairs: dict[str, list[float]] = {"cpu": [], "wall": []}
    seconds: dict[str, list[float]] = {"alone": [], "watched": []}
    work(home, folder / "warm", steps)
    for number in range(rounds):
        found: dict[str, dict[str, float]] = {}
        for kind in ("alone", "watched") if number % 2 else ("watched", "alone"):
            for each in stopped:
                each.send_signal(signal.SIGSTOP if kind == "alone" else signal.SIGCONT)
            found[kind] = work(home, folder / f"{kind}{number}", steps)
            seconds[kind].append(found[kind]["cpu"])
        for each in stopped:
            each.send_signal(signal.SIGCONT)
        for name, ratios in pairs.items():
            ratios.append(found["watched"][name] / found["alone"][name])
    result: dict[str, Any] = {"rounds": rounds, "steps": steps}
    result |= {f"cpu_seconds_{kind}": round(median(values), 3) for kind, values in seconds.items()}
    for name, ratios in pairs.items():
        result[name] = {"median_ratio": round(median(ratios), 3), "interval_95": interval(ratios)}
    return result


async def record_long_run(journal: SqliteJournal, run_id: str, sent: dict[int, float]) -> None:
    """Record the events of a run of 500 steps, 200 a second. `sent` gets the time of each."""
    names = [ExecutionStep(id=f"s{i}", sequence=i, name=f"Step {i}") for i in range(LONG_STEPS)]
    plan = PhaseResult(phase=ExecutionPhase.Planning(), status=PhaseStatus.SUCCESS, output=DetailedPlan(steps=names))
    before = [e.StageEntered(stage=stage) for stage in (Stage.UNDERSTANDING, Stage.APPROACH, Stage.PLANNING)]
    events: list[e.Event] = [created().with_(run_id=run_id), *before, e.PlanMade(result=plan)]
    events.append(e.StageEntered(stage=Stage.EXECUTION))
    for step in names:
        events += [
            e.StepStarted(step_id=step.id, attempt=1),
            e.StepFinished(step_id=step.id, attempt=1, status=StepStatus.SUCCEEDED, duration_ms=5),
        ]
    began = time.monotonic()
    for number, event in enumerate(events, 1):
        await journal.append(run_id, [event])
        sent[number] = time.time()
        await asyncio.sleep(max(0.0, began + number / EVENTS_PER_SECOND - time.monotonic()))


async def delivery(home: Path, base: str, token: str, server: int) -> dict[str, Any]:
    journal, run_id = SqliteJournal(home / "journal.sqlite"), f"{RUN_ID}-long"
    sent: dict[int, float] = {}
    recording = asyncio.create_task(record_long_run(journal, run_id, sent))
    await asyncio.sleep(0.2)
    before, began = cpu_of(server), time.monotonic()
    with watchers(base, token, READERS, "-", run_id) as readers:
        assert readers.stdout is not None
        await recording
        seconds, spent = time.monotonic() - began, cpu_of(server) - before
        delays: list[float] = []
        finished = batches = 0
        while finished < READERS:
            line = (await asyncio.to_thread(readers.stdout.readline)).strip()
            if line == "ready":
                continue
            seen = json.loads(line)
            batches += 1
            delays.append(seen["at"] - sent[seen["upto"]])
            finished += seen["upto"] == len(sent)
    journal.close()
    delays.sort()
    with watchers(base, token, 1, "-", run_id) as late:
        assert late.stdout is not None
        snapshot = json.loads(next(line for line in late.stdout if line.startswith("{")))
    return {
        "events_per_second": round(len(sent) / seconds),
        "sockets": READERS,
        "events_delivered_per_second": round(READERS * len(sent) / seconds),
        "batches": batches,
        "delay_median_ms": round(1000 * delays[len(delays) // 2]),
        "delay_95_ms": round(1000 * delays[int(len(delays) * 0.95)]),
        "server_cpu_share": round(spent / seconds, 3),
        "late_watcher_ms": round(1000 * snapshot["seconds"]),
    }


def table(result: dict[str, Any]) -> str:
    """The figures as they stand in docs/benchmarks-server.md."""
    slower, idle, long = result["slowdown"], result["idle"], result["long_run"]
    cpu, wall = slower["cpu"], slower["wall"]
    rows = [
        ("a run beside the idle sockets, CPU time", f"{cpu['median_ratio']}x ({_span(cpu)})"),
        ("the same, wall time", f"{wall['median_ratio']}x ({_span(wall)})"),
        ("the server's CPU, idle", f"{idle['server_cpu_share']:.1%} of a core"),
        ("its memory", f"{idle['server_mb']} MB, {idle['kb_per_socket']} KB for each socket"),
        (
            f"a run of {long['steps']} steps, to {long['sockets']} sockets",
            f"{long['events_per_second']} events/s recorded, {long['events_delivered_per_second']} delivered, "
            f"in {long['batches']} batches",
        ),
        ("delay, median and 95%", f"{long['delay_median_ms']} ms, {long['delay_95_ms']} ms"),
        ("the server's CPU meanwhile", f"{long['server_cpu_share']:.1%} of a core"),
        ("a late watcher has that run after", f"{long['late_watcher_ms']} ms"),
    ]
    return "\n".join(["| | |", "| --- | --- |", *(f"| {name} | {figure} |" for name, figure in rows)])


def _span(ratio: dict[str, Any]) -> str:
    low, high = ratio["interval_95"]
    return f"95%: {low} to {high}"


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sockets", type=int, default=1_000)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="surefoot-bench-") as name:
        folder, home = Path(name), Path(name) / "home"
        home.mkdir()
        ids = await fill(home, options.runs)
        words = ["-m", "surefoot", "serve", "--port", "0", "--no-open"]
        with process(*words, SUREFOOT_HOME=str(home)) as server:
            assert server.stdout is not None
            base, _, token = server.stdout.readline().strip().partition("/#t=")
            with watchers(base, token, 1, ids[0]):
                await asyncio.sleep(2)
                empty = memory_of(server.pid)
            with watchers(base, token, options.sockets, *ids) as sockets:
                await asyncio.sleep(5)
                memory, before = memory_of(server.pid), cpu_of(server.pid)
                await asyncio.sleep(IDLE_SECONDS)
                idle = (cpu_of(server.pid) - before) / IDLE_SECONDS
                print(f"idle: {idle:.1%} of a core, {memory:.0f} MB, {empty:.0f} MB with one socket", file=sys.stderr)
                slower = slowdown(home, folder, [server, sockets], options.rounds, options.steps)
                print(f"slowdown: {slower}", file=sys.stderr)
            long = await delivery(home, base, token, server.pid)
    result = {
        "runs": options.runs,
        "sockets": options.sockets,
        "cores": os.cpu_count(),
        "load_average": [round(load, 1), round(os.getloadavg()[0], 1)],
        "slowdown": slower,
        "idle": {
            "server_cpu_share": round(idle, 4),
            "server_mb": round(memory),
            "kb_per_socket": round(1024 * (memory - empty) / options.sockets, 1),
        },
        "long_run": {"steps": LONG_STEPS, **long},
    }
    print(table(result))
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    asyncio.run(main())
