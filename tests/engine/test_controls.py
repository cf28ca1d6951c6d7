"""Controls sent to a run at work: edit its plan, retry a step, skip a step."""

import asyncio
from typing import Any, Literal

import pytest

from support.kit import Bench, steps
from surefoot.core.outcome import Verdict
from surefoot.core.plan import ExecutionStep
from surefoot.core.transitions import Stage, StepStatus
from surefoot.engine import loop
from surefoot.engine.planner.plan_toml import as_text
from surefoot.engine.runtime.run import Run
from surefoot.history.requests import require_revision, send_edit
from surefoot.journal import events as e
from surefoot.journal.messages import ControlMessage
from surefoot.journal.reducers import fold
from surefoot.tools.registry import default_toolbox
from surefoot.tools.tool import Writes, tool


def add_tools(bench: Bench) -> tuple[asyncio.Event, asyncio.Event]:
    """Add `hold`, which sets the first event and waits for the second, and `put`, which writes a file."""
    started, release = asyncio.Event(), asyncio.Event()

    @tool
    async def hold() -> str:
        """Wait."""
        started.set()
        await release.wait()
        return "released"

    @tool(writes=("path",))
    async def put(path: str) -> str:
        """Write."""
        (bench.root / path).write_text("x")
        return path

    bench.toolbox = default_toolbox().with_(hold, put)
    return started, release


async def control_received(bench: Bench) -> None:
    await bench.wait_for(lambda event: isinstance(event, e.ControlReceived))


def put_step(step_id: str) -> ExecutionStep:
    return ExecutionStep(id=step_id, name=step_id, tool="put", parameters={"path": f"{step_id}.txt"})


@pytest.mark.req("A8", "D3")
async def test_edit_applies_before_the_next_step(bench: Bench) -> None:
    started, release = add_tools(bench)
    plan = steps(
        ExecutionStep(id="a", name="a", tool="hold"), put_step("b"), put_step("c"), after=[("b", "a"), ("c", "b")]
    )
    task = asyncio.create_task(bench.run_plan(plan))
    await started.wait()
    run_id = bench.journal.find("last")
    text = as_text(fold(bench.journal.read(run_id))).replace('"b.txt"', '"other.txt"').replace('id = "c"', 'id = "d"')
    bench.journal.send(run_id, ControlMessage(command="edit", by="ann", why="b is taken", plan=text))
    # The running step is not interrupted: an edit is about later steps.
    await control_received(bench)
    release.set()
    state = await task
    assert set(bench.files()) == {"other.txt", "c.txt"}
    assert list(state.steps) == ["a", "b", "d"]
    assert all(run.status is StepStatus.SUCCEEDED for run in state.steps.values())
    (change,) = bench.events(e.PlanRevised)
    assert (change.by, change.reason, change.removed) == ("user", "ann: b is taken", ("c",))
    assert not state.controls
    refolded = fold(bench.journal.read(run_id))
    assert list(refolded.steps) == list(state.steps)
    assert refolded.plan == state.plan


@pytest.mark.req("A8")
async def test_edit_during_the_last_step_applies(bench: Bench) -> None:
    started, release = add_tools(bench)
    task = asyncio.create_task(bench.run_plan(steps(ExecutionStep(id="a", name="a", tool="hold"))))
    await started.wait()
    more = '[[step]]\nid = "b"\nname = "b"\ntool = "put"\nparameters = {path = "b.txt"}\nafter = ["a"]\n'
    bench.journal.send(bench.journal.find("last"), ControlMessage(command="edit", by="ann", plan=more))
    release.set()  # before the run has read its messages
    state = await task
    assert state.steps["b"].status is StepStatus.SUCCEEDED
    assert set(bench.files()) == {"b.txt"}


@pytest.mark.req("A8")
async def test_edit_of_a_started_step_is_refused(bench: Bench) -> None:
    started, release = add_tools(bench)
    plan = steps(ExecutionStep(id="a", name="a", tool="hold"), put_step("b"), after=[("b", "a")])
    task = asyncio.create_task(bench.run_plan(plan))
    await started.wait()
    late = '[[step]]\nid = "a"\nname = "a has begun"\n'
    bench.journal.send(bench.journal.find("last"), ControlMessage(command="edit", by="ann", plan=late))
    await control_received(bench)
    release.set()
    state = await task
    assert state.steps["b"].status is StepStatus.SUCCEEDED
    (refused,) = bench.events(e.ControlRefused)
    assert "cannot be changed" in refused.reason
    assert not state.controls


