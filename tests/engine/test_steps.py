"""Steps that name their tool: every type runs, dependencies, conditions, recovery by another tool."""

import os

import pytest

from kit import Bench, act, done, fenced, steps, understanding
from surefoot import events as e
from surefoot.machine import Rung, StepStatus
from surefoot.models.scripted import Rule
from surefoot.outcome import ExecutionStatus, Verdict
from surefoot.plan import CommandCheck, Condition, ExecutionStep, FileCheck, StepDependency, StepType
from surefoot.tools.base import tool
from surefoot.tools.registry import default_toolbox

NO_REPLAN = {"max_step_retries": 0, "max_single_step_repairs": 0, "max_task_replanning_attempts": 0}


@pytest.mark.req("P9", "P10")
@pytest.mark.parametrize("step_type", [t for t in StepType if t is not StepType.DEPLOYMENT])
async def test_every_step_type_really_executes(bench: Bench, step_type: StepType) -> None:
    step = ExecutionStep(
        id="s1", name="make it", step_type=step_type, checks=(FileCheck(path="made.txt"),), description="make made.txt"
    )
    state = await bench.run_plan(steps(step), [act("run_command", command="echo made > made.txt")])
    assert state.steps["s1"].status is StepStatus.SUCCEEDED
    output = state.steps["s1"].output
    assert output is not None
    assert output.generated_files == ("made.txt",)
    assert output.executed_commands == ("echo made > made.txt",)
    assert bench.files() == {"made.txt": "made\n"}


@pytest.mark.req("P9", "P12")
async def test_a_deployment_asks_before_it_runs(bench: Bench) -> None:
    step = ExecutionStep(id="s1", name="ship it", step_type=StepType.DEPLOYMENT, tool="list_files")
    state = await bench.run_plan(steps(step))
    (question,) = state.open_questions
    assert "ship it" in question.text
    assert not bench.events(e.ActionStarted)
    bench.journal.send(state.run_id, {"type": "answer", "question_id": question.id, "answer": "yes"})
    state = await bench.resume(state.run_id, [])
    assert state.steps["s1"].status is StepStatus.SUCCEEDED


@pytest.mark.req("P16")
async def test_a_condition_that_is_not_met_skips_with_the_reason(bench: Bench) -> None:
    plan = steps(
        ExecutionStep(id="a", name="a", tool="list_files"),
        ExecutionStep(id="b", name="b", tool="list_files", when='status["a"] == "failed"'),
        after=[("b", "a")],
    )
    state = await bench.run_plan(plan)
    assert state.steps["b"].status is StepStatus.SKIPPED
    output = state.steps["b"].output
    assert output is not None
    assert "condition is not met" in output.logs[0]


@pytest.mark.req("A1", "A5")
async def test_a_failure_branch_runs_and_what_needed_success_is_blocked(bench: Bench) -> None:
    plan = steps(
        ExecutionStep(id="a", name="a", tool="read_file", parameters={"path": "missing"}),
        ExecutionStep(id="rescue", name="rescue", tool="list_files"),
        ExecutionStep(id="b", name="b", tool="list_files"),
        ExecutionStep(id="c", name="c", tool="list_files"),
        after=[("b", "a"), ("c", "b")],
    )
    branch = StepDependency(step_id="rescue", depends_on="a", condition=Condition.FAILURE)
    plan = plan.with_(dependencies=(*plan.dependencies, branch))
    state = await bench.run_plan(plan, reflection=NO_REPLAN)
    assert state.steps["rescue"].status is StepStatus.SUCCEEDED
    assert state.steps["b"].status is StepStatus.BLOCKED
    assert state.steps["c"].status is StepStatus.BLOCKED
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.UNVERIFIED


@pytest.mark.req("A3", "A4")
async def test_a_step_that_is_not_critical_is_skipped_and_a_fallback_is_marked(bench: Bench) -> None:
    missing = {"path": "missing"}
    plan = steps(
        ExecutionStep(id="a", name="a", tool="read_file", parameters=missing, critical=False),
        ExecutionStep(id="b", name="b", tool="read_file", parameters=missing, fallback={"rows": []}),
    )
    state = await bench.run_plan(plan, reflection=NO_REPLAN)
    assert state.steps["a"].status is StepStatus.SKIPPED
    assert state.steps["b"].status is StepStatus.DEGRADED
    assert state.steps["b"].output is not None
    assert state.steps["b"].output.outputs == {"result": {"rows": []}}
    assert state.outcome is not None
    assert state.outcome.degraded_steps == ("b",)
    assert state.outcome.verdict is Verdict.UNVERIFIED


