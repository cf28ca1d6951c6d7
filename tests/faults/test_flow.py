"""Every edge of the design's flow diagram, walked by the engine itself: what `ladder.py` decides is really carried out.

A step runs -> B worked? -> C saved | D reflection -> E category
E parameter -> F retries left? -> G adjusted parameters -> A | H
E tool -> I retries left? -> J alternative tool -> A | H
E dependency, decomposition -> H
H -> K repairs left? -> L the step is planned again -> A | M
M replans left? -> N the task is planned again -> A | O failed
"""

import contextlib
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from support.kit import Bench, act, steps
from surefoot.core.outcome import Verdict
from surefoot.core.phases import ExecutionPhase
from surefoot.core.plan import ExecutionStep, FileCheck
from surefoot.core.transitions import Rung, Stage, StepStatus
from surefoot.engine.loop import resume_run, start_run
from surefoot.engine.planner.gate import skipped
from surefoot.journal import events as e
from surefoot.journal.reducers import fold
from surefoot.journal.state import RunState
from surefoot.models.base import ModelRequest
from surefoot.models.testing.scripted import Rule
from surefoot.tools.registry import default_toolbox
from surefoot.tools.tool import Tool, Writes, tool

pytestmark = pytest.mark.slow

P, T, DEP, DEC, U = "parameter_error", "tool_error", "dependency_error", "decomposition_error", "unknown"
ADJUST, OTHER, REPAIR = Rung.ADJUST_PARAMETERS, Rung.ALTERNATIVE_TOOL, Rung.REPAIR_STEP
REPLAN, GIVE_UP = Rung.REPLAN_TASK, Rung.GIVE_UP


@dataclass
class World:
    """Outside of the run: it says how the next calls end."""

    root: Path
    failures: list[str]
    calls: list[tuple[str, str]] = field(default_factory=list)

    def work(self, name: str, source: str) -> str:
        self.calls.append((name, source))
        (self.root / f"half-{len(self.calls)}.txt").write_text("half a result")
        if self.failures:
            raise ValueError(f"failure {len(self.calls)} is a {self.failures.pop(0)}")
        for half in self.root.glob("half-*"):
            half.unlink()
        (self.root / "done.txt").write_text("the result")
        return "worked"

    def tools(self) -> list[Tool]:
        @tool(writes=Writes.FREE, alternatives=("other_work",))
        def work(source: str) -> str:
            """Do the work."""
            return self.work("work", source)

        @tool(writes=Writes.FREE, alternatives=("third_work",))
        def other_work(source: str) -> str:
            """Do the work in another way."""
            return self.work("other_work", source)

        @tool(writes=Writes.FREE)
        def third_work(source: str) -> str:
            """Do the work in a third way."""
            return self.work("third_work", source)

        return [work, other_work, third_work]


def reflect(request: ModelRequest) -> dict[str, Any]:
    """A model that finds the true cause each time, and another parameter."""
    number, category = re.findall(r"failure (\d+) is a (\w+)", request.messages[-1].content)[-1]
    return {"category": category, "root_cause": f"cause {number}", "recoverable": True, "fix": "",
            "parameters": {"source": f"adjusted {number}"}}  # fmt: skip


PLANNED = {"steps": [{"name": "work again", "description": "with the third tool", "type": "command_execution",
                      "file": "", "after": [], "check": {"kind": "file_exists", "value": "done.txt"}}],
           "success_criteria": []}  # fmt: skip
MODEL = [
    Rule("Find the cause", reflect),
    Rule("Plan this one step again", {"thought": "", "tool": "third_work", "arguments": {"source": "repaired"}}),
    Rule("Make a plan of at most", PLANNED),
    Rule("# Step\nwork again", act("third_work", source="planned")),
]
STEP = ExecutionStep(
    id="w", name="work", tool="work", parameters={"source": "given"}, checks=(FileCheck(path="done.txt"),)
)
GIVEN = e.PlanMade(result=skipped(ExecutionPhase.Planning(), "given", steps(STEP)))


