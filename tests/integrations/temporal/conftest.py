"""A Temporal server, a database, and workers with folders of their own."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.temporal import TemporalServer
from support.workers import Journals, WorkerProcess, chain
from surefoot.config.model import ExecutionConfig
from surefoot.core.phases import ExecutionPhase
from surefoot.core.plan import DetailedPlan
from surefoot.core.task import Task
from surefoot.core.transitions import Stage
from surefoot.engine.loop import new_run_id
from surefoot.engine.planner.gate import skipped
from surefoot.integrations.temporal.starting import RemoteRun, start_remote
from surefoot.journal import events as e


@pytest.fixture(scope="module")
def temporal() -> Iterator[TemporalServer]:
    server = TemporalServer()
    yield server
    server.stop()


class Farm:
    """Workers, and the client that gives them runs."""

    def __init__(self, folder: Path, database: str, address: str, queue: str) -> None:
        self.folder, self.journals = folder, Journals(database)
        self.project, self.witness = folder / "project", folder / "witness"
        self.project.mkdir()
        (self.project / "README").write_text("a project\n")
        self.witness.touch()
        (folder / "answers.json").write_text("[]")
        self.environ = {
            "SUREFOOT_DATABASE": database,
            "SUREFOOT_STORAGE__LEASE_SECONDS": "2",
            "SUREFOOT_TEMPORAL": address,
            "SUREFOOT_WORKERS__QUEUE": queue,
            "SUREFOOT_WORKERS__HEARTBEAT_SECONDS": "2",
            "SUREFOOT_MODEL": f"scripted:{folder / 'answers.json'}",
            "SUREFOOT_HOME": str(folder / "client"),
            "SUREFOOT_CACHE": str(folder / "client-cache"),
        }
        self.workers: list[WorkerProcess] = []

    def add_worker(self, *, runs: int = 4, source: Path | None = None) -> WorkerProcess:
        worker = WorkerProcess(self.folder / f"worker{len(self.workers)}", self.environ, runs=runs, source=source)
        self.workers.append(worker)
        return worker

    async def start_run(self, plan: DetailedPlan | None = None, **config: object) -> str:
        run_id = new_run_id()
        given = e.PlanMade(result=skipped(ExecutionPhase.Planning(), "given", plan or chain(self.witness)))
        await start_remote(
            RemoteRun(
                run_id=run_id,
                task=Task(text="five lines", workspace=str(self.folder / "client-cache" / run_id / "project")),
                config=ExecutionConfig.model_validate({"sandbox": "off", **config}),
                folder=self.project,
                first=Stage.EXECUTION,
                given=[given],
            )
        )
        return run_id

    def close(self) -> None:
        for worker in self.workers:
            worker.end()


@pytest.fixture
def farm(
    tmp_path: Path, database: str, temporal: TemporalServer, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Farm]:
    farm = Farm(tmp_path, database, temporal.address, f"queue-{tmp_path.name}")
    for name, value in farm.environ.items():
        monkeypatch.setenv(name, value)
    yield farm
    farm.close()


MakePlan = Callable[[Path], DetailedPlan]
