"""The cost of a step, counted rather than timed: commits, queries, function calls, memory."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import apsw
import pytest

from support.kit import Bench, steps
from surefoot.core.phases import Artifact, ExecutionStatus, StepExecutionOutput
from surefoot.core.plan import DetailedPlan, ExecutionStep
from surefoot.core.transitions import Rung, Stage, StepStatus
from surefoot.core.values import Value, unchecked
from surefoot.journal import events as e
from surefoot.journal.reducers import apply
from surefoot.journal.store.sqlite import SqliteJournal
from surefoot.tools.registry import Toolbox
from surefoot.tools.tool import ToolResult, tool

MAX_CALLS_PER_STEP = 360
"""Function calls of a read-only step; they were 320 when this was written."""


@tool
async def no_op() -> str:
    """Does nothing."""
    return "text"


def plan_of(count: int, *, chained: bool) -> DetailedPlan:
    ids = [f"s{i}" for i in range(count)]
    after = list(zip(ids[1:], ids, strict=False)) if chained else []
    return steps(*(ExecutionStep(id=i, name=i, tool="no_op") for i in ids), after=after)


@contextmanager
def connection_hook(set_up: Callable[[apsw.Connection], Any]) -> Iterator[None]:
    apsw.connection_hooks.append(set_up)
    try:
        yield
    finally:
        apsw.connection_hooks.remove(set_up)


async def commits_of(bench: Bench, plan: DetailedPlan, **config: Any) -> int:
    commits = 0
    bench.toolbox = Toolbox([no_op])
    bench.journal = SqliteJournal(bench.home / f"{len(plan.steps)}.db")

    def count_commit() -> bool:
        nonlocal commits
        commits += 1
        return False

    with connection_hook(lambda connection: connection.set_commit_hook(count_commit)):
        state = await bench.run_plan(plan, **config)
    assert state.stage is Stage.COMPLETED
    return commits


async def test_read_only_step_takes_one_commit(bench: Bench) -> None:
    few = await commits_of(bench, plan_of(10, chained=True))
    many = await commits_of(bench, plan_of(30, chained=True))
    # The timer that flushes noted events may add one.
    assert 20 <= many - few <= 21


async def test_steps_that_finish_together_share_commits(bench: Bench) -> None:
    few = await commits_of(bench, plan_of(4, chained=False), max_parallel_steps=16)
    many = await commits_of(bench, plan_of(64, chained=False), max_parallel_steps=16)
    assert many - few < 30


async def test_cost_of_a_step_does_not_grow_with_the_plan(bench: Bench) -> None:
    """Counts function calls: code that visits all other steps would raise the number."""

    async def calls_of(count: int) -> float:
        calls = 0

        def count_call(frame: Any, event: str, argument: Any) -> None:
            nonlocal calls
            calls += event in ("call", "c_call")

        sys.setprofile(count_call)
        try:
            await commits_of(bench, plan_of(count, chained=True))
        finally:
            sys.setprofile(None)
        return calls

    # The first run is discarded: it includes imports and other one-time work.
    _, few, more, many = [await calls_of(count) for count in (5, 20, 60, 180)]
    assert (many - more) / 120 <= (more - few) / 40 * 1.15
    assert (many - more) / 120 < MAX_CALLS_PER_STEP


@pytest.mark.parametrize("count", [3, 40])
async def test_resume_queries_the_journal_at_most_three_times(bench: Bench, count: int) -> None:
    bench.toolbox = Toolbox([no_op])
    bench.journal = SqliteJournal(bench.home / "run.db")
    state = await bench.run_plan(plan_of(count + 1, chained=True), budget={"max_tool_calls": count})
    assert state.stage is Stage.FAILED
    await bench.journal.aclose()
    queries: list[str] = []

    def trace(cursor: Any, sql: str, bindings: Any) -> bool:
        if sql.lstrip().startswith("SELECT") and " events" in sql:
            queries.append(sql)
        return True

    with connection_hook(lambda c: setattr(c, "exec_trace", trace)):
        bench.journal = SqliteJournal(bench.home / "run.db")
        await bench.resume(state.run_id, [])
    assert len(queries) <= 3


async def test_action_results_are_stored_once(bench: Bench) -> None:
    bench.toolbox = Toolbox([no_op])
    state = await bench.run_plan(plan_of(2, chained=True))
    (_, finished) = bench.events(e.StepFinished)
    assert (finished.output, finished.artifact) == (None, None)
    step_run = state.steps["s1"]
    assert (step_run.recorded_output, step_run.recorded_artifact) == (None, None)
    expected = StepExecutionOutput(
        step_id="s1", status=ExecutionStatus.SUCCESS, outputs={"result": "text"}, logs=("no_op: text",)
    )
    assert step_run.output == state.history[1].output == expected
    assert step_run.outputs == expected.outputs
    assert step_run.artifact == Artifact(id="s1@1", producer="s1", size=17, expires_at=finished.expires_at)
    assert finished.expires_at is not None


async def test_last_result_of_a_step_stays_while_it_runs_again(bench: Bench) -> None:
    bench.toolbox = Toolbox([no_op])
    state = await bench.run_plan(plan_of(1, chained=True))
    step_run, at = state.steps["s0"], state.updated_at
    before = step_run.output, step_run.artifact
    retry: list[e.Event] = [
        e.StepReset(step_id="s0", rung=Rung.ADJUST_PARAMETERS, by="user"),
        e.StepStarted(step_id="s0", attempt=2),
    ]
    for seq, event in enumerate(retry, state.seq + 1):
        apply(state, e.Record(seq, at, event))
    assert step_run.actions == []
    assert (step_run.output, step_run.artifact) == before
    assert state.history[0].output == step_run.output


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
def test_unchecked_values_equal_validated_ones(kind: type[Value], fields: dict[str, Any]) -> None:
    first, validated = unchecked(kind)(**fields), kind(**fields)
    assert first == validated
    assert first.model_dump_json(exclude_defaults=True) == validated.model_dump_json(exclude_defaults=True)
    second = unchecked(kind)(**fields)
    assert second.model_dump() == validated.model_dump()
    assert all(vars(first)[n] is not v for n, v in vars(second).items() if isinstance(v, dict) and n not in fields)
    with pytest.raises(ValueError, match="frozen"):
        setattr(first, next(iter(fields)), "other")