def prepare(bench: Bench, failures: list[str]) -> World:
    world = World(bench.root, list(failures))
    bench.toolbox = default_toolbox().with_(*world.tools())
    return world


def rungs(bench: Bench) -> list[str]:
    return [event.rung for event in bench.events(e.RungChosen)]


ADJUSTED = ["adjusted 1", "adjusted 2", "adjusted 3"]
FLOW: list[tuple[str, list[str], dict[str, int], list[Rung], list[str]]] = [
    ("A-B-C: it works", [], {}, [], ["given"]),
    ("E-F-G-A: a parameter is adjusted", [P], {}, [ADJUST], ["given", "adjusted 1"]),
    ("E-F-G-A three times, the design's limit", [P, P, P], {}, [ADJUST] * 3, ["given", *ADJUSTED]),
    ("E-F-H: no retries left", [P] * 4, {}, [ADJUST] * 3 + [REPAIR], ["given", *ADJUSTED, "repaired"]),
    ("E-F-H: none were allowed", [P], {"max_step_retries": 0}, [REPAIR], ["given", "repaired"]),
    ("E-I-J-A: another tool", [T], {}, [OTHER], ["given", "given"]),
    ("E-I-J-A: and another", [T, T], {}, [OTHER, OTHER], ["given"] * 3),
    ("E-I-H: no retries left", [T, T], {"max_step_retries": 1}, [OTHER, REPAIR], ["given", "given", "repaired"]),
    ("E-H: a dependency is missing", [DEP], {}, [REPAIR], ["given", "repaired"]),
    ("E-H: wrongly taken apart", [DEC], {}, [REPAIR], ["given", "repaired"]),
    ("H-K-M-N-A: no repairs left", [DEC, DEC], {}, [REPAIR, REPLAN], ["given", "repaired", "planned"]),
    ("H-K-M-N-A: none were allowed", [DEP], {"max_single_step_repairs": 0}, [REPLAN], ["given", "planned"]),
    ("an unknown cause is tried again first", [U], {}, [ADJUST], ["given", "adjusted 1"]),
]  # fmt: skip


@pytest.mark.req("R1", "R2", "R3", "R4", "P13")
@pytest.mark.parametrize(
    ("failures", "limits", "climbed", "sources"), [pytest.param(*rest, id=name) for name, *rest in FLOW]
)
async def test_an_edge_of_the_diagram(
    bench: Bench, failures: list[str], limits: dict[str, int], climbed: list[Rung], sources: list[str]
) -> None:
    world = prepare(bench, failures)
    state = await bench.run_plan(steps(STEP), MODEL, checks=["grep -q result done.txt"], reflection=limits)
    assert rungs(bench) == climbed
    assert [source for _, source in world.calls] == sources, "each try is another one"
    assert bench.files() == {"done.txt": "the result"}, "nothing of a failed try is left"
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    assert all(r.status is StepStatus.SUCCEEDED for r in state.steps.values())


@pytest.mark.req("R2", "R4", "P18")
@pytest.mark.parametrize(
    ("limits", "climbed"),
    [
        ({"max_task_replanning_attempts": 0}, [REPAIR, GIVE_UP]),
        ({"max_task_replanning_attempts": 0, "max_single_step_repairs": 0}, [GIVE_UP]),
        ({"max_consecutive_failures": 1}, [REPAIR, REPLAN, REPAIR, GIVE_UP]),
    ],
)
async def test_m_to_o_nothing_is_left_to_try(bench: Bench, limits: dict[str, int], climbed: list[str]) -> None:
    prepare(bench, [DEC] * 9)
    state = await bench.run_plan(steps(STEP), MODEL, checks=["grep -q result done.txt"], reflection=limits)
    assert rungs(bench) == climbed
    assert state.stage is Stage.FAILED
    assert state.outcome is not None
    assert state.outcome.verdict in (Verdict.FAILED, Verdict.LOOP)
    assert bench.files() == {}


