"""A person changes the plan between steps: the steps that have begun stay, the rest is theirs."""

import asyncio
import tomllib
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit import Bench, steps
from surefoot import events as e
from surefoot.editing import as_text, revision
from surefoot.errors import PlanCycle, PlanError
from surefoot.fold import fold, revised
from surefoot.machine import Stage, StepStatus
from surefoot.plan import (
    CommandCheck,
    Condition,
    DetailedPlan,
    ExecutionStep,
    FileCheck,
    StepDependency,
    StepType,
)
from surefoot.state import RunState, StepRun
from surefoot.tools.base import Writes, tool
from surefoot.tools.registry import default_toolbox


def at(plan: DetailedPlan, **statuses: StepStatus) -> RunState:
    state = RunState(run_id="r", stage=Stage.EXECUTION, plan=plan)
    state.steps = {step.id: StepRun(step, statuses.get(step.id, StepStatus.PENDING)) for step in plan.steps}
    return state


PLAN = steps(
    ExecutionStep(id="a", name="a", tool="list_files"),
    ExecutionStep(id="b", name="b", description='two\nlines with "quotes" and \\', checks=(FileCheck(path="b.txt"),)),
    ExecutionStep(id="c", name="c", checks=(CommandCheck(command="true"),), writes=("c.txt",), critical=False),
    after=[("b", "a"), ("c", "b")],
)
STATE = at(PLAN, a=StepStatus.SUCCEEDED)


def change(old: str, new: str, state: RunState = STATE) -> e.PlanRevised | None:
    text = as_text(state)
    assert old in text
    return revision(text.replace(old, new), state, "why")


@pytest.mark.req("A8", "A6")
def test_what_is_not_changed_means_nothing_and_what_has_begun_is_not_offered() -> None:
    assert revision(as_text(STATE), STATE, "") is None
    assert [step["id"] for step in tomllib.loads(as_text(STATE))["step"]] == ["b", "c"]


@pytest.mark.req("A8", "D3")
def test_a_change_is_the_difference_and_nothing_else() -> None:
    made = change('name = "c"', 'name = "the last"')
    assert made is not None
    assert [step.name for step in made.changed] == ["the last"]
    assert (made.added, made.removed, made.depends_on) == ((), (), {})
    assert made.changed[0].checks[0].origin == "plan", "a check that was there stays what it was"
    assert (made.by, made.reason) == ("user", "why")


@pytest.mark.req("A8", "A1")
def test_steps_are_added_removed_moved_and_rewired_with_conditions() -> None:
    new = '[[step]]\nid = "d"\nname = "on failure"\nafter = ["a:always", "c:failure"]\nchecks = ["test -e d"]\n'
    made = revision(as_text(STATE).replace('after = ["b"]', 'after = ["a"]') + new, STATE, "")
    assert made is not None
    after = revised(PLAN, made)
    assert [(d.step_id, d.depends_on, d.condition) for d in after.dependencies] == [
        ("b", "a", Condition.SUCCESS), ("c", "a", Condition.SUCCESS), ("d", "a", Condition.ALWAYS),
        ("d", "c", Condition.FAILURE),
    ]  # fmt: skip
    assert made.added[0].checks == (CommandCheck(command="test -e d", origin="user"),)
    moved = revision("\n".join(["[[step]]\nid='c'\nname='c'", "[[step]]\nid='b'\nname='b'"]), STATE, "")
    assert moved is not None
    assert [step.id for step in revised(PLAN, moved).steps] == ["a", "c", "b"]
    gone = revision("", STATE, "")
    assert gone is not None
    assert gone.removed == ("b", "c")


@pytest.mark.req("A8")
def test_what_began_while_the_text_was_being_changed_is_no_harm_where_it_was_left_alone() -> None:
    text = as_text(STATE).replace('name = "c"', 'name = "the last"')
    later = at(PLAN, a=StepStatus.SUCCEEDED, b=StepStatus.RUNNING)
    made = revision(text, later, "")
    assert made is not None
    assert [step.id for step in made.changed] == ["c"]
    with pytest.raises(PlanError, match="'b' has begun"):
        revision(text.replace('name = "b"', 'name = "other"'), later, "")


