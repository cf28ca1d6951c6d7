"""Workers with a real Temporal server and a real PostgreSQL: processes are killed, stopped and replaced.

In all of these, every run ends once, no step that is recorded as done is done again, and nobody writes to a run that
another process has taken over.
"""

import asyncio
import math
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import surefoot
from support.farm import LEASE_SECONDS, Farm
from support.s3 import S3Server
from support.temporal import TemporalServer
from support.workers import STEPS, WorkerProcess, chain, require_sound
from surefoot.config.workers import read_workers
from surefoot.integrations.temporal.client import connect, hand_over
from surefoot.integrations.temporal.names import workflow_id
from surefoot.journal import events as e

pytestmark = [pytest.mark.slow]
MANY = [pytest.param(4, id="4 runs"), pytest.param(50, id="50 runs", marks=pytest.mark.nightly)]


Noting = Callable[[str, object], None]
"""The fixture record_property: the end of a test run prints what was noted, and --junitxml stores it."""


async def finish(farm: Farm, run_ids: list[str]) -> int:
    """Wait until the workflow of every run has ended, and require that all is well. Returns repeated steps."""
    client = await connect(read_workers())
    for run_id in run_ids:
        found = await client.get_workflow_handle(workflow_id(run_id)).result()
        assert found["ended"], found
    repeated = sum(require_sound(farm.journals, run_id, farm.witness) for run_id in run_ids)
    for run_id in run_ids:
        assert farm.file_of(run_id, "log.txt") == "".join(f"s{number}\n" for number in range(1, STEPS + 1))
    return repeated


def note(record_property: Noting, what: str, count: int, repeated: int, more: str = "") -> None:
    record_property(
        "figure", f"{what}, {count} runs: {repeated} of {count * STEPS} steps were begun again, no run was lost{more}"
    )


