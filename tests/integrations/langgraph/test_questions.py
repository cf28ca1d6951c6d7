"""Questions of a run interrupt the graph, and `Command(resume=...)` answers them."""

import asyncio
from typing import Any

import pytest
from langgraph.types import Command

from integrations.langgraph.program import INPUT, RIGHT, THREAD, UNDERSTOOD, WRONG, Program
from support.kit import Bench, steps
from surefoot.api import Agent
from surefoot.core.plan import ExecutionStep
from surefoot.journal import events as e
from surefoot.journal.messages import ControlMessage
from surefoot.journal.store.base import Journal
from surefoot.models.base import ModelReply, ModelRequest, OnText
from surefoot.models.testing.scripted import ScriptedModel
from surefoot.tools.registry import default_toolbox
from surefoot.tools.tool import tool


def answers_of(program: Program, run_id: str) -> list[str]:
    return [event.answer for event in program.recorded(run_id, e.QuestionAnswered)]


@pytest.mark.req("A9", "P12")
async def test_each_question_gets_its_own_answer(bench: Bench) -> None:
    """LangGraph repeats the node that asked. The first answer must not be taken for the second question too."""
    program = Program(bench, [UNDERSTOOD, WRONG, RIGHT], approve="ask")
    waiting = await program.go(INPUT)
    assert (waiting["stage"], program.nodes[-1]) == ("waiting", "executor")
    (first,) = program.interrupts
    assert first["run_id"] == waiting["run_id"]
    (question,) = first["questions"]
    assert question["kind"] == "approval"
    assert "return a - b" in question["text"]
    assert bench.files() == {}
    await program.go(Command(resume="yes"))
    assert "return a + b" in program.interrupts[1]["questions"][0]["text"]
    assert "a - b" in bench.files()["adder.py"]
    changed = "def add(a, b):\n    return b + a\n"
    state = await program.go(Command(resume={program.interrupts[1]["questions"][0]["id"]: f"edit: {changed}"}))
    assert state["outcome"]["verdict"] == "verified"
    assert bench.files()["adder.py"] == changed
    assert answers_of(program, state["run_id"]) == ["yes", f"edit: {changed}"]


@pytest.mark.req("A9", "P12")
async def test_words_that_are_no_answer_are_refused_and_asked_again(bench: Bench) -> None:
    program = Program(bench, [UNDERSTOOD, RIGHT], approve="ask")
    await program.go(INPUT)
    await program.go(Command(resume="perhaps"))
    first, again = program.interrupts
    assert "'perhaps' is not a valid answer" in again["problem"]
    assert "y (yes)" in again["problem"]
    assert [q["id"] for q in again["questions"]] == [q["id"] for q in first["questions"]]
    state = await program.go(Command(resume="yes"))
    assert answers_of(program, state["run_id"]) == ["yes"]


@pytest.mark.req("A9")
async def test_an_answer_is_never_taken_for_another_question(bench: Bench) -> None:
    """While the graph waits, somebody else answers and continues the run, which then waits for something else."""
    program = Program(bench, [UNDERSTOOD, WRONG, RIGHT], approve="ask")
    waiting = await program.go(INPUT)
    elsewhere = Agent(
        ScriptedModel([RIGHT]), program.agent.config, bench.journal, workspace=bench.root, home=bench.home
    )
    (question,) = elsewhere.questions(waiting["run_id"])
    await elsewhere.answer(waiting["run_id"], question.id, "yes")
    await program.go(Command(resume="no, not like this"))
    assert answers_of(program, waiting["run_id"]) == ["yes"], "the no was meant for the first question"
    assert "return a + b" in program.interrupts[-1]["questions"][0]["text"]
    assert [event for event in program.events if event.get("caught_up")] == []
    state = await program.go(Command(resume="yes"))
    assert answers_of(program, waiting["run_id"]) == ["yes", "yes"]
    assert state["outcome"]["verdict"] == "verified"


@pytest.mark.req("A9")
async def test_an_answer_from_elsewhere_is_enough(bench: Bench) -> None:
    program = Program(bench, [UNDERSTOOD, RIGHT], approve="ask")
    waiting = await program.go(INPUT)
    (question,) = program.agent.questions(waiting["run_id"])
    program.agent.leave_answer(waiting["run_id"], question.id, "yes")
    state = await program.go(Command(resume="no"))
    assert answers_of(program, waiting["run_id"]) == ["yes"], "the first answer counts"
    assert state["outcome"]["verdict"] == "verified"


@pytest.mark.req("A9")
async def test_questions_of_steps_that_run_together(bench: Bench) -> None:
    @tool(external=True)
    async def post(what: str) -> str:
        """Post something."""
        return what

    bench.toolbox = default_toolbox().with_(post)
    program = Program(bench, [], max_parallel_steps=2)
    pair = [ExecutionStep(id=s, name=s, tool="post", parameters={"what": s}) for s in ("a", "b")]
    run_id = await program.planned(steps(*pair))
    await program.go({"given_run_id": run_id})
    asked: list[Any] = program.interrupts[0]["questions"]
    assert len(asked) == 2
    await program.go(Command(resume="yes"))
    assert "2 questions are open" in program.interrupts[-1]["problem"]
    await program.go(Command(resume={asked[0]["id"]: "yes"}))
    assert asked[1]["id"] in program.interrupts[-1]["problem"]
    await program.go(Command(resume={question["id"]: "yes" for question in asked}))
    assert {event.step_id for event in program.recorded(run_id, e.StepFinished)} == {"a", "b"}


class Pausing(ScriptedModel):
    """Has the run paused while it is asked for the second time."""

    journal: Journal

    async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelReply:
        if len(self.requests) == 1:
            (run,) = self.journal.summaries()
            self.journal.send(run.run_id, ControlMessage(command="pause", why="lunch"))
            self.requests.append(request)
            await asyncio.sleep(3600)
        return await super().complete(request, on_text)


@pytest.mark.req("A9", "A8")
async def test_a_paused_run_interrupts_without_a_question(bench: Bench) -> None:
    model = Pausing([UNDERSTOOD, RIGHT])
    model.journal = bench.journal
    program = Program(bench, model)
    await program.go(INPUT)
    assert "lunch" in program.interrupts[0]["reason"]
    assert program.interrupts[0]["questions"] == []
    state = await program.go(Command(resume="go on"))
    assert state["outcome"]["verdict"] == "verified"


@pytest.mark.req("A9", "P12")
def test_questions_without_asyncio(bench: Bench) -> None:
    program = Program(bench, [UNDERSTOOD, RIGHT], approve="ask")
    waiting = program.graph.invoke(INPUT, THREAD)
    assert waiting["__interrupt__"][0].value["questions"][0]["kind"] == "approval"
    assert program.graph.invoke(Command(resume="yes"), THREAD)["outcome"]["verdict"] == "verified"
