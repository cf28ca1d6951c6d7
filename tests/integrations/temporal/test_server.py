"""The page's server shows remote runs, and its answers reach the workers."""

import asyncio
import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from server.conftest import Client
from support.farm import Farm
from support.workers import chain, require_sound
from surefoot.config.workers import read_workers
from surefoot.integrations.temporal.client import connect
from surefoot.integrations.temporal.names import workflow_id

pytestmark = [pytest.mark.slow]


class ServeProcess:
    """`surefoot serve` in a process of its own."""

    def __init__(self, farm: Farm, home: Path) -> None:
        libc = ctypes.CDLL(None)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "surefoot", "serve", "--no-open", "--port", "0"],
            cwd=farm.project,
            env={**os.environ, "SUREFOOT_HOME": str(home)},
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: libc.prctl(1, signal.SIGKILL),
        )
        assert self.process.stdout is not None
        link, _, self._token = self.process.stdout.readline().strip().partition("#t=")
        self.base = link.rstrip("/")

    def token(self, scope: str = "control") -> str:
        assert scope == "control"
        return self._token

    def ask(self, path: str, body: dict[str, Any] | None = None) -> Any:
        request = urllib.request.Request(
            f"{self.base}{path}",
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture
def serve(farm: Farm) -> Iterator[ServeProcess]:
    process = ServeProcess(farm, farm.folder / "server")
    yield process
    process.end()


@pytest.fixture
def second(farm: Farm, serve: ServeProcess) -> Iterator[ServeProcess]:
    """A server with a home of its own, as on another machine, and the tokens of the first."""
    tokens = Path("server", "tokens.json")
    (farm.folder / "second" / "server").mkdir(parents=True)
    shutil.copy(farm.folder / "server" / tokens, farm.folder / "second" / tokens)
    process = ServeProcess(farm, farm.folder / "second")
    yield process
    process.end()


async def waiting_run(farm: Farm) -> tuple[str, str]:
    """A run whose question waits for an answer, and the question."""
    farm.add_worker().wait_until_ready()
    run_id = await farm.start_run(chain(farm.witness, seconds=0, confirm="s2"))
    await asyncio.to_thread(farm.journals.wait_until_all_wait, 1, farm.workers)
    (question,) = farm.journals.state(run_id).open_questions
    return run_id, question.id


@pytest.mark.req("X6")
async def test_an_answer_on_the_page_reaches_a_worker(farm: Farm, serve: ServeProcess) -> None:
    run_id, question = await waiting_run(farm)
    client = await connect(read_workers())
    assert run_id in json.dumps(await asyncio.to_thread(serve.ask, "/api/runs"))
    command = {"command": "answer", "commandId": "1", "question": question, "answer": "yes"}
    accepted = await asyncio.to_thread(serve.ask, f"/api/runs/{run_id}/commands", command)
    assert accepted["accepted"], accepted
    assert (await client.get_workflow_handle(workflow_id(run_id)).result())["ended"]
    require_sound(farm.journals, run_id, farm.witness)


@pytest.mark.req("X6")
async def test_an_answer_on_one_server_is_seen_on_the_other(
    farm: Farm, serve: ServeProcess, second: ServeProcess
) -> None:
    """Both over one database, without Redis. Nobody sends anything to the second server: it reads the journal."""
    run_id, question = await waiting_run(farm)
    clients, key = [Client(serve), Client(second)], f"question:{question}"
    for client in clients:
        await client.connect()
        await client.call("run:watch", run=run_id)
        await client.until(lambda client=client: key in client.rows)
        assert client.rows[key]["answer"] is None
    command = {"command": "answer", "commandId": "1", "question": question, "answer": "yes"}
    accepted = await asyncio.to_thread(serve.ask, f"/api/runs/{run_id}/commands", command)
    assert accepted["accepted"], accepted
    for client in clients:
        await client.until(lambda client=client: client.rows["run"]["verdict"])
        assert client.rows[key]["answer"] == "yes"
        assert client.snapshots == 1, "the answer came by itself"
        await client.io.disconnect()
    listed = [await asyncio.to_thread(one.ask, "/api/runs") for one in (serve, second)]
    assert [[row["id"] for row in one["runs"]] for one in listed] == [[run_id]] * 2
