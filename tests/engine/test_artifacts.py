"""What a step hands on: unchangeable, found by those that need it, told when it is missing."""

import pytest

from kit import Bench, act, steps
from surefoot import events as e
from surefoot.artifacts import IN_MEMORY, INLINE_BYTES, Artifacts
from surefoot.machine import StepStatus
from surefoot.outcome import FailureKind
from surefoot.plan import ExecutionStep, ExpressionCheck, FileCheck, StepType
from surefoot.run import Run
from surefoot.tools.base import tool
from surefoot.tools.registry import default_toolbox

NO_RETRIES = {"max_step_retries": 0, "max_single_step_repairs": 0, "max_task_replanning_attempts": 0}


@tool
def load(rows: int) -> dict[str, object]:
    """Load rows."""
    return {"rows": rows, "text": "x" * rows}


def loading(step_id: str = "load", rows: int = 3, **more: object) -> ExecutionStep:
    return ExecutionStep.model_validate(
        {"id": step_id, "name": step_id, "tool": "load", "parameters": {"rows": rows}, **more}
    )


@pytest.mark.req("A2")
@pytest.mark.parametrize("rows", [3, INLINE_BYTES * 3])
async def test_a_dependant_is_told_and_can_read_all_of_it(bench: Bench, rows: int) -> None:
    bench.toolbox = default_toolbox().with_(load)
    use = ExecutionStep(id="use", name="use it", description="x", step_type=StepType.COMMAND_EXECUTION,
                        checks=(FileCheck(path="x.txt"),))  # fmt: skip
    answers = [act("read_result", action_id="load"), act("run_command", command="touch x.txt")]
    state = await bench.run_plan(steps(loading(rows=rows), use, after=[("use", "load")]), answers)
    assert state.steps["use"].status is StepStatus.SUCCEEDED
    assert f'"rows": {rows}' in bench.prompts()[0]
    assert f'"rows": {rows}' in bench.prompts()[1]
    artifact = state.steps["load"].artifact
    assert artifact is not None
    assert bool(artifact.hash) == (rows > INLINE_BYTES), "large ones are kept beside the journal"
    assert len(e.encode(bench.events(e.StepFinished)[0])) < INLINE_BYTES + 1000


@pytest.mark.req("A2", "P16")
async def test_checks_and_conditions_see_what_was_handed_on(bench: Bench) -> None:
    bench.toolbox = default_toolbox().with_(load)
    check = ExpressionCheck(expression='outputs["load"]["result"]["rows"] == 9000')
    plan = steps(
        loading(rows=9000),
        ExecutionStep(
            id="many", name="many", tool="list_files", when='outputs["load"]["result"]["rows"] > 5', checks=(check,)
        ),
        ExecutionStep(id="few", name="few", tool="list_files", when='outputs["load"]["result"]["rows"] < 5'),
        after=[("many", "load"), ("few", "load")],
    )
    state = await bench.run_plan(plan)
    assert state.steps["many"].status is StepStatus.SUCCEEDED
    assert state.steps["few"].status is StepStatus.SKIPPED


@pytest.mark.req("A2", "A5")
async def test_an_expired_result_is_a_named_failure_and_a_pinned_one_stays(bench: Bench) -> None:
    bench.toolbox = default_toolbox().with_(load)

    def use(step_id: str) -> ExecutionStep:
        return ExecutionStep(id=step_id, name=step_id, tool="list_files")

    plan = steps(loading("pinned", pinned=True), use("after_pinned"), after=[("after_pinned", "pinned")])
    state = await bench.run_plan(plan, artifact_ttl_hours=1e-9)
    assert state.steps["after_pinned"].status is StepStatus.SUCCEEDED
    plan = steps(loading("old"), use("after_old"), after=[("after_old", "old")])
    state = await bench.run_plan(plan, artifact_ttl_hours=1e-9, reflection=NO_RETRIES)
    (failure,) = state.steps["after_old"].failures
    assert failure.kind is FailureKind.MISSING_ARTIFACT
    assert "the result of step old has expired" in failure.message
    assert "surefoot retry" in failure.evidence


@pytest.mark.req("A2")
async def test_only_the_newest_stay_in_memory_and_the_rest_comes_from_the_store(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Artifacts] = []
    original = Artifacts.__init__

    def remember(self: Artifacts, run: Run) -> None:
        original(self, run)
        made.append(self)

    monkeypatch.setattr(Artifacts, "__init__", remember)
    bench.toolbox = default_toolbox().with_(load)
    count = IN_MEMORY + 5
    await bench.run_plan(
        steps(*(loading(f"s{n}", 5000 + n) for n in range(count))), max_parallel_steps=1, max_plan_steps=50
    )
    (artifacts,) = made
    assert len(artifacts._recent) == IN_MEMORY
    assert [artifacts[f"s{n}"]["result"]["rows"] for n in range(count)] == [5000 + n for n in range(count)]
    assert len(artifacts._recent) == IN_MEMORY
