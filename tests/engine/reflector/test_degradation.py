"""Degradation at the default settings: stand-ins, plans in place of those that could not be made, limits of a step."""

from typing import Any

import pytest

from support.candidates import rungs_of
from support.kit import SMALL, Bench, act, done, fenced, steps
from support.talk import submit
from surefoot.core.outcome import Verdict
from surefoot.core.phases import PhaseStatus
from surefoot.core.plan import Condition, ExecutionStep, ExpressionCheck, StepDependency, StepType
from surefoot.core.transitions import Rung, StepStatus
from surefoot.errors import ModelRejected
from surefoot.journal import events as e
from surefoot.journal.reducers import fold
from surefoot.models.base import ModelRequest
from surefoot.models.testing.scripted import Rule
from surefoot.tools.registry import default_toolbox
from surefoot.tools.tool import tool

MEASURE = ExecutionStep(id="m", name="measure", tool="read_file", parameters={"path": "no.txt"}, fallback={"rows": 7})
USE = ExecutionStep(id="u", name="report", description="report the rows", step_type=StepType.COMMAND_EXECUTION)
UNSURE = {"category": "unknown", "root_cause": "?", "recoverable": True, "fix": "", "parameters": {}}
STAND_IN = steps(MEASURE, USE, after=[("u", "m")])
ANSWERS: list[Any] = [
    Rule("Find the cause", UNSURE),
    Rule("Plan this one step again", {"thought": "", "tool": "read_file", "arguments": {"path": "nor.txt"}}),
]


@pytest.mark.req("A3", "A14", "A2")
async def test_stand_in_is_a_marked_artifact_for_dependants_history_and_outcome(bench: Bench) -> None:
    answers = [*ANSWERS, Rule("nothing yet", act("run_command", command="echo 7 > r.txt")), Rule("Choose the", done())]
    state = await bench.run_plan(STAND_IN, answers)
    assert state.steps["m"].status is StepStatus.DEGRADED
    artifact = state.steps["m"].artifact
    assert artifact is not None
    assert artifact.degraded
    assert state.steps["m"].outputs == {"result": {"rows": 7}}
    asked = next(prompt for prompt in bench.prompts() if "(nothing yet)" in prompt)
    assert 'measure (a stand-in, not the real result): {"rows": 7}' in asked
    ended = [r.output for r in state.history if r.output and r.output.step_id == "m"][-1]
    assert ended.degraded
    assert state.outcome is not None
    assert state.outcome.degraded_steps == ("m",)
    assert state.outcome.verdict is Verdict.UNVERIFIED
    assert "fallback results for m" in state.outcome.summary
    again = fold(bench.journal.read(state.run_id)).steps["m"]
    assert (again.artifact, again.outputs) == (artifact, state.steps["m"].outputs)


@pytest.mark.req("A3", "A14")
async def test_small_model_is_told_of_a_stand_in(bench: Bench) -> None:
    write = fenced("7\n", "")
    await bench.run_plan(STAND_IN, [*ANSWERS, f"`r.txt`\n{write}", f"`r.txt`\n{write}"], traits=SMALL)
    asked = [prompt for prompt in bench.prompts() if "report the rows" in prompt]
    assert "# Stand-ins, not real results" in asked[0]
    assert '- measure: {"rows": 7}' in asked[0]


@pytest.mark.req("A3", "A14")
async def test_strong_model_is_told_of_a_stand_in(bench: Bench) -> None:
    plan: list[dict[str, Any]] = [
        {"name": "measure", "description": "count the rows", "fallback": {"rows": 7}},
        {"name": "report", "description": "report the rows", "after": [1]},
    ]
    report = [("write_file", {"path": "r.txt", "content": "7"}), ("finish_step", {})]

    def work(request: ModelRequest) -> Any:
        text = request.messages[-1].content
        return report if "# Step s2" in text else [("cannot", {"reason": "there are no rows"})]

    state = await bench.talk("Report the rows in r.txt.", [submit(*plan), *[work] * 2])
    assert state.steps["s1"].status is StepStatus.DEGRADED
    prompt = bench.talker.requests[-1].messages[-1].content
    assert '# Stand-ins, not real results: say so where you use them\n- measure: {"rows": 7}' in prompt
    assert "s1 measure failed; a stand-in replaces its result" in prompt
    assert state.outcome is not None
    assert state.outcome.degraded_steps == ("s1",)


@pytest.mark.req("A3", "A14")
async def test_permanent_model_error_uses_the_declared_stand_in(bench: Bench) -> None:
    broken = USE.with_(fallback="no report")
    state = await bench.run_plan(steps(broken), [Rule("Choose the", ModelRejected("the key is wrong"))])
    assert state.steps["u"].status is StepStatus.DEGRADED
    assert state.steps["u"].outputs == {"result": "no report"}
    assert rungs_of(bench) == [Rung.FALLBACK]
    state = await bench.run_plan(steps(USE), [Rule("Choose the", ModelRejected("the key is wrong"))])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.FAILED
    assert "the key is wrong" in state.outcome.summary


# -- planning that fails -------------------------------------------------------------------------------------------

COMPLEX = {"understanding": "Write the sum of 2 and 3 into sum.txt", "requirements": ["sum.txt has the sum"],
           "files": ["sum.txt"], "task_type": "write_code", "complexity": "complex", "risks": [],
           "questions": []}  # fmt: skip
APPROACH = {"approach": "write it", "tech_stack": [], "architecture_pattern": "", "key_decisions": [],
            "expected_outcomes": ["sum.txt"], "alternatives": [{"name": "otherwise", "description": "x"}]}  # fmt: skip
