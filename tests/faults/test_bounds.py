"""Nothing makes it climb for ever: whatever fails how often, and however often the process ends, a run is over within a
bound that the config gives, and its counters can be read from the journal alone."""

import asyncio
import contextlib
import re
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from support.kit import Bench, act, done, steps
from surefoot.config.model import ReflectionConfig
from surefoot.core.outcome import ErrorCategory, Verdict
from surefoot.core.phases import ExecutionPhase
from surefoot.core.plan import ExecutionStep, FileCheck
from surefoot.core.transitions import Stage
from surefoot.engine.loop import resume_run, start_run
from surefoot.engine.planner.gate import skipped
from surefoot.engine.runtime.services import Services
from surefoot.errors import ToolUnavailable
from surefoot.journal import events as e
from surefoot.journal.reducers import fold
from surefoot.journal.state import RunState
from surefoot.models.base import ModelRequest
from surefoot.models.testing.scripted import Rule
from surefoot.tools.registry import default_toolbox
from surefoot.tools.tool import Tool, Writes, tool

pytestmark = pytest.mark.slow

STEPS = ("a", "b")


class Killed(BaseException):
    pass


@dataclass
class World:
    root: Path
    outcomes: list[str]
    """How each call ends, in order: `ok`, `temporary`, or the category of its failure; afterwards all as the last."""
    calls: int = 0

    def happens(self, name: str) -> str:
        outcome = self.outcomes[min(self.calls, len(self.outcomes) - 1)]
        self.calls += 1
        (self.root / f"litter-{self.calls}").write_text("litter")
        if outcome == "temporary":
            raise ToolUnavailable("refused")
        if outcome != "ok":
            raise ValueError(f"call {self.calls} is a {outcome}")
        (self.root / f"{name}.txt").write_text(name)
        return "worked"

    def tools(self) -> list[Tool]:
        @tool(writes=Writes.FREE, alternatives=("other",))
        def work(name: str, attempt: str = "") -> str:
            """Work."""
            return self.happens(name)

        @tool(writes=Writes.FREE, alternatives=("work",))
        def other(name: str, attempt: str = "") -> str:
            """Work in another way."""
            return self.happens(name)

        return [work, other]


@dataclass
class Model:
    """Finds the true cause; offers something new or not, as it was drawn."""

    fresh: list[bool]
    asked: int = 0
    step: str = field(default="a")

    def new(self) -> str:
        self.asked += 1
        return f"try {self.asked}" if self.fresh[self.asked % len(self.fresh)] else ""

    def reflect(self, request: ModelRequest) -> dict[str, Any]:
        found = re.findall(r"call \d+ is a (\w+)", request.messages[-1].content)
        return {"category": found[-1] if found else "unknown", "root_cause": "said", "recoverable": True, "fix": "",
                "parameters": {"attempt": value} if (value := self.new()) else {}}  # fmt: skip

    def call(self, request: ModelRequest) -> dict[str, Any]:
        name = re.findall(r"name='(\w)'|# Step\n(\w) again", request.messages[-1].content)
        step = "".join(name[-1]) if name else "a"
        return {**act("work", name=step, attempt=self.new()), "thought": ""}

    def plan(self, request: ModelRequest) -> dict[str, Any]:
        wanted = [name for name in STEPS if f"- {name}\n" not in request.messages[-1].content]
        return {"steps": [{"name": f"{name} again", "description": name, "type": "command_execution", "file": "",
                           "after": [], "check": {"kind": "file_exists", "value": f"{name}.txt"}}
                          for name in wanted], "success_criteria": []}  # fmt: skip

    def rules(self) -> list[Rule]:
        return [
            Rule("Find the cause", self.reflect),
            Rule("Make a plan of at most", self.plan),
            Rule("Plan this one step again", self.repair),
            Rule("Done in this step so far\n(nothing yet)", self.call),
            Rule("Choose the one next action", done()),
        ]

    def repair(self, request: ModelRequest) -> dict[str, Any]:
        if "# Tools" in request.messages[-1].content:
            return self.call(request)
        step: dict[str, Any] = self.plan(request)["steps"][0]
        return step


def most_attempts(limits: ReflectionConfig) -> int:
    """Every rung that can be taken again has its counter: these are all of them."""
    of_a_step = 1 + limits.max_step_retries + limits.max_temporary_retries + limits.max_single_step_repairs
    plans = 1 + limits.max_task_replanning_attempts
    return of_a_step * plans * len(STEPS)


