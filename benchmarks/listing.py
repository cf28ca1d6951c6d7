"""Measure the CPU time of `surefoot list` in a journal with many runs: python benchmarks/listing.py

It is compared with `surefoot --help`, which reads no journal, and with a Python process that only imports pydantic.
"""

import argparse
import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from surefoot.config.model import ExecutionConfig
from surefoot.core.outcome import Outcome, Verdict
from surefoot.core.task import Task
from surefoot.core.transitions import Stage
from surefoot.journal import events as e
from surefoot.journal.store.sqlite import SqliteJournal

ROUNDS = 9
CALLS = 20
SUREFOOT = (sys.executable, "-m", "surefoot")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    measured = measure(options.runs)
    for name, value in measured.items():
        print(f"{name:24} {value:6} ms")
    if options.json:
        options.json.write_text(json.dumps({"runs": options.runs, "cpu_ms": measured}, indent=2) + "\n")


def measure(runs: int) -> dict[str, int]:
    """The CPU time of each command in milliseconds: the least of some rounds, in which they take turns."""
    with tempfile.TemporaryDirectory() as folder:
        work, home = Path(folder, "work").resolve(), Path(folder, "home")
        work.mkdir()
        asyncio.run(fill(home / "journal.sqlite", work, runs))
        environ = {**os.environ, "SUREFOOT_HOME": str(home)}
        commands = {
            "list": (*SUREFOOT, "list"),
            f"list --all -n {runs}": (*SUREFOOT, "list", "--all", "-n", str(runs)),
            "--help": (*SUREFOOT, "--help"),
            "import pydantic": (sys.executable, "-c", "from pydantic import BaseModel"),
        }
        rounds = [{name: cpu_ms(command, work, environ) for name, command in commands.items()} for _ in range(ROUNDS)]
        return {name: round(min(each[name] for each in rounds)) for name in commands}


async def fill(file: Path, work: Path, runs: int) -> None:
    """Half of the runs are in the folder, the others in fifty other folders. Every third one was undone."""
    file.parent.mkdir(parents=True)
    journal = SqliteJournal(file)
    call = e.ModelAnswered(purpose="act", prompt="0" * 64, answer="0" * 64, prompt_tokens=4000, cost_usd=0.01)
    end = [e.StageEntered(stage=Stage.FAILED), e.RunEnded(outcome=Outcome(verdict=Verdict.FAILED, summary="no"))]
    undone = e.RolledBack(step_id="", snapshot="0" * 64, paths=("report.py",), by="me", scope="run")
    for number in range(runs):
        folder = work if number % 2 else work.parent / f"other{number % 100}"
        created = e.RunCreated(
            run_id=f"0101-{number:06}-aaaa",
            task=Task(text="do something", workspace=str(folder)),
            config=ExecutionConfig(),
            model="scripted",
            surefoot="0",
        )
        await journal.append(created.run_id, [created, *[call] * CALLS, *end, *([] if number % 3 else [undone])])
    await journal.aclose()


def cpu_ms(command: tuple[str, ...], work: Path, environ: dict[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=work, env=environ, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


if __name__ == "__main__":
    main()
