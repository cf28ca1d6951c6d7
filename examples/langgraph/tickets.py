"""A small LangGraph program that answers tickets. Surefoot is one of its nodes: it fixes the bugs.

    python tickets.py --folder my-project --thread 17 "Bug: add() subtracts. Fix calc.py."

Killed or interrupted, it goes on when it is started again with the same thread. It needs the extra `langgraph` and the
package langgraph-checkpoint-sqlite, and a model as for `surefoot run`.
"""

import argparse
import asyncio
import sys
from pathlib import Path
from typing import Any, Literal, TypedDict

from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command

from surefoot import Agent, ExecutionConfig, SqliteJournal, create_model
from surefoot.integrations.langgraph import create_graph


class Ticket(TypedDict, total=False):
    """`task`, `checks`, `run_id` and `outcome` are shared with Surefoot's graph, the others are the program's own."""

    text: str
    kind: Literal["bug", "question"]
    reply: str
    task: str
    checks: list[str]
    run_id: str
    outcome: dict[str, Any]


def triage(ticket: Ticket) -> Ticket:
    is_bug = ticket["text"].lower().startswith("bug")
    return {"kind": "bug" if is_bug else "question", "task": ticket["text"], "checks": ["python3 -m unittest -q"]}


def reply(ticket: Ticket) -> Ticket:
    if ticket["kind"] == "question":
        return {"reply": "Thank you. Somebody will answer your question."}
    outcome = ticket["outcome"]
    if outcome["verdict"] == "verified":
        return {"reply": f"Fixed in {', '.join(outcome['modified_files'])}: {outcome['summary']}"}
    return {"reply": f"Not fixed: {outcome['summary']} (surefoot show {ticket['run_id']})"}


def program(agent: Agent, checkpointer: AsyncSqliteSaver) -> Any:
    graph = StateGraph(Ticket)
    graph.add_node("triage", triage)
    graph.add_node("fix", create_graph(agent))
    graph.add_node("reply", reply)
    graph.add_edge(START, "triage")
    graph.add_conditional_edges("triage", lambda t: "fix" if t["kind"] == "bug" else "reply", ["fix", "reply"])
    graph.add_edge("fix", "reply")
    graph.add_edge("reply", END)
    return graph.compile(checkpointer=checkpointer)


async def main(text: str, folder: Path, thread: str, state: Path, approve: str) -> int:
    state.mkdir(parents=True, exist_ok=True)
    journal = SqliteJournal(state / "journal.sqlite")
    config = ExecutionConfig.model_validate({"approve": approve})
    agent = Agent(await create_model(), config, journal, workspace=folder, home=state)
    async with AsyncSqliteSaver.from_conn_string(str(state / "checkpoints.sqlite")) as checkpointer:
        graph = program(agent, checkpointer)
        where: Any = {"configurable": {"thread_id": thread}}
        begun = await checkpointer.aget_tuple(where) is not None
        given: Any = None if begun else {"text": text}
        while True:
            # `sync`: each checkpoint is on disk before the next node begins.
            modes: Any = ["updates", "custom"]
            stream = graph.astream(given, where, stream_mode=modes, subgraphs=True, durability="sync")
            async for _, mode, chunk in stream:
                if mode == "custom" and chunk["type"] == "step_finished":
                    print(f"  step {chunk['step_id']}: {chunk['status']}")
                elif mode == "updates":
                    print(*(name for name in chunk if name != "__interrupt__"), flush=True)
            known = await graph.aget_state(where)
            if not known.interrupts:
                break
            for question in known.interrupts[0].value["questions"]:
                print(question["text"])
            given = Command(resume=await asyncio.to_thread(input, "answer: "))
        print(known.values["reply"])
    await journal.aclose()
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Answer a ticket.")
    parser.add_argument("text")
    parser.add_argument("--folder", type=Path, default=Path())
    parser.add_argument("--thread", default="1", help="The number of the ticket.")
    parser.add_argument("--state", type=Path, default=Path.home() / ".tickets")
    parser.add_argument("--approve", default="auto", help="`ask`: every change is asked for.")
    options = parser.parse_args()
    sys.exit(asyncio.run(main(options.text, options.folder, options.thread, options.state, options.approve)))
