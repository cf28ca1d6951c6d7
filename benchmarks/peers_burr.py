"""Burr with its SQLite persisters, which save the whole state after every step.

The state holds only the last payload, the cheapest case. In `Gathering` it holds all payloads, so that later steps can
see all earlier results.
"""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiosqlite
from burr.core import Action, Application, ApplicationBuilder, ApplicationContext, State, action
from burr.core.parallelism import MapStates
from burr.core.persistence import SQLitePersister
from burr.integrations.persisters.b_aiosqlite import AsyncSQLitePersister
from measuring import Sync, Work, die, open_database, payload

_hooks: dict[int, Work] = {}
"""Functions that single steps call first, by step number."""


@action(reads=["number"], writes=["number", "body"])
def step(state: State) -> State:
    number = state["number"] + 1
    if number in _hooks:
        _hooks[number]()
    return state.update(number=number, body=payload(number))


@action(reads=["number"], writes=["number", "body"])
async def async_step(state: State) -> State:
    number = state["number"] + 1
    return state.update(number=number, body=payload(number))


@action(reads=["bodies"], writes=["bodies"])
def gathering_step(state: State) -> State:
    return state.append(bodies=payload(len(state["bodies"])))


class FanOut(MapStates):
    """Burr's parallelism: a sub-application for each step, with its own persister."""

    def __init__(self, steps: int) -> None:
        super().__init__()
        self._steps = steps

    def action(self, state: State, inputs: dict[str, Any]) -> Action:
        return step

    def states(self, state: State, context: ApplicationContext, inputs: dict[str, Any]) -> Iterator[State]:
        for number in range(self._steps):
            yield state.update(number=number)

    def reduce(self, state: State, states: Iterator[State]) -> State:
        return state.update(bodies=[each["body"] for each in states])

    @property
    def reads(self) -> list[str]:
        return ["number"]

    @property
    def writes(self) -> list[str]:
        return ["bodies"]


class _Persister(SQLitePersister):
    """A persister whose copies, used by sub-applications, have the same SQLite settings."""

    def __init__(self, path: Path, sync: Sync) -> None:
        super().__init__(str(path), connection=open_database(path, sync))
        self._path, self._sync = path, sync
        self.initialize()

    def copy(self) -> "_Persister":
        return _Persister(self._path, self._sync)


class Contender:
    def __init__(self, folder: Path, sync: Sync) -> None:
        self._path, self._sync = folder / "burr.db", sync

    def chain(self, steps: int) -> Work:
        self._application("warm").step()
        application = self._application("measured")

        def work() -> None:
            for _ in range(steps):
                application.step()

        return work

    def fan_out(self, steps: int) -> Work:
        self._application("warm").step()
        persister = _Persister(self._path, self._sync)
        builder = ApplicationBuilder().with_actions(fan_out=FanOut(steps)).with_transitions(("fan_out", "fan_out"))
        application = builder.with_entrypoint("fan_out").with_state(number=0).with_state_persister(persister).build()
        return application.step

    def die_in_step(self, number: int) -> None:
        _hooks[number] = die
        application = self._application("interrupted")
        for _ in range(number):
            application.step()

    def resume(self, number: int) -> float:
        reached: list[float] = []
        _hooks[number] = lambda: reached.append(time.perf_counter())
        started = time.perf_counter()
        self._application("interrupted").step()
        return reached[0] - started

    def close(self) -> None:
        self._connection.close()

    def _application(self, app_id: str) -> Application:
        persister = _Persister(self._path, self._sync)
        self._connection = persister.connection
        return (
            ApplicationBuilder()
            .with_actions(step)
            .with_transitions(("step", "step"))
            .with_identifiers(app_id=app_id)
            .initialize_from(
                persister, resume_at_next_action=True, default_state={"number": 0}, default_entrypoint="step"
            )
            .with_state_persister(persister)
            .build()
        )


class Gathering(Contender):
    def chain(self, steps: int) -> Work:
        persister = _Persister(self._path, self._sync)
        self._connection = persister.connection
        builder = ApplicationBuilder().with_actions(step=gathering_step).with_transitions(("step", "step"))
        application = builder.with_state(bodies=[]).with_entrypoint("step").with_state_persister(persister).build()
        application.step()

        def work() -> None:
            for _ in range(steps):
                application.step()

        return work


class AsyncContender:
    def __init__(self, folder: Path, sync: Sync) -> None:
        self._path, self._sync = folder / "burr.db", sync
        self._loop = asyncio.Runner()

    def chain(self, steps: int) -> Work:
        application = self._loop.run(self._application())

        async def work() -> None:
            for _ in range(steps):
                await application.astep()

        self._loop.run(application.astep())
        return lambda: self._loop.run(work())

    def close(self) -> None:
        self._loop.run(self._connection.close())
        self._loop.close()

    async def _application(self) -> Application:
        self._connection = await aiosqlite.connect(self._path)
        await self._connection.execute("PRAGMA journal_mode=WAL")
        await self._connection.execute(f"PRAGMA synchronous={self._sync}")
        persister = AsyncSQLitePersister(self._connection)
        await persister.initialize()
        builder = ApplicationBuilder().with_actions(step=async_step).with_transitions(("step", "step"))
        return await builder.with_state(number=0).with_entrypoint("step").with_state_persister(persister).abuild()
