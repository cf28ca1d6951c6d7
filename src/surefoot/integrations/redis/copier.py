"""Copies the runs on a bus to Redis while they happen.

If the server cannot be reached, the user is told once, and the run goes on.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

from surefoot.config.integrations import RedisSettings
from surefoot.engine.runtime.services import Services
from surefoot.integrations.redis.connection import connect, describe, failures
from surefoot.integrations.redis.copy import RunCopy
from surefoot.integrations.routing import by_run
from surefoot.journal import events as e

BATCH_SECONDS = 0.2
"""Events within this time are copied together."""
END_SECONDS = 5.0
"""How long pending copies may delay the end of a run."""
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0

Tell = Callable[[str], None]


@contextlib.asynccontextmanager
async def copied(services: Services, settings: RedisSettings, tell: Tell) -> AsyncIterator[None]:
    """Copy every run of these services while the context is active, if a server is configured."""
    if settings.url is None:
        yield
        return
    copier = Copier(connect(settings), settings, services, tell)
    unsubscribe = services.bus.subscribe(by_run(copier.on_record))
    copying = asyncio.create_task(copier.keep_copying())
    try:
        yield
    finally:
        unsubscribe()
        await copier.finish(copying)


class Copier:
    def __init__(self, client: Any, settings: RedisSettings, services: Services, tell: Tell) -> None:
        self._client, self._settings, self._services, self._tell = client, settings, services, tell
        self._runs: dict[str, RunCopy] = {}
        self._changed: set[str] = set()
        self._wake = asyncio.Event()
        self._finish = asyncio.Event()
        self._has_reported = False

    def on_record(self, run_id: str, record: e.Record) -> None:
        self._changed.add(run_id)
        self._wake.set()

    async def keep_copying(self) -> None:
        """Copy new events until `finish` is called."""
        pause = FIRST_PAUSE
        while not self._finishing:
            with contextlib.suppress(TimeoutError):
                # Keys must not expire while a run waits for a person, or for a long command.
                async with asyncio.timeout(self._settings.ttl_seconds / 3):
                    await self._wake.wait()
            self._wake.clear()
            await self._sleep(BATCH_SECONDS)
            if await self._copy():
                pause = FIRST_PAUSE
            else:
                await self._sleep(pause)
                pause = min(pause * 2, LONGEST_PAUSE)
                self._wake.set()

    async def _sleep(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._finish.wait()

    @property
    def _finishing(self) -> bool:
        return self._finish.is_set()

    async def finish(self, copying: "asyncio.Task[None]") -> None:
        """Copy the remaining events, and disconnect."""
        self._finish.set()
        self._wake.set()
        try:
            async with asyncio.timeout(END_SECONDS):
                # The task is not cancelled in the middle of a command: the client would not always notice.
                await asyncio.wait([copying])
                if self._changed:
                    await self._services.journal.flush()
                    # Tried twice: the first time may only have shown that the connection was lost.
                    await self._copy() or await self._copy()
        except TimeoutError as error:
            copying.cancel()
            self._report(error)
        with contextlib.suppress(*failures()):
            await self._client.aclose()

    async def _copy(self) -> bool:
        """Copy the runs that have changed. Returns False if the server could not be used."""
        changed, self._changed = self._changed, set()
        try:
            if not changed:
                await self._execute([command for run in self._runs.values() for command in run.touch()])
            for run_id in changed:
                await self._copy_run(run_id)
        except failures() as error:
            # A server that comes back may have lost its data, so every run is copied again from the beginning.
            self._changed |= changed | self._runs.keys()
            self._runs.clear()
            self._report(error)
            return False
        except Exception as error:
            # A bug here must not end a run, and trying again would not help.
            self._report(error)
        return True

    async def _copy_run(self, run_id: str) -> None:
        services = self._services
        run = self._runs.get(run_id)
        if run is None:
            run = self._runs[run_id] = RunCopy(run_id, self._settings, services.journal, services.redactor)
        more = True
        while more:
            commands, on_written = run.collect()
            if commands:
                await self._execute(commands)
            more = on_written()

    async def _execute(self, commands: list[Any]) -> None:
        if not commands:
            return
        async with self._client.pipeline(transaction=False) as pipe:
            for command in commands:
                command(pipe)
            await pipe.execute()

    def _report(self, error: BaseException) -> None:
        if not self._has_reported:
            self._has_reported = True
            problem = describe(self._settings, error)
            self._tell(self._services.redactor.redact(f"{problem}; the run goes on, and is in the journal"))
