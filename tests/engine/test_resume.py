"""An interrupted run continues where it stopped and repeats nothing that is recorded as done."""

import asyncio
from typing import Any

import pytest

from support.kit import NO_RETRIES, Bench, act, fenced, steps, understanding
from surefoot.core.outcome import Verdict
from surefoot.core.plan import ExecutionStep, FileCheck, StepType
from surefoot.core.transitions import Stage, StepStatus
from surefoot.engine.loop import resume_run
from surefoot.errors import ModelRejected, UnknownRun
from surefoot.journal import events as e
from surefoot.journal.messages import AnswerMessage
from surefoot.journal.reducers import fold
from surefoot.models.base import ModelRequest
from surefoot.models.testing.scripted import Rule
from surefoot.tools.context import ToolContext
from surefoot.tools.registry import default_toolbox
from surefoot.tools.tool import Writes, tool

GOOD = "def add(a, b):\n    return a + b\n"
CHECK = "python3 -c 'from adder import add; assert add(2, 3) == 5'"


def cancel_run(_: ModelRequest) -> Any:
    raise asyncio.CancelledError


@pytest.mark.req("P14", "A11", "O10")
async def test_resume_continues_after_the_last_completed_phase(bench: Bench) -> None:
    with pytest.raises(asyncio.CancelledError):
        await bench.run("Write adder.py with add(a, b).", [understanding("adder.py"), cancel_run], checks=[CHECK])
    run_id = bench.journal.find("last")
    assert fold(bench.journal.read(run_id)).stage is Stage.EXECUTION
    state = await bench.resume(run_id, [fenced(GOOD)])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    assert state.model_calls == 2, "understanding is not repeated"


@pytest.mark.req("P14", "X2")
async def test_interrupted_action_is_undone_and_retried(bench: Bench) -> None:
    started = asyncio.Event()
    calls: list[str] = []

    @tool(writes=Writes.FREE)
    async def slow_write() -> str:
        """Write a file; the first call never returns."""
        calls.append("called")
        (bench.root / "half.txt").write_text("half" if len(calls) == 1 else "whole")
        started.set()
        if len(calls) == 1:
            await asyncio.sleep(3600)
        return "written"

    bench.toolbox = default_toolbox().with_(slow_write)
    plan = steps(
        ExecutionStep(id="s1", name="write", tool="slow_write"),
        ExecutionStep(id="s2", name="read", tool="list_files"),
        after=[("s2", "s1")],
    )
    task = asyncio.create_task(bench.run_plan(plan))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    run_id = bench.journal.find("last")
    file_exists: list[bool] = []
    bench.records.clear()

    def check_rollback(record: e.Record) -> None:
        if isinstance(record.event, e.ActionInterrupted):
            file_exists.append((bench.root / "half.txt").exists())

    services = bench.services([])
    services.bus.subscribe(check_rollback)
    state = await resume_run(services, run_id)
    assert file_exists == [False], "the file of the interrupted action is removed before the retry"
    assert (bench.root / "half.txt").read_text() == "whole"
    assert state.steps["s2"].status is StepStatus.SUCCEEDED
    assert calls == ["called", "called"]


@pytest.mark.req("P14", "X2", "P12")
@pytest.mark.parametrize(("answer", "deployed"), [("done", 1), ("again", 2), ("stop", 1)])
async def test_interrupted_external_action_is_asked_about(bench: Bench, answer: str, deployed: int) -> None:
    started = asyncio.Event()
    calls: list[str] = []

    @tool(external=True)
    async def deploy() -> str:
        """Deploy; the first call never returns."""
        calls.append("deployed")
        started.set()
        if len(calls) == 1:
            await asyncio.sleep(3600)
        return "deployed"

    bench.toolbox = default_toolbox().with_(deploy)
    plan = steps(ExecutionStep(id="s1", name="deploy", tool="deploy"))
    task = asyncio.create_task(bench.run_plan(plan, allow=("deploy",)))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    run_id = bench.journal.find("last")
    state = await bench.resume(run_id, [])
    assert state.stage is Stage.WAITING
    (question,) = state.open_questions
    assert question.options == ("done", "again", "stop")
    bench.journal.send(run_id, AnswerMessage(question_id=question.id, answer=answer))
    state = await bench.resume(run_id, [])
    assert len(calls) == deployed
    if answer == "stop":
        assert state.stage is Stage.FAILED
        assert (await bench.resume(run_id, [])).stage is Stage.WAITING, "the question is asked again"
    else:
        assert state.steps["s1"].status is StepStatus.SUCCEEDED


@pytest.mark.req("P13", "X2", "P12")
async def test_the_files_of_a_call_that_a_person_says_was_done_are_undone_with_its_step(bench: Bench) -> None:
    started = asyncio.Event()

    @tool(external=True, writes=Writes.FREE)
    async def deploy(context: ToolContext) -> str:
        """Deploy, and note it; the first call never returns."""
        (context.root / "deployed.txt").write_text("yes")
        started.set()
        await asyncio.sleep(3600)
        return "deployed"

    bench.toolbox = default_toolbox().with_(deploy)
    plan = steps(ExecutionStep(id="s1", name="deploy", tool="deploy", checks=(FileCheck(path="never"),)))
    task = asyncio.create_task(bench.run_plan(plan, allow=("deploy",), reflection=NO_RETRIES))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    run_id = bench.journal.find("last")
    (question,) = (await bench.resume(run_id, [])).open_questions
    bench.journal.send(run_id, AnswerMessage(question_id=question.id, answer="done"))
    state = await bench.resume(run_id, [])
    assert state.steps["s1"].status is StepStatus.FAILED
    assert not bench.files(), "the failed step leaves nothing behind"