@pytest.mark.req("A6", "A8")
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('after = ["a"]', 'after = ["c"]', "c -> b -> c|b -> c -> b"),
        ('after = ["a"]', 'after = ["x"]', "comes after 'x', which is not in the plan"),
        ('id = "b"', 'id = "bb"', "comes after 'b', which is no longer in the plan"),
        ('id = "b"', 'id = "a"', "cannot be changed"),
        ('id = "b"', 'id = "c"', "two steps have the id 'c'"),
        ('id = "b"', 'id = "b"\nfoo = 1', "step b: foo: Extra inputs"),
        ('after = ["a"]', 'after = ["a:sometimes"]', "names no condition"),
        ('after = ["a"]', 'after = "a"', "after is no list"),
        ('name = "b"', "name = b", "no TOML"),
        ("critical = false", 'critical = "perhaps"', "step c: critical"),
        ("[[step]]", "[[steps]]", "there is no 'steps' in a plan"),
    ],
)
def test_what_cannot_be_is_told_with_its_place(old: str, new: str, said: str) -> None:
    with pytest.raises(PlanError, match=said) as caught:
        change(old, new)
    assert isinstance(caught.value, PlanCycle) or caught.value.remedy


@pytest.mark.req("O4", "A8")
def test_the_plan_stays_within_its_length() -> None:
    state = at(PLAN, a=StepStatus.SUCCEEDED)
    state.config = state.config.with_(max_plan_steps=3)
    with pytest.raises(PlanError, match="max_plan_steps"):
        revision(as_text(state) + '[[step]]\nid = "d"\nname = "d"\n', state, "")


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
words = st.text(st.sampled_from("abcé \\\"'\n\t#=[]\x7f\x00"), min_size=1, max_size=12).filter(str.strip)
made_steps = st.builds(
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
@given(st.lists(made_steps, max_size=4, unique_by=lambda step: step.id))
def test_any_plan_is_read_back_as_it_was_written(given_steps: list[ExecutionStep]) -> None:
    plan = steps(*given_steps, after=[(b.id, a.id) for a, b in pairwise(given_steps)])
    state = at(plan)
    assert revision(as_text(state), state, "") is None


# -- in a run ------------------------------------------------------------------------------------------------------


def held(bench: Bench) -> tuple[asyncio.Event, asyncio.Event]:
    started, go_on = asyncio.Event(), asyncio.Event()

    @tool
    async def hold() -> str:
        """Wait."""
        started.set()
        await go_on.wait()
        return "went on"

    @tool(writes=("path",))
    async def put(path: str) -> str:
        """Write."""
        (bench.root / path).write_text("x")
        return path

    bench.toolbox = default_toolbox().with_(hold, put)
    return started, go_on


def putting(step_id: str) -> ExecutionStep:
    return ExecutionStep(id=step_id, name=step_id, tool="put", parameters={"path": f"{step_id}.txt"})


@pytest.mark.req("A8", "D3")
async def test_a_run_at_work_takes_the_change_over_before_its_next_step(bench: Bench) -> None:
    started, go_on = held(bench)
    plan = steps(
        ExecutionStep(id="a", name="a", tool="hold"), putting("b"), putting("c"), after=[("b", "a"), ("c", "b")]
    )
    task = asyncio.create_task(bench.run_plan(plan))
    await started.wait()
    run_id = bench.journal.find("last")
    text = as_text(fold(bench.journal.read(run_id))).replace('"b.txt"', '"other.txt"').replace('id = "c"', 'id = "d"')
    ask = {"type": "control", "command": "edit", "by": "ann", "why": "b is taken", "plan": text}
    bench.journal.send(run_id, ask)
    # The step ends by itself: nobody is interrupted for a change of what comes later.
    while not any(isinstance(record.event, e.ControlReceived) for record in bench.records):  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    go_on.set()
    state = await task
    assert set(bench.files()) == {"other.txt", "c.txt"}
    assert list(state.steps) == ["a", "b", "d"]
    assert all(run.status is StepStatus.SUCCEEDED for run in state.steps.values())
    (change,) = bench.events(e.PlanRevised)
    assert (change.by, change.reason, change.removed) == ("user", "ann: b is taken", ("c",))
    assert not state.controls
    again = fold(bench.journal.read(run_id))
    assert list(again.steps) == list(state.steps)
    assert again.plan == state.plan


@pytest.mark.req("A8")
async def test_a_change_in_the_last_moment_of_the_last_step_still_counts(bench: Bench) -> None:
    started, go_on = held(bench)
    task = asyncio.create_task(bench.run_plan(steps(ExecutionStep(id="a", name="a", tool="hold"))))
    await started.wait()
    more = '[[step]]\nid = "b"\nname = "b"\ntool = "put"\nparameters = {path = "b.txt"}\nafter = ["a"]\n'
    bench.journal.send(bench.journal.find("last"), {"type": "control", "command": "edit", "by": "ann", "plan": more})
    go_on.set()  # before the run has looked for messages
    state = await task
    assert state.steps["b"].status is StepStatus.SUCCEEDED
    assert set(bench.files()) == {"b.txt"}


@pytest.mark.req("A8")
async def test_a_change_that_came_too_late_is_refused_and_told(bench: Bench) -> None:
    started, go_on = held(bench)
    plan = steps(ExecutionStep(id="a", name="a", tool="hold"), putting("b"), after=[("b", "a")])
    task = asyncio.create_task(bench.run_plan(plan))
    await started.wait()
    late = '[[step]]\nid = "a"\nname = "a has begun"\n'
    bench.journal.send(bench.journal.find("last"), {"type": "control", "command": "edit", "by": "ann", "plan": late})
    while not any(isinstance(record.event, e.ControlReceived) for record in bench.records):  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    go_on.set()
    state = await task
    assert state.steps["b"].status is StepStatus.SUCCEEDED
    (refused,) = bench.events(e.ControlRefused)
    assert "cannot be changed" in refused.reason
    assert not state.controls


@pytest.mark.req("A8")
@pytest.mark.parametrize("which", ["done", "running"])
async def test_a_step_can_be_done_again_while_the_run_is_at_work(bench: Bench, which: str) -> None:
    calls: list[str] = []
    gate = asyncio.Event()

    @tool(writes=Writes.FREE)
    async def work(name: str) -> str:
        """Work; the second hangs the first time."""
        calls.append(name)
        (bench.root / f"{name}{calls.count(name)}.txt").write_text(name)
        if name == "running" and calls.count(name) == 1:
            gate.set()
            while not any(isinstance(record.event, e.ControlReceived) for record in bench.records):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            if which == "running":
                await asyncio.sleep(3600)
        return name

    bench.toolbox = default_toolbox().with_(work)
    plan = steps(
        *(ExecutionStep(id=s, name=s, tool="work", parameters={"name": s}) for s in ("done", "running")),
        after=[("running", "done")],
    )
    task = asyncio.create_task(bench.run_plan(plan))
    await gate.wait()
    bench.journal.send(bench.journal.find("last"), {"type": "control", "command": "retry", "step_id": which})
    state = await task
    assert all(run.status is StepStatus.SUCCEEDED for run in state.steps.values())
    assert calls == ["done", "running", which]
    assert not state.controls
    assert ("running1.txt" in bench.files()) is (which == "done"), "what was interrupted is undone"


@pytest.mark.req("A8")
async def test_skipping_what_is_done_is_refused_and_told(bench: Bench) -> None:
    started, go_on = held(bench)
    plan = steps(putting("b"), ExecutionStep(id="a", name="a", tool="hold"), putting("c"),
                 after=[("a", "b"), ("c", "a")])  # fmt: skip
    task = asyncio.create_task(bench.run_plan(plan))
    await started.wait()
    bench.journal.send(bench.journal.find("last"), {"type": "control", "command": "skip", "step_id": "b"})
    while not any(isinstance(record.event, e.ControlReceived) for record in bench.records):  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    go_on.set()
    state = await task
    assert [refused.reason for refused in bench.events(e.ControlRefused)] == ["the step is succeeded"]
    assert state.steps["b"].status is StepStatus.SUCCEEDED


def test_conditions_stay_when_the_model_weaves_steps_in() -> None:
    branch = StepDependency(step_id="b", depends_on="a", condition=Condition.ALWAYS)
    plan = PLAN.with_(dependencies=(branch,))
    new = ExecutionStep(id="n", name="n")
    after = revised(plan, e.PlanRevised(by="model", reason="", added=(new,), depends_on={"n": ("a",), "b": ("a", "n")}))
    assert branch in after.dependencies
