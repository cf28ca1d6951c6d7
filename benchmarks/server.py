"""How much a run is slowed down by watchers: 100 runs in the journal, 1,000 idle sockets, and one run that works.

`python benchmarks/server.py [--sockets 1000] [--runs 100]` starts a real server as a process of its own. The run is a
plan of tool calls with no model, driven in this process. Its CPU and wall time are measured in turns: with the server
and its watchers, and while both are stopped. The CPU time of the idle server is measured too.
"""

import argparse
import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests")]

from support.kit import Bench, steps  # noqa: E402
from support.recorded import whole_run  # noqa: E402
from surefoot.core.plan import ExecutionStep  # noqa: E402
from surefoot.journal import events as e  # noqa: E402
from surefoot.journal.store.sqlite import SqliteJournal  # noqa: E402

STEPS = 1_500
IDLE_SECONDS = 10.0


async def fill(home: Path, count: int) -> list[str]:
    journal = SqliteJournal(home / "journal.sqlite")
    ids = []
    for number in range(count):
        first, *rest = (record.event for record in whole_run())
        assert isinstance(first, e.RunCreated)
        run_id = f"{first.run_id}-{number:03}"
        await journal.append(run_id, [first.with_(run_id=run_id), *rest[: -3 if number % 2 else None]])
        ids.append(run_id)
    journal.close()
    return ids


async def work(home: Path, folder: Path) -> tuple[float, float]:
    """Carry out a plan of tool calls. Returns CPU and wall seconds."""
    folder.mkdir()
    bench = Bench(folder, home, journal=SqliteJournal(home / "journal.sqlite"))
    plan = steps(
        *(
            ExecutionStep(id=f"s{i}", name=f"Step {i}", tool="list_files", parameters={"path": "."})
            for i in range(STEPS)
        )
    )
    cpu, wall = time.process_time(), time.perf_counter()
    await bench.run_plan(plan, max_plan_steps=STEPS, budget={"max_tool_calls": 10_000}, baseline="off")
    spent = time.process_time() - cpu, time.perf_counter() - wall
    await bench.journal.aclose()
    return spent


def cpu_of(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_of(pid: int) -> float:
    rows = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(row.split()[1]) for row in rows if row.startswith("VmRSS")) / 1024


def start_server(home: Path) -> tuple["subprocess.Popen[str]", str, str]:
    process = subprocess.Popen(
        [sys.executable, "-m", "surefoot", "serve", "--port", "0", "--no-open"],
        env={**os.environ, "SUREFOOT_HOME": str(home)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    base, _, token = process.stdout.readline().strip().partition("/#t=")
    return process, base, token


WATCHERS = """
import asyncio, sys
from websockets.asyncio.client import connect
base, token, count, *runs = sys.argv[1:]
async def watch(number):
    url = base.replace("http", "ws") + "/socket.io/?EIO=4&transport=websocket"
    async with connect(url, origin=base, max_size=None) as socket:
        await socket.recv()
        await socket.send('40{"token":"%s"}' % token)
        await socket.recv()
        await socket.send('420["run:watch",{"run":"%s"}]' % runs[number % len(runs)])
        ready.append(number)
        async for text in socket:
            if text == "2":
                await socket.send("3")
            elif text.startswith("42") and text[2].isdigit():
                await socket.send("43" + text[2:].partition("[")[0] + "[]")
ready = []
async def main():
    tasks = []
    for number in range(int(count)):
        tasks.append(asyncio.create_task(watch(number)))
        if number % 20 == 19:
            await asyncio.sleep(0.1)
    while len(ready) < int(count):
        await asyncio.sleep(0.1)
    print("ready", flush=True)
    await asyncio.gather(*tasks)
asyncio.run(main())
"""


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sockets", type=int, default=1_000)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="surefoot-bench-") as folder:
        home = Path(folder) / "home"
        home.mkdir()
        ids = await fill(home, options.runs)
        await work(home, Path(folder) / "warm")
        alone: list[tuple[float, float]] = []
        watched: list[tuple[float, float]] = []
        server, base, token = start_server(home)
        words = [sys.executable, "-c", WATCHERS, base, token, str(options.sockets), *ids]
        watchers = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)  # noqa: ASYNC220
        try:
            assert watchers.stdout is not None
            assert watchers.stdout.readline().strip() == "ready"
            await asyncio.sleep(3)
            before = cpu_of(server.pid)
            await asyncio.sleep(IDLE_SECONDS)
            idle = (cpu_of(server.pid) - before) / IDLE_SECONDS
            for number in range(options.rounds):
                watched.append(await work(home, Path(folder) / f"watched{number}"))
                for process in (server, watchers):
                    process.send_signal(signal.SIGSTOP)
                alone.append(await work(home, Path(folder) / f"alone{number}"))
                for process in (server, watchers):
                    process.send_signal(signal.SIGCONT)
            memory = memory_of(server.pid)
        finally:
            for process in (watchers, server):
                process.terminate()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(20)
                process.kill()
    cpu = median(c for c, _ in watched) / median(c for c, _ in alone)
    wall = median(w for _, w in watched) / median(w for _, w in alone)
    print(f"{options.runs} runs, {options.sockets} idle watchers")
    print(f"run alone   {median(c for c, _ in alone):.2f} s CPU  {median(w for _, w in alone):.2f} s wall")
    print(f"run watched {median(c for c, _ in watched):.2f} s CPU  {median(w for _, w in watched):.2f} s wall")
    print(f"ratio       {cpu:.3f} CPU     {wall:.3f} wall")
    print(f"server      {idle:.1%} of a core while idle, {memory:.0f} MB")


if __name__ == "__main__":
    asyncio.run(main())