@pytest.mark.req("R2", "R4")
async def test_the_tools_used_are_the_ones_the_rungs_named(bench: Bench) -> None:
    world = prepare(bench, [T, T, DEC])
    await bench.run_plan(steps(STEP), MODEL, checks=["grep -q result done.txt"])
    assert [name for name, _ in world.calls] == ["work", "other_work", "third_work", "third_work"]


@pytest.mark.req("R8")
async def test_tools_that_are_each_other_s_alternative_are_each_tried_once(bench: Bench) -> None:
    calls: list[str] = []

    @tool(alternatives=("b",))
    def a(x: int) -> str:
        """First."""
        calls.append("a")
        raise RuntimeError("no failure 1 is a tool_error")

    @tool(alternatives=("a",))
    def b(x: int) -> str:
        """Second."""
        calls.append("b")
        raise RuntimeError("no failure 2 is a tool_error")

    bench.toolbox = default_toolbox().with_(a, b)
    answers = [Rule("Find the cause", {**reflect_as("tool_error"), "parameters": {}})]
    limits = {"max_single_step_repairs": 0, "max_task_replanning_attempts": 0}
    await bench.run_plan(
        steps(ExecutionStep(id="s", name="s", tool="a", parameters={"x": 1})), answers, reflection=limits
    )
    assert rungs(bench) == [OTHER, GIVE_UP], "not back and forth between the two"
    assert calls == ["a", "b"]


def reflect_as(category: str) -> dict[str, Any]:
    return {"category": category, "root_cause": "said", "recoverable": True, "fix": "", "parameters": {}}


@pytest.mark.req("R8")
async def test_a_wrong_parameter_is_not_tried_again_unchanged(bench: Bench) -> None:
    """The model says that the parameter is wrong and has no better one: trying again is no answer to that."""
    world = prepare(bench, [P] * 5)
    answers = [Rule("Find the cause", reflect_as(P)), *MODEL[1:]]
    state = await bench.run_plan(steps(STEP), answers, reflection={"max_task_replanning_attempts": 0})
    assert rungs(bench) == [REPAIR, GIVE_UP]
    assert world.calls == [("work", "given"), ("third_work", "repaired")]
    assert state.stage is Stage.FAILED


@pytest.mark.req("R8", "A3")
async def test_what_is_down_is_waited_for_and_then_not_called_again_unchanged(bench: Bench) -> None:
    calls: list[int] = []

    @tool
    def fetch() -> str:
        """Fetch."""
        calls.append(1)
        raise ConnectionError("refused")

    bench.toolbox = default_toolbox().with_(fetch)
    limits = {"max_single_step_repairs": 0, "max_task_replanning_attempts": 0}
    await bench.run_plan(steps(ExecutionStep(id="s", name="s", tool="fetch")), reflection=limits)
    assert rungs(bench) == [Rung.RETRY_LATER] * 3 + [GIVE_UP]
    assert len(calls) == 4


@pytest.mark.req("R8")
async def test_an_unknown_cause_is_not_repeated_unchanged(bench: Bench) -> None:
    world = prepare(bench, [U] * 9)
    answers = [Rule("Find the cause", reflect_as(U)), *MODEL[1:]]
    limits = {"max_single_step_repairs": 0, "max_task_replanning_attempts": 0}
    await bench.run_plan(steps(STEP), answers, reflection=limits)
    assert rungs(bench) == [OTHER, OTHER, GIVE_UP], "the call cannot be varied, but there are other tools"
    assert len(set(world.calls)) == len(world.calls) == 3


@pytest.mark.req("R8", "R4")
async def test_a_repair_that_gives_a_call_that_failed_is_not_carried_out(bench: Bench) -> None:
    world = prepare(bench, [DEC] * 9)
    same = Rule("Plan this one step again", {"thought": "", "tool": "work", "arguments": {"source": "given"}})
    limits = {"max_task_replanning_attempts": 0}
    await bench.run_plan(steps(STEP), [MODEL[0], same], reflection=limits)
    assert rungs(bench) == [REPAIR, GIVE_UP]
    assert world.calls == [("work", "given")]


