"""The page's server shows remote runs, and its answers reach the workers."""

import asyncio
import ctypes
import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from support.farm import Farm
from support.workers import chain, require_sound
from surefoot.config.workers import read_workers
from surefoot.integrations.temporal.client import connect
from surefoot.integrations.temporal.names import workflow_id

pytestmark = [pytest.mark.servers]


class ServeProcess:
    """`surefoot serve` in a process of its own."""

    def __init__(self, farm: Farm) -> None:
        libc = ctypes.CDLL(None)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "surefoot", "serve", "--no-open", "--port", "0"],
            cwd=farm.project,
            env=os.environ,
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: libc.prctl(1, signal.SIGKILL),
        )
        assert self.process.stdout is not None
        self.link = self.process.stdout.readline().strip()

    def ask(self, path: str, body: dict[str, Any] | None = None) -> Any:
        address, _, fragment = self.link.partition("#")
        token = fragment.removeprefix("t=")
        request = urllib.request.Request(
            f"{address.rstrip('/')}{path}",
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)


@pytest.fixture
def serve(farm: Farm) -> Iterator[ServeProcess]:
    process = ServeProcess(farm)
    yield process
    process.process.kill()
    process.process.wait()


@pytest.mark.req("X6")
async def test_an_answer_on_the_page_reaches_a_worker(farm: Farm, serve: ServeProcess) -> None:
    farm.add_worker().wait_until_ready()
    run_id = await farm.start_run(chain(farm.witness, seconds=0, confirm="s2"))
    client = await connect(read_workers())
    await asyncio.to_thread(farm.journals.wait_for, "question_asked", 1, farm.workers)
    while farm.journals.state(run_id).stage != "waiting":  # noqa: ASYNC110
        await asyncio.sleep(0.1)
    assert run_id in json.dumps(await asyncio.to_thread(serve.ask, "/api/runs"))
    (question,) = farm.journals.state(run_id).open_questions
    command = {"command": "answer", "commandId": "1", "question": question.id, "answer": "yes"}
    accepted = await asyncio.to_thread(serve.ask, f"/api/runs/{run_id}/commands", command)
    assert accepted["accepted"], accepted
    assert (await client.get_workflow_handle(workflow_id(run_id)).result())["ended"]
    require_sound(farm.journals, run_id, farm.witness)