@pytest.mark.req("P8")
async def test_an_allowed_failure_does_not_stop_the_run(bench: Bench) -> None:
    plan = steps(
        ExecutionStep(id="a", name="a", tool="read_file", parameters={"path": "missing"}, allow_failure=True),
        ExecutionStep(id="b", name="b", tool="list_files"),
        after=[("b", "a")],
    )
    state = await bench.run_plan(plan)
    assert state.steps["a"].output is not None
    assert state.steps["a"].output.status is ExecutionStatus.PARTIAL_SUCCESS
    assert state.steps["b"].status is StepStatus.SUCCEEDED


@pytest.mark.req("R7", "R2")
async def test_a_tool_that_is_down_is_replaced_by_its_alternative(bench: Bench) -> None:
    """The seed's second example: the tool's service times out, the alternative does the work."""

    @tool(alternatives=("alternative_processor",))
    def process_data(rows: int) -> str:
        """Process rows."""
        raise ConnectionError("工具服务连接超时")

    @tool
    def alternative_processor(rows: int) -> str:
        """Process rows in another way."""
        return f"{rows} rows done"

    bench.toolbox = default_toolbox().with_(process_data, alternative_processor)
    step = ExecutionStep(id="p", name="process_data", tool="process_data", parameters={"rows": 3})
    state = await bench.run_plan(steps(step), reflection={"max_temporary_retries": 2})
    assert state.steps["p"].status is StepStatus.SUCCEEDED
    assert state.steps["p"].rungs == [Rung.RETRY_LATER, Rung.RETRY_LATER, Rung.ALTERNATIVE_TOOL]
    assert state.steps["p"].output is not None
    assert state.steps["p"].output.outputs["result"] == "3 rows done"


@pytest.mark.req("R7", "R2")
async def test_a_wrong_parameter_is_adjusted(bench: Bench) -> None:
    """The seed's first example: the data source does not exist, the reflection names one that does."""

    @tool
    def data_upload(datasource_id: str) -> str:
        """Upload to a data source."""
        if datasource_id != "ds_001":
            raise ValueError(f"数据源不存在: {datasource_id}")
        return "uploaded"

    bench.toolbox = default_toolbox().with_(data_upload)
    reflection = {
        "category": "parameter_error",
        "root_cause": "the data source does not exist",
        "recoverable": True,
        "fix": "use ds_001",
        "parameters": {"datasource_id": "ds_001"},
    }
    step = ExecutionStep(id="u", name="data_upload", tool="data_upload", parameters={"datasource_id": "ds_invalid"})
    state = await bench.run_plan(steps(step), [reflection])
    assert state.steps["u"].status is StepStatus.SUCCEEDED
    assert state.steps["u"].rungs == [Rung.ADJUST_PARAMETERS]
    assert state.steps["u"].reflections[0].decided_by == "model"


@pytest.mark.req("R7", "R2", "R4")
async def test_missing_upstream_data_leads_to_a_new_plan_with_the_missing_step(bench: Bench) -> None:
    """The seed's third example: the repair of the step fails too, the new plan makes the data first."""
    features = ExecutionStep(
        id="f",
        name="feature_engineering",
        description="compute features.txt from clean.txt",
        step_type=StepType.COMMAND_EXECUTION,
        checks=(CommandCheck(command="test -s features.txt"),),
    )
    compute = act("run_command", command="sort clean.txt > features.txt")

    def step(name: str, after: list[int], check: str) -> dict[str, object]:
        return {"name": name, "description": f"{name} with a command", "type": "command_execution", "file": "",
                "after": after, "check": {"kind": "command", "value": check}}  # fmt: skip

    replan = {"steps": [step("make clean.txt", [], "test -s clean.txt"), step("features", [1], "test -s features.txt")],
              "success_criteria": ["features.txt has content"]}  # fmt: skip
    answers = [
        Rule("Make a plan of at most", replan),
        Rule("Plan this one step again", step("feature_engineering", [], "test -s features.txt")),
        Rule("# Step\nmake clean.txt", act("run_command", command="printf 'b\\na\\n' > clean.txt")),
        Rule(lambda r: "# Step\nfeatures" in r.messages[-1].content, compute),
        Rule("Done in this step so far\n(nothing yet)", compute, times=2),
        Rule("Choose the one next action", {**done("缺少必要的前置数据"), "decision": "replan"}),
    ]
    state = await bench.run_plan(steps(features), answers)
    assert [r.rung for r in bench.events(e.RungChosen)] == [Rung.REPAIR_STEP, Rung.REPLAN_TASK]
    assert bench.files() == {"clean.txt": "b\na\n", "features.txt": "a\nb\n"}
    assert all(r.status is StepStatus.SUCCEEDED for r in state.steps.values())


