"""Builds the graph: intake, planner, scheduler, executor, reflector, verifier, and a node that asks people."""

from collections.abc import Awaitable, Callable, Coroutine, Hashable
from typing import TYPE_CHECKING, Any, TypeAlias

from surefoot.api import Agent
from surefoot.config.extras import install_remedy
from surefoot.engine.loop import new_run_id
from surefoot.errors import UsageError
from surefoot.integrations.langgraph.blocking import LoopThread
from surefoot.integrations.langgraph.nodes import END, Nodes, Update
from surefoot.integrations.langgraph.state import SurefootInput, SurefootOutput, SurefootState

if TYPE_CHECKING:
    from langgraph.graph.state import CompiledStateGraph

NodeFunction: TypeAlias = Callable[[SurefootState], Coroutine[Any, Any, Update]]


def require_langgraph() -> None:
    try:
        import langgraph.graph  # noqa: F401
    except ImportError as error:
        raise UsageError(f"LangGraph cannot be imported: {error}", remedy=install_remedy("langgraph")) from None


def create_graph(
    agent: Agent, *, checkpointer: Any = None, name: str = "surefoot"
) -> "CompiledStateGraph[SurefootState, None, SurefootInput, SurefootOutput]":
    """Return a compiled graph that carries out tasks with an agent.

    Its input is `SurefootInput`, its output `SurefootOutput`. Give the agent a journal on disk if the checkpointer
    outlives the process: a checkpoint without its journal is refused. As a node of another graph, the graph needs no
    checkpointer of its own.
    """
    require_langgraph()
    from langchain_core.runnables import RunnableLambda
    from langgraph.config import get_stream_writer
    from langgraph.graph import END as FINISH
    from langgraph.graph import START, StateGraph
    from langgraph.runtime import get_runtime
    from langgraph.types import interrupt

    nodes, thread = Nodes(agent), LoopThread()

    async def intake(state: SurefootState) -> Update:
        info = get_runtime().execution_info
        # The identity is the same when LangGraph repeats the node, and new for every input.
        return await nodes.intake(state, f"{info.thread_id}/{info.task_id}" if info else new_run_id())

    async def ask(state: SurefootState) -> Update:
        return await nodes.ask(state, interrupt)

    def working(part: Callable[..., Awaitable[Update]]) -> NodeFunction:
        async def node(state: SurefootState) -> Update:
            return await part(state, get_stream_writer())

        return node

    def route(state: SurefootState) -> str:
        return state["next"]

    def blocking(function: NodeFunction) -> Callable[[SurefootState], Update]:
        def node(state: SurefootState) -> Update:
            update: Update = thread.call(lambda: function(state))
            return update

        return node

    parts = (nodes.planner, nodes.scheduler, nodes.executor, nodes.reflector, nodes.verifier)
    functions: dict[str, NodeFunction] = {"intake": intake, **{p.__name__: working(p) for p in parts}, "ask": ask}
    graph = StateGraph(SurefootState, input_schema=SurefootInput, output_schema=SurefootOutput)
    # A checkpoint may be older than the journal, so any node may find the run at any stage.
    ways: dict[Hashable, str] = {**{node: node for node in functions if node != "intake"}, END: FINISH}
    for node, function in functions.items():
        graph.add_node(node, RunnableLambda(blocking(function), function, name=node))
        graph.add_conditional_edges(node, route, ways)
    graph.add_edge(START, "intake")
    return graph.compile(checkpointer=checkpointer, name=name)
