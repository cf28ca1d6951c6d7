"""Property test: any plan ends, in order and with each step run once, whatever fails, is added or is removed."""

import asyncio
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.kit import NO_RETRIES, Bench, done, steps
from surefoot.core.outcome import Verdict
from surefoot.core.plan import Condition, ExecutionStep, StepDependency, StepType
from surefoot.core.transitions import SETTLED, StepStatus, condition_met
from surefoot.journal import events as e
from surefoot.journal.reducers import apply, fold
from surefoot.journal.state import RunState
from surefoot.models.testing.scripted import Rule
from surefoot.tools.registry import default_toolbox
from surefoot.tools.tool import tool

SINGLE_ATTEMPT = {**NO_RETRIES, "max_temporary_retries": 0}


@st.composite
def scenarios(draw: st.DrawFn) -> dict[str, Any]:
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


def make_step(step_id: str, kind: str) -> ExecutionStep:
    if kind == "decides":
        return ExecutionStep(id=step_id, name=step_id, description=step_id, step_type=StepType.PREPARATION)
    return ExecutionStep(
        id=step_id, name=step_id, tool="work", parameters={"succeeds": kind == "works"}, critical=kind != "skippable"
    )


def final_answer(scenario: dict[str, Any], step_id: str) -> dict[str, Any]:
    """End the step, adding and removing the steps that the scenario names."""
    new_steps = [
        {"name": f"{step_id} more {n}", "description": "more", "type": "preparation", "file": "", "after": [],
         "check": {"kind": "none", "value": ""}}
        for n in range(scenario["added"][step_id])
    ]  # fmt: skip
    return {**done("decided"), "add_steps": new_steps, "remove_steps": scenario["removed"][step_id]}


@pytest.mark.req("A1", "A5", "A6", "D3", "O8")
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(scenarios())
async def test_any_plan_ends_and_runs_each_step_at_most_once_in_order(
    tmp_path_factory: pytest.TempPathFactory, scenario: dict[str, Any]
) -> None:
    base = tmp_path_factory.mktemp("plan")
    (base / "work").mkdir()
    bench = Bench(base / "work", base / "home")

    @tool
    async def work(succeeds: bool) -> str:
        """Work, or fail."""
        await asyncio.sleep(0)
        if not succeeds:
            raise RuntimeError("as planned")
        return "done"

    bench.toolbox = default_toolbox().with_(work)
    plan = steps(*(make_step(s, scenario["kinds"][s]) for s in scenario["ids"])).with_(
        dependencies=tuple(scenario["edges"])
    )
    answers: list[Any] = [Rule(f"# Step\n{s}\n", final_answer(scenario, s)) for s in scenario["ids"]]
    answers += [Rule("# Failed step", {"category": "tool_error", "root_cause": "planned", "recoverable": False})]
    answers += [Rule("", done("nothing to do"))]
    state = await bench.run_plan(plan, answers, reflection=SINGLE_ATTEMPT, max_parallel_steps=scenario["parallel"])
    assert state.outcome is not None
    assert state.outcome.verdict is not Verdict.BLOCKED, state.outcome.summary
    assert_steps_start_once_and_in_order(bench.records)
    if state.outcome.diagnosis is None:
        unsettled = {s: run.status for s, run in state.steps.items() if run.status not in SETTLED}
        assert set(unsettled.values()) <= {StepStatus.FAILED}, "a step was never run"
    refolded = fold(bench.journal.read(state.run_id))
    assert {s: r.status for s, r in refolded.steps.items()} == {s: r.status for s, r in state.steps.items()}


def assert_steps_start_once_and_in_order(records: list[e.Record]) -> None:
    """Each step starts once, when the conditions of its dependencies are met."""
    state, started_ids = RunState(), set()
    for record in records:
        if isinstance(started := record.event, e.StepStarted):
            assert started.step_id not in started_ids, "started twice"
            started_ids.add(started.step_id)
            assert state.plan is not None
            for dependency in (d for d in state.plan.dependencies if d.step_id == started.step_id):
                status = state.steps[dependency.depends_on].status
                assert condition_met(dependency.condition, status), (dependency, status)
        apply(state, record)
