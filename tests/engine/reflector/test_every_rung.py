"""The real engine reaches every rung of the ladder at the default limits, with a strong and with a small model."""

from typing import Any

import pytest

from support.candidates import CHECK, SUM, WRONG, rungs_of
from support.kit import SMALL, Bench, act, fenced, steps
from support.talk import submit
from surefoot.config.model import ReflectionConfig
from surefoot.core.outcome import Verdict
from surefoot.core.phases import AlternativeApproach, ApproachOutput, ExecutionPhase, PhaseResult, PhaseStatus
from surefoot.core.plan import DetailedPlan, ExecutionStep
from surefoot.core.transitions import Rung, Stage
from surefoot.engine.executor.loop import MAX_REFUSALS
from surefoot.engine.loop import start_run
from surefoot.engine.planner.gate import skipped
from surefoot.journal import events as e
from surefoot.journal.state import RunState
from surefoot.models.base import ModelRequest, ModelTraits
from surefoot.models.testing.scripted import Rule
from surefoot.tools.registry import default_toolbox
from surefoot.tools.tool import tool

ADJUST, OTHER, REPAIR = Rung.ADJUST_PARAMETERS, Rung.ALTERNATIVE_TOOL, Rung.REPAIR_STEP
REPLAN, NEXT, GIVE_UP = Rung.REPLAN_TASK, Rung.NEXT_APPROACH, Rung.GIVE_UP
APPROACH = ApproachOutput(
    approach="by hand",
    expected_outcomes=("it is there",),
    alternatives=(
        AlternativeApproach(name="with a table", description="look it up"),
        AlternativeApproach(name="with a loop", description="count up"),
    ),
)
REFLECTION = {"root_cause": "said", "recoverable": True, "fix": "", "parameters": {}}


@tool(alternatives=("other_fetch",))
def fetch(source: str) -> str:
    """Fetch the data."""
    raise ConnectionError("the service does not answer")


@tool
def other_fetch(source: str) -> str:
    """Fetch the data in another way."""
    raise ValueError("failure of the other tool")


async def run_plan(bench: Bench, plan: DetailedPlan, answers: list[Any], traits: ModelTraits | None) -> RunState:
    """Carry out a plan of an approach with alternatives, at the default limits."""
    assert bench.config().reflection == ReflectionConfig(backoff_seconds=0)
    given: list[e.Event] = [
        e.ApproachChosen(
            result=PhaseResult[ApproachOutput](
                phase=ExecutionPhase.Approach(), status=PhaseStatus.SUCCESS, output=APPROACH
            )
        ),
        e.PlanMade(result=skipped(ExecutionPhase.Planning(), "given", plan)),
    ]
    services = bench.services(answers, **({"traits": traits} if traits else {}))
    task = bench.task("Write the sum of 2 and 3 into sum.txt.", [CHECK])
    return await start_run(services, task, bench.config(), first=Stage.EXECUTION, given=given)


class Talker:
    """A strong model that fails in every attempt, each time in another way."""

    def __init__(self) -> None:
        self.attempts: list[str] = []
        self.turns = 0

    def __call__(self, request: ModelRequest) -> Any:
        text = request.messages[-1].content
        if "call change_steps" in text:
            return [("change_steps", {"steps": [{"step": "s1", "name": "Fetch it", "description": "in another way"}]})]
        if "submit a plan" in text or "Look at what you need" in text:
            return submit()[2:] if self.attempts else submit({"name": "Fetch it", "description": "fetch the data"})
        started = "# Step " in text
        if started:
            self.attempts.append(text)
        match len(self.attempts):
            case 1:
                return "I would rather talk about it."
            case 2:
                return [("fetch", {"source": "a"})] if started else [("finish_step", {})]
        return [("finish_step", {})]


@pytest.mark.req("R10", "R2", "R4", "P17", "R8")
async def test_strong_model_climbs_every_rung_at_the_default_limits(bench: Bench) -> None:
    bench.toolbox = default_toolbox().with_(fetch, other_fetch)
    talker = Talker()
    state = await bench.talk("Fetch the data into sum.txt.", [talker] * 60, checks=[CHECK])
    assert rungs_of(bench) == [ADJUST, OTHER, REPAIR, REPLAN, REPAIR, NEXT, REPAIR, GIVE_UP]
    assert "Use other_fetch instead of fetch." in talker.attempts[2], "the model is told which tool to use"
    assert "in another way" in talker.attempts[3], "the step was planned again"
    asked = [r.messages[-1].content for r in bench.talker.requests if "A new plan is needed" in r.messages[-1].content]
    assert ["rewrite it" in text for text in asked] == [False, True], "the alternative is named"
    assert (state.task_replan_count, state.approach_index) == (1, 1)
    assert state.outcome is not None
    assert state.outcome.diagnosis is not None
    assert len(state.outcome.diagnosis.tried) == 8
    assert len(set(talker.attempts)) == len(talker.attempts), "no attempt begins as an earlier one"


