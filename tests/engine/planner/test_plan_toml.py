"""Plans edited as TOML: pending steps may change, started steps may not."""

import tomllib
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.kit import steps
from surefoot.core.plan import (
    CommandCheck,
    Condition,
    DetailedPlan,
    ExecutionStep,
    FileCheck,
    StepDependency,
    StepType,
)
from surefoot.core.transitions import Stage, StepStatus
from surefoot.engine.planner.plan_toml import as_text, revision
from surefoot.errors import PlanCycle, PlanError
from surefoot.journal import events as e
from surefoot.journal.reducers import revised
from surefoot.journal.state import RunState, StepRun


def run_state(plan: DetailedPlan, **statuses: StepStatus) -> RunState:
    state = RunState(run_id="r", stage=Stage.EXECUTION, plan=plan)
    state.steps = {step.id: StepRun(step, statuses.get(step.id, StepStatus.PENDING)) for step in plan.steps}
    return state


PLAN = steps(
    ExecutionStep(id="a", name="a", tool="list_files"),
    ExecutionStep(id="b", name="b", description='two\nlines with "quotes" and \\', checks=(FileCheck(path="b.txt"),)),
    ExecutionStep(id="c", name="c", checks=(CommandCheck(command="true"),), writes=("c.txt",), critical=False),
    after=[("b", "a"), ("c", "b")],
)
STATE = run_state(PLAN, a=StepStatus.SUCCEEDED)


def edit(old: str, new: str) -> e.PlanRevised | None:
    text = as_text(STATE)
    assert old in text
    return revision(text.replace(old, new), STATE, "why")


@pytest.mark.req("A8", "A6")
def test_unchanged_text_is_no_revision_and_started_steps_are_left_out() -> None:
    assert revision(as_text(STATE), STATE, "") is None
    assert [step["id"] for step in tomllib.loads(as_text(STATE))["step"]] == ["b", "c"]


@pytest.mark.req("A8", "D3")
def test_revision_contains_only_the_changed_steps() -> None:
    change = edit('name = "c"', 'name = "the last"')
    assert change is not None
    assert [step.name for step in change.changed] == ["the last"]
    assert (change.added, change.removed, change.depends_on) == ((), (), {})
    assert change.changed[0].checks[0].origin == "plan", "an unchanged check keeps its origin"
    assert (change.by, change.reason) == ("user", "why")


@pytest.mark.req("A8", "A1")
def test_steps_can_be_added_removed_moved_and_rewired() -> None:
    new = '[[step]]\nid = "d"\nname = "on failure"\nafter = ["a:always", "c:failure"]\nchecks = ["test -e d"]\n'
    change = revision(as_text(STATE).replace('after = ["b"]', 'after = ["a"]') + new, STATE, "")
    assert change is not None
    after = revised(PLAN, change)
    assert [(d.step_id, d.depends_on, d.condition) for d in after.dependencies] == [
        ("b", "a", Condition.SUCCESS), ("c", "a", Condition.SUCCESS), ("d", "a", Condition.ALWAYS),
        ("d", "c", Condition.FAILURE),
    ]  # fmt: skip
    assert change.added[0].checks == (CommandCheck(command="test -e d", origin="user"),)
    moved = revision("\n".join(["[[step]]\nid='c'\nname='c'", "[[step]]\nid='b'\nname='b'"]), STATE, "")
    assert moved is not None
    assert [step.id for step in revised(PLAN, moved).steps] == ["a", "c", "b"]
    emptied = revision("", STATE, "")
    assert emptied is not None
    assert emptied.removed == ("b", "c")


@pytest.mark.req("A8")
def test_step_that_started_meanwhile_is_accepted_if_unchanged() -> None:
    text = as_text(STATE).replace('name = "c"', 'name = "the last"')
    later = run_state(PLAN, a=StepStatus.SUCCEEDED, b=StepStatus.RUNNING)
    change = revision(text, later, "")
    assert change is not None
    assert [step.id for step in change.changed] == ["c"]
    with pytest.raises(PlanError, match="'b' has begun"):
        revision(text.replace('name = "b"', 'name = "other"'), later, "")


