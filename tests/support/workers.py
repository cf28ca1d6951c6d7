"""Worker processes for tests, each with folders of its own as if it had a machine of its own."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import psycopg

from surefoot.core.plan import DetailedPlan, ExecutionStep, StepDependency
from surefoot.core.transitions import StepStatus
from surefoot.journal import events as e
from surefoot.journal.reducers import fold
from surefoot.journal.state import RunState
from surefoot.journal.store.postgres.reading import PostgresReader

STEPS = 5
_DEATH_SIGNAL = 1


class WorkerProcess:
    """`surefoot worker` in a process of its own."""

    def __init__(self, folder: Path, environ: dict[str, str], *, runs: int = 4, source: Path | None = None) -> None:
        self.folder, libc = folder, ctypes.CDLL(None)
        folder.mkdir(parents=True, exist_ok=True)
        own = {"SUREFOOT_HOME": str(folder / "home"), "SUREFOOT_CACHE": str(folder / "cache"), "HOME": str(folder)}
        if source is not None:
            own["PYTHONPATH"] = str(source)
        self._log = folder / f"log-{time.monotonic_ns()}"
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "surefoot", "worker", "--runs", str(runs)],
                cwd=folder,
                env={**os.environ, **environ, **own},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                preexec_fn=lambda: libc.prctl(_DEATH_SIGNAL, signal.SIGKILL),
            )

    def wait_until_ready(self) -> "WorkerProcess":
        while "driving up to" not in self.log():
            assert self.process.poll() is None, self.log()
            time.sleep(0.05)
        return self

    def log(self) -> str:
        return self._log.read_text("utf-8", "replace")

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def stop(self) -> None:
        """Stop it, as SIGSTOP does, and wait until none of its threads runs."""
        self.send(signal.SIGSTOP)
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def end(self, number: signal.Signals = signal.SIGKILL) -> int:
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait()


def chain(witness: Path, *, seconds: float = 0.2, confirm: str = "") -> DetailedPlan:
    """Five steps in a row. Each adds a line to a file of the workspace, and one to a file outside of it."""
    ids = [f"s{number}" for number in range(1, STEPS + 1)]
    steps = tuple(
        ExecutionStep(
            id=step_id,
            sequence=number,
            name=f"step {number}",
            tool="run_command",
            parameters={
                "command": f"echo $(basename $(dirname $PWD)) {step_id} >> {witness}; sleep {seconds}; "
                f"echo {step_id} >> log.txt"
            },
            requires_confirmation=step_id == confirm,
        )
        for number, step_id in enumerate(ids)
    )
    waits = tuple(StepDependency(step_id=b, depends_on=a) for a, b in pairwise(ids))
    return DetailedPlan(steps=steps, dependencies=waits)


class Hold(NamedTuple):
    """A run that a worker has begun to drive, and the lease that it has on it."""

    run_id: str
    fence: int
    lease_until: float


@dataclass(frozen=True)
class Journals:
    """What tests read in the database while others write there."""

    url: str

    def records(self, run_id: str) -> list[e.Record]:
        reader = PostgresReader(self.url, None)
        try:
            return list(reader.read(run_id))
        finally:
            reader.close()

    def state(self, run_id: str) -> RunState:
        return fold(self.records(run_id))

    def count(self, kind: str) -> int:
        with psycopg.connect(self.url) as connection:
            row = connection.execute("SELECT count(*) FROM surefoot.events WHERE kind = %s", (kind,)).fetchone()
        assert row is not None
        return int(row[0])

    def count_of(self, run_id: str, kind: str) -> int:
        return sum(record.event.type == kind for record in self.records(run_id))

    def wait_for(self, kind: str, count: int, workers: Sequence[WorkerProcess] = ()) -> None:
        """Wait until there are this many events of a kind in all runs."""
        while self.count(kind) < count:
            require_alive(workers)
            time.sleep(0.1)

    def wait_until_all_wait(self, count: int, workers: Sequence[WorkerProcess]) -> None:
        """Wait until this many runs have been put aside with a question."""
        sql = "SELECT count(*) FROM surefoot.runs WHERE stage = 'waiting' AND lease_until IS NULL"
        with psycopg.connect(self.url, autocommit=True) as connection:
            while connection.execute(sql).fetchone() != (count,):
                require_alive(workers)
                time.sleep(0.1)

    def held_by(self, worker: WorkerProcess) -> list[Hold]:
        """The runs that a worker has resumed and not ended, put aside or lost."""
        sql = (
            "SELECT run_id, r.fence, extract(epoch FROM lease_until)::double precision "
            "FROM surefoot.runs r JOIN surefoot.events e ON e.run = r.number AND e.fence = r.fence "
            "WHERE owner LIKE %s AND lease_until IS NOT NULL AND verdict IS NULL AND kind = 'run_resumed'"
        )
        with psycopg.connect(self.url) as connection:
            return [Hold(*row) for row in connection.execute(sql, (f"process {worker.process.pid} on %",))]

    def wait_until_taken_over(self, held: Sequence[Hold], workers: Sequence[WorkerProcess]) -> dict[str, float]:
        """Wait until another owner has resumed the runs. Returns when it did, for each.

        Without those whose end was on its way to the database when their owner was stopped or killed.
        """
        while len(found := self._since(held)) < len(held):
            require_alive(workers)
            time.sleep(0.1)
        return {run_id: at for run_id, (kind, at) in found.items() if kind == "run_resumed"}

    def _since(self, held: Sequence[Hold]) -> dict[str, tuple[str, float]]:
        """The first event by which a run was taken over from its owner, or was ended by it."""
        sql = (
            "SELECT DISTINCT ON (run_id) run_id, kind, at FROM surefoot.events e "
            "JOIN surefoot.runs r ON r.number = e.run "
            "JOIN unnest(%s::text[], %s::bigint[]) AS h(id, held) ON id = run_id "
            "WHERE (kind = 'run_resumed' AND e.fence > held) OR (kind = 'run_ended' AND e.fence = held) "
            "ORDER BY run_id, seq"
        )
        ids, numbers = [hold.run_id for hold in held], [hold.fence for hold in held]
        with psycopg.connect(self.url) as connection:
            return {run_id: (kind, at) for run_id, kind, at in connection.execute(sql, (ids, numbers))}

    def fences(self, run_id: str) -> list[tuple[int, str, int]]:
        """Number, kind and fence of the events of a run."""
        sql = (
            "SELECT seq, kind, e.fence FROM surefoot.events e JOIN surefoot.runs r ON r.number = e.run "
            "WHERE run_id = %s ORDER BY seq"
        )
        with psycopg.connect(self.url) as connection:
            return [(seq, kind, fence) for seq, kind, fence in connection.execute(sql, (run_id,))]


def require_alive(workers: Sequence[WorkerProcess]) -> None:
    assert not workers or any(worker.process.poll() is None for worker in workers), workers[0].log()


def require_sound(journals: Journals, run_id: str, witness: Path) -> int:
    """Require that a run ended once, did no finished step again, and was written by one owner at a time.

    Returns how many times a step was begun again.
    """
    records = journals.records(run_id)
    events = [record.event for record in records]
    assert sum(isinstance(event, e.RunEnded) for event in events) == 1, [event.type for event in events]
    state = fold(records)
    assert state.outcome is not None
    assert state.stage == "completed", state.outcome
    assert [run.status for run in state.steps.values()] == [StepStatus.SUCCEEDED] * STEPS
    done: set[str] = set()
    for event in events:
        if isinstance(event, e.ActionStarted):
            assert event.step_id not in done, f"{event.step_id} was done and began again"
        if isinstance(event, e.StepFinished) and event.status is StepStatus.SUCCEEDED:
            done.add(event.step_id)
    fences = journals.fences(run_id)
    assert [seq for seq, _, _ in fences] == list(range(1, len(fences) + 1))
    numbers = [fence for _, _, fence in fences]
    assert numbers == sorted(numbers), "an owner wrote after it had lost the run"
    resumed = [fence for _, kind, fence in fences if kind == "run_resumed"]
    assert len(resumed) == len(set(resumed)), "two drives wrote under one fence"
    lines = witness.read_text().splitlines()
    begun = sum(isinstance(event, e.ActionStarted) for event in events)
    seen = [line for line in lines if line.startswith(f"{run_id} ")]
    # A command that was killed between its intent and its first line leaves none.
    assert STEPS <= len(seen) <= begun, (seen, begun)
    return begun - STEPS
