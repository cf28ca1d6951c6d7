"""The library: single steps on their own, with overrides, and retried in a run."""

from pathlib import Path
from typing import Any

import pytest

from support.kit import NO_RETRIES, Bench, act, done, steps
from surefoot import (
    ExecutionPhase,
    ExecutionStep,
    ScriptedModel,
    SequentialExecutor,
    StepType,
    SurefootError,
    Verdict,
    tool,
)
from surefoot.core.plan import CommandCheck, FileCheck
from surefoot.errors import ModelRejected, UnknownTool, UsageError
from surefoot.models.testing.scripted import Rule
from surefoot.results import ExecutionStatus, PhaseStatus
from surefoot.tools.registry import Toolbox, default_toolbox
from surefoot.tools.tool import Writes


@tool
def data_upload(datasource_id: str) -> str:
    """Upload to a data source."""
    if datasource_id != "ds_001":
        raise ValueError(f"数据源不存在: {datasource_id}")
    return f"uploaded to {datasource_id}"


@tool
def other_upload(datasource_id: str) -> str:
    """Upload in another way."""
    return f"sent to {datasource_id}"


@tool(writes=Writes.FREE)
def half_done(root: str) -> str:
    """Write a file and fail."""
    (Path(root) / "half.txt").write_text("half")
    raise OSError("disk on fire")


UPLOAD = ExecutionStep(id="u", name="upload", tool="data_upload", parameters={"datasource_id": "ds_invalid"})


def make_executor(bench: Bench, *answers: Any, **config: Any) -> SequentialExecutor:
    toolbox: Toolbox = default_toolbox().with_(data_upload, other_upload, half_done)
    return SequentialExecutor(
        ScriptedModel(list(answers)), bench.config(**config), workspace=bench.root, home=bench.home, toolbox=toolbox
    )


@pytest.mark.req("R5")
async def test_single_step_is_tried_once_and_reports_its_error(bench: Bench) -> None:
    runner = make_executor(bench)
    result = await runner.execute_single_step(UPLOAD)
    assert result.status is PhaseStatus.FAILED
    assert "数据源不存在: ds_invalid" in (result.error or "")
    assert result.output is not None
    assert result.output.status is ExecutionStatus.FAILED
    assert result.retry_count == 0


@pytest.mark.req("R5")
async def test_parameters_and_tool_can_be_overridden(bench: Bench) -> None:
    runner = make_executor(bench)
    result = await runner.execute_single_step_with_overrides(UPLOAD, {"datasource_id": "ds_001"})
    assert result.status is PhaseStatus.SUCCESS
    assert result.output is not None
    assert result.output.outputs["result"] == "uploaded to ds_001"
    result = await runner.execute_single_step_with_overrides(UPLOAD, tool="other_upload")
    assert result.output is not None
    assert result.output.outputs["result"] == "sent to ds_invalid"
    assert UPLOAD.parameters == {"datasource_id": "ds_invalid"}, "the given step is not changed"


@pytest.mark.req("R5", "P13")
async def test_failed_single_step_is_rolled_back(bench: Bench) -> None:
    step = ExecutionStep(id="h", name="half", tool="half_done", parameters={"root": str(bench.root)})
    result = await make_executor(bench).execute_single_step(step)
    assert result.output is not None
    assert result.output.status is ExecutionStatus.ROLLED_BACK
    assert bench.files() == {}


@pytest.mark.req("R5", "X1")
async def test_only_the_checks_of_the_step_decide(bench: Bench) -> None:
    bench.write(test_other__py="def test_red():\n    assert False\n")
    result = await make_executor(bench).execute_single_step_with_overrides(UPLOAD, {"datasource_id": "ds_001"})
    assert result.status is PhaseStatus.SUCCESS
    step = UPLOAD.with_(checks=(FileCheck(path="receipt.txt"),))
    result = await make_executor(bench).execute_single_step_with_overrides(step, {"datasource_id": "ds_001"})
    assert result.status is PhaseStatus.FAILED
    assert "receipt.txt exists" in (result.error or "")


