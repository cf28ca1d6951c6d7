"""Measure `surefoot stats` in a journal with many runs: python benchmarks/stats.py [RUNS]

It is compared with `surefoot list` of the same runs, with folding every run, and with a count in plain SQL.
"""

import asyncio
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import apsw

from surefoot.config.model import ExecutionConfig
from surefoot.core.outcome import (
    CheckResult,
    ErrorCategory,
    Failure,
    FailureKind,
    Outcome,
    StepReflection,
    Verdict,
)
from surefoot.core.phases import ExecutionPhase
from surefoot.core.plan import CommandCheck, DetailedPlan, ExecutionStep
from surefoot.core.proof import ProofLevel
from surefoot.core.task import Task
from surefoot.core.transitions import Rung, Stage, StepStatus
from surefoot.engine.planner.gate import skipped
from surefoot.history.stats.read import read_statistics
from surefoot.journal import events as e
from surefoot.journal.reducers import fold
from surefoot.journal.store.reading import JournalReader
from surefoot.journal.store.sqlite import SqliteJournal

ROUNDS = 5
SUREFOOT = (sys.executable, "-m", "surefoot")
MODELS = ("openai/gpt-5.4-mini", "anthropic/claude-sonnet-5", "local")
COMMANDS = (("pytest -q", 9_000), ("ruff check .", 400), ("mypy", 21_000), ("make lint", 3_000))
RUNGS = (Rung.ADJUST_PARAMETERS, Rung.RETRY_LATER, Rung.ALTERNATIVE_TOOL, Rung.CANDIDATES, Rung.REPAIR_STEP)
ENDS = (
    (0.55, Verdict.VERIFIED, ProofLevel.GIVEN_CHECK),
    (0.12, Verdict.UNVERIFIED, ProofLevel.OWN_TEST),
    (0.14, Verdict.UNVERIFIED, ProofLevel.NONE),
    (0.10, Verdict.FAILED, ProofLevel.NONE),
    (0.04, Verdict.BUDGET, ProofLevel.NONE),
    (0.02, Verdict.TIME, ProofLevel.NONE),
    (0.03, Verdict.CANCELLED, ProofLevel.NONE),
)


def main(runs: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        work, home = Path(folder, "work").resolve(), Path(folder, "home")
        work.mkdir()
        file = home / "journal.sqlite"
        asyncio.run(fill(file, work, runs))
        events, size = _count(file), file.stat().st_size
        print(f"{runs:,} runs, {events:,} events, {size / 1e6:.0f} MB")
        environ = {**os.environ, "SUREFOOT_HOME": str(home)}
        for name, command in (
            ("surefoot stats", (*SUREFOOT, "stats")),
            (f"surefoot list -n {runs}", (*SUREFOOT, "list", "-n", str(runs))),
            ("surefoot --help", (*SUREFOOT, "--help")),
        ):
            print(f"{name:28} {min(_cpu_ms(command, work, environ) for _ in range(ROUNDS)):7.0f} ms, CPU")
        reader = JournalReader(file, 5.0)
        known: dict[str, object] = {}
        for name, action in (
            ("read_statistics", lambda: read_statistics(reader)),
            ("the same again, in a server", lambda: read_statistics(reader, known=known)),  # type: ignore[arg-type]
            ("fold every run", lambda: [fold(reader.read(s.run_id, 0)) for s in reader.summaries(runs)]),
            ("count in plain SQL", lambda: _count(file)),
        ):
            action()
            print(f"{name:28} {min(_timed(action) for _ in range(ROUNDS)):7.0f} ms, in the process")


def _timed(action: object) -> float:
    began = time.process_time()
    action()  # type: ignore[operator]
    return (time.process_time() - began) * 1000


def _count(file: Path) -> int:
    connection = apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READONLY)
    rows = connection.execute("SELECT count(*) FROM events WHERE kind != ''").fetchall()
    connection.close()
    return int(rows[0][0])