def counted(state: RunState) -> dict[str, Any]:
    return {
        "stage": state.stage,
        "replans": state.task_replan_count,
        "consecutive": state.consecutive_failures,
        "tried": list(state.tried),
        "steps": {
            step_id: (
                r.status,
                r.attempt,
                r.step_retry_count,
                r.temporary_retries,
                r.single_step_repair_count,
                tuple(r.rungs),
            )
            for step_id, r in state.steps.items()
        },
    }


async def to_the_end(services: Services, bench: Bench, limits: ReflectionConfig, kills: frozenset[int]) -> RunState:
    """Through as many processes as it takes."""
    killed: set[int] = set()

    def kill(record: e.Record) -> None:
        if record.seq in kills - killed:
            killed.add(record.seq)
            raise Killed

    services.bus.subscribe(kill)
    plan = steps(
        *(
            ExecutionStep(id=s, name=s, tool="work", parameters={"name": s}, checks=(FileCheck(path=f"{s}.txt"),))
            for s in STEPS
        ),
        after=[("b", "a")],
    )
    made = e.PlanMade(result=skipped(ExecutionPhase.Planning(), "given", plan))
    task = bench.task("work", ["grep -q a a.txt && grep -q b b.txt"])
    config = bench.config(reflection=limits.model_dump())
    with contextlib.suppress(Killed):
        return await start_run(services, task, config, first=Stage.EXECUTION, given=[made])
    while True:
        with contextlib.suppress(Killed):
            return await resume_run(services, bench.journal.find("last"))


async def one_run(limits: ReflectionConfig, outcomes: list[str], fresh: list[bool], kills: frozenset[int]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder, "work"), Path(folder, "home"))
        bench.root.mkdir()
        bench.home.mkdir()
        world = World(bench.root, outcomes)
        bench.toolbox = default_toolbox().with_(*world.tools())
        state = await to_the_end(bench.services(Model(fresh).rules()), bench, limits, kills)
        attempts = len(bench.events(e.StepStarted))
        assert state.outcome is not None
        assert attempts <= most_attempts(limits)
        # A repair or a new plan that repeats what failed is refused, and the next rung is chosen without an attempt.
        refusable = sum(step.single_step_repair_count for step in state.steps.values()) + state.task_replan_count
        assert len(bench.events(e.RungChosen)) <= attempts + refusable
        for step_run in state.steps.values():
            assert step_run.step_retry_count <= limits.max_step_retries
            assert step_run.temporary_retries <= limits.max_temporary_retries
            assert step_run.single_step_repair_count <= limits.max_single_step_repairs
        assert state.task_replan_count <= limits.max_task_replanning_attempts
        assert state.consecutive_failures <= len(STEPS) * (1 + limits.max_single_step_repairs)
        assert counted(fold(bench.journal.read(state.run_id))) == counted(state)
        made = {name for name in STEPS if (bench.root / f"{name}.txt").exists()}
        assert (state.outcome.verdict is Verdict.VERIFIED) == (made == set(STEPS))


@pytest.mark.req("R3", "R2", "P14")
@example(
    ReflectionConfig(
        max_single_step_repairs=2,
        max_step_retries=0,
        max_task_replanning_attempts=0,
        max_consecutive_failures=2,
        max_temporary_retries=0,
        backoff_seconds=0.0,
    ),
    ["temporary"],
    [False],
    frozenset(),
)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    limits=st.builds(
        ReflectionConfig,
        max_step_retries=st.integers(0, 3),
        max_single_step_repairs=st.integers(0, 2),
        max_task_replanning_attempts=st.integers(0, 1),
        max_consecutive_failures=st.integers(1, 4),
        max_temporary_retries=st.integers(0, 2),
        enable_step_level_reflection=st.booleans(),
        backoff_seconds=st.just(0.0),
    ),
    outcomes=st.lists(st.sampled_from(["ok", "temporary", *ErrorCategory]), min_size=1, max_size=12),
    fresh=st.lists(st.booleans(), min_size=1, max_size=4),
    kills=st.frozensets(st.integers(3, 60), max_size=3),
)
def test_every_run_ends_within_its_bound(
    limits: ReflectionConfig, outcomes: list[str], fresh: list[bool], kills: frozenset[int]
) -> None:
    asyncio.run(one_run(limits, [str(outcome) for outcome in outcomes], fresh, kills))
