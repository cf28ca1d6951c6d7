"""The engine as a graph: nodes, state, streaming, and where its runs end."""

import asyncio
import subprocess
import sys
from typing import Any, TypedDict

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph

from integrations.langgraph.program import CHECK, INPUT, RIGHT, TASK, THREAD, UNDERSTOOD, WRONG, Program
from support.kit import NO_RETRIES, Bench, steps
from surefoot.api import Agent
from surefoot.config.extras import install_remedy
from surefoot.core.plan import ExecutionStep
from surefoot.engine import parts
from surefoot.errors import UsageError, WorkspaceLocked
from surefoot.history.replay.replay import verify
from surefoot.integrations.langgraph import create_graph
from surefoot.integrations.langgraph.state import KEPT_ARTIFACTS, merge_artifacts
from surefoot.journal import events as e
from surefoot.journal.store.sqlite import SqliteJournal
from surefoot.models.testing.scripted import ScriptedModel
from surefoot.tools.registry import default_toolbox
from surefoot.tools.tool import tool


@pytest.mark.req("A9")
async def test_a_task_goes_through_the_nodes(bench: Bench) -> None:
    program = Program(bench, [UNDERSTOOD, RIGHT])
    state = await program.go(INPUT)
    planning, execution = ["planner"] * 3, ["scheduler", "executor", "scheduler"]
    assert program.nodes == ["intake", *planning, *execution, "verifier"]
    assert state["outcome"]["verdict"] == "verified"
    assert state["outcome"]["generated_files"] == ["adder.py"]
    assert state["stage"] == "completed"
    (artifact,) = state["artifacts"]
    assert (artifact["step_id"], artifact["outputs"]) == ("s1", {"result": "created adder.py (2 lines)"})
    assert [task["status"] for task in state["task_list"]["tasks"]] == ["completed"]
    assert state["task_list"]["sessionId"] == state["run_id"]


@pytest.mark.req("A9")
async def test_every_event_is_streamed_once_and_in_order(bench: Bench) -> None:
    program = Program(bench, [UNDERSTOOD, WRONG, RIGHT])
    state = await program.go(INPUT)
    streamed = [(event["seq"], event["type"]) for event in program.events if "seq" in event]
    assert streamed == [(record.seq, record.event.type) for record in program.records(state["run_id"])]
    assert state["seq"] == len(streamed)
    assert "def add" in "".join(event["text"] for event in program.events if event["type"] == "live_text")


@pytest.mark.req("A9")
async def test_a_failed_step_goes_through_the_reflector(bench: Bench) -> None:
    program = Program(bench, [UNDERSTOOD, WRONG, WRONG, WRONG], reflection=NO_RETRIES, max_actions_per_step=1)
    state = await program.go(INPUT)
    assert "reflector" in program.nodes
    assert (state["outcome"]["verdict"], state["outcome"]["exit_code"]) == ("loop", 6)
    assert state["outcome"]["diagnosis"]["what_failed"]
    assert bench.files() == {}


@pytest.mark.req("A9")
async def test_a_failed_run_is_continued_by_its_id(bench: Bench) -> None:
    first = Program(bench, [UNDERSTOOD, WRONG, WRONG, WRONG], reflection=NO_RETRIES, max_actions_per_step=1)
    failed = await first.go(INPUT)
    again = Program(bench, [RIGHT])
    state = await again.go({"given_run_id": failed["run_id"]})
    assert state["run_id"] == failed["run_id"]
    assert state["outcome"]["verdict"] == "verified"
    # What has ended well has nothing left to do.
    model_calls = len(again.recorded(state["run_id"], e.ModelAnswered))
    assert (await again.go({"given_run_id": failed["run_id"]}))["outcome"]["verdict"] == "verified"
    assert len(again.recorded(state["run_id"], e.ModelAnswered)) == model_calls


async def test_a_thread_has_one_run_for_each_task(bench: Bench) -> None:
    second = {**UNDERSTOOD, "understanding": "Write twice.py that doubles.", "files": ["twice.py"]}
    program = Program(bench, [UNDERSTOOD, RIGHT, second, "```python\ndef twice(a):\n    return 2 * a\n```"])
    first = await program.go(INPUT)
    then = await program.go({"task": "Write twice.py that doubles."})
    assert then["run_id"] != first["run_id"]
    (created,) = program.recorded(then["run_id"], e.RunCreated)
    assert created.task.checks == (), "the checks of the first task are not those of the second"
    assert [item["id"].split("/")[0] for item in then["artifacts"]] == [first["run_id"], then["run_id"]]


async def test_an_id_with_another_task_is_refused(bench: Bench) -> None:
    program = Program(bench, [UNDERSTOOD, RIGHT])
    done = await program.go(INPUT)
    with pytest.raises(UsageError, match="has another task: 'Write adder"):
        await program.go(
            {"task": "Delete everything.", "given_run_id": done["run_id"]}, {"configurable": {"thread_id": "2"}}
        )
    with pytest.raises(UsageError, match="no run 'nowhere'"):
        await program.go({"task": "", "given_run_id": "nowhere"}, {"configurable": {"thread_id": "3"}})
    with pytest.raises(UsageError, match="no task"):
        await program.go({"task": " "}, {"configurable": {"thread_id": "4"}})