@pytest.mark.req("R10", "R2", "R4", "P17", "R8")
async def test_small_model_climbs_every_rung_at_the_default_limits(bench: Bench) -> None:
    state = await run_plan(bench, steps(SUM), [*WRONG[:20]], SMALL)
    assert rungs_of(bench) == [Rung.CANDIDATES, REPAIR, REPLAN, NEXT, GIVE_UP], "one alternative by default"
    assert state.model_calls == 1 + 3 + 3, "one answer, the candidates, and one question for each layer above"
    prompts = bench.prompts()
    repaired, replanned, other_approach = prompts[4:]
    assert "# Every answer so far fails with\ngrep -qx 5 sum.txt" in repaired
    assert "in another way: one small part for each rule" in replanned
    assert not [prompt for prompt in prompts if "103" in prompt], "no answer is shown to be corrected"
    assert "with a table: look it up" in other_approach
    assert len(set(prompts)) == 5, "candidates share a question; every other one is new"
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.FAILED
    assert bench.files() == {}


@pytest.mark.req("R10", "R8")
async def test_small_model_that_repeats_itself_is_asked_six_times_more(bench: Bench) -> None:
    """An answer that has failed is not carried out again. The repaired step, and then that of the new plan, ask for
    another one, warmer, until `MAX_REFUSALS` answers were refused."""
    task = bench.task("Write sum.txt.", [CHECK])
    state = await start_run(bench.services([WRONG[0]] * 20, traits=SMALL), task, bench.config())
    assert rungs_of(bench) == [Rung.CANDIDATES, REPAIR, REPLAN, GIVE_UP]
    assert state.model_calls == 1 + 3 + MAX_REFUSALS + MAX_REFUSALS == 10
    repaired = [request.temperature or 0.0 for request in bench.model.requests[4:7]]
    assert repaired == [0.7, 1.0, 1.0], "warmer, up to the limit"
    assert len(bench.events(e.ActionRefused)) == 2 * MAX_REFUSALS
    assert len(bench.events(e.ActionStarted)) == 1, "it was carried out once"


@pytest.mark.req("R10", "R4")
@pytest.mark.parametrize("right", [4, 5, 6])
async def test_each_layer_above_the_candidates_can_save_a_small_model(bench: Bench, right: int) -> None:
    answers = [*WRONG[:right], fenced("5\n", "")]
    state = await run_plan(bench, steps(SUM), answers, SMALL)
    assert rungs_of(bench) == [Rung.CANDIDATES, REPAIR, REPLAN, NEXT][: right - 2]
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED


@pytest.mark.req("R10", "R6")
async def test_extra_questions_of_a_small_model_can_be_switched_off(bench: Bench) -> None:
    task = bench.task("Write sum.txt.", [CHECK])
    limits = {"max_single_step_repairs": 0, "max_task_replanning_attempts": 0, "max_alternative_approaches": 0}
    state = await start_run(bench.services([*WRONG[:9]], traits=SMALL), task, bench.config(reflection=limits))
    assert rungs_of(bench) == [Rung.CANDIDATES, GIVE_UP]
    assert state.model_calls == 4


@pytest.mark.req("R10", "R2", "R4")
@pytest.mark.parametrize("traits", [None, SMALL], ids=["any", "small"])
async def test_call_of_a_tool_climbs_every_rung(bench: Bench, traits: ModelTraits | None) -> None:
    """A step that names its tool: adjusted parameters, another tool, a repaired call, a new plan, another approach."""
    calls: list[tuple[str, str]] = []
    categories = ["parameter_error", "tool_error", "tool_error"]

    @tool(alternatives=("other",))
    def work(source: str) -> str:
        """Work."""
        calls.append(("work", source))
        raise ValueError(f"failure {len(calls)}")

    @tool
    def other(source: str) -> str:
        """Work in another way."""
        calls.append(("other", source))
        raise ValueError(f"failure {len(calls)}")

    def reflect(_: ModelRequest) -> dict[str, Any]:
        category = categories[len(calls) - 1] if len(calls) <= 3 else "decomposition_error"
        parameters = {"source": "adjusted"} if category == "parameter_error" else {}
        return {**REFLECTION, "category": category, "parameters": parameters}

    step = {"name": "work again", "description": "with any tool", "type": "testing", "file": "", "after": [],
            "check": {"kind": "none", "value": ""}}  # fmt: skip
    answers = [
        Rule("Find the cause", reflect),
        Rule("# Tools\n", {"thought": "", "tool": "work", "arguments": {"source": "repaired"}}, times=1),
        Rule("Plan this one step again", step),
        Rule("Make a plan of at most", {"steps": [step], "success_criteria": []}),
        Rule("Choose the one next action", {**act(""), "decision": "replan", "reason": "it cannot work like this"}),
    ]
    bench.toolbox = default_toolbox().with_(work, other)
    given = steps(ExecutionStep(id="w", name="work", tool="work", parameters={"source": "given"}))
    state = await run_plan(bench, given, answers, traits)
    climbed = [ADJUST, OTHER, REPAIR, REPLAN, REPAIR, NEXT, REPAIR]
    assert rungs_of(bench) == [*climbed, *([] if traits else [NEXT, REPAIR]), GIVE_UP]
    assert calls == [("work", "given"), ("work", "adjusted"), ("other", "adjusted"), ("work", "repaired")]
    assert state.stage is Stage.FAILED
