"""Measure the CPU time of `surefoot list` in a journal with many runs: python benchmarks/listing.py [RUNS]

It is compared with `surefoot --help`, which reads no journal, and with a Python process that only imports pydantic.
"""

import asyncio
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


def main(runs: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        work, home = Path(folder, "work").resolve(), Path(folder, "home")
        work.mkdir()
        asyncio.run(fill(home / "journal.sqlite", work, runs))
        environ = {**os.environ, "SUREFOOT_HOME": str(home)}
        for name, command in (
            (f"list, {runs:,} runs", (*SUREFOOT, "list")),
            (f"list --all -n {runs}", (*SUREFOOT, "list", "--all", "-n", str(runs))),
            ("--help", (*SUREFOOT, "--help")),
            ("import pydantic", (sys.executable, "-c", "from pydantic import BaseModel")),
        ):
            print(f"{name:24} {min(cpu_ms(command, work, environ) for _ in range(ROUNDS)):6.0f} ms")


async def fill(file: Path, work: Path, runs: int) -> None:
    """Half of the runs are in the folder, the others in fifty other folders."""
    file.parent.mkdir(parents=True)
    journal = SqliteJournal(file)
    call = e.ModelAnswered(purpose="act", prompt="0" * 64, answer="0" * 64, prompt_tokens=4000, cost_usd=0.01)
    end = [e.StageEntered(stage=Stage.FAILED), e.RunEnded(outcome=Outcome(verdict=Verdict.FAILED, summary="no"))]
    for number in range(runs):
        folder = work if number % 2 else work.parent / f"other{number % 100}"
        created = e.RunCreated(
            run_id=f"0101-{number:06}-aaaa",
            task=Task(text="do something", workspace=str(folder)),
            config=ExecutionConfig(),
            model="scripted",
            surefoot="0",
        )
        await journal.append(created.run_id, [created, *[call] * CALLS, *end])
    await journal.aclose()


def cpu_ms(command: tuple[str, ...], work: Path, environ: dict[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=work, env=environ, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
