"""Independent steps at the same time, and people who step in while it runs."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kit import Bench, fenced, steps
from surefoot import events as e
from surefoot.fold import fold
from surefoot.machine import Stage, StepStatus
from surefoot.models.scripted import Rule
from surefoot.outcome import Verdict
from surefoot.plan import ExecutionStep, TextCheck
from surefoot.tools.base import Tool, Writes, tool
from surefoot.tools.registry import default_toolbox

NO_RETRIES = {"max_step_retries": 0, "max_single_step_repairs": 0, "max_task_replanning_attempts": 0}


async def seen(bench: Bench, wanted: Callable[[e.Event], bool]) -> None:
    """Waits until the run has recorded such an event, however slow the machine is."""
    while not any(wanted(record.event) for record in bench.records):  # noqa: ASYNC110 - the bench has no loop of its own
        await asyncio.sleep(0.01)


class Meeting:
    """A tool whose calls wait for each other: it only returns when as many run at once as were expected."""

    def __init__(self, expected: int, writes: Any = Writes.NONE) -> None:
        self.inside = self.most = 0
        self.enough = asyncio.Event()
        self.expected = expected

        async def meet(path: str = "") -> str:
            """Meet the others."""
            self.inside += 1
            self.most = max(self.most, self.inside)
            if self.inside >= self.expected:
                self.enough.set()
            await self.enough.wait()
            self.inside -= 1
            return path

        self.tool: Tool = tool(name="meet", writes=writes)(meet)


def meeting(step_id: str, path: str = "") -> ExecutionStep:
    return ExecutionStep(id=step_id, name=step_id, tool="meet", parameters={"path": path})


@pytest.mark.req("O8")
async def test_independent_steps_run_at_the_same_time(bench: Bench) -> None:
    """Each waits for all: one after the other they would never end. So the time follows the critical path."""
    met = Meeting(4)
    bench.toolbox = default_toolbox().with_(met.tool)
    state = await bench.run_plan(steps(*(meeting(s) for s in "abcd")), max_parallel_steps=4)
    assert met.most == 4
    assert all(r.status is StepStatus.SUCCEEDED for r in state.steps.values())


@pytest.mark.req("O8")
async def test_no_more_than_allowed(bench: Bench) -> None:
    met = Meeting(2)
    bench.toolbox = default_toolbox().with_(met.tool)
    await bench.run_plan(steps(*(meeting(s) for s in "abcd")), max_parallel_steps=2)
    assert met.most == 2


@pytest.mark.req("O8")
@pytest.mark.parametrize(
    ("writes", "paths", "together"),
    [
        (("path",), ("a.txt", "b.txt"), 2),
        (("path",), ("a.txt", "a.txt"), 1),
        (("path",), ("a.txt", "./a.txt"), 1),
        (("path",), ("sub", "sub/b.txt"), 1),
        (Writes.FREE, ("a.txt", "b.txt"), 1),
    ],
)
async def test_writers_share_only_what_does_not_overlap(
    bench: Bench, writes: Any, paths: tuple[str, str], together: int
) -> None:
    met = Meeting(together, writes)
    bench.toolbox = default_toolbox().with_(met.tool)
    await bench.run_plan(steps(*(meeting(f"s{i}", path) for i, path in enumerate(paths))), max_parallel_steps=4)
    assert met.most == together


@pytest.mark.req("O8", "P13")
async def test_one_that_fails_is_undone_and_the_others_work_stays(bench: Bench) -> None:
    good = ExecutionStep(
        id="good", name="good", writes=("good.txt",), checks=(TextCheck(path="good.txt", pattern="fine"),)
    )
    bad = ExecutionStep(
        id="bad", name="bad", writes=("sub/bad.txt",), checks=(TextCheck(path="sub/bad.txt", pattern="never"),)
    )
    answers = [Rule("`good.txt`", fenced("fine", "text")), Rule("`sub/bad.txt`", fenced("wrong", "text"))]
    state = await bench.run_plan(steps(good, bad), answers, reflection=NO_RETRIES)
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.FAILED
    assert bench.files() == {"good.txt": "fine\n"}
    assert not (bench.root / "sub").exists()
    output = state.steps["good"].output
    assert output is not None
    assert output.generated_files == ("good.txt",), "it is not told to have written what the other wrote"


@pytest.mark.req("P14", "X2")
async def test_after_a_crash_only_the_interrupted_one_is_undone(bench: Bench) -> None:
    inside = asyncio.Event()
    calls: list[str] = []

    @tool(writes=("path",))
    async def put(path: str) -> str:
        """Write a file; the slow one hangs the first time."""
        calls.append(path)
        (bench.root / path).write_text(f"{calls.count(path)}")
        if path == "slow.txt" and calls.count(path) == 1:
            inside.set()
            await asyncio.sleep(3600)
        return path

    bench.toolbox = default_toolbox().with_(put)
    plan = steps(*(ExecutionStep(id=n, name=n, tool="put", parameters={"path": f"{n}.txt"}) for n in ("slow", "quick")))
    task = asyncio.create_task(bench.run_plan(plan))
    await inside.wait()
    await seen(bench, lambda event: isinstance(event, e.StepFinished) and event.step_id == "quick")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    state = await bench.resume(bench.journal.find("last"), [])
    assert calls.count("quick.txt") == 1
    assert bench.files() == {"slow.txt": "2", "quick.txt": "1"}
    assert all(r.status is StepStatus.SUCCEEDED for r in state.steps.values())


# -- people ------------------------------------------------------------------------------------------------------


def hanging(bench: Bench, started: asyncio.Event) -> None:
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
async def test_a_running_step_can_be_skipped_from_another_process(bench: Bench) -> None:
    started = asyncio.Event()
    hanging(bench, started)
    task = asyncio.create_task(bench.run_plan(steps(HANG, AFTER, after=[("after", "hang")])))
    await started.wait()
    bench.journal.send(
        bench.journal.find("last"),
        {"type": "control", "command": "skip", "step_id": "hang", "by": "ann", "why": "too slow"},
    )
    state = await task
    assert state.steps["hang"].status is StepStatus.SKIPPED
    assert state.steps["after"].status is StepStatus.SUCCEEDED
    assert bench.files() == {}, "what it had done is undone"
    (control,) = bench.events(e.ControlReceived)
    assert (control.by, control.why) == ("ann", "too slow")


@pytest.mark.req("A8")
async def test_a_run_can_be_cancelled(bench: Bench) -> None:
    started = asyncio.Event()
    hanging(bench, started)
    task = asyncio.create_task(bench.run_plan(steps(HANG)))
    await started.wait()
    bench.journal.send(bench.journal.find("last"), {"type": "control", "command": "cancel", "why": "wrong task"})
    state = await task
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.CANCELLED
    assert "wrong task" in state.outcome.summary


@pytest.mark.req("A8", "A11")
async def test_a_run_can_be_paused_and_goes_on_later(bench: Bench) -> None:
    started = asyncio.Event()
    hanging(bench, started)
    task = asyncio.create_task(bench.run_plan(steps(HANG)))
    await started.wait()
    bench.journal.send(bench.journal.find("last"), {"type": "control", "command": "pause"})
    state = await task
    assert state.stage is Stage.WAITING
    assert state.outcome is None

    @tool(writes=Writes.FREE)
    async def hang() -> str:
        """End at once this time."""
        return "ended"

    bench.toolbox = default_toolbox().with_(hang)
    state = await bench.resume(state.run_id, [])
    assert state.steps["hang"].status is StepStatus.SUCCEEDED


@pytest.mark.req("A8")
async def test_a_step_that_has_not_begun_can_be_skipped(bench: Bench) -> None:
    started = asyncio.Event()

    @tool
    async def wait_for_message() -> str:
        """Wait until somebody has stepped in."""
        started.set()
        await seen(bench, lambda event: isinstance(event, e.ControlReceived))
        return ""

    bench.toolbox = default_toolbox().with_(wait_for_message)
    first = ExecutionStep(id="first", name="first", tool="wait_for_message")
    task = asyncio.create_task(bench.run_plan(steps(first, AFTER, after=[("after", "first")])))
    await started.wait()
    bench.journal.send(bench.journal.find("last"), {"type": "control", "command": "skip", "step_id": "after"})
    state = await task
    assert state.steps["after"].status is StepStatus.SKIPPED
    assert state.steps["after"].attempt == 0


@st.composite
def plans(draw: st.DrawFn) -> tuple[int, list[tuple[int, int]], set[int]]:
    count = draw(st.integers(1, 7))
    edges = [(i, j) for i in range(count) for j in range(i) if draw(st.integers(0, 2)) == 0]
    return count, edges, draw(st.sets(st.integers(0, count - 1)))


@pytest.mark.req("A1", "A5", "O8")
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(plans(), st.integers(1, 4))
async def test_any_plan_ends_in_an_outcome_with_every_step_run_at_most_once(
    tmp_path_factory: pytest.TempPathFactory, shape: tuple[int, list[tuple[int, int]], set[int]], parallel: int
) -> None:
    count, edges, failing = shape
    base = tmp_path_factory.mktemp("plan")
    (base / "work").mkdir()
    bench = Bench(base / "work", base / "home")
    calls: list[str] = []

    @tool
    async def work(name: str) -> str:
        """Work, or fail."""
        calls.append(name)
        await asyncio.sleep(0)
        if int(name[1:]) in failing:
            raise RuntimeError("as planned")
        return name

    bench.toolbox = default_toolbox().with_(work)
    ids = [f"s{i}" for i in range(count)]
    plan = steps(
        *(ExecutionStep(id=s, name=s, tool="work", parameters={"name": s}, critical=int(s[1:]) % 2 == 0) for s in ids),
        after=[(ids[i], ids[j]) for i, j in edges],
    )
    limits = {**NO_RETRIES, "max_temporary_retries": 0}
    state = await bench.run_plan(
        plan, [{"category": "tool_error", "root_cause": "planned"}] * 20, reflection=limits, max_parallel_steps=parallel
    )
    assert state.outcome is not None
    assert len(calls) == len(set(calls)), "a step ran twice"
    position = {name: n for n, name in enumerate(calls)}
    for i, j in edges:
        if ids[i] in position:
            assert position[ids[j]] < position[ids[i]]
    again = fold(bench.journal.read(state.run_id))
    assert {s: r.status for s, r in again.steps.items()} == {s: r.status for s, r in state.steps.items()}
