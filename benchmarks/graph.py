"""What it costs to drive a run by LangGraph instead of the engine's own loop: a chain of steps that do nothing.

    .venv/bin/python benchmarks/graph.py

Prints processor time per step, and what the SQLite checkpointer and the journal have written.
"""

import asyncio
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from surefoot import (
    Agent,
    DetailedPlan,
    ExecutionConfig,
    ExecutionStep,
    ScriptedModel,
    SqliteJournal,
    StepDependency,
    Task,
    default_toolbox,
    tool,
)
from surefoot.core.phases import ExecutionPhase
from surefoot.core.transitions import Stage
from surefoot.engine.loop import create_run, resume_run
from surefoot.engine.planner.gate import skipped
from surefoot.integrations.langgraph import create_graph
from surefoot.journal.events import PlanMade
from surefoot.workspace.lock import WorkspaceLock

THREAD: Any = {"configurable": {"thread_id": "1"}}


@tool
def nothing(number: int) -> str:
    """Do nothing."""
    return "done"


def chain(count: int) -> DetailedPlan:
    names = [f"s{number}" for number in range(count)]
    made = [
        ExecutionStep(id=name, name=name, sequence=number, tool="nothing", parameters={"number": number})
        for number, name in enumerate(names)
    ]
    after = [StepDependency(step_id=b, depends_on=a) for a, b in pairwise(names)]
    return DetailedPlan(steps=tuple(made), dependencies=tuple(after))


async def measure(folder: Path, count: int, way: str) -> str:
    root, home = folder / "work", folder / "home"
    root.mkdir()
    home.mkdir()
    journal, box = SqliteJournal(home / "journal.sqlite"), default_toolbox().with_(nothing)
    agent = Agent(ScriptedModel([]), ExecutionConfig(sandbox="off"), journal, workspace=root, home=home, toolbox=box)
    given = PlanMade(result=skipped(ExecutionPhase.Planning(), "given", chain(count)))
    task = Task(text="nothing", workspace=str(root))
    with WorkspaceLock(root, home, "run"):
        await create_run(agent.services, task, agent.config, "run", first=Stage.EXECUTION, given=[given])
    async with AsyncSqliteSaver.from_conn_string(str(folder / "checkpoints.sqlite")) as saver:
        graph = create_graph(agent, checkpointer=saver)
        started = time.process_time()
        if way == "graph":
            await graph.ainvoke({"given_run_id": "run"}, THREAD, durability="sync")
        else:
            await resume_run(agent.services, "run")
        seconds = time.process_time() - started
    await journal.aclose()
    sizes = [sum(file.stat().st_size for file in at.glob(f"{name}.sqlite*")) // 1024 for at, name in
             ((folder, "checkpoints"), (home, "journal"))]  # fmt: skip
    cost = f"{1000 * seconds / count:8.1f} ms a step"
    return f"{way:6}{count:6} steps {cost} {sizes[0]:8} KB checkpoints {sizes[1]:6} KB journal"


def main() -> int:
    for count in (30, 100):
        for way in ("loop", "graph"):
            with tempfile.TemporaryDirectory() as folder:
                print(asyncio.run(measure(Path(folder), count, way)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