@pytest.mark.req("R5")
async def test_model_may_choose_the_action_of_a_single_step(bench: Bench) -> None:
    step = ExecutionStep(id="m", name="make", description="make x.txt", step_type=StepType.COMMAND_EXECUTION,
                         checks=(CommandCheck(command="test -s x.txt"),))  # fmt: skip
    result = await make_executor(bench, act("run_command", command="echo x > x.txt")).execute_single_step(step)
    assert result.output is not None
    assert result.output.proven
    assert result.output.executed_commands == ("echo x > x.txt",)


@pytest.mark.req("R5", "R2")
async def test_recover_climbs_the_ladder(bench: Bench) -> None:
    reflection = {"category": "parameter_error", "root_cause": "no such source", "recoverable": True,
                  "fix": "", "parameters": {"datasource_id": "ds_001"}}  # fmt: skip
    result = await make_executor(bench, reflection).execute_single_step(UPLOAD, recover=True)
    assert result.status is PhaseStatus.SUCCESS
    assert result.retry_count == 1


@pytest.mark.req("R5")
async def test_invalid_overrides_are_refused(bench: Bench) -> None:
    runner = make_executor(bench)
    with pytest.raises(UnknownTool, match="no tool 'uploader'"):
        await runner.execute_single_step_with_overrides(UPLOAD, tool="uploader")
    with pytest.raises(UsageError, match="names no tool"):
        await runner.execute_single_step_with_overrides(ExecutionStep(id="m", name="m"), {"rows": 3})
    assert issubclass(UnknownTool, SurefootError)


@pytest.mark.req("R5", "P12")
async def test_step_that_needs_confirmation_waits(bench: Bench) -> None:
    result = await make_executor(bench).execute_single_step(UPLOAD.with_(requires_confirmation=True))
    assert result.status is PhaseStatus.AWAITING_CONFIRMATION
    assert result.output is None
    assert "upload" in (result.error or "")


@pytest.mark.req("R5")
async def test_model_error_is_reported(bench: Bench) -> None:

    step = ExecutionStep(id="m", name="make", description="make x.txt", checks=(FileCheck(path="x.txt"),))
    result = await make_executor(bench, ModelRejected("the key is wrong")).execute_single_step(step)
    assert result.status is PhaseStatus.FAILED
    assert "the key is wrong" in (result.error or "")


@pytest.mark.req("R5", "A8")
async def test_failed_run_continues_with_a_corrected_step(bench: Bench) -> None:
    runner = make_executor(bench)

    bench.toolbox = runner.services.toolbox
    plan = steps(
        ExecutionStep(id="a", name="a", tool="list_files"),
        UPLOAD,
        ExecutionStep(id="b", name="b", tool="other_upload", parameters={"datasource_id": "x"}),
        after=[("u", "a"), ("b", "u")],
    )
    reflection = {"category": "parameter_error", "root_cause": "no such source", "recoverable": True, "fix": "",
                  "parameters": {}}  # fmt: skip
    state = await bench.run_plan(plan, [reflection], reflection=NO_RETRIES)
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.FAILED

    second_executor = SequentialExecutor(
        ScriptedModel([]), workspace=bench.root, home=bench.home, toolbox=bench.toolbox, state_store=bench.journal
    )
    record = await second_executor.retry(state.run_id, "u", parameters={"datasource_id": "ds_001"})
    assert record.current_phase == ExecutionPhase.Completed()
    executed = [r.output.step_id for r in record.execution_history if r.output]
    assert executed == ["a", "u", "u", "b"], "finished steps are not repeated"
    assert record.find_failed_step() is None