@pytest.mark.req("R6", "R1")
async def test_without_step_level_reflection_nobody_is_asked_and_the_task_is_planned_again(bench: Bench) -> None:
    world = prepare(bench, [P])
    state = await bench.run_plan(
        steps(STEP), MODEL, checks=["grep -q result done.txt"], reflection={"enable_step_level_reflection": False}
    )
    assert rungs(bench) == [REPLAN]
    assert not [prompt for prompt in bench.prompts() if "Find the cause" in prompt]
    assert [source for _, source in world.calls] == ["given", "planned"]
    assert state.steps["s1r1"].status is StepStatus.SUCCEEDED


# -- counters, also after a restart --------------------------------------------------------------------------------


def counters(state: RunState) -> dict[str, Any]:
    return {
        "replans": state.task_replan_count,
        "consecutive_failures": state.consecutive_failures,
        "approach_index": state.approach_index,
        "tried": state.tried,
        **{
            step_id: (
                r.status,
                r.attempt,
                r.step_retry_count,
                r.temporary_retries,
                r.single_step_repair_count,
                r.rungs,
                r.failed_fingerprints,
            )
            for step_id, r in state.steps.items()
        },
    }


@pytest.mark.req("R3")
async def test_the_counters_are_in_the_state_and_in_the_journal(bench: Bench) -> None:
    prepare(bench, [P] * 4 + [DEC] * 9)
    state = await bench.run_plan(steps(STEP), MODEL, reflection={"max_task_replanning_attempts": 0})
    step_run = state.steps["w"]
    assert (
        step_run.step_retry_count,
        step_run.single_step_repair_count,
        state.task_replan_count,
        state.consecutive_failures,
    ) == (3, 1, 0, 2)
    assert counters(fold(bench.journal.read(state.run_id))) == counters(state)


class Killed(BaseException):
    """The process ends here, after the event was written and before anything else."""


INTERRUPTIONS = [e.StepFinished, e.Reflected, e.RungChosen, e.RolledBack, e.PlanRevised, e.StepReset, e.PlanMade]


@pytest.mark.req("R3", "P14")
@pytest.mark.parametrize("after", INTERRUPTIONS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("failures", [[P], [T], [DEC], [DEC, DEC], [P, P, P, P]], ids=lambda f: f"{f[0]}x{len(f)}")
async def test_a_recovery_that_is_cut_off_anywhere_ends_the_same(
    bench: Bench, failures: list[str], after: type[Any]
) -> None:
    """No rung is lost or climbed twice, however often the process ends in the middle of one."""
    prepare(bench, failures)
    uncut = await bench.run_plan(steps(STEP), MODEL, checks=["grep -q result done.txt"])
    expected, wanted = rungs(bench), counters(uncut)
    (bench.root / "done.txt").unlink()
    bench.records.clear()

    prepare(bench, failures)
    seen: set[int] = set()

    def cut(record: e.Record) -> None:
        if isinstance(record.event, after) and record.seq not in seen:
            seen.add(record.seq)
            raise Killed

    services = bench.services(MODEL)
    services.bus.subscribe(cut)
    task = bench.task("carry out the given plan", ["grep -q result done.txt"])
    state: RunState | None = None
    for processes in range(30):
        with contextlib.suppress(Killed):
            if processes:
                state = await resume_run(services, bench.journal.find("last"))
            else:
                state = await start_run(services, task, bench.config(), first=Stage.EXECUTION, given=[GIVEN])
            break
    assert state is not None
    assert rungs(bench) == expected
    assert bench.files() == {"done.txt": "the result"}
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    assert counters(fold(bench.journal.read(state.run_id))) == counters(state)
    if state.task_replan_count == 0:
        assert {k: v for k, v in counters(state).items() if k != "tried"} == {
            k: v for k, v in wanted.items() if k != "tried"
        }
