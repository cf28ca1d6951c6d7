"""Surefoot as a library: the design's own example in Python, its field names, and single steps on their own."""

import logging
from pathlib import Path
from typing import Any

import pytest

from kit import Bench, act, fenced, steps, understanding
from surefoot import (
    ApproachOutput,
    DetailedPlan,
    ExecutionConfig,
    ExecutionPhase,
    ExecutionStatus,
    ExecutionStep,
    PhaseStatus,
    ReflectionConfig,
    ScriptedModel,
    SequentialExecutionPlan,
    SequentialExecutor,
    StepType,
    SurefootError,
    UnderstandingOutput,
    Verdict,
    tool,
)
from surefoot.errors import UnknownTool, UsageError
from surefoot.plan import CommandCheck, FileCheck
from surefoot.tools.base import Writes
from surefoot.tools.registry import Toolbox, default_toolbox

TASK = "创建一个用户认证系统，包括注册、登录、密码重置功能"
AUTH = """
users = {}

def register(name, password):
    users[name] = password

def login(name, password):
    return users.get(name) == password

def reset(name, password):
    register(name, password)
"""
CHECK = (
    "python3 -c 'import auth; auth.register(1, 2); assert auth.login(1, 2); auth.reset(1, 3); assert auth.login(1, 3)'"
)
UNDERSTOOD = understanding("auth.py", understanding="用户认证系统", requirements=["注册", "登录", "密码重置"])


class SaysYes:
    async def answer(self, question: Any) -> str:
        return "yes"


def told(plan: SequentialExecutionPlan) -> list[str]:
    """The design's example, line for line."""
    match plan.current_phase:
        case ExecutionPhase.Completed():
            return [
                "✅ 任务成功完成！",
                f"总耗时: {plan.total_duration_minutes():.3f} 分钟",
                f"执行了 {len(plan.execution_history)} 个步骤",
            ]
        case ExecutionPhase.Failed(reason=reason):
            lines = [f"❌ 任务执行失败: {reason}", f"已完成 {plan.completed_steps_count()} 个步骤"]
            if failed_step := plan.find_failed_step():
                lines += [f"失败的步骤: {failed_step.name}", f"失败原因: {failed_step.error}"]
            return lines
        case _:
            return ["⏸️  任务暂停，等待继续执行"]


def executor(tmp_path: Path, model: ScriptedModel, **more: Any) -> SequentialExecutor:
    workspace, home = tmp_path / "work", tmp_path / "home"
    workspace.mkdir()
    home.mkdir()
    config = ExecutionConfig(
        max_retries_per_phase=3,
        require_confirmation=True,
        min_confidence_threshold=0.8,
        enable_auto_rollback=True,
        verbose_logging=True,
        sandbox="off",
        reflection=ReflectionConfig(max_single_step_repairs=0, max_task_replanning_attempts=0),
    )
    return SequentialExecutor(model, config, workspace=workspace, home=home, **more)


@pytest.mark.req("P19", "P5", "P6")
async def test_the_design_s_example_to_its_end(tmp_path: Path) -> None:
    runner = executor(tmp_path, ScriptedModel([UNDERSTOOD, fenced(AUTH)]), person=SaysYes())
    plan = await runner.execute_task(TASK, checks=[CHECK])
    assert told(plan)[0] == "✅ 任务成功完成！"
    assert told(plan)[2] == "执行了 1 个步骤"
    assert plan.outcome is not None
    assert plan.outcome.verdict is Verdict.VERIFIED


@pytest.mark.req("P19", "P5")
async def test_the_design_s_example_failing(tmp_path: Path) -> None:
    wrong = [fenced(f"users = {number}\n") for number in range(20)]
    runner = executor(tmp_path, ScriptedModel([UNDERSTOOD, *wrong]), person=SaysYes())
    plan = await runner.execute_task(TASK, checks=[CHECK])
    first, second, third, fourth = told(plan)
    assert first.startswith("❌ 任务执行失败: the step 'Write auth.py' (s1) failed")
    assert second == "已完成 0 个步骤"
    assert third == "失败的步骤: Write auth.py"
    assert "its checks fail" in fourth
    assert list(runner.workspace.iterdir()) == []


