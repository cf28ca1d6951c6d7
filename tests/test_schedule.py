import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefoot.errors import PlanCycle
from surefoot.machine import StepStatus
from surefoot.plan import Condition, DetailedPlan, ExecutionStep, StepDependency
from surefoot.schedule import Schedule, check_acyclic, condition_met


def plan(steps: str, *dependencies: tuple[str, str], **priorities: int) -> DetailedPlan:
    return DetailedPlan(
        steps=tuple(
            ExecutionStep(id=s, name=s, sequence=i, priority=priorities.get(s, 0)) for i, s in enumerate(steps.split())
        ),
        dependencies=tuple(StepDependency(step_id=s, depends_on=d) for s, d in dependencies),
    )


def test_a_step_comes_after_what_it_depends_on() -> None:
    schedule = Schedule(plan("a b c", ("a", "b"), ("b", "c")), {})
    taken = []
    while step := schedule.take():
        taken.append(step)
        schedule.settle(step, StepStatus.SUCCEEDED)
    assert taken == ["c", "b", "a"]


@pytest.mark.req("A6")
def test_a_cycle_is_told_with_its_path() -> None:
    with pytest.raises(PlanCycle) as caught:
        check_acyclic(["a", "b", "c"], plan("a b c", ("a", "b"), ("b", "c"), ("c", "a")).dependencies)
    assert set(caught.value.path) == {"a", "b", "c"}
    assert caught.value.path[0] == caught.value.path[-1]


@pytest.mark.req("A13")
def test_priority_decides_then_the_longest_path_to_go() -> None:
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
def test_what_can_never_run_is_told_with_the_reason() -> None:
    schedule = Schedule(plan("a b", ("b", "a")), {"a": StepStatus.FAILED})
    assert schedule.take() is None
    assert "success of 'a'" in schedule.unreachable["b"]


@pytest.mark.req("O8")
@pytest.mark.parametrize("shape", ["chain", "fan-out", "all want the whole workspace"])
def test_the_cost_of_a_step_does_not_grow_with_the_plan(shape: str) -> None:
    """Counted, not timed: how often a ready step is looked at."""

    def looks_a_step(count: int) -> float:
        ids = [f"s{i}" for i in range(count)]
        pairs = [(b, a) for a, b in itertools.pairwise(ids)] if shape == "chain" else []
        schedule = Schedule(plan(" ".join(ids), *pairs), {})
        looks = done = 0

        def accept(step_id: str) -> bool:
            nonlocal looks
            looks += 1
            return shape != "all want the whole workspace" or looks % 200 == 0

        while done < min(count, 200):
            step = schedule.take(accept)
            if step is not None:
                done += 1
                schedule.settle(step, StepStatus.SUCCEEDED)
            elif shape != "all want the whole workspace":
                break
        return looks / done

    assert looks_a_step(10_000) == pytest.approx(looks_a_step(1_000), rel=0.1)


@st.composite
def graphs(draw: st.DrawFn) -> tuple[DetailedPlan, dict[str, StepStatus]]:
    """Any acyclic plan with any conditions, and what each step would end as."""
    count = draw(st.integers(1, 12))
    ids = [f"s{i}" for i in range(count)]
    dependencies = [
        StepDependency(step_id=ids[i], depends_on=ids[j], condition=draw(st.sampled_from(Condition)))
        for i in range(count)
        for j in range(i)
        if draw(st.integers(0, 3)) == 0
    ]
    ends = draw(
        st.lists(
            st.sampled_from([StepStatus.SUCCEEDED, StepStatus.FAILED, StepStatus.SKIPPED]),
            min_size=count,
            max_size=count,
        )
    )
    steps = tuple(ExecutionStep(id=s, name=s, sequence=i) for i, s in enumerate(ids))
    return DetailedPlan(steps=steps, dependencies=tuple(dependencies)), dict(zip(ids, ends, strict=True))


@pytest.mark.req("A1", "A5", "O8")
@given(graphs(), st.integers(0, 100))
def test_every_step_runs_once_in_order_or_is_told_why_not(
    case: tuple[DetailedPlan, dict[str, StepStatus]], stop: int
) -> None:
    """Also when the schedule is thrown away and built again in the middle, as a resumed run does."""
    shape, ends = case
    settled: dict[str, StepStatus] = {}
    schedule = Schedule(shape, {})
    rounds = 0
    while True:
        rounds += 1
        if rounds == stop:
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
        settled[step] = ends[step]
        schedule.settle(step, ends[step])
    assert set(settled) == {s.id for s in shape.steps}, "a step was forgotten silently"
