"""What a step costs, counted and not timed: commits, queries, calls, what stays in memory."""

import asyncio
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import apsw
import pytest

from kit import Bench, steps
from surefoot import events as e
from surefoot.fold import apply
from surefoot.fuses import FuseBox
from surefoot.machine import Rung, Stage, StepStatus
from surefoot.outcome import Artifact, ExecutionStatus, StepExecutionOutput
from surefoot.people import paused
from surefoot.plan import DetailedPlan, ExecutionStep
from surefoot.store.sqlite import SqliteJournal
from surefoot.tools.base import ToolResult, tool
from surefoot.tools.registry import Toolbox
from surefoot.values import Value, unchecked

Counted = list[str]
MOST_CALLS = 360
"""For a step that only looks: 320 when this was written."""


@tool
async def nothing() -> str:
    """Does nothing."""
    return "said"


def plan_of(count: int, *, chained: bool) -> DetailedPlan:
    ids = [f"s{i}" for i in range(count)]
    after = list(zip(ids[1:], ids, strict=False)) if chained else []
    return steps(*(ExecutionStep(id=i, name=i, tool="nothing") for i in ids), after=after)


@contextmanager
def connections(set_up: Callable[[apsw.Connection], Any]) -> Iterator[None]:
    apsw.connection_hooks.append(set_up)
    try:
        yield
    finally:
        apsw.connection_hooks.remove(set_up)


async def commits_of(bench: Bench, plan: DetailedPlan, **config: Any) -> int:
    counted: Counted = []
    bench.toolbox = Toolbox([nothing])
    bench.journal = SqliteJournal(bench.home / f"{len(plan.steps)}.db")

    def committed() -> bool:
        counted.append("commit")
        return False

    with connections(lambda connection: connection.set_commit_hook(committed)):
        state = await bench.run_plan(plan, **config)
    assert state.stage is Stage.COMPLETED
    return len(counted)


async def test_a_step_that_only_looks_is_one_commit(bench: Bench) -> None:
    few = await commits_of(bench, plan_of(10, chained=True))
    many = await commits_of(bench, plan_of(30, chained=True))
    # The clock that shows others what was noted may add one.
    assert 20 <= many - few <= 21


async def test_steps_that_end_together_share_their_commits(bench: Bench) -> None:
    few = await commits_of(bench, plan_of(4, chained=False), max_parallel_steps=16)
    many = await commits_of(bench, plan_of(64, chained=False), max_parallel_steps=16)
    assert many - few < 30


async def test_a_step_costs_the_same_in_a_longer_plan(bench: Bench) -> None:
    """Calls of functions, counted: what looks at all other steps would show."""

    async def calls(count: int) -> float:
        seen = 0

        def look(frame: Any, event: str, argument: Any) -> None:
            nonlocal seen
            seen += event in ("call", "c_call")

        sys.setprofile(look)
        try:
            await commits_of(bench, plan_of(count, chained=True))
        finally:
            sys.setprofile(None)
        return seen

    # The first time, what is imported and prepared once would count as well.
    _, few, more, many = [await calls(count) for count in (5, 20, 60, 180)]
    assert (many - more) / 120 <= (more - few) / 40 * 1.15
    assert (many - more) / 120 < MOST_CALLS


@pytest.mark.parametrize("count", [3, 40])
async def test_resuming_asks_the_journal_a_few_times_however_long_the_run_was(bench: Bench, count: int) -> None:
    bench.toolbox = Toolbox([nothing])
    bench.journal = SqliteJournal(bench.home / "run.db")
    state = await bench.run_plan(plan_of(count + 1, chained=True), budget={"max_tool_calls": count})
    assert state.stage is Stage.FAILED
    await bench.journal.aclose()
    asked: Counted = []

    def traced(cursor: Any, sql: str, bindings: Any) -> bool:
        if sql.lstrip().startswith("SELECT") and " events" in sql:
            asked.append(sql)
        return True

    with connections(lambda c: setattr(c, "exec_trace", traced)):
        bench.journal = SqliteJournal(bench.home / "run.db")
        await bench.resume(state.run_id, [])
    assert len(asked) <= 3


async def test_what_actions_said_is_neither_written_nor_kept_twice(bench: Bench) -> None:
    bench.toolbox = Toolbox([nothing])
    state = await bench.run_plan(plan_of(2, chained=True))
    (_, end) = bench.events(e.StepFinished)
    assert (end.output, end.artifact) == (None, None)
    mine = state.steps["s1"]
    assert (mine.written, mine.filed) == (None, None)
    whole = StepExecutionOutput(
        step_id="s1", status=ExecutionStatus.SUCCESS, outputs={"result": "said"}, logs=("nothing: said",)
    )
    assert mine.output == state.history[1].output == whole
    assert mine.outputs == whole.outputs
    assert mine.artifact == Artifact(id="s1@1", producer="s1", size=17, expires_at=end.expires_at)
    assert end.expires_at is not None


