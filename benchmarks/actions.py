"""Measure what an action costs in trees of several sizes: python benchmarks/actions.py [--json FILE] [FILES ...]

Real tools are called through the engine's `perform`: snapshot, intent in a SQLite journal, the tool, what it changed,
its result in the journal. Beside them: a bare `bash -c true`, and a checkpoint by git (`git add -A && git write-tree`
in a shadow repository) before and after a command. The rows take turns, so that a busy machine slows all of them.
"""

import argparse
import asyncio
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from snapshots import fill

from surefoot._version import __version__
from surefoot.config.model import BudgetConfig, ExecutionConfig
from surefoot.core.phases import ExecutionPhase
from surefoot.core.plan import DetailedPlan, ExecutionStep
from surefoot.core.task import Task
from surefoot.engine.executor.action import perform
from surefoot.engine.planner.gate import skipped
from surefoot.engine.runtime.run import Run
from surefoot.engine.runtime.services import Services
from surefoot.journal import events as e
from surefoot.journal.state import RunState
from surefoot.journal.store.sqlite import SqliteJournal
from surefoot.models.testing.scripted import ScriptedModel
from surefoot.prompting.proposal import Proposal

SIZES = (200, 5_000, 20_000, 50_000)
ROUNDS = 15
SETTLED = 2.5
"""Seconds after which no file counts as just written."""

Work = Callable[[int], Awaitable[None]]
Figures = dict[str, dict[str, float]]


async def measure(files: int, rounds: int) -> Figures:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        trees = {name: folder / name for name in ("sandbox", "off", "git")}
        for tree in trees.values():
            fill(tree, files)
        await asyncio.sleep(SETTLED)
        confined, free = await started(trees["sandbox"], "auto"), await started(trees["off"], "off")
        rows: dict[str, Work] = {
            "bash -c true": bare,
            "run_command true": command(confined, "true"),
            "run_command, one file changed": command(confined, "date +%N > 0/0/0.txt"),
            "write_file": write(confined),
            "run_command true, no sandbox": command(free, "true"),
            "write_file, no sandbox": write(free),
        }
        if shutil.which("git"):
            rows["git checkpoint, true, git checkpoint"] = git_checkpoints(trees["git"])
        samples: dict[str, list[tuple[float, float]]] = {row: [] for row in rows}
        for number in range(-1, rounds):
            for row, work in rows.items():
                await work(number)  # what the row before it left behind is not measured
                wall, cpu = time.perf_counter(), cpu_seconds()
                await work(number)
                if number >= 0:
                    samples[row].append((time.perf_counter() - wall, cpu_seconds() - cpu))
        return {row: figures(found) for row, found in samples.items()}


def figures(samples: list[tuple[float, float]]) -> dict[str, float]:
    walls, cpus = zip(*samples, strict=True)
    return {
        "median_ms": 1000 * statistics.median(walls),
        "best_ms": 1000 * min(walls),
        "cpu_ms": 1000 * statistics.median(cpus),
    }


def cpu_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


async def started(root: Path, sandbox: str) -> Run:
    """Return a run whose only step has begun."""
    home = root.with_name(f"{root.name}-home")
    home.mkdir()
    task = Task(text="carry out the plan", workspace=str(root))
    config = ExecutionConfig.model_validate({"sandbox": sandbox, "budget": BudgetConfig(max_tool_calls=None)})
    services = Services(SqliteJournal(home / "journal.db"), ScriptedModel([]), home)
    run = Run(services, RunState(run_id=f"bench-{sandbox}", task=task, config=config))
    plan = DetailedPlan(steps=(ExecutionStep(id="s", sequence=0, name="act"),))
    await run.record(
        e.RunCreated(
            run_id=run.state.run_id,
            task=task,
            config=config,
            model="scripted",
            surefoot=__version__,
            snapshot=await run.snapshot(),
        ),
        e.PlanMade(result=skipped(ExecutionPhase.Planning(), "given", plan)),
        e.StepStarted(step_id="s", attempt=1),
    )
    return run


def command(run: Run, text: str) -> Work:
    async def work(number: int) -> None:
        await perform(run, run.state.steps["s"], Proposal("act", "run_command", {"command": text}))
        assert run.state.steps["s"].actions[-1].ok, run.state.steps["s"].actions[-1].summary

    return work


def write(run: Run) -> Work:
    async def work(number: int) -> None:
        arguments = {"path": "0/0/1.txt", "content": f"round {number}, {time.time_ns()}\n"}
        await perform(run, run.state.steps["s"], Proposal("act", "write_file", arguments))
        assert run.state.steps["s"].actions[-1].ok, run.state.steps["s"].actions[-1].summary

    return work


async def bare(number: int) -> None:
    await asyncio.to_thread(subprocess.run, ["bash", "-c", "true"], check=True)


def git_checkpoints(root: Path) -> Work:
    """Return an action between two checkpoints in a shadow repository, as other agents take them."""
    environ = {**os.environ, "GIT_DIR": str(root.with_name("shadow")), "GIT_WORK_TREE": str(root)}

    def git(*words: str) -> None:
        subprocess.run(["git", *words], check=True, env=environ, cwd=root, capture_output=True)

    def action() -> None:
        git("add", "-A")
        git("write-tree")
        subprocess.run(["bash", "-c", "true"], check=True)
        git("add", "-A")
        git("write-tree")

    git("init", "-q")

    async def work(number: int) -> None:
        await asyncio.to_thread(action)

    return work


def table(results: dict[int, Figures]) -> str:
    sizes = list(results)
    lines = ["| ms, median (processor time) | " + " | ".join(f"{size:,} files" for size in sizes) + " |"]
    lines.append("| --- |" + " ---: |" * len(sizes))
    for row in results[sizes[0]]:
        cells = [f"{results[size][row]['median_ms']:.0f} ({results[size][row]['cpu_ms']:.0f})" for size in sizes]
        lines.append(f"| {row} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=int, default=SIZES)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    results: dict[int, Figures] = {}
    for files in options.files:
        print(f"{files:,} files...", file=sys.stderr)
        results[files] = asyncio.run(measure(files, options.rounds))
    print(table(results))
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
