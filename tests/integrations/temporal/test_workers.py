"""Workers with a real Temporal server and a real PostgreSQL: processes are killed, stopped and replaced.

In all of these, every run ends once, no step that is recorded as done is done again, and nobody writes to a run that
another process has taken over.
"""

import asyncio
import os
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import surefoot
from support.farm import Farm
from support.s3 import S3Server
from support.temporal import TemporalServer
from support.workers import STEPS, WorkerProcess, chain, require_sound
from surefoot.config.workers import read_workers
from surefoot.integrations.temporal.client import connect, hand_over
from surefoot.integrations.temporal.names import workflow_id
from surefoot.journal import events as e

pytestmark = [pytest.mark.servers]
MANY = [pytest.param(4, id="4 runs"), pytest.param(50, id="50 runs", marks=pytest.mark.nightly)]


async def finish(farm: Farm, run_ids: list[str]) -> int:
    """Wait until the workflow of every run has ended, and require that all is well. Returns repeated steps."""
    client = await connect(read_workers())
    for run_id in run_ids:
        found = await client.get_workflow_handle(workflow_id(run_id)).result()
        assert found["ended"], found
    repeated = sum(require_sound(farm.journals, run_id, farm.witness) for run_id in run_ids)
    for run_id in run_ids:
        assert farm.file_of(run_id, "log.txt") == "".join(f"s{number}\n" for number in range(1, STEPS + 1))
    print(f"{len(run_ids)} runs, {repeated} of {len(run_ids) * STEPS} steps were begun again")
    return repeated


async def two_workers(farm: Farm, count: int) -> tuple[list[str], WorkerProcess]:
    """Two workers that are half-way through all steps of so many runs, and the one that drives more of them now."""
    plan = chain(farm.witness, seconds=0.5)
    run_ids = [await farm.start_run(plan) for _ in range(count)]
    for _ in range(2):
        farm.add_worker(runs=min(max(count // 2, 2), 8))
    await asyncio.to_thread(farm.journals.wait_for, "step_finished", count * STEPS // 2, farm.workers)
    busy = max(farm.workers, key=lambda worker: len(worker.runs()))
    assert busy.runs()
    return run_ids, busy


@pytest.mark.req("X6")
@pytest.mark.parametrize("count", MANY)
async def test_a_worker_is_killed(farm: Farm, count: int) -> None:
    run_ids, busy = await two_workers(farm, count)
    busy.end(signal.SIGKILL)
    held = busy.runs()
    resumed = sum(farm.journals.count_of(run_id, "run_resumed") for run_id in held)
    await finish(farm, run_ids)
    assert sum(farm.journals.count_of(run_id, "run_resumed") for run_id in held) > resumed, "another worker went on"


@pytest.mark.req("X6")
@pytest.mark.parametrize("count", MANY)
async def test_a_worker_is_stopped_for_longer_than_its_leases(farm: Farm, count: int) -> None:
    run_ids, stopped = await two_workers(farm, count)
    stopped.send(signal.SIGSTOP)
    before = farm.journals.count("run_resumed")
    # It goes on when the other worker has taken over a run that it had begun.
    await asyncio.to_thread(farm.journals.wait_for, "run_resumed", before + 1, farm.workers)
    stopped.send(signal.SIGCONT)
    await finish(farm, run_ids)
    # It was only late, so it takes new runs.
    for worker in farm.workers:
        if worker is not stopped:
            worker.end(signal.SIGTERM)
    await finish(farm, [await farm.start_run()])


@pytest.mark.req("X6")
@pytest.mark.parametrize("count", MANY)
async def test_temporal_is_killed_and_restarted(farm: Farm, temporal: TemporalServer, count: int) -> None:
    run_ids, _ = await two_workers(farm, count)
    temporal.kill()
    # Longer than a heartbeat may be late, so that the server must ask other workers when it is back.
    await asyncio.sleep(6)
    # Not in another thread: the server ends with the thread that started it.
    temporal.start()
    await finish(farm, run_ids)


@pytest.mark.req("X6")
@pytest.mark.parametrize("count", MANY)
async def test_the_code_changes_while_runs_wait(farm: Farm, count: int) -> None:
    for _ in range(2):
        farm.add_worker()
    for worker in farm.workers:
        worker.wait_until_ready()
    run_ids = [await farm.start_run(chain(farm.witness, confirm="s3")) for _ in range(count)]
    await asyncio.to_thread(farm.journals.wait_for, "question_asked", count, farm.workers)
    assert [worker.end(signal.SIGTERM) for worker in farm.workers] == [0, 0]
    farm.add_worker(source=changed_source(farm.folder)).wait_until_ready()
    for run_id in run_ids:
        await asyncio.to_thread(command, "answer", run_id, "--answer", "yes")
    await finish(farm, run_ids)
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
        # The other worker has nothing of the first one's disk.
        farm.add_worker()
        await finish(farm, run_ids)
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
