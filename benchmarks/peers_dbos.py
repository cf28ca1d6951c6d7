"""DBOS on SQLite: a workflow of steps, with the same SQLite settings as the other contenders."""

import asyncio
import time
from pathlib import Path

import sqlalchemy
from dbos import DBOS, DBOSConfig, SetWorkflowID
from measuring import Sync, Work, die, payload

_hooks: dict[int, Work] = {}
"""Functions that single steps call first, by step number."""


@DBOS.step()
def step(number: int) -> str:
    if number in _hooks:
        _hooks[number]()
    return payload(number)


@DBOS.step()
async def async_step(number: int) -> str:
    return payload(number)


@DBOS.workflow()
def chain_workflow(steps: int) -> None:
    for number in range(1, steps + 1):
        step(number)


@DBOS.workflow()
async def fan_out_workflow(steps: int) -> None:
    await asyncio.gather(*(async_step(number) for number in range(1, steps + 1)))


class Contender:
    def __init__(self, folder: Path, sync: Sync) -> None:
        self._path = folder / "dbos.db"

        @sqlalchemy.event.listens_for(sqlalchemy.engine.Engine, "connect")
        def settings(connection: sqlalchemy.engine.interfaces.DBAPIConnection, _: object) -> None:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute(f"PRAGMA synchronous={sync}")

    def chain(self, steps: int) -> Work:
        self._launch()
        chain_workflow(1)
        return lambda: chain_workflow(steps)

    def fan_out(self, steps: int) -> Work:
        self._launch()
        loop = asyncio.Runner()
        loop.run(fan_out_workflow(1))
        return lambda: loop.run(fan_out_workflow(steps))

    def die_in_step(self, number: int) -> None:
        _hooks[number] = die
        self._launch()
        with SetWorkflowID("interrupted"):
            chain_workflow(number)

    def resume(self, number: int) -> float:
        reached: list[float] = []
        _hooks[number] = lambda: reached.append(time.perf_counter())
        started = time.perf_counter()
        self._launch()
        DBOS.retrieve_workflow("interrupted").get_result()
        return reached[0] - started

    def close(self) -> None:
        DBOS.destroy()

    def _launch(self) -> None:
        config: DBOSConfig = {
            "name": "benchmark",
            "system_database_url": f"sqlite:///{self._path}",
            "application_version": "1",
            "log_level": "ERROR",
            "run_admin_server": False,
        }
        DBOS(config=config)
        DBOS.launch()