@pytest.mark.req("P19", "P12")
async def test_the_design_s_example_waiting_for_a_person(tmp_path: Path) -> None:
    runner = executor(tmp_path, ScriptedModel([UNDERSTOOD, fenced(AUTH)]))
    plan = await runner.execute_task(TASK, checks=[CHECK])
    assert told(plan) == ["⏸️  任务暂停，等待继续执行"]
    while plan.outcome is None:
        (question,) = runner.questions(plan.task_id)
        plan = await runner.answer(plan.task_id, question.id, "yes")
    assert told(plan)[0] == "✅ 任务成功完成！"


@pytest.mark.req("P6")
async def test_verbose_logging_is_a_line_for_every_event(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    runner = executor(tmp_path, ScriptedModel([UNDERSTOOD, fenced(AUTH)]), person=SaysYes())
    with caplog.at_level(logging.INFO, logger="surefoot"):
        plan = await runner.execute_task(TASK, checks=[CHECK])
    written = list(runner.services.journal.read(plan.task_id))
    lines = [record.getMessage() for record in caplog.records if record.name == "surefoot"]
    assert [line.split()[:2] for line in lines] == [[str(r.seq), r.event.type] for r in written]
    assert any("auth.py" in line for line in lines)


async def test_without_it_nothing_is_logged(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    runner = SequentialExecutor(
        ScriptedModel([UNDERSTOOD, fenced(AUTH)]), bench.config(), workspace=bench.root, home=bench.home
    )
    with caplog.at_level(logging.DEBUG, logger="surefoot"):
        await runner.execute_task(TASK, checks=[CHECK])
    assert not [record for record in caplog.records if record.name == "surefoot"]


# -- the design's names --------------------------------------------------------------------------------------------

SEED_FIELDS: dict[type[Any], str] = {
    ExecutionConfig: "max_retries_per_phase require_confirmation min_confidence_threshold enable_auto_rollback "
    "verbose_logging",
    UnderstandingOutput: "understanding key_requirements task_type complexity potential_risks clarification_needed",
    ApproachOutput: "approach tech_stack architecture_pattern key_decisions expected_outcomes alternatives",
    DetailedPlan: "steps dependencies estimated_duration required_resources milestones success_criteria",
    ExecutionStep: "id sequence name description step_type estimated_duration preconditions expected_outputs "
    "validation_criteria rollback_steps requires_confirmation allow_failure",
    SequentialExecutionPlan: "task_id current_phase understanding approach plan execution_history final_validation "
    "started_at updated_at completed_at config",
}


@pytest.mark.req("P5", "P6", "P7", "P8")
@pytest.mark.parametrize("kind", SEED_FIELDS, ids=lambda kind: kind.__name__)
def test_the_design_s_fields_have_their_names(kind: type[Any]) -> None:
    assert set(SEED_FIELDS[kind].split()) <= set(kind.model_fields)


@pytest.mark.req("P6")
def test_the_design_s_config_can_be_written_as_in_the_design() -> None:
    config = ExecutionConfig(
        max_retries_per_phase=3,
        require_confirmation=True,
        min_confidence_threshold=0.8,
        enable_auto_rollback=True,
        verbose_logging=True,
    )
    plain = ExecutionConfig()
    assert config == plain.with_(require_confirmation=True, verbose_logging=True), "the rest are the defaults"


@pytest.mark.req("P7")
async def test_every_phase_leaves_its_typed_output(bench: Bench) -> None:
    chosen = {
        "approach": "one module with a dictionary",
        "tech_stack": ["Python"],
        "architecture_pattern": "single module",
        "key_decisions": [{"decision": "no database", "rationale": "none is there"}],
        "expected_outcomes": ["auth.py"],
        "alternatives": [{"name": "sqlite", "description": "keep users in a file"}],
    }
    step = {"name": "write auth.py", "description": "all three functions", "type": "code_generation",
            "file": "auth.py", "after": [], "check": {"kind": "none", "value": ""}}  # fmt: skip
    plan = {"steps": [step], "success_criteria": ["the import works"]}
    answers: list[Any] = [
        {**UNDERSTOOD, "complexity": "complex", "risks": ["plain passwords"]},
        chosen,
        plan,
        fenced(AUTH),
    ]
    runner = SequentialExecutor(
        ScriptedModel(answers), bench.config(phases="full"), workspace=bench.root, home=bench.home
    )
    record = await runner.execute_task(TASK, checks=[CHECK])
    assert record.understanding is not None
    assert record.understanding.output is not None
    assert record.understanding.output.key_requirements == ("注册", "登录", "密码重置")
    assert record.understanding.output.potential_risks == ("plain passwords",)
    assert record.approach is not None
    assert record.approach.output is not None
    assert record.approach.output.key_decisions[0].rationale == "none is there"
    assert record.approach.output.alternatives[0].name == "sqlite"
    assert record.plan is not None
    assert record.plan.output is not None
    assert record.plan.output.success_criteria == ("the import works",)


# -- one step on its own -------------------------------------------------------------------------------------------


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


def alone(bench: Bench, *answers: Any, **config: Any) -> SequentialExecutor:
    toolbox: Toolbox = default_toolbox().with_(data_upload, other_upload, half_done)
    return SequentialExecutor(
        ScriptedModel(list(answers)), bench.config(**config), workspace=bench.root, home=bench.home, toolbox=toolbox
    )


@pytest.mark.req("R5")
async def test_a_single_step_is_tried_once_and_says_why_it_failed(bench: Bench) -> None:
    runner = alone(bench)
    result = await runner.execute_single_step(UPLOAD)
    assert result.status is PhaseStatus.FAILED
    assert "数据源不存在: ds_invalid" in (result.error or "")
    assert result.output is not None
    assert result.output.status is ExecutionStatus.FAILED
    assert result.retry_count == 0


@pytest.mark.req("R5")
async def test_its_parameters_and_its_tool_can_be_replaced(bench: Bench) -> None:
    runner = alone(bench)
    result = await runner.execute_single_step_with_overrides(UPLOAD, {"datasource_id": "ds_001"})
    assert result.status is PhaseStatus.SUCCESS
    assert result.output is not None
    assert result.output.outputs["result"] == "uploaded to ds_001"
    result = await runner.execute_single_step_with_overrides(UPLOAD, tool="other_upload")
    assert result.output is not None
    assert result.output.outputs["result"] == "sent to ds_invalid"
    assert UPLOAD.parameters == {"datasource_id": "ds_invalid"}, "the step that was given is as it was"


@pytest.mark.req("R5", "P13")
async def test_a_single_step_that_fails_leaves_nothing(bench: Bench) -> None:
    step = ExecutionStep(id="h", name="half", tool="half_done", parameters={"root": str(bench.root)})
    result = await alone(bench).execute_single_step(step)
    assert result.output is not None
    assert result.output.status is ExecutionStatus.ROLLED_BACK
    assert bench.files() == {}


@pytest.mark.req("R5", "X1")
async def test_the_step_s_own_checks_decide_and_not_the_project_s_tests(bench: Bench) -> None:
    bench.write(test_other__py="def test_red():\n    assert False\n")
    result = await alone(bench).execute_single_step_with_overrides(UPLOAD, {"datasource_id": "ds_001"})
    assert result.status is PhaseStatus.SUCCESS
    wanting = UPLOAD.with_(checks=(FileCheck(path="receipt.txt"),))
    result = await alone(bench).execute_single_step_with_overrides(wanting, {"datasource_id": "ds_001"})
    assert result.status is PhaseStatus.FAILED
    assert "receipt.txt exists" in (result.error or "")


@pytest.mark.req("R5")
async def test_a_single_step_may_be_decided_by_the_model(bench: Bench) -> None:
    step = ExecutionStep(id="m", name="make", description="make x.txt", step_type=StepType.COMMAND_EXECUTION,
                         checks=(CommandCheck(command="test -s x.txt"),))  # fmt: skip
    result = await alone(bench, act("run_command", command="echo x > x.txt")).execute_single_step(step)
    assert result.output is not None
    assert result.output.proven
    assert result.output.executed_commands == ("echo x > x.txt",)


@pytest.mark.req("R5", "R2")
async def test_asked_to_recover_it_climbs_the_ladder(bench: Bench) -> None:
    reflection = {"category": "parameter_error", "root_cause": "no such source", "recoverable": True,
                  "fix": "", "parameters": {"datasource_id": "ds_001"}}  # fmt: skip
    result = await alone(bench, reflection).execute_single_step(UPLOAD, recover=True)
    assert result.status is PhaseStatus.SUCCESS
    assert result.retry_count == 1


@pytest.mark.req("R5")
async def test_overrides_that_cannot_be_are_refused(bench: Bench) -> None:
    runner = alone(bench)
    with pytest.raises(UnknownTool, match="no tool 'uploader'"):
        await runner.execute_single_step_with_overrides(UPLOAD, tool="uploader")
    with pytest.raises(UsageError, match="names no tool"):
        await runner.execute_single_step_with_overrides(ExecutionStep(id="m", name="m"), {"rows": 3})
    assert issubclass(UnknownTool, SurefootError)


@pytest.mark.req("R5", "P12")
async def test_a_step_that_asks_first_waits_and_says_so(bench: Bench) -> None:
    result = await alone(bench).execute_single_step(UPLOAD.with_(requires_confirmation=True))
    assert result.status is PhaseStatus.AWAITING_CONFIRMATION
    assert result.output is None
    assert "upload" in (result.error or "")


@pytest.mark.req("R5")
async def test_a_model_that_cannot_be_asked_is_told_as_the_reason(bench: Bench) -> None:
    from surefoot.errors import ModelRejected

    step = ExecutionStep(id="m", name="make", description="make x.txt", checks=(FileCheck(path="x.txt"),))
    result = await alone(bench, ModelRejected("the key is wrong")).execute_single_step(step)
    assert result.status is PhaseStatus.FAILED
    assert "the key is wrong" in (result.error or "")


# -- one step of a run, again --------------------------------------------------------------------------------------


@pytest.mark.req("R5", "A8")
async def test_a_failed_run_goes_on_with_a_step_put_right_by_a_person(bench: Bench) -> None:
    runner = alone(bench)
    no_ladder = {"max_step_retries": 0, "max_single_step_repairs": 0, "max_task_replanning_attempts": 0}
    bench.toolbox = runner.services.toolbox
    plan = steps(
        ExecutionStep(id="a", name="a", tool="list_files"),
        UPLOAD,
        ExecutionStep(id="b", name="b", tool="other_upload", parameters={"datasource_id": "x"}),
        after=[("u", "a"), ("b", "u")],
    )
    reflection = {"category": "parameter_error", "root_cause": "no such source", "recoverable": True, "fix": "",
                  "parameters": {}}  # fmt: skip
    state = await bench.run_plan(plan, [reflection], reflection=no_ladder)
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.FAILED

    again = SequentialExecutor(
        ScriptedModel([]), workspace=bench.root, home=bench.home, toolbox=bench.toolbox, state_store=bench.journal
    )
    record = await again.retry(state.run_id, "u", parameters={"datasource_id": "ds_001"})
    assert record.current_phase == ExecutionPhase.Completed()
    ran = [r.output.step_id for r in record.execution_history if r.output]
    assert ran == ["a", "u", "u", "b"], "what was done stays done"
    assert record.find_failed_step() is None
