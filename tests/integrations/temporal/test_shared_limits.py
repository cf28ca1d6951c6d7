"""Shared limits of a model, end to end: worker processes, a database, and a model server that counts."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from support.farm import Farm
from support.kit import steps
from support.loopback import Request
from support.wire import Call, Said, scripted
from surefoot.config.workers import read_workers
from surefoot.core.plan import ExecutionStep
from surefoot.integrations.temporal.client import connect
from surefoot.integrations.temporal.names import workflow_id

pytestmark = [pytest.mark.slow]
LIMIT, RUNS = 2, 4
PLAN = steps(*(ExecutionStep(id=name, name=f"Think about {name}") for name in ("bread", "salt")))


class Counted:
    """Requests that are being answered. The first waits for a second, so that there are two at a time at least once."""

    def __init__(self) -> None:
        self.now = self.peak = self.all = 0
        self._enough = asyncio.Event()

    @asynccontextmanager
    async def around(self, request: Request) -> AsyncIterator[None]:
        if request.method != "POST":
            yield
            return
        self.all += 1
        self.now += 1
        self.peak = max(self.peak, self.now)
        if self.now >= LIMIT:
            self._enough.set()
        try:
            await self._enough.wait()
            # Time for a call that does not wait for its turn.
            await asyncio.sleep(0.5)
            yield
        finally:
            self.now -= 1


@pytest.mark.req("X6")
async def test_two_workers_together_never_ask_more_often_than_allowed(
    farm: Farm, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = Counted()
    async with scripted(Said(calls=(Call("finish_step", {"summary": "thought about it"}),))) as server:
        server.around = counted.around
        monkeypatch.setenv("SUREFOOT_MODEL__CONCURRENT_CALLS", str(LIMIT))
        farm.environ["SUREFOOT_MODEL"] = f"{server.address}/v1#counted"
        for _ in range(2):
            farm.add_worker(runs=RUNS // 2)
        for worker in farm.workers:
            await asyncio.to_thread(worker.wait_until_ready)
        run_ids = [await farm.start_run(PLAN) for _ in range(RUNS)]
        client = await connect(read_workers())
        for run_id in run_ids:
            found = await client.get_workflow_handle(workflow_id(run_id)).result()
            assert found["ended"], found
    assert counted.peak == LIMIT
    assert counted.all >= RUNS * len(PLAN.steps)
