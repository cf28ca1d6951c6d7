"""Whatever the plan is, fails, gains and loses on the way: it ends, in order, with nothing done twice."""

import asyncio
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kit import Bench, done, steps
from surefoot import events as e
from surefoot.fold import apply, fold
from surefoot.machine import SETTLED, StepStatus
from surefoot.models.scripted import Rule
from surefoot.outcome import Verdict
from surefoot.plan import Condition, ExecutionStep, StepDependency, StepType
from surefoot.schedule import condition_met
from surefoot.state import RunState
from surefoot.tools.base import tool
from surefoot.tools.registry import default_toolbox

ONE_TRY = {"max_step_retries": 0, "max_single_step_repairs": 0, "max_task_replanning_attempts": 0,
           "max_temporary_retries": 0}  # fmt: skip


@st.composite
def stories(draw: st.DrawFn) -> dict[str, Any]:
    count = draw(st.integers(1, 7))
    ids = [f"s{i}" for i in range(1, count + 1)]
    edges = [
        StepDependency(step_id=ids[i], depends_on=ids[j], condition=draw(st.sampled_from(Condition)))
        for i in range(count)
        for j in range(i)
        if draw(st.integers(0, 2)) == 0
    ]
    return {
        "ids": ids,
        "edges": edges,
        "kinds": {s: draw(st.sampled_from(["works", "works", "fails", "skippable", "decides"])) for s in ids},
        "added": {s: draw(st.integers(0, 2)) for s in ids},
        "removed": {s: draw(st.lists(st.sampled_from(ids), max_size=2)) for s in ids},
        "parallel": draw(st.integers(1, 4)),
    }


def planned(step_id: str, kind: str) -> ExecutionStep:
    if kind == "decides":
        return ExecutionStep(id=step_id, name=step_id, description=step_id, step_type=StepType.PREPARATION)
    return ExecutionStep(
        id=step_id, name=step_id, tool="work", parameters={"well": kind == "works"}, critical=kind != "skippable"
    )


def decided(story: dict[str, Any], step_id: str) -> dict[str, Any]:
    wishes = [
        {"name": f"{step_id} more {n}", "description": "more", "type": "preparation", "file": "", "after": [],
         "check": {"kind": "none", "value": ""}}
        for n in range(story["added"][step_id])
    ]  # fmt: skip
    return {**done("decided"), "add_steps": wishes, "remove_steps": story["removed"][step_id]}


@pytest.mark.req("A1", "A5", "A6", "D3", "O8")
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(stories())
async def test_any_plan_ends_in_order_with_nothing_done_twice(
    tmp_path_factory: pytest.TempPathFactory, story: dict[str, Any]
) -> None:
    base = tmp_path_factory.mktemp("plan")
    (base / "work").mkdir()
    bench = Bench(base / "work", base / "home")

    @tool
    async def work(well: bool) -> str:
        """Work, or fail."""
        await asyncio.sleep(0)
        if not well:
            raise RuntimeError("as planned")
        return "done"

    bench.toolbox = default_toolbox().with_(work)
    plan = steps(*(planned(s, story["kinds"][s]) for s in story["ids"])).with_(dependencies=tuple(story["edges"]))
    answers: list[Any] = [Rule(f"# Step\n{s}\n", decided(story, s)) for s in story["ids"]]
    answers += [Rule("# Failed step", {"category": "tool_error", "root_cause": "planned", "recoverable": False})]
    answers += [Rule("", done("nothing to do"))]
    state = await bench.run_plan(plan, answers, reflection=ONE_TRY, max_parallel_steps=story["parallel"])
    assert state.outcome is not None
    assert state.outcome.verdict is not Verdict.BLOCKED, state.outcome.summary
    await _in_order(bench.records)
    if state.outcome.diagnosis is None:
        left = {s: run.status for s, run in state.steps.items() if run.status not in SETTLED}
        assert set(left.values()) <= {StepStatus.FAILED}, "a step was forgotten silently"
    again = fold(bench.journal.read(state.run_id))
    assert {s: r.status for s, r in again.steps.items()} == {s: r.status for s, r in state.steps.items()}


async def _in_order(records: list[e.Record]) -> None:
    """At every beginning of a step, what it waits for has come to the end that it waits for; and it begins once."""
    state, begun = RunState(), set()
    for record in records:
        if isinstance(started := record.event, e.StepStarted):
            assert started.step_id not in begun, "begun twice"
            begun.add(started.step_id)
            assert state.plan is not None
            for dependency in (d for d in state.plan.dependencies if d.step_id == started.step_id):
                status = state.steps[dependency.depends_on].status
                assert condition_met(dependency.condition, status), (dependency, status)
        apply(state, record)