def failing_run(bench: Bench, **config: Any) -> tuple[SequentialExecutor, ScriptedModel]:
    """An executor for a run whose only step fails, with a model for what comes then."""
    step = {"name": "upload again", "description": "upload to the right source", "type": "command_execution",
            "file": "", "after": [], "check": {"kind": "none", "value": ""}}  # fmt: skip
    cause = {"category": "parameter_error", "root_cause": "no such source", "recoverable": True, "fix": "use ds_001",
             "parameters": {}}  # fmt: skip
    model = ScriptedModel([
        Rule("Find the cause", cause),
        Rule("Plan this one step again", {"tool": "data_upload", "arguments": {"datasource_id": "ds_001"}}),
        Rule("Make a plan of at most", {"steps": [step], "success_criteria": []}),
        Rule("Done in this step so far\n(nothing yet)", act("data_upload", datasource_id="ds_001")),
        Rule("Choose the one next action", done()),
    ])  # fmt: skip
    toolbox = default_toolbox().with_(data_upload, other_upload)
    bench.toolbox = toolbox
    executor = SequentialExecutor(
        model, bench.config(**config), workspace=bench.root, home=bench.home, toolbox=toolbox, state_store=bench.journal
    )
    return executor, model


OFF = {**NO_RETRIES, "enable_step_level_reflection": False}


@pytest.mark.req("R9", "R1")
async def test_a_failed_step_is_reflected_on_and_planned_again_by_request(bench: Bench) -> None:
    executor, model = failing_run(bench)
    state = await bench.run_plan(steps(UPLOAD), reflection=OFF)
    assert state.steps["u"].reflections[-1].category == "unknown"
    reflection = await executor.reflect_on_step(state.run_id, "u")
    assert (reflection.category, reflection.decided_by) == ("parameter_error", "model")
    assert reflection.root_cause == "no such source"
    assert await executor.reflect_on_step(state.run_id, "u") == reflection
    assert len(model.requests) == 1, "a known cause is not asked for again"

    repaired = await executor.replan_single_step(state.run_id, "u")
    assert repaired.id == "u"
    assert repaired.parameters == {"datasource_id": "ds_001"}
    plan = await executor.resume(state.run_id)
    assert plan.current_phase == ExecutionPhase.Completed()
    assert [(s.id, s.status, s.attempts) for s in plan.steps] == [("u", "succeeded", 2)]


@pytest.mark.req("R9", "R2")
async def test_a_new_plan_is_made_by_request(bench: Bench) -> None:
    executor, _ = failing_run(bench)
    first = ExecutionStep(id="a", name="a", tool="list_files")
    state = await bench.run_plan(steps(first, UPLOAD, after=[("u", "a")]), reflection=OFF)
    plan = await executor.replan_task(state.run_id)
    assert [(s.id, s.name, s.status) for s in plan.steps] == [
        ("a", "a", "succeeded"), ("s1r0", "upload again", "ready"),
    ]  # fmt: skip
    assert plan.outcome is None, "it is not carried out yet"
    plan = await executor.resume(state.run_id)
    assert plan.current_phase == ExecutionPhase.Completed()
    executed = [r.output.step_id for r in plan.execution_history if r.output]
    assert executed == ["a", "u", "s1r0"], "what is done stays done"


@pytest.mark.req("R9")
async def test_only_failed_steps_of_ended_runs_are_planned_again(bench: Bench) -> None:
    executor, _ = failing_run(bench)
    done_run = await bench.run_plan(steps(ExecutionStep(id="a", name="a", tool="list_files")))
    for request in (executor.reflect_on_step, executor.replan_single_step):
        with pytest.raises(UsageError, match="no failed step 'a'"):
            await request(done_run.run_id, "a")
    with pytest.raises(UsageError, match="no failed step"):
        await executor.replan_task(done_run.run_id)


@pytest.mark.req("R9", "R3")
async def test_counters_of_the_result_have_the_names_of_the_design(bench: Bench) -> None:
    failing_run(bench)
    state = await bench.run_plan(
        steps(UPLOAD), [{"category": "decomposition_error", "root_cause": "wrong", "recoverable": True, "fix": "",
                         "parameters": {}}] * 9, reflection={"max_task_replanning_attempts": 0}
    )  # fmt: skip
    plan = state.as_plan()
    (step,) = plan.steps
    assert (step.step_retry_count, step.single_step_repair_count) == (0, 1)
    assert (plan.task_replan_count, plan.consecutive_failures) == (0, 1)
    assert step.rungs == ("repair_step", "give_up")
