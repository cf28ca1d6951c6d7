"""LangGraph with its SQLite checkpointers. State holds the last payload only, which is the cheapest for it; where later
steps are to see all earlier results, as they do in Surefoot and DBOS, every checkpoint holds all of them (`Gathering`).

`durability="sync"`: a step is durable before the next one begins, as it is for the others.
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
from measuring import Sync, Work, die, opened, payload


class Last(TypedDict):
    number: int
    body: str


class Gathered(TypedDict):
    bodies: Annotated[list[str], operator.add]


NOTHING_YET = {"number": 0, "body": ""}


def looping(steps: int, at: int = 0, do: Work = die) -> StateGraph:
    """One node that goes back to itself: a node for every step would be slower."""

    def step(state: Last) -> Last:
        number = state["number"] + 1
        if number == at:
            do()
        return {"number": number, "body": payload(number)}

    graph = StateGraph(Last)
    graph.add_node("step", step)
    graph.add_edge(START, "step")
    graph.add_conditional_edges("step", lambda state: "step" if state["number"] < steps else END)
    return graph


def gathering(steps: int) -> StateGraph:
    graph = StateGraph(Gathered)
    graph.add_node("step", lambda state: {"bodies": [payload(len(state["bodies"]))]})
    graph.add_edge(START, "step")
    graph.add_conditional_edges("step", lambda state: "step" if len(state["bodies"]) < steps else END)
    return graph


def spreading(steps: int) -> StateGraph:
    graph = StateGraph(Gathered)
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
        return self._prepared(looping(steps), NOTHING_YET, steps, warm=looping(1))

    def fan_out(self, steps: int) -> Work:
        return self._prepared(spreading(steps), {"bodies": []}, steps, warm=spreading(1))

    def die_in_step(self, number: int) -> None:
        self._prepared(looping(number, at=number), NOTHING_YET, number, warm=looping(1))()

    def resume(self, number: int) -> float:
        reached: list[float] = []
        graph = looping(number, at=number, do=lambda: reached.append(time.perf_counter()))
        started = time.perf_counter()
        self._connection = opened(self._path, self._sync)
        compiled = graph.compile(checkpointer=SqliteSaver(self._connection))
        compiled.invoke(None, options(number), durability="sync")
        return reached[0] - started

    def close(self) -> None:
        self._connection.close()

    def _prepared(self, graph: StateGraph, given: dict[str, Any], steps: int, warm: StateGraph) -> Work:
        self._connection = opened(self._path, self._sync)
        saver = SqliteSaver(self._connection)
        warm.compile(checkpointer=saver).invoke(given, options(1, "warm"), durability="sync")
        compiled = graph.compile(checkpointer=saver)
        return lambda: compiled.invoke(given, options(steps), durability="sync")


class Gathering(Contender):
    def chain(self, steps: int) -> Work:
        return self._prepared(gathering(steps), {"bodies": []}, steps, warm=gathering(1))


class AsyncContender:
    def __init__(self, folder: Path, sync: Sync) -> None:
        self._path, self._sync = folder / "checkpoints.db", sync
        self._loop = asyncio.Runner()

    def chain(self, steps: int) -> Work:
        return self._prepared(looping(steps), NOTHING_YET, steps, warm=looping(1))

    def fan_out(self, steps: int) -> Work:
        return self._prepared(spreading(steps), {"bodies": []}, steps, warm=spreading(1))

    def die_in_step(self, number: int) -> None:
        self._prepared(looping(number, at=number), NOTHING_YET, number, warm=looping(1))()

    def resume(self, number: int) -> float:
        reached: list[float] = []
        graph = looping(number, at=number, do=lambda: reached.append(time.perf_counter()))
        started = time.perf_counter()
        self._loop.run(self._invoke(graph, None, options(number)))
        return reached[0] - started

    def close(self) -> None:
        self._loop.run(self._connection.close())
        self._loop.close()

    def _prepared(self, graph: StateGraph, given: dict[str, Any], steps: int, warm: StateGraph) -> Work:
        self._loop.run(self._invoke(warm, given, options(1, "warm")))
        compiled = graph.compile(checkpointer=self._saver)
        return lambda: self._loop.run(compiled.ainvoke(given, options(steps), durability="sync"))

    async def _invoke(self, graph: StateGraph, given: dict[str, Any] | None, config: dict[str, Any]) -> None:
        self._connection = await aiosqlite.connect(self._path)
        await self._connection.execute("PRAGMA journal_mode=WAL")
        await self._connection.execute(f"PRAGMA synchronous={self._sync}")
        self._saver = AsyncSqliteSaver(self._connection)
        await graph.compile(checkpointer=self._saver).ainvoke(given, config, durability="sync")
