"""Execution of steps: step types, dependencies, conditions, recovery."""

import pytest

from support.kit import NO_RETRIES, Bench, act, done, fenced, steps, understanding
from surefoot.core.outcome import Verdict
from surefoot.core.phases import ExecutionStatus
from surefoot.core.plan import CommandCheck, Condition, ExecutionStep, FileCheck, StepDependency, StepType
from surefoot.core.transitions import Rung, StepStatus
from surefoot.errors import ModelUnavailable
from surefoot.journal import events as e
from surefoot.journal.messages import AnswerMessage
from surefoot.models.testing.scripted import Rule
from surefoot.tools.registry import default_toolbox
from surefoot.tools.tool import tool


@pytest.mark.req("P9", "P10")
@pytest.mark.parametrize("step_type", [t for t in StepType if t is not StepType.DEPLOYMENT])
async def test_every_step_type_executes(bench: Bench, step_type: StepType) -> None:
    step = ExecutionStep(
        id="s1", name="make it", step_type=step_type, checks=(FileCheck(path="out.txt"),), description="make out.txt"
    )
    state = await bench.run_plan(steps(step), [act("run_command", command="echo text > out.txt")])
    assert state.steps["s1"].status is StepStatus.SUCCEEDED
    output = state.steps["s1"].output
    assert output is not None
    assert output.generated_files == ("out.txt",)
    assert output.executed_commands == ("echo text > out.txt",)
    assert bench.files() == {"out.txt": "text\n"}


@pytest.mark.req("P9", "P12")
async def test_deployment_asks_before_it_runs(bench: Bench) -> None:
    step = ExecutionStep(id="s1", name="ship it", step_type=StepType.DEPLOYMENT, tool="list_files")
    state = await bench.run_plan(steps(step))
    (question,) = state.open_questions
    assert "ship it" in question.text
    assert not bench.events(e.ActionStarted)
    bench.journal.send(state.run_id, AnswerMessage(question_id=question.id, answer="yes"))
    state = await bench.resume(state.run_id, [])
    assert state.steps["s1"].status is StepStatus.SUCCEEDED


@pytest.mark.req("P16")
async def test_unmet_condition_skips_the_step_with_the_reason(bench: Bench) -> None:
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
async def test_failure_branch_runs_and_steps_that_need_success_are_blocked(bench: Bench) -> None:
    plan = steps(
        ExecutionStep(id="a", name="a", tool="read_file", parameters={"path": "missing"}),
        ExecutionStep(id="rescue", name="rescue", tool="list_files"),
        ExecutionStep(id="b", name="b", tool="list_files"),
        ExecutionStep(id="c", name="c", tool="list_files"),
        after=[("b", "a"), ("c", "b")],
    )
    branch = StepDependency(step_id="rescue", depends_on="a", condition=Condition.FAILURE)
    plan = plan.with_(dependencies=(*plan.dependencies, branch))
    state = await bench.run_plan(plan, reflection=NO_RETRIES)
    assert state.steps["rescue"].status is StepStatus.SUCCEEDED
    assert state.steps["b"].status is StepStatus.BLOCKED
    assert state.steps["c"].status is StepStatus.BLOCKED
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.UNVERIFIED


@pytest.mark.req("A3", "A4")
async def test_uncritical_step_is_skipped_and_fallback_is_degraded(bench: Bench) -> None:
    missing = {"path": "missing"}
    plan = steps(
        ExecutionStep(id="a", name="a", tool="read_file", parameters=missing, critical=False),
        ExecutionStep(id="b", name="b", tool="read_file", parameters=missing, fallback={"rows": []}),
    )
    state = await bench.run_plan(plan, reflection=NO_RETRIES)
    assert state.steps["a"].status is StepStatus.SKIPPED
    assert state.steps["b"].status is StepStatus.DEGRADED
    assert state.steps["b"].output is not None
    assert state.steps["b"].output.outputs == {"result": {"rows": []}}
    assert state.outcome is not None
    assert state.outcome.degraded_steps == ("b",)
    assert state.outcome.verdict is Verdict.UNVERIFIED


@pytest.mark.req("P8")
async def test_allowed_failure_does_not_stop_the_run(bench: Bench) -> None:
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
async def test_unavailable_tool_is_replaced_by_its_alternative(bench: Bench) -> None:
    """The service behind a tool times out; the alternative tool does the work."""

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
    state = await bench.run_plan(steps(step))
    assert state.steps["p"].status is StepStatus.SUCCEEDED
    assert state.steps["p"].rungs == [*[Rung.RETRY_LATER] * 3, Rung.ALTERNATIVE_TOOL]
    assert state.steps["p"].output is not None
    assert state.steps["p"].output.outputs["result"] == "3 rows done"


