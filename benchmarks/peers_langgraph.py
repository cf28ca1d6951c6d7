"""LangGraph with its SQLite checkpointers.

The state holds only the last payload, the cheapest case. In `Gathering` every checkpoint holds all payloads, so that
later steps can see all earlier results, as in Surefoot and DBOS. With `durability="sync"` a step is durable before the
next one begins, as for the other contenders.
"""

import asyncio
import operator
import time
from pathlib import Path
from typing import Annotated, Any, TypedDict

import aiosqlite
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Send
from measuring import Sync, Work, die, open_database, payload


class LastState(TypedDict):
    number: int
    body: str


class AllState(TypedDict):
    bodies: Annotated[list[str], operator.add]


INITIAL = {"number": 0, "body": ""}


def chain_graph(steps: int, at: int = 0, do: Work = die) -> StateGraph:
    """Build a graph with one node that loops: one node per step would be slower. Step `at` calls `do` first."""

    def step(state: LastState) -> LastState:
        number = state["number"] + 1
        if number == at:
            do()
        return {"number": number, "body": payload(number)}

    graph = StateGraph(LastState)
    graph.add_node("step", step)
    graph.add_edge(START, "step")
    graph.add_conditional_edges("step", lambda state: "step" if state["number"] < steps else END)
    return graph


def gathering_graph(steps: int) -> StateGraph:
    graph = StateGraph(AllState)
    graph.add_node("step", lambda state: {"bodies": [payload(len(state["bodies"]))]})
    graph.add_edge(START, "step")
    graph.add_conditional_edges("step", lambda state: "step" if len(state["bodies"]) < steps else END)
    return graph


def fan_out_graph(steps: int) -> StateGraph:
    graph = StateGraph(AllState)
    graph.add_node("step", lambda state: {"bodies": [payload(state["number"])]})
    graph.add_conditional_edges(START, lambda _: [Send("step", {"number": number}) for number in range(steps)])
    graph.add_edge("step", END)
    return graph


def options(steps: int, thread: str = "measured") -> dict[str, Any]:
    return {"configurable": {"thread_id": thread}, "recursion_limit": steps + 10}


class Contender:
    def __init__(self, folder: Path, sync: Sync) -> None:
        self._path, self._sync = folder / "checkpoints.db", sync

    def chain(self, steps: int) -> Work:
        return self._prepare(chain_graph(steps), INITIAL, steps, warm=chain_graph(1))

    def fan_out(self, steps: int) -> Work:
        return self._prepare(fan_out_graph(steps), {"bodies": []}, steps, warm=fan_out_graph(1))

    def die_in_step(self, number: int) -> None:
        self._prepare(chain_graph(number, at=number), INITIAL, number, warm=chain_graph(1))()

    def resume(self, number: int) -> float:
        reached: list[float] = []
        graph = chain_graph(number, at=number, do=lambda: reached.append(time.perf_counter()))
        started = time.perf_counter()
        self._connection = open_database(self._path, self._sync)
        compiled = graph.compile(checkpointer=SqliteSaver(self._connection))
        compiled.invoke(None, options(number), durability="sync")
        return reached[0] - started

    def close(self) -> None:
        self._connection.close()

    def _prepare(self, graph: StateGraph, initial: dict[str, Any], steps: int, warm: StateGraph) -> Work:
        self._connection = open_database(self._path, self._sync)
        saver = SqliteSaver(self._connection)
        warm.compile(checkpointer=saver).invoke(initial, options(1, "warm"), durability="sync")
        compiled = graph.compile(checkpointer=saver)
        return lambda: compiled.invoke(initial, options(steps), durability="sync")


class Gathering(Contender):
    def chain(self, steps: int) -> Work:
        return self._prepare(gathering_graph(steps), {"bodies": []}, steps, warm=gathering_graph(1))


class AsyncContender:
    def __init__(self, folder: Path, sync: Sync) -> None:
        self._path, self._sync = folder / "checkpoints.db", sync
        self._loop = asyncio.Runner()

    def chain(self, steps: int) -> Work:
        return self._prepare(chain_graph(steps), INITIAL, steps, warm=chain_graph(1))

    def fan_out(self, steps: int) -> Work:
        return self._prepare(fan_out_graph(steps), {"bodies": []}, steps, warm=fan_out_graph(1))

    def die_in_step(self, number: int) -> None:
        self._prepare(chain_graph(number, at=number), INITIAL, number, warm=chain_graph(1))()

    def resume(self, number: int) -> float:
        reached: list[float] = []
        graph = chain_graph(number, at=number, do=lambda: reached.append(time.perf_counter()))
        started = time.perf_counter()
        self._loop.run(self._invoke(graph, None, options(number)))
        return reached[0] - started

    def close(self) -> None:
        self._loop.run(self._connection.close())
        self._loop.close()

    def _prepare(self, graph: StateGraph, initial: dict[str, Any], steps: int, warm: StateGraph) -> Work:
        self._loop.run(self._invoke(warm, initial, options(1, "warm")))
        compiled = graph.compile(checkpointer=self._saver)
        return lambda: self._loop.run(compiled.ainvoke(initial, options(steps), durability="sync"))

    async def _invoke(self, graph: StateGraph, initial: dict[str, Any] | None, config: dict[str, Any]) -> None:
        self._connection = await aiosqlite.connect(self._path)
        await self._connection.execute("PRAGMA journal_mode=WAL")
        await self._connection.execute(f"PRAGMA synchronous={self._sync}")
        self._saver = AsyncSqliteSaver(self._connection)
        await graph.compile(checkpointer=self._saver).ainvoke(initial, config, durability="sync")
