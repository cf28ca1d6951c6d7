"""Workers with a real Temporal server and a real PostgreSQL: processes are killed, stopped and replaced."""

import asyncio
from pathlib import Path

import pytest

from support.workers import require_sound
from surefoot.workspace.snapshots.snapshot import Workspace

pytestmark = [pytest.mark.servers]


@pytest.mark.req("X6")
async def test_one_run(farm) -> None:
    farm.add_worker().wait_until_ready()
    run_id = await farm.start_run()
    await asyncio.to_thread(farm.journals.wait_for, "run_ended", 1, farm.workers)
    assert require_sound(farm.journals, run_id, farm.witness) == 0