@pytest.mark.req("D7")
async def test_a_static_plan_is_one_action_a_step(bench: Bench) -> None:
    step = ExecutionStep(id="s", name="s", description="x", step_type=StepType.COMMAND_EXECUTION,
                         checks=(FileCheck(path="x.txt"),))  # fmt: skip
    answers = [act("run_command", command="true"), act("run_command", command="touch x.txt")]
    state = await bench.run_plan(steps(step), answers, dynamic=False, reflection=NO_REPLAN)
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.FAILED
    assert len(bench.events(e.ActionStarted)) == 1


@pytest.mark.req("D1", "D2", "D5")
async def test_inside_a_step_each_action_follows_from_the_last(bench: Bench) -> None:
    bench.write(data__txt="7\n8\n")
    step = ExecutionStep(
        id="s", name="sum data.txt", description="write the sum to sum.txt", step_type=StepType.COMMAND_EXECUTION,
        checks=(CommandCheck(command='test "$(cat sum.txt)" = 15', origin="user"),),
    )  # fmt: skip
    answers = [act("read_file", path="data.txt"), act("run_command", command="echo 15 > sum.txt")]
    state = await bench.run_plan(steps(step), answers)
    assert state.steps["s"].status is StepStatus.SUCCEEDED
    assert "7" in bench.prompts()[1], "what was read is there for the next decision"


@pytest.mark.req("D4")
async def test_a_step_that_never_ends_is_ended(bench: Bench) -> None:
    step = ExecutionStep(id="s", name="s", description="x", step_type=StepType.COMMAND_EXECUTION,
                         checks=(FileCheck(path="never"),))  # fmt: skip
    answers = [act("run_command", command=f"echo {n} > x.txt") for n in range(30)]
    state = await bench.run_plan(steps(step), answers, max_actions_per_step=4, reflection=NO_REPLAN)
    assert state.outcome is not None
    assert state.outcome.exit_code == 6
    assert len(bench.events(e.ActionStarted)) == 4
    assert "4 actions and not done" in state.outcome.summary