def _cpu_ms(command: tuple[str, ...], work: Path, environ: dict[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=work, env=environ, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000


async def fill(file: Path, work: Path, runs: int, *, days: float = 30, seed: int = 1) -> None:
    """Write runs of about 60 events, spread over the last days, with results, recoveries and checks of all kinds."""
    file.parent.mkdir(parents=True, exist_ok=True)
    journal, dice = SqliteJournal(file), random.Random(seed)
    start = time.time() - days * 86_400
    for number in range(runs):
        clock = [start + days * 86_400 * (number + dice.random() * 0.5) / runs]
        with patch("surefoot.journal.store.sqlite.time.time", lambda clock=clock: clock[0]):
            run_id = f"{time.strftime('%m%d-%H%M%S', time.localtime(clock[0]))}-{number:04x}"
            for seconds, event in _run(run_id, work, dice):
                clock[0] += seconds
                journal.note(run_id, event)
            await journal.flush()
    await journal.aclose()


def _run(run_id: str, work: Path, dice: random.Random) -> Iterator[tuple[float, e.Event]]:
    """The events of one run, each with the seconds before it."""
    model = dice.choices(MODELS, (6, 3, 2))[0]
    speed = dice.lognormvariate(0, 0.8)
    task = Task(text="Add a --json flag to report.py and test it", workspace=str(work))
    yield 0, e.RunCreated(run_id=run_id, task=task, config=ExecutionConfig(), model=model, surefoot="0",
                          starts_at=Stage.EXECUTION, snapshot="0" * 64)  # fmt: skip
    steps = tuple(ExecutionStep(id=f"s{n}", name=f"Step {n}") for n in range(1, dice.randint(3, 6)))
    yield 1, e.PlanMade(result=skipped(ExecutionPhase.Planning(), "given", DetailedPlan(steps=steps)))
    _, verdict, proof = dice.choices(ENDS, [share for share, *_ in ENDS])[0]
    for step in steps:
        last = step is steps[-1] and verdict not in (Verdict.VERIFIED, Verdict.UNVERIFIED)
        yield from _step(step.id, model, speed, dice, fails=last)
    stage = Stage.FAILED if verdict not in (Verdict.VERIFIED, Verdict.UNVERIFIED) else Stage.COMPLETED
    if stage is Stage.COMPLETED:
        yield 1, e.StageEntered(stage=Stage.VALIDATION)
        yield 2, _checks("", "final", dice, passed=True)
    yield 1, e.StageEntered(stage=stage)
    yield 0, e.RunEnded(outcome=Outcome(verdict=verdict, proof=proof, summary="that is how it went"))


def _step(step: str, model: str, speed: float, dice: random.Random, *, fails: bool) -> Iterator[tuple[float, e.Event]]:
    attempt = 0
    while True:
        attempt += 1
        yield 0.1, e.StepStarted(step_id=step, attempt=attempt)
        for number in range(dice.randint(2, 4)):
            yield 4 * speed, _call(step, model, dice)
            action = f"{step}.a{attempt}{number}"
            yield 0, e.ActionStarted(action_id=action, step_id=step, tool="edit_file", arguments={"path": "report.py"})
            yield 1 * speed, e.ActionFinished(action_id=action, step_id=step, ok=True, summary="edited " * 20)
        broken = fails or (attempt < 5 and dice.random() < 0.15)
        yield 3 * speed, _checks(step, "after", dice, passed=not broken)
        if not broken:
            yield 0, e.StepFinished(step_id=step, status=StepStatus.SUCCEEDED, attempt=attempt, duration_ms=9_000)
            return
        kind = dice.choice((FailureKind.CHECK_FAILED, FailureKind.CHECK_FAILED, FailureKind.TOOL_ERROR))
        failure = Failure(kind=kind, message="1 failed", evidence="AssertionError: assert 1 == 2\n" * 5)
        yield 0, e.StepFinished(step_id=step, status=StepStatus.FAILED, attempt=attempt, failure=failure)
        cause = StepReflection(category=dice.choice(list(ErrorCategory)), root_cause="the flag is missing")
        yield 0, e.StageEntered(stage=Stage.RECOVERY)
        yield 0, e.Reflected(step_id=step, reflection=cause)
        over = fails and attempt == 3
        rung = Rung.GIVE_UP if over else dice.choices(RUNGS, (10, 4, 2, 2, 3))[0]
        yield 0, e.RungChosen(step_id=step, rung=rung, why="another try")
        if over:
            return
        yield 0, e.StepReset(step_id=step, rung=rung)
        yield 0, e.StageEntered(stage=Stage.EXECUTION)


def _call(step: str, model: str, dice: random.Random) -> e.ModelAnswered:
    prompt, output = dice.randint(2_000, 30_000), dice.randint(100, 900)
    price = {"local": 0.0, MODELS[0]: 0.25}.get(model, 3.0)
    return e.ModelAnswered(
        purpose="act",
        step_id=step,
        prompt="0" * 64,
        answer="1" * 64,
        prompt_tokens=prompt,
        cached_tokens=int(prompt * dice.random() * 0.9),
        output_tokens=output,
        cost_usd=(prompt * price + output * price * 5) / 1e6,
        duration_ms=4_000,
    )


def _checks(step: str, when: str, dice: random.Random, *, passed: bool) -> e.ChecksRan:
    results = []
    for command, typical in dice.sample(COMMANDS, dice.randint(1, 2)):
        took = int(typical * dice.lognormvariate(0, 0.4))
        results.append(CheckResult(check=CommandCheck(command=command, origin="user"), passed=passed, duration_ms=took,
                                   detail="12 passed in 3.2s\n" * 4, tree="2" * 64))  # fmt: skip
    return e.ChecksRan(step_id=step, when=when, results=tuple(results))  # type: ignore[arg-type]


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000)
