"""Workers with folders of their own, and the client that gives them runs."""

import os
from pathlib import Path

from support.workers import Journals, WorkerProcess, chain
from surefoot.config.model import ExecutionConfig
from surefoot.core.phases import ExecutionPhase
from surefoot.core.plan import DetailedPlan
from surefoot.core.task import Task
from surefoot.core.transitions import Stage
from surefoot.engine.loop import new_run_id
from surefoot.engine.planner.gate import skipped
from surefoot.history.timeline import build_timeline, snapshot_storage
from surefoot.integrations.temporal.client import hand_over
from surefoot.integrations.temporal.files import bring_snapshots
from surefoot.integrations.temporal.starting import RemoteRun, create_remote
from surefoot.journal import events as e
from surefoot.journal.objects.opening import open_objects
from surefoot.journal.store.postgres.reading import PostgresReader

LEASE_SECONDS = 2


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
            "SUREFOOT_STORAGE__LEASE_SECONDS": str(LEASE_SECONDS),
            "SUREFOOT_TEMPORAL": address,
            "SUREFOOT_WORKERS__QUEUE": queue,
            "SUREFOOT_WORKERS__HEARTBEAT_SECONDS": "5",
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
        run_id = await self.create_run(plan, **config)
        await hand_over(run_id)
        return run_id

    async def create_run(self, plan: DetailedPlan | None = None, **config: object) -> str:
        """Record a run. No worker knows of it until it is handed over."""
        run_id = new_run_id()
        given = e.PlanMade(result=skipped(ExecutionPhase.Planning(), "given", plan or chain(self.witness)))
        await create_remote(
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

    def file_of(self, run_id: str, name: str) -> str:
        """A file as the run left it, from the snapshots in the database and the object store, on an empty disk."""
        records, home = self.journals.records(run_id), self.folder / f"empty-{new_run_id()}"
        objects = os.environ.get("SUREFOOT_OBJECTS")
        reader = PostgresReader(self.journals.url, open_objects(objects) if objects else None)
        bring_snapshots(records, home, reader)
        reader.close()
        storage = snapshot_storage(home)
        entry = storage.manifest(build_timeline(records).end.resolve(storage)).entries[name]
        return storage.blobs.get(entry.digest).decode()

    def close(self) -> None:
        for worker in self.workers:
            worker.end()