@pytest.mark.req("A8")
@pytest.mark.parametrize("retried", ["done", "running"])
async def test_finished_or_running_step_can_be_retried(bench: Bench, retried: str) -> None:
    calls: list[str] = []
    second_started = asyncio.Event()

    @tool(writes=Writes.FREE)
    async def work(name: str) -> str:
        """Work; the first call of the second step hangs."""
        calls.append(name)
        (bench.root / f"{name}{calls.count(name)}.txt").write_text(name)
        if name == "running" and calls.count(name) == 1:
            second_started.set()
            await control_received(bench)
            if retried == "running":
                await asyncio.sleep(3600)
        return name

    bench.toolbox = default_toolbox().with_(work)
    plan = steps(
        *(ExecutionStep(id=s, name=s, tool="work", parameters={"name": s}) for s in ("done", "running")),
        after=[("running", "done")],
    )
    task = asyncio.create_task(bench.run_plan(plan))
    await second_started.wait()
    bench.journal.send(bench.journal.find("last"), ControlMessage(command="retry", step_id=retried))
    state = await task
    assert all(run.status is StepStatus.SUCCEEDED for run in state.steps.values())
    assert calls == ["done", "running", retried]
    assert not state.controls
    assert ("running1.txt" in bench.files()) is (retried == "done"), "an interrupted attempt is undone"


@pytest.mark.req("A8")
async def test_skipping_a_finished_step_is_refused(bench: Bench) -> None:
    started, release = add_tools(bench)
    plan = steps(put_step("b"), ExecutionStep(id="a", name="a", tool="hold"), put_step("c"),
                 after=[("a", "b"), ("c", "a")])  # fmt: skip
    task = asyncio.create_task(bench.run_plan(plan))
    await started.wait()
    bench.journal.send(bench.journal.find("last"), ControlMessage(command="skip", step_id="b"))
    await control_received(bench)
    release.set()
    state = await task
    assert [refused.reason for refused in bench.events(e.ControlRefused)] == ["the step is succeeded"]
    assert state.steps["b"].status is StepStatus.SUCCEEDED


def add_hanging_tool(bench: Bench, started: asyncio.Event) -> None:
    @tool(writes=Writes.FREE)
    async def hang() -> str:
        """Never end."""
        (bench.root / "half.txt").write_text("half")
        started.set()
        await asyncio.sleep(3600)
        return ""

    bench.toolbox = default_toolbox().with_(hang)


HANG = ExecutionStep(id="hang", name="hang", tool="hang")
AFTER = ExecutionStep(id="after", name="after", tool="list_files")


@pytest.mark.req("A8")
async def test_running_step_can_be_skipped(bench: Bench) -> None:
    started = asyncio.Event()
    add_hanging_tool(bench, started)
    task = asyncio.create_task(bench.run_plan(steps(HANG, AFTER, after=[("after", "hang")])))
    await started.wait()
    bench.journal.send(
        bench.journal.find("last"),
        ControlMessage(command="skip", step_id="hang", by="ann", why="too slow"),
    )
    state = await task
    assert state.steps["hang"].status is StepStatus.SKIPPED
    assert state.steps["after"].status is StepStatus.SUCCEEDED
    assert bench.files() == {}, "the work of the skipped step is undone"
    (control,) = bench.events(e.ControlReceived)
    assert (control.by, control.why) == ("ann", "too slow")


@pytest.mark.req("A8")
async def test_run_can_be_cancelled(bench: Bench) -> None:
    started = asyncio.Event()
    add_hanging_tool(bench, started)
    task = asyncio.create_task(bench.run_plan(steps(HANG)))
    await started.wait()
    bench.journal.send(bench.journal.find("last"), ControlMessage(command="cancel", why="wrong task"))
    state = await task
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.CANCELLED
    assert "wrong task" in state.outcome.summary


@pytest.mark.req("A8", "A11")
async def test_run_can_be_paused_and_resumed(bench: Bench) -> None:
    started = asyncio.Event()
    add_hanging_tool(bench, started)
    task = asyncio.create_task(bench.run_plan(steps(HANG)))
    await started.wait()
    bench.journal.send(bench.journal.find("last"), ControlMessage(command="pause"))
    state = await task
    assert state.stage is Stage.WAITING
    assert state.outcome is None

    @tool(writes=Writes.FREE)
    async def hang() -> str:
        """End at once."""
        return "ended"

    bench.toolbox = default_toolbox().with_(hang)
    state = await bench.resume(state.run_id, [])
    assert state.steps["hang"].status is StepStatus.SUCCEEDED


