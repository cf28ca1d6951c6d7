"""A worker process: takes runs from a Temporal server and drives them, several at a time."""

import asyncio
import signal
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from surefoot.config import paths
from surefoot.config.storage import read_storage
from surefoot.config.workers import Workers
from surefoot.errors import ConfigError
from surefoot.integrations.temporal.client import connect, require_library

RUNS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerOptions:
    workers: Workers
    runs: int = RUNS
    """The most runs that this process drives at the same time."""
    model: str | None = None
    """The model of all runs, instead of the one that each of them names."""


async def work(options: WorkerOptions, ready: Callable[[str], None], tell: Callable[[str], None]) -> None:
    """Drive runs until a signal asks this process to end. Runs in progress are then left to other workers.

    `tell` gets problems that do not stop a run, without secrets: an MCP server, telemetry or Redis that does not work.
    """
    require_library()
    from temporalio.worker import Worker

    from surefoot.integrations.temporal.driving import Driver
    from surefoot.integrations.temporal.workflow import RunWorkflow
    from surefoot.journal.store.opening import open_journal
    from surefoot.journal.store.postgres.journal import PostgresJournal

    storage = read_storage()
    if storage.database is None:
        raise ConfigError(
            "workers need a journal that they share", remedy="name it: --database postgresql://USER@HOST/NAME"
        )
    journal = open_journal(paths.state_home(), storage=storage)
    assert isinstance(journal, PostgresJournal)
    try:
        client = await connect(options.workers)
        worker = Worker(
            client,
            task_queue=options.workers.queue,
            workflows=[RunWorkflow],
            activities=[Driver(journal, options.model, tell).drive],
            max_concurrent_activities=options.runs,
        )
        async with worker:
            ready(f"driving up to {options.runs} runs from the queue {options.workers.queue!r}")
            await _until_asked_to_end()
    finally:
        await journal.aclose()


async def _until_asked_to_end() -> None:
    loop, asked = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        with suppress(NotImplementedError):
            loop.add_signal_handler(number, asked.set)
    await asked.wait()
