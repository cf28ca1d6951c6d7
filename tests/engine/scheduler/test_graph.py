"""The step graph: order, conditions, priorities and unreachable steps."""

import itertools
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefoot.core.plan import Condition, DetailedPlan, ExecutionStep, StepDependency
from surefoot.core.transitions import StepStatus, condition_met
from surefoot.engine.scheduler.graph import Schedule, check_acyclic
from surefoot.errors import PlanCycle


def plan(steps: str, *dependencies: tuple[str, str], **priorities: int) -> DetailedPlan:
    return DetailedPlan(
        steps=tuple(
            ExecutionStep(id=s, name=s, sequence=i, priority=priorities.get(s, 0)) for i, s in enumerate(steps.split())
        ),
        dependencies=tuple(StepDependency(step_id=s, depends_on=d) for s, d in dependencies),
    )


def test_step_comes_after_its_dependencies() -> None:
    schedule = Schedule(plan("a b c", ("a", "b"), ("b", "c")), {})
    order = []
    while step := schedule.take():
        order.append(step)
        schedule.settle(step, StepStatus.SUCCEEDED)
    assert order == ["c", "b", "a"]


@pytest.mark.req("A6")
def test_cycle_is_reported_with_its_path() -> None:
    with pytest.raises(PlanCycle) as caught:
        check_acyclic(["a", "b", "c"], plan("a b c", ("a", "b"), ("b", "c"), ("c", "a")).dependencies)
    assert set(caught.value.path) == {"a", "b", "c"}
    assert caught.value.path[0] == caught.value.path[-1]


@pytest.mark.req("A6")
def test_the_path_of_a_cycle_does_not_depend_on_the_hash_seed() -> None:
    """It goes into the next prompt, and a cassette finds answers by their prompts."""
    program = (
        "from surefoot.engine.scheduler.graph import in_order\n"
        "pairs = {f'step {n}': {f'step {n ^ 1}'} for n in range(2, 10)}\n"
        "try:\n    in_order({'step 1': set(pairs), **pairs})\n"
        "except Exception as error:\n    print(error)"
    )
    told = {
        subprocess.run(
            [sys.executable, "-c", program], env={"PYTHONHASHSEED": str(seed)}, capture_output=True, check=True
        ).stdout
        for seed in range(4)
    }
    assert len(told) == 1
    assert b"in a cycle: step" in told.pop()


@pytest.mark.req("A13")
def test_priority_comes_before_the_longest_remaining_path() -> None:
    schedule = Schedule(plan("short long tail urgent", ("tail", "long"), urgent=5), {})
    assert [schedule.take(), schedule.take(), schedule.take()] == ["urgent", "long", "short"]


@pytest.mark.req("A1")
@pytest.mark.parametrize(
    ("condition", "status", "met"),
    [
        (Condition.SUCCESS, StepStatus.SUCCEEDED, True),
        (Condition.SUCCESS, StepStatus.FAILED, False),
        (Condition.SUCCESS, StepStatus.BLOCKED, False),
        (Condition.SUCCESS, StepStatus.SKIPPED, True),
        (Condition.FAILURE, StepStatus.FAILED, True),
        (Condition.FAILURE, StepStatus.SUCCEEDED, False),
        (Condition.ALWAYS, StepStatus.FAILED, True),
        (Condition.ALWAYS, StepStatus.BLOCKED, True),
    ],
)
def test_conditions_on_a_dependency(condition: Condition, status: StepStatus, met: bool) -> None:
    assert condition_met(condition, status) is met


@pytest.mark.req("A5")
def test_unreachable_step_is_reported_with_the_reason() -> None:
    schedule = Schedule(plan("a b", ("b", "a")), {"a": StepStatus.FAILED})
    assert schedule.take() is None
    assert "success of 'a'" in schedule.unreachable["b"]


@pytest.mark.req("O8")
@pytest.mark.parametrize("shape", ["chain", "fan-out", "all want the whole workspace"])
def test_scheduling_cost_does_not_grow_with_the_plan(shape: str) -> None:
    """Counts how often a ready step is inspected."""

    def inspections_per_step(count: int) -> float:
        ids = [f"s{i}" for i in range(count)]
        pairs = [(b, a) for a, b in itertools.pairwise(ids)] if shape == "chain" else []
        schedule = Schedule(plan(" ".join(ids), *pairs), {})
        inspections = done = 0

        def accept(step_id: str) -> bool:
            nonlocal inspections
            inspections += 1
            return shape != "all want the whole workspace" or inspections % 200 == 0

        while done < min(count, 200):
            step = schedule.take(accept)
            if step is not None:
                done += 1
                schedule.settle(step, StepStatus.SUCCEEDED)
            elif shape != "all want the whole workspace":
                break
        return inspections / done

    assert inspections_per_step(10_000) == pytest.approx(inspections_per_step(1_000), rel=0.1)


@st.composite
def graphs(draw: st.DrawFn) -> tuple[DetailedPlan, dict[str, StepStatus]]:
    """Any acyclic plan with any conditions, and the final status of each step if it runs."""
    count = draw(st.integers(1, 12))
    ids = [f"s{i}" for i in range(count)]
    dependencies = [
        StepDependency(step_id=ids[i], depends_on=ids[j], condition=draw(st.sampled_from(Condition)))
        for i in range(count)
        for j in range(i)
        if draw(st.integers(0, 3)) == 0
    ]
    final_statuses = draw(
        st.lists(
            st.sampled_from([StepStatus.SUCCEEDED, StepStatus.FAILED, StepStatus.SKIPPED]),
            min_size=count,
            max_size=count,
        )
    )
    steps = tuple(ExecutionStep(id=s, name=s, sequence=i) for i, s in enumerate(ids))
    return DetailedPlan(steps=steps, dependencies=tuple(dependencies)), dict(zip(ids, final_statuses, strict=True))


@pytest.mark.req("A1", "A5", "O8")
@given(graphs(), st.integers(0, 100))
def test_every_step_runs_once_in_order_or_is_reported_unreachable(
    case: tuple[DetailedPlan, dict[str, StepStatus]], rebuild_at: int
) -> None:
    """Holds also when the schedule is rebuilt in the middle, as a resumed run does."""
    shape, final_statuses = case
    settled: dict[str, StepStatus] = {}
    schedule = Schedule(shape, {})
    rounds = 0
    while True:
        rounds += 1
        if rounds == rebuild_at:
            schedule = Schedule(shape, settled)
        while schedule.unreachable:
            step_id, reason = schedule.unreachable.popitem()
            assert reason
            assert step_id not in settled
            settled[step_id] = StepStatus.BLOCKED
            schedule.settle(step_id, StepStatus.BLOCKED)
        step = schedule.take()
        if step is None:
            break
        assert step not in settled, "ran twice"
        for dependency in shape.dependencies:
            if dependency.step_id == step:
                assert condition_met(dependency.condition, settled[dependency.depends_on])
        settled[step] = final_statuses[step]
        schedule.settle(step, final_statuses[step])
    assert set(settled) == {s.id for s in shape.steps}, "a step was neither run nor reported"