@pytest.mark.req("A6", "A8")
@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('after = ["a"]', 'after = ["c"]', "c -> b -> c|b -> c -> b"),
        ('after = ["a"]', 'after = ["x"]', "comes after 'x', which is not in the plan"),
        ('id = "b"', 'id = "bb"', "comes after 'b', which is no longer in the plan"),
        ('id = "b"', 'id = "a"', "cannot be changed"),
        ('id = "b"', 'id = "c"', "two steps have the id 'c'"),
        ('id = "b"', 'id = "b"\nfoo = 1', "step b: foo: Extra inputs"),
        ('after = ["a"]', 'after = ["a:sometimes"]', "names no condition"),
        ('after = ["a"]', 'after = "a"', "after must be a list"),
        ('name = "b"', "name = b", "not valid TOML"),
        ("critical = false", 'critical = "perhaps"', "step c: critical"),
        ("[[step]]", "[[steps]]", "there is no 'steps' in a plan"),
    ],
)
def test_invalid_edits_are_refused_with_a_reason(old: str, new: str, message: str) -> None:
    with pytest.raises(PlanError, match=message) as caught:
        edit(old, new)
    assert isinstance(caught.value, PlanCycle) or caught.value.remedy


@pytest.mark.req("O4", "A8")
def test_edit_beyond_max_plan_steps_is_refused() -> None:
    state = run_state(PLAN, a=StepStatus.SUCCEEDED)
    state.config = state.config.with_(max_plan_steps=3)
    with pytest.raises(PlanError, match="max_plan_steps"):
        revision(as_text(state) + '[[step]]\nid = "d"\nname = "d"\n', state, "")


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
words = st.text(st.sampled_from("abcé \\\"'\n\t#=[]\x7f\x00"), min_size=1, max_size=12).filter(str.strip)
step_strategy = st.builds(
    ExecutionStep,
    id=st.sampled_from(["s1", "s.2", "s-3", "s_4"]),
    name=words,
    description=texts,
    step_type=st.sampled_from(StepType),
    checks=st.lists(
        st.one_of(
            st.builds(CommandCheck, command=words, reads=st.just(("src",))),
            st.builds(CommandCheck, command=words),
            st.builds(FileCheck, path=texts),
        ),
        max_size=2,
    ).map(tuple),
    writes=st.lists(texts, max_size=2).map(tuple),
    parameters=st.dictionaries(texts, st.one_of(st.integers(-5, 5), texts, st.booleans()), max_size=2),
    fallback=st.one_of(st.none(), texts, st.lists(st.one_of(st.none(), st.integers(0, 3)), max_size=2)),
    priority=st.integers(-3, 3),
)


@pytest.mark.req("A8")
@given(st.lists(step_strategy, max_size=4, unique_by=lambda step: step.id))
def test_any_plan_round_trips(given_steps: list[ExecutionStep]) -> None:
    plan = steps(*given_steps, after=[(b.id, a.id) for a, b in pairwise(given_steps)])
    state = run_state(plan)
    assert revision(as_text(state), state, "") is None


@pytest.mark.req("A8")
def test_what_a_check_reads_can_be_changed_and_its_origin_stays() -> None:
    given_check = CommandCheck(command="make test", reads=("src",), origin="project")
    state = run_state(steps(ExecutionStep(id="a", name="a", checks=(given_check,))))
    text = as_text(state)
    assert '["src"]' in text
    changed = revision(text.replace('["src"]', '["src", "docs"]'), state, "")
    assert changed is not None
    assert changed.changed[0].checks == (given_check.with_(reads=("src", "docs")),)


def test_conditions_stay_when_the_model_inserts_steps() -> None:
    branch = StepDependency(step_id="b", depends_on="a", condition=Condition.ALWAYS)
    plan = PLAN.with_(dependencies=(branch,))
    new = ExecutionStep(id="n", name="n")
    after = revised(plan, e.PlanRevised(by="model", reason="", added=(new,), depends_on={"n": ("a",), "b": ("a", "n")}))
    assert branch in after.dependencies