@pytest.mark.req("A9", "O8")
async def test_a_step_does_not_wait_for_steps_that_it_does_not_need(bench: Bench) -> None:
    """`slow` ends only after `third`, which needs `quick`. In LangGraph a superstep would wait for `slow` first."""
    third_ran = asyncio.Event()

    @tool
    async def wait() -> str:
        """Wait for the third step."""
        await third_ran.wait()
        return "waited"

    @tool
    async def tell() -> str:
        """Let the waiting one go on."""
        third_ran.set()
        return "told"

    @tool
    def nothing() -> str:
        """Do nothing."""
        return "done"

    bench.toolbox = default_toolbox().with_(wait, tell, nothing)
    program = Program(bench, [], max_parallel_steps=2)
    of = {"slow": "wait", "quick": "nothing", "third": "tell", "last": "nothing"}
    plan = steps(
        *(ExecutionStep(id=step_id, name=step_id, tool=name) for step_id, name in of.items()),
        after=[("third", "quick"), ("last", "slow"), ("last", "third")],
    )
    state = await program.go({"given_run_id": await program.planned(plan)})
    ended = [event.step_id for event in program.recorded("given", e.StepFinished)]
    assert ended == ["quick", "third", "slow", "last"]
    assert [item["step_id"] for item in state["artifacts"]] == ["slow", "quick", "third", "last"]
    # Two steps ran while others did, so they needed no turn of their own.
    assert program.nodes.count("executor") == 2


def test_the_newest_artifacts_stay_in_the_state() -> None:
    items: list[Any] = [{"id": str(number), "name": "first"} for number in range(12)]
    kept = merge_artifacts(items[:8], items[6:])
    assert [item["id"] for item in kept] == [str(number) for number in range(12 - KEPT_ARTIFACTS, 12)]


@pytest.mark.req("A9")
def test_without_asyncio(bench: Bench) -> None:
    program = Program(bench, [UNDERSTOOD, RIGHT])
    result = program.graph.invoke(INPUT, THREAD)
    assert result["outcome"]["verdict"] == "verified"
    assert set(result) == {"run_id", "seq", "stage", "task_list", "artifacts", "outcome"}


class Ticket(TypedDict, total=False):
    task: str
    checks: list[str]
    outcome: dict[str, Any]
    verdict: str


@pytest.mark.req("A9")
async def test_as_a_node_of_another_graph(bench: Bench) -> None:
    agent = Agent(
        ScriptedModel([UNDERSTOOD, RIGHT]), bench.config(), bench.journal, workspace=bench.root, home=bench.home
    )
    parent = StateGraph(Ticket)
    parent.add_node("write", lambda state: {"task": TASK, "checks": [CHECK]})
    parent.add_node("surefoot", create_graph(agent))
    parent.add_node("tell", lambda state: {"verdict": state["outcome"]["verdict"]})
    parent.add_edge(START, "write")
    parent.add_edge("write", "surefoot")
    parent.add_edge("surefoot", "tell")
    parent.add_edge("tell", END)
    state = await parent.compile(checkpointer=InMemorySaver()).ainvoke({}, THREAD)
    assert state["verdict"] == "verified"
    assert state["checks"] == [CHECK], "what the surrounding program has is left alone"


async def test_the_folder_belongs_to_the_run_between_its_nodes(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "OPEN_SECONDS", 60.0)
    program, other = Program(bench, [UNDERSTOOD, RIGHT]), Program(bench, [UNDERSTOOD, RIGHT])
    stream = program.graph.astream(INPUT, THREAD, stream_mode="updates")
    while "planner" not in await anext(stream):
        pass
    with pytest.raises(WorkspaceLocked):
        await other.go(INPUT)
    await stream.aclose()
    # Whoever goes on in the same process has the folder still.
    monkeypatch.setattr(parts, "OPEN_SECONDS", 0.0)
    assert (await program.go(None))["outcome"]["verdict"] == "verified"


async def test_the_folder_is_given_back_when_no_node_follows(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "OPEN_SECONDS", 0.0)
    program, other = Program(bench, [UNDERSTOOD, RIGHT]), Program(bench, [UNDERSTOOD, RIGHT])
    stream = program.graph.astream(INPUT, THREAD, stream_mode="updates", interrupt_after=["planner"])
    (run_id,) = [chunk["intake"]["run_id"] async for chunk in stream if "intake" in chunk]
    await asyncio.sleep(0.05)
    assert (await other.go(INPUT))["outcome"]["verdict"] == "verified"
    state = await program.go(None)
    assert state["run_id"] == run_id
    assert len(program.recorded(run_id, e.RunResumed)) >= 1, "time in which nothing was done is not the run's"


async def test_a_run_of_the_graph_can_be_verified_by_replay(bench: Bench) -> None:
    bench.journal = SqliteJournal(bench.home / "journal.sqlite")
    program = Program(bench, [UNDERSTOOD, WRONG, RIGHT])
    state = await program.go(INPUT)
    result = await verify(bench.journal, bench.home, state["run_id"])
    assert result.divergence is None
    await bench.journal.aclose()


def test_langgraph_is_imported_when_a_graph_is_made() -> None:
    code = "import sys, surefoot.integrations.langgraph; print({'langgraph', 'langchain_core'} & sys.modules.keys())"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert loaded.strip() == "set()"


def test_a_missing_langgraph_is_named_with_the_remedy(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "langgraph.graph", None)
    with pytest.raises(UsageError) as caught:
        create_graph(Agent(ScriptedModel([]), workspace=bench.root, home=bench.home))
    assert caught.value.remedy == install_remedy("langgraph")
