"""Surefoot: a plan whose steps call a tool that does nothing, run by the engine on a SQLite journal."""

import asyncio
import itertools
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from measuring import Sync, Work, die, payload

from surefoot.config.model import BudgetConfig, ExecutionConfig
from surefoot.core.phases import ExecutionPhase
from surefoot.core.plan import DetailedPlan, ExecutionStep, StepDependency
from surefoot.core.task import Task
from surefoot.core.transitions import Stage, StepStatus
from surefoot.engine.loop import resume_run, start_run
from surefoot.engine.planner.gate import skipped
from surefoot.engine.runtime.services import Services
from surefoot.journal import events as e
from surefoot.journal.state import RunState
from surefoot.journal.store.sqlite import SqliteJournal
from surefoot.models.testing.scripted import ScriptedModel
from surefoot.tools.registry import Toolbox
from surefoot.tools.tool import Tool, tool

PARALLEL = 256
INTERRUPTED = "interrupted"


class Contender:
    def __init__(self, folder: Path, sync: Sync) -> None:
        self._folder = folder
        self._workspace = folder / "workspace"
        self._workspace.mkdir(exist_ok=True)
        self._journal = SqliteJournal(folder / "journal.db", durability="power" if sync == "full" else "process")
        self._loop = asyncio.Runner()

    def chain(self, steps: int) -> Work:
        self._start(fan_out_plan(1), noop())()
        return self._start(chain_plan(steps), noop())

    def fan_out(self, steps: int) -> Work:
        self._start(fan_out_plan(1), noop())()
        return self._start(fan_out_plan(steps), noop(), parallel=PARALLEL)

    def die_in_step(self, number: int) -> None:
        self._start(chain_plan(number), noop(at=number, do=die), run_id=INTERRUPTED)()

    def resume(self, number: int) -> float:
        reached: list[float] = []
        services = self._services(noop(at=1, do=lambda: reached.append(time.perf_counter())))
        started = time.perf_counter()
        self._finish(resume_run(services, INTERRUPTED))
        return reached[0] - started

    def close(self) -> None:
        self._loop.run(self._journal.aclose())
        self._loop.close()

    def _start(self, plan: DetailedPlan, tool: Tool, *, run_id: str | None = None, parallel: int = 1) -> Work:
        task = Task(text="carry out the plan", workspace=str(self._workspace))
        config = ExecutionConfig(sandbox="off", max_parallel_steps=parallel, budget=BudgetConfig(max_tool_calls=None))
        plan_made = e.PlanMade(result=skipped(ExecutionPhase.Planning(), "given", plan))
        services = self._services(tool)
        return lambda: self._finish(
            start_run(services, task, config, run_id=run_id, first=Stage.EXECUTION, given=[plan_made])
        )

    def _services(self, tool: Tool) -> Services:
        return Services(self._journal, ScriptedModel([]), self._folder / "home", Toolbox([tool]))

    def _finish(self, work: Coroutine[Any, Any, RunState]) -> None:
        state = self._loop.run(work)
        assert state.stage is Stage.COMPLETED, state.outcome
        assert all(step.status is StepStatus.SUCCEEDED for step in state.steps.values())


def fan_out_plan(steps: int) -> DetailedPlan:
    numbers = range(steps)
    return DetailedPlan(
        steps=tuple(ExecutionStep(id=f"s{i}", sequence=i, name=f"step {i}", tool="noop") for i in numbers)
    )


def chain_plan(steps: int) -> DetailedPlan:
    pairs = itertools.pairwise(f"s{i}" for i in range(steps))
    return fan_out_plan(steps).with_(dependencies=tuple(StepDependency(step_id=b, depends_on=a) for a, b in pairs))


def noop(at: int = 0, do: Callable[[], object] = die) -> Tool:
    """Create a tool that returns 1 KB. Its call number `at` calls `do` first."""
    count = itertools.count(1)

    @tool(name="noop")
    async def nothing() -> str:
        """Does nothing."""
        number = next(count)
        if number == at:
            do()
        return payload(number)

    return nothing