@pytest.mark.req("D4")
async def test_a_step_out_of_time_ends_with_all_its_processes(bench: Bench) -> None:
    step = ExecutionStep(id="s", name="s", tool="run_command",
                         parameters={"command": "sleep 600 & echo $! > ../sleeper; wait"})  # fmt: skip
    limits = {**NO_REPLAN, "max_temporary_retries": 0, "max_step_retries": 0, "max_single_step_repairs": 0}
    state = await bench.run_plan(steps(step), step_timeout_seconds=1.5, reflection=limits)
    assert state.outcome is not None
    assert state.outcome.exit_code == 124
    assert state.outcome.diagnosis is not None
    assert "step_timeout_seconds" in state.outcome.diagnosis.as_text()
    sleeper = int((bench.root.parent / "sleeper").read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(sleeper, 0)


@pytest.mark.req("D4", "O4")
async def test_the_model_is_told_what_is_left(bench: Bench) -> None:
    step = ExecutionStep(id="s", name="s", description="x", step_type=StepType.COMMAND_EXECUTION,
                         checks=(FileCheck(path="x.txt"),))  # fmt: skip
    budget = {"max_tokens": 5000, "max_cost_usd": 1.5, "max_tool_calls": 7, "max_seconds": 600}
    answers = [act("list_files"), act("run_command", command="touch x.txt")]
    await bench.run_plan(steps(step), answers, budget=budget)
    left = bench.prompts()[1].splitlines()[-1]
    assert "Actions left in this step: 9." in left
    for told in ("tokens", "$1.50", "6 tool calls", "seconds"):
        assert told in left


@pytest.mark.req("R8", "D4")
async def test_a_model_in_a_loop_is_stopped_with_its_own_exit_code(bench: Bench) -> None:
    step = ExecutionStep(id="s", name="s", description="x", step_type=StepType.COMMAND_EXECUTION,
                         checks=(FileCheck(path="never"),))  # fmt: skip
    answers = [act("run_command", command="echo again")] * 30
    state = await bench.run_plan(steps(step), answers, reflection=NO_REPLAN)
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.LOOP
    assert state.outcome.exit_code == 6


@pytest.mark.req("D4")
async def test_back_and_forth_between_two_actions_is_seen(bench: Bench) -> None:
    bench.write(a__txt="a", b__txt="b")
    step = ExecutionStep(id="s", name="s", description="x", step_type=StepType.COMMAND_EXECUTION,
                         checks=(FileCheck(path="never"),))  # fmt: skip
    answers = [act("read_file", path="a.txt"), act("read_file", path="b.txt")] * 10
    state = await bench.run_plan(steps(step), answers, reflection=NO_REPLAN)
    assert state.outcome is not None
    assert state.outcome.exit_code == 6
    assert len(bench.events(e.ActionStarted)) == 3
    assert "back and forth" in bench.events(e.ActionRefused)[0].reason


@pytest.mark.req("D4")
async def test_a_workspace_that_comes_back_to_where_it_was_is_no_progress(bench: Bench) -> None:
    step = ExecutionStep(id="s", name="s", description="x", step_type=StepType.COMMAND_EXECUTION,
                         checks=(FileCheck(path="never"),))  # fmt: skip
    answers = [act("run_command", command=f"echo {n % 2} > x.txt; echo try {n}") for n in range(10)]
    state = await bench.run_plan(steps(step), answers, reflection=NO_REPLAN)
    assert state.outcome is not None
    assert state.outcome.exit_code == 6
    assert "no progress" in state.outcome.summary
    assert len(bench.events(e.ActionStarted)) == 3


@pytest.mark.req("P13")
async def test_rollback_can_be_switched_off(bench: Bench) -> None:
    step = ExecutionStep(id="s", name="s", description="x", step_type=StepType.COMMAND_EXECUTION,
                         checks=(FileCheck(path="never"),))  # fmt: skip
    answers = [act("run_command", command="echo left > left.txt"), done()]
    state = await bench.run_plan(steps(step), answers, enable_auto_rollback=False, reflection=NO_REPLAN)
    assert bench.files() == {"left.txt": "left\n"}
    assert state.outcome is not None
    assert state.outcome.diagnosis is not None
    assert state.outcome.diagnosis.left_behind == ("left.txt",)


@pytest.mark.req("P15")
async def test_only_a_plan_can_be_asked_for(bench: Bench) -> None:
    state = await bench.run("Write adder.py.", [understanding("adder.py")], phases="plan")
    assert state.plan is not None
    assert [s.name for s in state.plan.steps] == ["Write adder.py"]
    assert bench.files() == {}
    assert state.outcome is not None
    assert state.outcome.exit_code == 3


@pytest.mark.req("P11")
async def test_a_temporary_model_error_is_retried_and_seen(bench: Bench) -> None:
    from surefoot.errors import ModelUnavailable

    answers = [ModelUnavailable("503"), understanding("adder.py"), fenced("x = 1")]
    state = await bench.run("Write adder.py.", answers)
    assert state.outcome is not None
    (retried,) = bench.events(e.ModelRetried)
    assert retried.attempt == 1


@pytest.mark.req("P12")
async def test_commands_have_the_limits_of_the_run(bench: Bench) -> None:
    step = ExecutionStep(
        id="s", name="look", description="look", step_type=StepType.COMMAND_EXECUTION, checks=(FileCheck(path="x.txt"),)
    )
    look = act("run_command", command="ulimit -d > x.txt")
    check = 'test "$(ulimit -d)" = 1048576 && grep -q 1048576 x.txt'
    state = await bench.run_plan(steps(step), [look], checks=[check], command_memory_gb=1)
    assert bench.files() == {"x.txt": "1048576\n"}
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED


async def test_a_command_with_too_many_processes_is_ended(bench: Bench) -> None:
    many = "for i in 1 2 3 4 5 6 7 8 9; do sleep 60 & done; wait"
    step = ExecutionStep(id="s", name="many", tool="run_command", parameters={"command": many})
    state = await bench.run_plan(steps(step), [], command_processes=4, reflection={"max_step_retries": 0})
    assert state.steps["s"].status is StepStatus.FAILED
