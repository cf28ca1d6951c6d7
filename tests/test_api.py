"""The library: the executor as a user calls it, and the fields of the public types."""

import logging
from pathlib import Path
from typing import Any

import pytest

from support.kit import Bench, fenced, understanding
from surefoot import (
    DetailedPlan,
    ExecutionConfig,
    ExecutionPhase,
    ExecutionStep,
    ReflectionConfig,
    ScriptedModel,
    SequentialExecutionPlan,
    SequentialExecutor,
    Verdict,
)
from surefoot.errors import CommandNotFound
from surefoot.results import ApproachOutput, UnderstandingOutput

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


class AlwaysYes:
    async def answer(self, question: Any) -> str:
        return "yes"


def summary(plan: SequentialExecutionPlan) -> list[str]:
    """The usage example of the specification, line for line."""
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


def example_executor(tmp_path: Path, model: ScriptedModel, **more: Any) -> SequentialExecutor:
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
async def test_example_completes(tmp_path: Path) -> None:
    runner = example_executor(tmp_path, ScriptedModel([UNDERSTOOD, fenced(AUTH)]), person=AlwaysYes())
    plan = await runner.execute_task(TASK, checks=[CHECK])
    assert summary(plan)[0] == "✅ 任务成功完成！"
    assert summary(plan)[2] == "执行了 1 个步骤"
    assert plan.outcome is not None
    assert plan.outcome.verdict is Verdict.VERIFIED


async def test_checks_of_the_config_are_used_if_none_are_given(bench: Bench) -> None:
    default = "python3 -c 'from add import add; assert add(2, 3) == 5'"

    def agent() -> SequentialExecutor:
        model = ScriptedModel([understanding("add.py"), fenced("def add(a, b):\n    return a + b")])
        config = ExecutionConfig(sandbox="off", checks=(default,))
        return SequentialExecutor(model, config, workspace=bench.root, home=bench.home)

    plan = await agent().execute_task("write add.py with add(a, b)")
    assert plan.outcome is not None
    assert plan.outcome.verdict is Verdict.VERIFIED
    (bench.root / "add.py").unlink()
    plan = await agent().execute_task("write add.py with add(a, b)", checks=["test -s add.py"])
    assert plan.outcome is not None
    given = [check.check.label for check in plan.outcome.checks]
    assert "test -s add.py" in given
    assert default not in given


@pytest.mark.req("P19", "P5")
async def test_example_fails(tmp_path: Path) -> None:
    wrong = [fenced(f"users = {number}\n") for number in range(20)]
    runner = example_executor(tmp_path, ScriptedModel([UNDERSTOOD, *wrong]), person=AlwaysYes())
    plan = await runner.execute_task(TASK, checks=[CHECK])
    first, second, third, fourth = summary(plan)
    assert first.startswith("❌ 任务执行失败: the step 'Write auth.py' (s1) failed")
    assert second == "已完成 0 个步骤"
    assert third == "失败的步骤: Write auth.py"
    assert "its checks fail" in fourth
    assert list(runner.workspace.iterdir()) == []


@pytest.mark.req("P19", "P12")
async def test_example_waits_for_a_person(tmp_path: Path) -> None:
    runner = example_executor(tmp_path, ScriptedModel([UNDERSTOOD, fenced(AUTH)]))
    plan = await runner.execute_task(TASK, checks=[CHECK])
    assert summary(plan) == ["⏸️  任务暂停，等待继续执行"]
    while plan.outcome is None:
        (question,) = runner.questions(plan.task_id)
        plan = await runner.answer(plan.task_id, question.id, "yes")
    assert summary(plan)[0] == "✅ 任务成功完成！"


@pytest.mark.req("P6")
async def test_verbose_logging_writes_one_line_per_event(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    runner = example_executor(tmp_path, ScriptedModel([UNDERSTOOD, fenced(AUTH)]), person=AlwaysYes())
    with caplog.at_level(logging.INFO, logger="surefoot"):
        plan = await runner.execute_task(TASK, checks=[CHECK])
    records = list(runner.services.journal.read(plan.task_id))
    lines = [record.getMessage() for record in caplog.records if record.name == "surefoot"]
    assert [line.split()[:2] for line in lines] == [[str(r.seq), r.event.type] for r in records]
    assert any("auth.py" in line for line in lines)


async def test_nothing_is_logged_by_default(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    runner = SequentialExecutor(
        ScriptedModel([UNDERSTOOD, fenced(AUTH)]), bench.config(), workspace=bench.root, home=bench.home
    )
    with caplog.at_level(logging.DEBUG, logger="surefoot"):
        await runner.execute_task(TASK, checks=[CHECK])
    assert not [record for record in caplog.records if record.name == "surefoot"]


SPECIFIED_FIELDS: dict[type[Any], str] = {
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
@pytest.mark.parametrize("kind", SPECIFIED_FIELDS, ids=lambda kind: kind.__name__)
def test_public_types_have_the_specified_fields(kind: type[Any]) -> None:
    assert set(SPECIFIED_FIELDS[kind].split()) <= set(kind.model_fields)


@pytest.mark.req("P6")
def test_config_takes_the_specified_keywords() -> None:
    config = ExecutionConfig(
        max_retries_per_phase=3,
        require_confirmation=True,
        min_confidence_threshold=0.8,
        enable_auto_rollback=True,
        verbose_logging=True,
    )
    plain = ExecutionConfig()
    assert config == plain.with_(require_confirmation=True, verbose_logging=True), "the others are the defaults"


@pytest.mark.req("P7")
async def test_every_phase_has_a_typed_output(bench: Bench) -> None:
    approach = {
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
        approach,
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


async def test_a_check_that_is_no_command_is_refused_and_nothing_is_asked(bench: Bench) -> None:
    model = ScriptedModel([])
    runner = SequentialExecutor(model, bench.config(), workspace=bench.root, home=bench.home)
    with pytest.raises(CommandNotFound, match="pyhton3 is not a command on this machine") as refused:
        await runner.execute_task(TASK, checks=["pyhton3 -m unittest"])
    assert refused.value.remedy.startswith("did you mean python3? ")
    assert model.requests == []
