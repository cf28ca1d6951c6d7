"""Runs that are copied to a real server, which the first test that needs it starts."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from support.kit import Bench
from support.valkey import Valkey
from surefoot.config.integrations import Integrations, RedisSettings
from surefoot.core.phases import ExecutionPhase
from surefoot.core.plan import DetailedPlan
from surefoot.core.transitions import Stage
from surefoot.engine.loop import resume_run, start_run
from surefoot.engine.planner.gate import skipped
from surefoot.integrations.attach import attached
from surefoot.journal import events as e
from surefoot.journal.state import RunState
from surefoot.journal.store.sqlite import SqliteJournal


@pytest.fixture(scope="session")
def shared_server() -> Iterator[Valkey]:
    server = Valkey()
    yield server
    server.stop()


@pytest.fixture
def valkey(shared_server: Valkey) -> Valkey:
    """The shared server, empty."""
    shared_server.client.flushall()
    return shared_server


@pytest.fixture
def own_server() -> Iterator[Valkey]:
    """A server that a test may kill."""
    server = Valkey()
    yield server
    server.stop()


@dataclass
class Copied:
    """A bench whose runs are copied to Redis, with a journal on disk."""

    bench: Bench
    settings: RedisSettings = field(default_factory=RedisSettings)
    messages: list[str] = field(default_factory=list)

    @property
    def journal_file(self) -> Path:
        return self.bench.home / "journal.sqlite"

    def use(self, server: Valkey, **more: Any) -> None:
        self.settings = RedisSettings(url=server.url, **more)

    async def run(self, plan: DetailedPlan, answers: Sequence[Any] = (), **config: Any) -> RunState:
        services = self.bench.services(answers)
        given = e.PlanMade(result=skipped(ExecutionPhase.Planning(), "given", plan))
        task = self.bench.task("carry out the given plan", config.pop("checks", []))
        async with attached(services, Integrations(redis=self.settings), self.messages.append):
            return await start_run(
                services, task, self.bench.config(baseline="off", **config), first=Stage.EXECUTION, given=[given]
            )

    async def resume(self, run_id: str, answers: Sequence[Any] = ()) -> RunState:
        services = self.bench.services(answers)
        async with attached(services, Integrations(redis=self.settings), self.messages.append):
            return await resume_run(services, run_id)


@pytest.fixture
def copied(bench: Bench) -> Iterator[Copied]:
    journal = SqliteJournal(bench.home / "journal.sqlite")
    bench.journal = journal
    yield Copied(bench)
    journal.close()
