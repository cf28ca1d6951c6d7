"""Shared by the tests of the graph: an agent with scripted answers, and what its graph streams."""

from collections.abc import Sequence
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver

from support.kit import Bench, understanding
from surefoot.api import Agent
from surefoot.core.phases import ExecutionPhase
from surefoot.core.plan import DetailedPlan
from surefoot.core.transitions import Stage
from surefoot.engine.loop import create_run
from surefoot.engine.planner.gate import skipped
from surefoot.integrations.langgraph import create_graph
from surefoot.journal import events as e
from surefoot.models.testing.scripted import ScriptedModel
from surefoot.workspace.lock import WorkspaceLock

TASK = "Write adder.py with a function add(a, b) that adds two numbers."
CHECK = "python3 -B -c 'import adder; assert adder.add(1, 2) == 3'"
UNDERSTOOD = {**understanding("adder.py"), "understanding": TASK}
WRONG = "```python\ndef add(a, b):\n    return a - b\n```"
RIGHT = "```python\ndef add(a, b):\n    return a + b\n```"
INPUT: Any = {"task": TASK, "checks": [CHECK]}
THREAD: Any = {"configurable": {"thread_id": "one"}}


class Program:
    """One graph with one agent."""

    def __init__(
        self, bench: Bench, answers: Sequence[Any] | ScriptedModel, *, saver: Any = None, **config: Any
    ) -> None:
        self.bench = bench
        model = answers if isinstance(answers, ScriptedModel) else ScriptedModel(answers)
        self.agent = Agent(
            model, bench.config(**config), bench.journal, workspace=bench.root, home=bench.home, toolbox=bench.toolbox
        )
        self.saver = saver or InMemorySaver()
        self.graph: Any = create_graph(self.agent, checkpointer=self.saver)
        self.nodes: list[str] = []
        self.events: list[dict[str, Any]] = []
        self.interrupts: list[dict[str, Any]] = []

    async def go(self, given: Any, thread: Any = THREAD) -> dict[str, Any]:
        """Run the graph until it ends or interrupts; what it streams is kept. Returns its state."""
        modes: Any = ["updates", "custom"]
        async for mode, chunk in self.graph.astream(given, thread, stream_mode=modes, durability="sync"):
            if mode == "custom":
                self.events.append(chunk)
            elif "__interrupt__" in chunk:
                self.interrupts.append(chunk["__interrupt__"][0].value)
            else:
                self.nodes += chunk
        known = await self.graph.aget_state({"configurable": {"thread_id": thread["configurable"]["thread_id"]}})
        return dict(known.values)

    def records(self, run_id: str) -> list[e.Record]:
        return list(self.bench.journal.read(run_id))

    def recorded(self, run_id: str, kind: type[Any]) -> list[Any]:
        return [record.event for record in self.records(run_id) if isinstance(record.event, kind)]

    async def planned(self, plan: DetailedPlan, run_id: str = "given") -> str:
        """Record a run with a given plan, so that the graph can carry it out."""
        result = skipped(ExecutionPhase.Planning(), "given", plan)
        task = self.bench.task("carry out the given plan", ["true"])
        with WorkspaceLock(self.bench.root, self.bench.home, run_id):
            await create_run(
                self.agent.services,
                task,
                self.agent.config,
                run_id,
                first=Stage.EXECUTION,
                given=[e.PlanMade(result=result)],
            )
        return run_id
