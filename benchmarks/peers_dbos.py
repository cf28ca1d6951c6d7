"""DBOS on SQLite: a workflow of steps. Its engine gets the same settings of SQLite as the others."""

import asyncio
import time
from pathlib import Path

import sqlalchemy
from dbos import DBOS, DBOSConfig, SetWorkflowID
from measuring import Sync, Work, die, payload

_special: dict[int, Work] = {}
"""What single steps do first, by their number."""


@DBOS.step()
def step(number: int) -> str:
    if number in _special:
        _special[number]()
    return payload(number)


@DBOS.step()
async def async_step(number: int) -> str:
    return payload(number)


@DBOS.workflow()
def chained(steps: int) -> None:
    for number in range(1, steps + 1):
        step(number)


@DBOS.workflow()
async def spread(steps: int) -> None:
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
        chained(1)
        return lambda: chained(steps)

    def fan_out(self, steps: int) -> Work:
        self._launch()
        loop = asyncio.Runner()
        loop.run(spread(1))
        return lambda: loop.run(spread(steps))

    def die_in_step(self, number: int) -> None:
        _special[number] = die
        self._launch()
        with SetWorkflowID("interrupted"):
            chained(number)

    def resume(self, number: int) -> float:
        reached: list[float] = []
        _special[number] = lambda: reached.append(time.perf_counter())
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