SUM_TASK = "Write the sum of 2 and 3 into sum.txt."
SUM_CHECK = "grep -qx 5 sum.txt"


def phases(plan: Any) -> list[Any]:
    return [
        Rule("Say what the task wants", COMPLEX),
        Rule("Choose how to do it", APPROACH),
        Rule("Make a plan of at most", plan),
        Rule("content of `sum.txt`", fenced("5\n", "")),
    ]


@pytest.mark.req("A14", "P18")
async def test_when_planning_fails_the_task_is_one_step(bench: Bench) -> None:
    state = await bench.run(SUM_TASK, phases("I have no plan."), checks=[SUM_CHECK])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    assert [r.step.writes for r in state.steps.values()] == [("sum.txt",)]
    assert any("planning did not pass its gate" in w and "fallback plan" in w for w in state.warnings)
    assert state.planning is not None
    assert state.planning.status is PhaseStatus.SKIPPED
    assert state.planning.validation is not None
    assert state.planning.validation.confidence == 0


@pytest.mark.req("A14")
@pytest.mark.parametrize("plan", ["I have no plan.", ModelRejected("the key is wrong")], ids=["unreadable", "no model"])
async def test_when_planning_fails_the_template_of_the_user_is_used(bench: Bench, plan: Any) -> None:
    bench.write(
        plan__toml='[[step]]\nid = "write"\nname = "Write it"\ntool = "write_file"\n'
        'parameters = {path = "sum.txt", content = "5\\n"}\nmax_retries = 1\n\n'
        '[[step]]\nid = "look"\nname = "Look"\ntool = "list_files"\nafter = ["write"]\n'
    )
    state = await bench.run(SUM_TASK, phases(plan), checks=[SUM_CHECK], fallback_plan="plan.toml")
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    assert {s: r.status for s, r in state.steps.items()} == dict.fromkeys(("write", "look"), StepStatus.SUCCEEDED)
    assert state.steps["write"].step.max_retries == 1
    assert any("fallback plan: plan.toml" in warning for warning in state.warnings)


@pytest.mark.req("A14")
async def test_template_that_cannot_be_used_ends_the_run_with_the_reason(bench: Bench) -> None:
    bench.write(plan__toml='[[step]]\nid = "a"\nname = "a"\nafter = ["b"]\n')
    state = await bench.run(SUM_TASK, phases("no"), fallback_plan="plan.toml")
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.FAILED
    assert "'b', which is not in the plan" in state.outcome.summary


# -- limits and states of a step -----------------------------------------------------------------------------------


@pytest.mark.req("A14", "P11")
async def test_retries_of_a_step_are_its_own(bench: Bench) -> None:
    calls: list[str] = []

    @tool
    def busy(name: str) -> str:
        """Be busy."""
        calls.append(name)
        raise ConnectionError("busy")

    bench.toolbox = default_toolbox().with_(busy)
    plan = steps(
        *(
            ExecutionStep(id=s, name=s, tool="busy", parameters={"name": s}, critical=False, max_retries=limit)
            for s, limit in (("a", 0), ("b", 1), ("c", None), ("d", 5))
        ),
        after=[("b", "a"), ("c", "b"), ("d", "c")],
    )
    await bench.run_plan(plan, reflection={"max_single_step_repairs": 0})
    assert [calls.count(s) for s in "abcd"] == [1, 2, 4, 6]


@pytest.mark.req("A14")
async def test_ready_steps_are_told_from_pending_ones(bench: Bench) -> None:
    """What does not wait for the running step is ready, what does is pending."""
    write = ExecutionStep(id="a", name="a", tool="write_file", parameters={"path": "a", "content": "a"})
    plan = steps(*(write.with_(id=name, name=name) for name in "abcf"), after=[("c", "a")])
    on_failure = StepDependency(step_id="f", depends_on="b", condition=Condition.FAILURE)
    await bench.run_plan(plan.with_(dependencies=(*plan.dependencies, on_failure)))
    first, second, *_ = [record.seq for record in bench.records if isinstance(record.event, e.StepStarted)]
    states = [fold(record for record in bench.records if record.seq <= seq) for seq in (first, second)]
    seen = [{step.id: step.status for step in state.as_plan().steps} for state in states]
    assert seen[0] == {"a": "running", "b": "ready", "c": "pending", "f": "pending"}
    assert sorted([seen[1]["b"], seen[1]["c"]]) == ["ready", "running"]


# -- how sure a diagnosis is ---------------------------------------------------------------------------------------


@pytest.mark.req("R1", "R4")
@pytest.mark.parametrize(
    ("reported", "first", "confidence"), [(0.9, Rung.REPAIR_STEP, 0.66), (0.1, Rung.ADJUST_PARAMETERS, 0.34)]
)
async def test_model_that_is_not_sure_does_not_skip_the_retry(
    bench: Bench, reported: float, first: Rung, confidence: float
) -> None:
    def cause(_: ModelRequest) -> dict[str, Any]:
        return {**UNSURE, "category": "decomposition_error", "root_cause": "wrong step", "confidence": reported}

    never = USE.with_(checks=(ExpressionCheck(expression="len(outputs) > 9"),))
    state = await bench.run_plan(steps(never), [Rule("Find the cause", cause), Rule("Choose the", done()),
                                                Rule("Plan this one step", {"name": "x", "description": "y"}),
                                                Rule("Make a plan", "no")])  # fmt: skip
    assert rungs_of(bench)[0] is first
    (reflected, *_) = bench.events(e.Reflected)
    assert reflected.reflection.confidence == confidence
    assert state.outcome is not None
