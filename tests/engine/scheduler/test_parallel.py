"""Parallel execution of independent steps."""

import asyncio
from typing import Any

import pytest

from support.kit import NO_RETRIES, Bench, fenced, steps
from surefoot.core.outcome import Verdict
from surefoot.core.plan import ExecutionStep, TextCheck
from surefoot.core.transitions import StepStatus
from surefoot.journal import events as e
from surefoot.models.testing.scripted import Rule
from surefoot.tools.registry import default_toolbox
from surefoot.tools.tool import Tool, Writes, tool


class Rendezvous:
    """A tool whose calls return only when the expected number of them runs at once."""

    def __init__(self, expected: int, writes: Any = Writes.NONE) -> None:
        self.running = self.max_running = 0
        self.complete = asyncio.Event()
        self.expected = expected

        async def meet(path: str = "") -> str:
            """Meet the others."""
            self.running += 1
            self.max_running = max(self.max_running, self.running)
            if self.running >= self.expected:
                self.complete.set()
            await self.complete.wait()
            self.running -= 1
            return path

        self.tool: Tool = tool(name="meet", writes=writes)(meet)


def meet_step(step_id: str, path: str = "") -> ExecutionStep:
    return ExecutionStep(id=step_id, name=step_id, tool="meet", parameters={"path": path})


@pytest.mark.req("O8")
async def test_independent_steps_run_in_parallel(bench: Bench) -> None:
    """Each step waits for all others, so a sequential run would never end."""
    rendezvous = Rendezvous(4)
    bench.toolbox = default_toolbox().with_(rendezvous.tool)
    state = await bench.run_plan(steps(*(meet_step(s) for s in "abcd")), max_parallel_steps=4)
    assert rendezvous.max_running == 4
    assert all(r.status is StepStatus.SUCCEEDED for r in state.steps.values())


@pytest.mark.req("O8")
async def test_max_parallel_steps_is_respected(bench: Bench) -> None:
    rendezvous = Rendezvous(2)
    bench.toolbox = default_toolbox().with_(rendezvous.tool)
    await bench.run_plan(steps(*(meet_step(s) for s in "abcd")), max_parallel_steps=2)
    assert rendezvous.max_running == 2


@pytest.mark.req("O8")
@pytest.mark.parametrize(
    ("writes", "paths", "parallel"),
    [
        (("path",), ("a.txt", "b.txt"), 2),
        (("path",), ("a.txt", "a.txt"), 1),
        (("path",), ("a.txt", "./a.txt"), 1),
        (("path",), ("sub", "sub/b.txt"), 1),
        (Writes.FREE, ("a.txt", "b.txt"), 1),
    ],
)
async def test_steps_with_overlapping_writes_do_not_run_in_parallel(
    bench: Bench, writes: Any, paths: tuple[str, str], parallel: int
) -> None:
    rendezvous = Rendezvous(parallel, writes)
    bench.toolbox = default_toolbox().with_(rendezvous.tool)
    await bench.run_plan(steps(*(meet_step(f"s{i}", path) for i, path in enumerate(paths))), max_parallel_steps=4)
    assert rendezvous.max_running == parallel


@pytest.mark.req("O8", "P13")
async def test_failed_parallel_step_is_undone_and_the_other_stays(bench: Bench) -> None:
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
    assert output.generated_files == ("good.txt",), "files of the other step are not attributed to it"


@pytest.mark.req("P14", "X2")
async def test_only_the_interrupted_step_is_undone_after_a_crash(bench: Bench) -> None:
    running = asyncio.Event()
    calls: list[str] = []

    @tool(writes=("path",))
    async def put(path: str) -> str:
        """Write a file; the first call for slow.txt hangs."""
        calls.append(path)
        (bench.root / path).write_text(f"{calls.count(path)}")
        if path == "slow.txt" and calls.count(path) == 1:
            running.set()
            await asyncio.sleep(3600)
        return path

    bench.toolbox = default_toolbox().with_(put)
    plan = steps(*(ExecutionStep(id=n, name=n, tool="put", parameters={"path": f"{n}.txt"}) for n in ("slow", "quick")))
    task = asyncio.create_task(bench.run_plan(plan))
    await running.wait()
    await bench.wait_for(lambda event: isinstance(event, e.StepFinished) and event.step_id == "quick")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    state = await bench.resume(bench.journal.find("last"), [])
    assert calls.count("quick.txt") == 1
    assert bench.files() == {"slow.txt": "2", "quick.txt": "1"}
    assert all(r.status is StepStatus.SUCCEEDED for r in state.steps.values())