@pytest.mark.req("P14")
async def test_finished_steps_are_not_run_again(bench: Bench) -> None:
    calls: list[str] = []
    fail = True

    @tool
    def count(name: str) -> str:
        """Count."""
        calls.append(name)
        if name == "two" and fail:
            raise RuntimeError("not yet")
        return name

    bench.toolbox = default_toolbox().with_(count)
    plan = steps(
        *(ExecutionStep(id=n, name=n, tool="count", parameters={"name": n}) for n in ("one", "two", "three")),
        after=[("two", "one"), ("three", "two")],
    )
    state = await bench.run_plan(plan, reflection=NO_RETRIES)
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.FAILED
    fail = False
    state = await bench.resume(state.run_id, [])
    assert state.outcome is not None
    assert calls.count("one") == 1
    assert state.steps["three"].status is StepStatus.SUCCEEDED


async def test_permanent_model_error_ends_with_a_diagnosis_and_can_be_resumed(bench: Bench) -> None:
    answers = [understanding("adder.py"), ModelRejected("the key is wrong", remedy="set OPENAI_API_KEY")]
    state = await bench.run("Write adder.py with add(a, b).", answers, checks=[CHECK])
    assert state.outcome is not None
    assert "the key is wrong" in state.outcome.summary
    assert state.outcome.diagnosis is not None
    assert "OPENAI_API_KEY" in state.outcome.diagnosis.next_steps[0]
    state = await bench.resume(state.run_id, [fenced(GOOD)])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED


async def test_resuming_a_completed_run_changes_nothing(bench: Bench) -> None:
    state = await bench.run("Write adder.py with add(a, b).", [understanding("adder.py"), fenced(GOOD)], checks=[CHECK])
    before = state.seq
    resumed = await bench.resume(state.run_id, [])
    assert resumed.seq == before


async def test_resuming_an_unknown_run_raises(bench: Bench) -> None:
    with pytest.raises(UnknownRun):
        await bench.resume("nope", [])


@pytest.mark.req("P12", "P14")
async def test_confirmation_waits_across_processes(bench: Bench) -> None:
    answers = [understanding("adder.py")]
    state = await bench.run("Write adder.py with add(a, b).", answers, checks=[CHECK], require_confirmation=True)
    assert state.stage is Stage.WAITING
    assert state.outcome is None
    (question,) = state.open_questions
    assert question.kind == "confirmation"
    assert "understanding is done" in question.text

    unanswered = await bench.resume(state.run_id, [])
    assert unanswered.stage is Stage.WAITING, "nobody answered"

    for _ in range(2):
        bench.journal.send(state.run_id, AnswerMessage(question_id=question.id, answer="yes"))
        state = await bench.resume(state.run_id, [fenced(GOOD)])
        if state.open_questions:
            (question,) = state.open_questions
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED


@pytest.mark.req("P12")
async def test_refused_confirmation_ends_the_run(bench: Bench) -> None:
    state = await bench.run("Write adder.py.", [understanding("adder.py")], require_confirmation=True)
    (question,) = state.open_questions
    bench.journal.send(state.run_id, AnswerMessage(question_id=question.id, answer="no"))
    state = await bench.resume(state.run_id, [])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.CANCELLED


@pytest.mark.req("P14")
async def test_model_may_choose_another_action_after_an_interruption(bench: Bench) -> None:
    started = asyncio.Event()

    @tool(writes=Writes.FREE)
    async def hang() -> str:
        """Never end."""
        started.set()
        await asyncio.sleep(3600)
        return ""

    bench.toolbox = default_toolbox().with_(hang)
    step = ExecutionStep(id="s", name="s", description="make x.txt", step_type=StepType.COMMAND_EXECUTION,
                         checks=(FileCheck(path="x.txt"),))  # fmt: skip
    task = asyncio.create_task(bench.run_plan(steps(step), [act("hang")]))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    state = await bench.resume(bench.journal.find("last"), [act("run_command", command="touch x.txt")])
    assert state.steps["s"].status is StepStatus.SUCCEEDED


@pytest.mark.req("P12")
async def test_comment_instead_of_a_confirmation_repeats_the_phase(bench: Bench) -> None:
    answers = [Rule("Say what the task wants", understanding("adder.py")), fenced(GOOD)]
    state = await bench.run("Write adder.py with add(a, b).", answers, checks=[CHECK], require_confirmation=True)
    (question,) = state.open_questions
    bench.journal.send(state.run_id, AnswerMessage(question_id=question.id, answer="handle floats too"))
    state = await bench.resume(state.run_id, answers)
    assert state.stage is Stage.WAITING, "the new result needs confirmation too"
    assert "the user wants it differently: handle floats too" in bench.prompts()[-1]
    (next_question,) = state.open_questions
    assert next_question.id != question.id


@pytest.mark.req("O4")
async def test_spent_budget_can_be_raised_on_resume(bench: Bench) -> None:
    answers = [understanding("adder.py"), fenced(GOOD)]
    state = await bench.run("Write adder.py with add(a, b).", answers, checks=[CHECK], budget={"max_tokens": 10})
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.BUDGET
    more = state.config.with_(budget=state.config.budget.with_(max_tokens=100_000))
    state = await resume_run(bench.services([fenced(GOOD)]), state.run_id, config=more)
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