@pytest.mark.req("R7", "R2")
async def test_wrong_parameter_is_adjusted(bench: Bench) -> None:
    """The data source does not exist; the reflection names one that does."""

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
    """The repaired step fails too; the new plan creates the data first."""

    @tool
    def feature_engineering(source: str) -> str:
        """Compute features.txt from a file."""
        if not (bench.root / "clean.txt").exists():
            raise ValueError("缺少必要的前置数据")
        return source

    def step(name: str, after: list[int], check: str) -> dict[str, object]:
        return {"name": name, "description": f"{name} with a command", "type": "command_execution", "file": "",
                "after": after, "check": {"kind": "command", "value": check}}  # fmt: skip

    reflection = {"category": "decomposition_error", "root_cause": "缺少必要的前置数据", "recoverable": True,
                  "fix": "", "parameters": {}}  # fmt: skip
    replan = {"steps": [step("make clean.txt", [], "test -s clean.txt"), step("features", [1], "test -s features.txt")],
              "success_criteria": ["features.txt has content"]}  # fmt: skip
    answers = [
        Rule("Find the cause", reflection),
        Rule("# Tools\n", {"thought": "", "tool": "feature_engineering", "arguments": {"source": "raw.txt"}}, times=1),
        Rule("Make a plan of at most", replan),
        Rule("# Step\nmake clean.txt", act("run_command", command="printf 'b\\na\\n' > clean.txt")),
        Rule("# Step\nfeatures", act("run_command", command="sort clean.txt > features.txt")),
    ]
    bench.toolbox = default_toolbox().with_(feature_engineering)
    call = ExecutionStep(id="f", name="feature_engineering", tool="feature_engineering", parameters={"source": "x"})
    state = await bench.run_plan(steps(call), answers)
    assert [r.rung for r in bench.events(e.RungChosen)] == [Rung.REPAIR_STEP, Rung.REPLAN_TASK]
    assert bench.files() == {"clean.txt": "b\na\n", "features.txt": "a\nb\n"}
    assert all(r.status is StepStatus.SUCCEEDED for r in state.steps.values())


@pytest.mark.req("D7")
async def test_static_plan_allows_one_action_per_step(bench: Bench) -> None:
    step = ExecutionStep(id="s", name="s", description="x", step_type=StepType.COMMAND_EXECUTION,
                         checks=(FileCheck(path="x.txt"),))  # fmt: skip
    answers = [act("run_command", command="true"), act("run_command", command="touch x.txt")]
    state = await bench.run_plan(steps(step), answers, dynamic=False, reflection=NO_RETRIES)
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.FAILED
    assert len(bench.events(e.ActionStarted)) == 1


@pytest.mark.req("D1", "D2", "D5")
async def test_result_of_an_action_is_shown_for_the_next(bench: Bench) -> None:
    step = ExecutionStep(
        id="s", name="multiply", description="write 7181 * 3 to product.txt", step_type=StepType.COMMAND_EXECUTION,
        checks=(CommandCheck(command='test "$(cat product.txt)" = "$((7181 * 3))"', origin="user"),),
    )  # fmt: skip
    look, write = "echo $((7181 * 3))", "echo 21543 > product.txt"
    state = await bench.run_plan(steps(step), [act("run_command", command=c) for c in (look, write)])
    assert state.steps["s"].status is StepStatus.SUCCEEDED
    first, second = bench.prompts()
    assert "21543" not in first
    assert "21543" in second


@pytest.mark.req("D5", "O6")
async def test_long_result_is_quoted_in_its_key_parts_and_kept_whole(bench: Bench) -> None:
    step = ExecutionStep(
        id="s", name="build", description="make done.txt", step_type=StepType.COMMAND_EXECUTION,
        checks=(FileCheck(path="done.txt"),),
    )  # fmt: skip
    noisy = "for i in $(seq 4000); do echo line $i is of no interest; done; echo 'error: libfoo is not found'; "
    noisy += "for i in $(seq 4000); do echo still $i; done; exit 3"
    state = await bench.run_plan(
        steps(step), [act("run_command", command=noisy), act("run_command", command="touch done.txt")]
    )
    assert state.steps["s"].status is StepStatus.SUCCEEDED
    prompt = bench.prompts()[1]
    assert "error: libfoo is not found" in prompt
    assert "line 2000 is" not in prompt
    assert "still 2000" not in prompt
    assert len(prompt) < 30_000
    whole = bench.journal.get_blob(bench.events(e.ActionFinished)[0].output).decode()
    assert "line 2000 is" in whole
    assert "still 4000" in whole


@pytest.mark.req("P13")
async def test_rollback_can_be_disabled(bench: Bench) -> None:
    step = ExecutionStep(id="s", name="s", description="x", step_type=StepType.COMMAND_EXECUTION,
                         checks=(FileCheck(path="never"),))  # fmt: skip
    answers = [act("run_command", command="echo left > left.txt"), done()]
    state = await bench.run_plan(steps(step), answers, enable_auto_rollback=False, reflection=NO_RETRIES)
    assert bench.files() == {"left.txt": "left\n"}
    assert state.outcome is not None
    assert state.outcome.diagnosis is not None
    assert state.outcome.diagnosis.left_behind == ("left.txt",)


@pytest.mark.req("P15")
async def test_phases_plan_stops_after_planning(bench: Bench) -> None:
    state = await bench.run("Write adder.py.", [understanding("adder.py")], phases="plan")
    assert state.plan is not None
    assert [s.name for s in state.plan.steps] == ["Write adder.py"]
    assert bench.files() == {}
    assert state.outcome is not None
    assert state.outcome.exit_code == 3


@pytest.mark.req("P11")
async def test_temporary_model_error_is_retried_and_recorded(bench: Bench) -> None:

    answers = [ModelUnavailable("503"), understanding("adder.py"), fenced("x = 1")]
    state = await bench.run("Write adder.py.", answers)
    assert state.outcome is not None
    (retried,) = bench.events(e.ModelRetried)
    assert retried.attempt == 1


@pytest.mark.parametrize(("retries", "calls"), [(0, 1), (1, 4), (2, 9)])
async def test_retries_of_calls_and_of_steps_multiply(bench: Bench, retries: int, calls: int) -> None:
    """As docs/configuration.md says of `max_temporary_retries`."""
    step = ExecutionStep(id="s", name="Write adder.py", critical=True)
    limits = {**NO_RETRIES, "max_temporary_retries": retries}
    answers = [ModelUnavailable("503")] * 40
    state = await bench.run_plan(steps(step), answers, reflection=limits)
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.FAILED
    assert len(bench.model.requests) == calls
