"""The story of the kill sweeps, driven by a LangGraph graph with a checkpointer on disk."""

import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

import apsw
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph

from crash.story import PROVEN, TASK, Story, _tell_what_is_acknowledged
from surefoot.api import Agent
from surefoot.integrations.langgraph import create_graph
from surefoot.journal.store.sqlite import SqliteJournal
from surefoot.models.testing.scripted import ScriptedModel

THREAD: Any = {"configurable": {"thread_id": "story"}}
INPUT = {"task": TASK, "checks": [PROVEN]}


class ParentState(TypedDict, total=False):
    task: str
    checks: list[str]
    outcome: dict[str, Any]
    run_id: str
    seq: int
    reported: str


@dataclass(frozen=True)
class GraphStory(Story):
    inside: bool = False
    """The graph is a node of another one."""
    durability: str = "sync"

    @property
    def checkpoints(self) -> Path:
        return self.folder / "checkpoints.sqlite"

    async def _drive(self) -> None:
        journal = SqliteJournal(self.home / "journal.sqlite")
        _tell_what_is_acknowledged(journal, self.acknowledged)
        model = ScriptedModel(self._answers())
        agent = Agent(model, self._config(), journal, workspace=self.root, home=self.home)
        try:
            async with _saver(self.checkpoints) as saver:
                graph = self.graph(agent, saver)
                begun = await saver.aget_tuple(THREAD) is not None
                # With a run id of its own it is the same run also if the first checkpoint was lost.
                given = INPUT if self.durability == "sync" else {**INPUT, "given_run_id": "story"}
                await graph.ainvoke(None if begun else given, THREAD, durability=self.durability)
        finally:
            with suppress(apsw.Error):
                await journal.aclose()

    def graph(self, agent: Agent, saver: Any) -> Any:
        if not self.inside:
            return create_graph(agent, checkpointer=saver)
        parent = StateGraph(ParentState)
        parent.add_node("prepare", lambda state: {"reported": ""})
        parent.add_node("surefoot", create_graph(agent))
        parent.add_node("report", lambda state: {"reported": state["outcome"]["summary"]})
        parent.add_edge(START, "prepare")
        parent.add_edge("prepare", "surefoot")
        parent.add_edge("surefoot", "report")
        parent.add_edge("report", END)
        return parent.compile(checkpointer=saver)

    async def final_state(self) -> dict[str, Any]:
        """What the newest checkpoint has, and whether nothing is left to do."""
        journal = SqliteJournal(self.home / "journal.sqlite", read_only=True)
        agent = Agent(ScriptedModel([]), self._config(), journal, workspace=self.root, home=self.home)
        async with AsyncSqliteSaver.from_conn_string(str(self.checkpoints)) as saver:
            known = await self.graph(agent, saver).aget_state(THREAD)
        journal.close()
        return {**known.values, "left": known.next}


@asynccontextmanager
async def _saver(path: Path) -> AsyncIterator[AsyncSqliteSaver]:
    """A checkpointer whose writes are points too: before each and after it."""
    async with AsyncSqliteSaver.from_conn_string(str(path)) as saver:
        await saver.setup()
        sink = os.open(os.devnull, os.O_WRONLY)
        for name in ("aput", "aput_writes"):
            setattr(saver, name, _passing(getattr(saver, name), sink))
        try:
            yield saver
        finally:
            os.close(sink)


def _passing(real: Callable[..., Any], sink: int) -> Callable[..., Any]:
    async def call(*args: Any, **kwargs: Any) -> Any:
        os.write(sink, b"-")
        result = await real(*args, **kwargs)
        os.write(sink, b"-")
        return result

    return call
