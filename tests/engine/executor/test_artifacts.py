"""Artifacts: the results that a step hands to the steps that depend on it."""

import pytest

from support.kit import Bench, act, steps
from surefoot.core.plan import ExecutionStep, ExpressionCheck, FileCheck, StepType
from surefoot.core.transitions import StepStatus
from surefoot.engine.executor.artifacts import IN_MEMORY, INLINE_BYTES, Artifacts
from surefoot.journal import events as e
from surefoot.journal.state import RunState
from surefoot.journal.store.base import Journal
from surefoot.tools.registry import default_toolbox
from surefoot.tools.tool import tool


@tool
def load(rows: int) -> dict[str, object]:
    """Load rows."""
    return {"rows": rows, "text": "x" * rows}


def load_step(step_id: str = "load", rows: int = 3, **more: object) -> ExecutionStep:
    return ExecutionStep.model_validate(
        {"id": step_id, "name": step_id, "tool": "load", "parameters": {"rows": rows}, **more}
    )


@pytest.mark.req("A2")
@pytest.mark.parametrize("rows", [3, INLINE_BYTES * 3])
async def test_dependent_step_sees_a_result_and_can_read_all_of_it(bench: Bench, rows: int) -> None:
    bench.toolbox = default_toolbox().with_(load)
    use = ExecutionStep(id="use", name="use it", description="x", step_type=StepType.COMMAND_EXECUTION,
                        checks=(FileCheck(path="x.txt"),))  # fmt: skip
    answers = [act("read_result", action_id="load"), act("run_command", command="touch x.txt")]
    state = await bench.run_plan(steps(load_step(rows=rows), use, after=[("use", "load")]), answers)
    assert state.steps["use"].status is StepStatus.SUCCEEDED
    assert f'"rows": {rows}' in bench.prompts()[0]
    assert f'"rows": {rows}' in bench.prompts()[1]
    artifact = state.steps["load"].artifact
    assert artifact is not None
    assert bool(artifact.hash) == (rows > INLINE_BYTES), "large results are stored as blobs"
    assert len(e.encode(bench.events(e.StepFinished)[0])) < INLINE_BYTES + 1000


@pytest.mark.req("A2", "P16")
async def test_checks_and_conditions_see_results_of_other_steps(bench: Bench) -> None:
    bench.toolbox = default_toolbox().with_(load)
    check = ExpressionCheck(expression='outputs["load"]["result"]["rows"] == 9000')
    plan = steps(
        load_step(rows=9000),
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
async def test_result_that_expires_at_once_blocks_its_dependant_and_a_pinned_one_stays(bench: Bench) -> None:
    bench.toolbox = default_toolbox().with_(load)

    def use(step_id: str) -> ExecutionStep:
        return ExecutionStep(id=step_id, name=step_id, tool="list_files")

    plan = steps(load_step("pinned", pinned=True), use("after_pinned"), after=[("after_pinned", "pinned")])
    state = await bench.run_plan(plan, artifact_ttl_hours=1e-9)
    assert state.steps["after_pinned"].status is StepStatus.SUCCEEDED
    plan = steps(load_step("old"), use("after_old"), after=[("after_old", "old")])
    state = await bench.run_plan(plan, artifact_ttl_hours=1e-9)
    assert state.steps["old"].attempt == 2, "it was done again, once"
    blocked = state.steps["after_old"]
    assert blocked.status is StepStatus.BLOCKED
    assert blocked.output is not None
    assert "the result of step old has expired" in blocked.output.logs[0]
    assert "surefoot retry" in blocked.output.logs[0]


@pytest.mark.req("A2")
async def test_only_recent_results_stay_in_memory(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    instances: list[Artifacts] = []
    original = Artifacts.__init__

    def remember(self: Artifacts, state: RunState, journal: Journal) -> None:
        original(self, state, journal)
        instances.append(self)

    monkeypatch.setattr(Artifacts, "__init__", remember)
    bench.toolbox = default_toolbox().with_(load)
    count = IN_MEMORY + 5
    await bench.run_plan(
        steps(*(load_step(f"s{n}", 5000 + n) for n in range(count))), max_parallel_steps=1, max_plan_steps=50
    )
    (artifacts,) = instances
    assert len(artifacts._recent) == IN_MEMORY
    assert [artifacts[f"s{n}"]["result"]["rows"] for n in range(count)] == [5000 + n for n in range(count)]
    assert len(artifacts._recent) == IN_MEMORY
