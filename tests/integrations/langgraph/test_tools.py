"""Tools and graphs of others as tools of Surefoot."""

import asyncio
import threading
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.documents import Document
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langchain_core.tools import InjectedToolArg, StructuredTool, ToolException
from langchain_core.tools import tool as langchain_tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt

from integrations.langgraph.program import THREAD, Program
from support.kit import Bench, steps
from surefoot.core.plan import ExecutionStep
from surefoot.core.transitions import Rung
from surefoot.errors import ToolError, ToolUnavailable
from surefoot.integrations.langgraph import as_tool
from surefoot.journal import events as e
from surefoot.tools import ToolContext, call
from surefoot.tools.registry import default_toolbox
from surefoot.tools.tool import Tool, Writes

LOOKS: Any = {"writes": Writes.NONE, "external": False}


@langchain_tool
def exchange(amount: float, currency: str = "EUR") -> dict[str, Any]:
    """Convert an amount
    into dollars."""
    if currency != "EUR":
        raise ToolException(f"there is no rate for {currency}")
    return {"dollars": amount * 2}


class Question(TypedDict, total=False):
    text: str
    reply: str


def graph_of(node: Any) -> Any:
    builder = StateGraph(Question)
    builder.add_node("work", node)
    builder.add_edge(START, "work")
    builder.add_edge("work", END)
    return builder


async def calling(tool: Tool, root: Path, **arguments: Any) -> Any:
    return await call(tool, ToolContext(root=root), arguments)


@pytest.mark.req("A9")
async def test_a_langchain_tool(tmp_path: Path) -> None:
    tool = as_tool(exchange, **LOOKS, alternatives=["http_get"])
    assert (tool.name, tool.description) == ("exchange", "Convert an amount into dollars.")
    assert tool.signature == "exchange(amount, currency?)"
    assert tool.alternatives == ("http_get",)
    assert tool.is_read_only
    result = await calling(tool, tmp_path, amount="3.5")
    assert result.data == {"dollars": 7.0}
    with pytest.raises(ToolError, match="there is no rate for CHF"):
        await calling(tool, tmp_path, amount=1, currency="CHF")
    with pytest.raises(ToolError, match="amount"):
        await calling(tool, tmp_path, amount="much")


def test_what_is_not_declared_is_assumed() -> None:
    tool = as_tool(exchange)
    assert (tool.writes, tool.external, tool.is_read_only) == (Writes.FREE, True, False)
    declared = as_tool(exchange, writes=["currency"], external=False, compensate="undo_it")
    assert declared.written_paths({"currency": "a.txt"}) == ("a.txt",)


async def test_results_of_other_classes_become_plain(tmp_path: Path) -> None:
    message = as_tool(RunnableLambda(lambda text: AIMessage(f"heard {text}"), name="hear"), **LOOKS)
    assert (await calling(message, tmp_path, input="you")).output == "heard you"
    found = as_tool(RunnableLambda(lambda _: [Document("text", metadata={"page": 1})], name="find it!"), **LOOKS)
    assert found.name == "find_it_"
    assert (await calling(found, tmp_path, input="x")).data == [{"content": "text", "metadata": {"page": 1}}]


async def test_arguments_that_langgraph_injects_are_not_shown(tmp_path: Path) -> None:
    def greet(name: str, secret: Annotated[str, InjectedToolArg] = "s", *, config: RunnableConfig) -> str:
        """Greet."""
        return f"{name} in {config['configurable']['surefoot_workspace']}"

    tool = as_tool(StructuredTool.from_function(greet), **LOOKS)
    assert tool.signature == "greet(name)"
    assert (await calling(tool, tmp_path, name="Ada")).output == f"Ada in {tmp_path}"


@pytest.mark.req("A9")
async def test_a_graph(tmp_path: Path) -> None:
    graph = graph_of(lambda state: {"reply": state["text"].upper()}).compile(name="shout")
    tool = as_tool(graph, description="Say it louder.", **LOOKS)
    assert (await calling(tool, tmp_path, text="hello")).data == {"text": "hello", "reply": "HELLO"}


async def test_a_graph_that_asks_is_an_error_that_says_so(tmp_path: Path) -> None:
    graph = graph_of(lambda state: {"reply": interrupt("Which one?")}).compile(name="choose")
    with pytest.raises(ToolError, match="choose stopped to ask: Which one"):
        await calling(as_tool(graph, **LOOKS), tmp_path, text="hello")


async def test_connection_errors_are_temporary(tmp_path: Path) -> None:
    def lost(text: str) -> str:
        raise ConnectionError("reset by peer")

    with pytest.raises(ToolUnavailable):
        await calling(as_tool(RunnableLambda(lost, name="lost"), **LOOKS), tmp_path, input="x")


async def test_a_cancelled_call_waits_for_a_thread_that_may_be_writing(tmp_path: Path) -> None:
    began, ended = threading.Event(), threading.Event()

    @langchain_tool
    def write() -> str:
        """Write slowly."""
        began.set()
        ended.wait(0.2)
        (tmp_path / "late.txt").write_text("late")
        ended.set()
        return "written"

    running = asyncio.create_task(calling(as_tool(write, external=False), tmp_path))
    await asyncio.to_thread(began.wait)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert ended.is_set(), "a rollback would have come before the write"


@pytest.mark.req("A9", "R2")
async def test_the_ladder_uses_the_alternative_of_a_foreign_tool(bench: Bench) -> None:
    """Inside Surefoot's own graph, where a graph that is called as a tool must not become a part of it."""

    @langchain_tool
    def by_mail(text: str) -> str:
        """Ask by mail."""
        raise ToolException("the mail server does not know the address")

    asked = graph_of(lambda state: {"reply": f"{state['text']}: 42"}).compile(checkpointer=InMemorySaver(), name="x")

    async def ask(given: dict[str, str]) -> str:
        reply = await asked.ainvoke({"text": given["text"]}, {"configurable": {"thread_id": "own"}})
        return str(reply["reply"])

    other = as_tool(StructuredTool.from_function(coroutine=lambda text: ask({"text": text}), name="by_phone",
                                                 description="Ask by phone."), **LOOKS)  # fmt: skip
    bench.toolbox = default_toolbox().with_(other, as_tool(by_mail, **LOOKS, alternatives=["by_phone"]))
    program = Program(bench, [])
    plan = steps(ExecutionStep(id="ask", name="ask", tool="by_mail", parameters={"text": "the answer"}))
    state = await program.go({"given_run_id": await program.planned(plan)})
    assert [event.rung for event in program.recorded("given", e.RungChosen)] == [Rung.ALTERNATIVE_TOOL]
    assert state["artifacts"][0]["outputs"] == {"result": "the answer: 42"}
    assert state["outcome"]["verdict"] == "unverified"
    inner = [item async for item in asked.aget_state_history({"configurable": {"thread_id": "own"}})]
    outer = [item async for item in program.graph.aget_state_history(THREAD)]
    assert inner
    assert outer