async def test_the_end_of_a_step_stays_known_while_it_is_done_again(bench: Bench) -> None:
    bench.toolbox = Toolbox([nothing])
    state = await bench.run_plan(plan_of(1, chained=True))
    mine, at = state.steps["s0"], state.updated_at
    before = mine.output, mine.artifact
    again: list[e.Event] = [
        e.StepReset(step_id="s0", rung=Rung.ADJUST_PARAMETERS, by="user"),
        e.StepStarted(step_id="s0", attempt=2),
    ]
    for seq, event in enumerate(again, state.seq + 1):
        apply(state, e.Record(seq, at, event))
    assert mine.actions == []
    assert (mine.output, mine.artifact) == before
    assert state.history[0].output == mine.output


OUTPUT = StepExecutionOutput(step_id="s", status=ExecutionStatus.SUCCESS, logs=("l",))


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        (e.StepStarted, {"step_id": "s", "attempt": 1}),
        (e.ActionStarted, {"action_id": "a", "step_id": "s", "tool": "t"}),
        (e.ActionFinished, {"action_id": "a", "step_id": "s", "ok": True, "summary": "x", "changed": ("f",)}),
        (e.StepFinished, {"step_id": "s", "status": StepStatus.SUCCEEDED, "attempt": 1, "output": OUTPUT}),
        (StepExecutionOutput, {"step_id": "s", "status": ExecutionStatus.SUCCESS, "outputs": {"result": 1}}),
        (Artifact, {"id": "s@1", "producer": "s", "size": 3, "expires_at": 1.5}),
        (ToolResult, {"ok": True, "summary": "x", "output": "y"}),
    ],
)
def test_what_is_made_unchecked_is_what_a_validated_one_is(kind: type[Value], fields: dict[str, Any]) -> None:
    made, validated = unchecked(kind)(**fields), kind(**fields)
    assert made == validated
    assert made.model_dump_json(exclude_defaults=True) == validated.model_dump_json(exclude_defaults=True)
    again = unchecked(kind)(**fields)
    assert again.model_dump() == validated.model_dump()
    assert all(vars(made)[n] is not v for n, v in vars(again).items() if isinstance(v, dict) and n not in fields)
    with pytest.raises(ValueError, match="frozen"):
        setattr(made, next(iter(fields)), "other")


# -- fuses ----------------------------------------------------------------------------------------------------------


async def run_with(box: FuseBox, seconds: float, work: Callable[[Any], Any]) -> str:
    """As a step does it."""
    task = asyncio.current_task()
    assert task is not None
    fuse = box.light(task, seconds)
    try:
        await work(fuse)
    except asyncio.CancelledError:
        if not fuse.ended_it:
            raise
        return "too long"
    finally:
        fuse.put_out()
    return "done"


async def test_a_fuse_ends_what_takes_too_long_and_nothing_after_it() -> None:
    box = FuseBox()
    assert await run_with(box, 0.01, lambda _: asyncio.sleep(60)) == "too long"
    assert await run_with(box, 60, lambda _: asyncio.sleep(0.05)) == "done"
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0
    assert not box.lit
    box.close()


async def test_the_shortest_fuse_counts_whenever_it_was_lit() -> None:
    box = FuseBox()
    slow = asyncio.create_task(run_with(box, 60, lambda _: asyncio.sleep(60)))
    quick = asyncio.create_task(run_with(box, 0.01, lambda _: asyncio.sleep(60)))
    assert await quick == "too long"
    assert not slow.done()
    slow.cancel()
    with pytest.raises(asyncio.CancelledError):
        await slow
    box.close()


async def test_who_cancels_from_outside_is_not_taken_for_the_fuse() -> None:
    box = FuseBox()
    both = asyncio.create_task(run_with(box, 60, lambda _: asyncio.sleep(60)))
    await asyncio.sleep(0)
    (fuse,) = box.lit
    fuse.blow()
    both.cancel()
    with pytest.raises(asyncio.CancelledError):
        await both
    box.close()


async def test_a_fuse_does_not_burn_while_a_person_is_asked() -> None:
    box = FuseBox()

    async def asking(fuse: Any) -> None:
        with paused([fuse, None]):
            await asyncio.sleep(0.2)
        await asyncio.sleep(60)

    assert await run_with(box, 0.05, asking) == "too long"
    box.close()