async def two_workers(farm: Farm, count: int) -> tuple[list[str], WorkerProcess]:
    """Two workers that are half-way through all steps of so many runs, and the one that drives more of them now."""
    for _ in range(2):
        farm.add_worker(runs=min(max(count // 2, 2), 8))
    for worker in farm.workers:
        worker.wait_until_ready()
    plan = chain(farm.witness, seconds=0.5)
    run_ids = [await farm.start_run(plan) for _ in range(count)]
    await asyncio.to_thread(farm.journals.wait_for, "step_finished", count * STEPS // 2, farm.workers)
    return run_ids, max(farm.workers, key=lambda worker: len(farm.journals.held_by(worker)))


@pytest.mark.req("X6")
@pytest.mark.parametrize("count", MANY)
async def test_a_worker_is_killed(farm: Farm, count: int, record_property: Noting) -> None:
    run_ids, busy = await two_workers(farm, count)
    busy.end(signal.SIGKILL)
    held = farm.journals.held_by(busy)
    repeated = await finish(farm, run_ids)
    taken = farm.journals.wait_until_taken_over(held, farm.workers)
    assert taken, "another worker went on with runs that the killed one had begun"
    note(record_property, "a worker is killed", count, repeated, f", {len(taken)} were taken over")


@pytest.mark.req("X6")
@pytest.mark.parametrize("count", MANY)
async def test_a_worker_is_stopped_for_longer_than_its_leases(farm: Farm, count: int, record_property: Noting) -> None:
    run_ids, late = await two_workers(farm, count)
    late.stop()
    began = time.monotonic()
    held = farm.journals.held_by(late)
    # It goes on when the other worker has taken over all runs that it had begun, and its leases have ended.
    taken = await asyncio.to_thread(farm.journals.wait_until_taken_over, held, farm.workers)
    await asyncio.sleep(began + LEASE_SECONDS + 0.1 - time.monotonic())
    seconds = time.monotonic() - began
    late.send(signal.SIGCONT)
    repeated = await finish(farm, run_ids)
    assert taken, "another worker went on with runs that the stopped one had begun"
    assert seconds > LEASE_SECONDS
    for hold in held:
        assert taken.get(hold.run_id, math.inf) > hold.lease_until, "nobody took over a run before its lease ended"
    # It was only late, so it takes new runs.
    for worker in farm.workers:
        if worker is not late:
            worker.end(signal.SIGTERM)
    await finish(farm, [await farm.start_run()])
    more = f", {len(taken)} were taken over, it was stopped for {seconds:.0f} s"
    note(record_property, "a worker is stopped", count, repeated, more)


@pytest.mark.req("X6")
@pytest.mark.parametrize("count", MANY)
async def test_temporal_is_killed_and_restarted(
    farm: Farm, temporal: TemporalServer, count: int, record_property: Noting
) -> None:
    run_ids, busy = await two_workers(farm, count)
    temporal.kill()
    held = farm.journals.held_by(busy)
    # Longer than a heartbeat may be late, so that the server must ask other workers when it is back.
    await asyncio.sleep(6)
    taken = await asyncio.to_thread(farm.journals.wait_until_taken_over, held, farm.workers)
    # Not in another thread: the server ends with the thread that started it.
    temporal.start()
    repeated = await finish(farm, run_ids)
    assert held, "runs were being driven when it was killed"
    assert not taken, "they ended without it"
    note(record_property, "Temporal is killed and restarted", count, repeated)


@pytest.mark.req("X6")
@pytest.mark.parametrize("count", MANY)
async def test_the_code_changes_while_runs_wait(farm: Farm, count: int, record_property: Noting) -> None:
    for _ in range(2):
        farm.add_worker()
    for worker in farm.workers:
        worker.wait_until_ready()
    run_ids = [await farm.start_run(chain(farm.witness, confirm="s3")) for _ in range(count)]
    await asyncio.to_thread(farm.journals.wait_until_all_wait, count, farm.workers)
    assert [worker.end(signal.SIGTERM) for worker in farm.workers] == [0, 0]
    farm.add_worker(source=changed_source(farm.folder)).wait_until_ready()
    for run_id in run_ids:
        await asyncio.to_thread(command, "answer", run_id, "--answer", "yes")
    note(record_property, "the engine is replaced", count, await finish(farm, run_ids))
    for run_id in run_ids:
        records = farm.journals.records(run_id)
        changed = [
            record.event.surefoot.endswith("+changed") for record in records if isinstance(record.event, e.RunResumed)
        ]
        # On a busy machine a run may have been taken over before it waited.
        assert changed == sorted(changed)
        assert changed[-1]
        actions = [record.event.action_id for record in records if isinstance(record.event, e.ActionStarted)]
        assert {action.partition(".")[0] for action in actions if "changed" in action} == {"s3", "s4", "s5"}
        assert {action.partition(".")[0] for action in actions if "changed" not in action} == {"s1", "s2"}


def changed_source(folder: Path) -> Path:
    """Another version of the package, with a changed engine."""
    source = folder / "changed"
    shutil.copytree(Path(surefoot.__file__).parent, source / "surefoot")
    for name, old, new in (
        ("_version.py", '"\n', '+changed"\n'),
        ("engine/executor/action.py", 'f"{step_id}.a{run', 'f"{step_id}.changed{run'),
    ):
        path = source / "surefoot" / name
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1) if name != "_version.py" else new.join(text.rsplit(old, 1)))
    return source


@pytest.mark.req("X6")
async def test_a_run_whose_large_files_are_in_a_bucket_is_taken_over(
    farm: Farm, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = S3Server()
    bucket = server.make_bucket("runs", "team")
    for name, value in {"SUREFOOT_OBJECTS": "s3://runs/team", **server.environ()}.items():
        monkeypatch.setenv(name, value)
    large = random.Random(1).randbytes(300_000).hex()
    (farm.project / "large.txt").write_text(large)
    try:
        run_ids = [await farm.start_run(chain(farm.witness, seconds=0.5)) for _ in range(2)]
        assert list(bucket.list()), "the large file is in the bucket"
        farm.add_worker()
        await asyncio.to_thread(farm.journals.wait_for, "step_finished", STEPS, farm.workers)
        farm.workers[0].end(signal.SIGKILL)
        held = farm.journals.held_by(farm.workers[0])
        # The other worker has nothing of the first one's disk.
        farm.add_worker()
        await finish(farm, run_ids)
        assert farm.journals.wait_until_taken_over(held, farm.workers)
        assert [farm.file_of(run_id, "large.txt") for run_id in run_ids] == [large] * 2
    finally:
        farm.close()
        bucket.close()
        server.stop()


@pytest.mark.req("X6")
async def test_a_worker_that_is_asked_to_end_leaves_its_run_to_another(farm: Farm) -> None:
    farm.add_worker().wait_until_ready()
    run_id = await farm.start_run(chain(farm.witness, seconds=1))
    await asyncio.to_thread(farm.journals.wait_for, "step_finished", 1, farm.workers)
    assert farm.workers[0].end(signal.SIGTERM) == 0
    interrupted = farm.journals.state(run_id)
    assert interrupted.outcome is None
    assert not (farm.workers[0].folder / "cache" / "remote" / run_id).exists()
    farm.add_worker()
    await finish(farm, [run_id])


@pytest.mark.req("X6")
async def test_a_question_times_out_while_no_worker_drives_the_run(farm: Farm) -> None:
    farm.add_worker().wait_until_ready()
    run_id = await farm.start_run(chain(farm.witness, seconds=0, confirm="s2"), question_timeout_seconds=2)
    client = await connect(read_workers())
    found = await client.get_workflow_handle(workflow_id(run_id)).result()
    state = farm.journals.state(run_id)
    assert state.outcome is not None
    assert found == {"ended": True, "verdict": state.outcome.verdict}
    assert [question.by for question in state.questions.values()] == ["nobody"]


@pytest.mark.req("X6")
async def test_a_cancelled_workflow_stops_the_run_and_a_person_can_go_on(farm: Farm) -> None:
    farm.add_worker().wait_until_ready()
    run_id = await farm.start_run(chain(farm.witness, seconds=1))
    await asyncio.to_thread(farm.journals.wait_for, "step_finished", 1, farm.workers)
    client = await connect(read_workers())
    await client.get_workflow_handle(workflow_id(run_id)).cancel()
    await asyncio.to_thread(farm.journals.wait_for, "run_interrupted", 1, farm.workers)
    await asyncio.to_thread(command, "resume", run_id)
    await finish(farm, [run_id])


@pytest.mark.req("X6")
async def test_a_late_message_does_not_revive_a_run_that_has_ended(farm: Farm) -> None:
    farm.add_worker().wait_until_ready()
    run_id = await farm.start_run(chain(farm.witness, seconds=0))
    await finish(farm, [run_id])
    events = len(farm.journals.records(run_id))
    await hand_over(run_id)
    await finish(farm, [run_id])
    assert len(farm.journals.records(run_id)) == events


def command(*words: str) -> str:
    """The output of a command of the client."""
    done = subprocess.run(
        [sys.executable, "-m", "surefoot", *words], env=os.environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