@pytest.mark.req("A8")
async def test_pending_step_can_be_skipped(bench: Bench) -> None:
    started = asyncio.Event()

    @tool
    async def wait_for_message() -> str:
        """Wait until a control has arrived."""
        started.set()
        await control_received(bench)
        return ""

    bench.toolbox = default_toolbox().with_(wait_for_message)
    first = ExecutionStep(id="first", name="first", tool="wait_for_message")
    task = asyncio.create_task(bench.run_plan(steps(first, AFTER, after=[("after", "first")])))
    await started.wait()
    bench.journal.send(bench.journal.find("last"), ControlMessage(command="skip", step_id="after"))
    state = await task
    assert state.steps["after"].status is StepStatus.SKIPPED
    assert state.steps["after"].attempt == 0


@pytest.mark.req("A8")
@pytest.mark.parametrize("times", [1, 2])
async def test_a_pending_step_that_was_skipped_does_not_start(bench: Bench, times: int) -> None:
    """Also if it was asked for twice. A start would be an event that no fold accepts, and the run could not be read."""
    started, release = add_tools(bench)
    hold = ExecutionStep(id="a", name="a", tool="hold")
    plan = steps(hold, put_step("b"), put_step("c"), after=[("b", "a"), ("c", "b")])
    task = asyncio.create_task(bench.run_plan(plan))
    await started.wait()
    for number in range(times):
        bench.journal.send(bench.journal.find("last"), ControlMessage(command="skip", step_id="b", id=f"k{number}"))
    await bench.wait_for(lambda _: len(bench.events(e.ControlReceived)) == times)
    release.set()
    state = await task
    assert [s.status for s in state.steps.values()] == [StepStatus.SUCCEEDED, StepStatus.SKIPPED, StepStatus.SUCCEEDED]
    assert [(refused.id, refused.reason) for refused in bench.events(e.ControlRefused)] == [
        ("k1", "the step is skipped")
    ][: times - 1]
    assert not state.controls


@pytest.mark.req("A8", "D3")
async def test_an_edit_is_not_refused_because_a_step_that_it_did_not_show_is_done_again(bench: Bench) -> None:
    """The text of a plan has only the steps to come. What is reset later is missing in it, and is not to be removed."""
    started, release = add_tools(bench)
    hold = ExecutionStep(id="a", name="a", tool="hold")
    after = [("a", "b"), ("c", "b"), ("c", "a"), ("d", "c")]
    plan = steps(put_step("b"), hold, put_step("c"), put_step("d"), after=after)
    task = asyncio.create_task(bench.run_plan(plan))
    await started.wait()
    run_id = bench.journal.find("last")
    state = fold(bench.journal.read(run_id))
    text = as_text(state)
    assert 'id = "b"' not in text
    # A person leaves out "d", and renames "c".
    text = text[: text.index('[[step]]\nid = "d"')].replace('name = "c"', 'name = "other"')
    bench.journal.send(run_id, ControlMessage(command="retry", step_id="b"))
    await bench.wait_for(lambda _: len(bench.events(e.ControlReceived)) == 1)
    wanted = require_revision(state, text, "")
    assert wanted is not None
    send_edit(bench.journal, run_id, text, "", wanted)
    await bench.wait_for(lambda _: len(bench.events(e.ControlReceived)) == 2)
    release.set()
    state = await task
    assert [refused.reason for refused in bench.events(e.ControlRefused)] == []
    assert {step_id: step.status for step_id, step in state.steps.items()} == dict.fromkeys("bac", StepStatus.SUCCEEDED)
    assert (state.steps["b"].attempt, state.steps["c"].step.name) == (2, "other")


@pytest.mark.req("A8")
@pytest.mark.parametrize("command", ["cancel", "pause"])
async def test_a_stop_that_comes_after_the_last_check_is_refused(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, command: Literal["cancel", "pause"]
) -> None:
    """The run is completed then, and only its outcome is still missing."""
    compare, calls = loop._compare_with_start, 0

    async def send_and_compare(run: Run) -> Any:
        nonlocal calls
        calls += 1
        if calls == 1:
            bench.journal.send(run.state.run_id, ControlMessage(command=command, by="ann"))
            await asyncio.Event().wait()  # until the control cancels it
        return await compare(run)

    monkeypatch.setattr(loop, "_compare_with_start", send_and_compare)
    add_tools(bench)
    state = await bench.run_plan(steps(put_step("a")))
    assert calls == 2
    assert state.stage is Stage.COMPLETED
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.UNVERIFIED
    (refused,) = bench.events(e.ControlRefused)
    assert (refused.command, refused.reason) == (command, "the run is completed")
    assert not state.controls
    assert fold(bench.journal.read(state.run_id)).outcome == state.outcome
