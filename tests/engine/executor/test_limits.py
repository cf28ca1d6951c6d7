"""Limits on steps: actions, time, loops without progress, and the resources of commands."""

import os

import pytest

from support.kit import NO_RETRIES, Bench, act, steps
from support.talk import Call, submit
from surefoot.core.outcome import Verdict
from surefoot.core.plan import ExecutionStep, FileCheck, StepType
from surefoot.core.transitions import StepStatus
from surefoot.engine.executor.conversation import MAX_IDLE_TURNS
from surefoot.journal import events as e

UNREACHABLE = ExecutionStep(
    id="s", name="s", description="x", step_type=StepType.COMMAND_EXECUTION, checks=(FileCheck(path="never"),)
)
"""Its check never passes."""
STEP = submit({"name": "First", "checks": [{"value": "test -e never"}]})


@pytest.mark.req("D4")
async def test_step_ends_at_the_action_limit(bench: Bench) -> None:
    answers = [act("run_command", command=f"echo {n} > x.txt") for n in range(30)]
    state = await bench.run_plan(steps(UNREACHABLE), answers, max_actions_per_step=4, reflection=NO_RETRIES)
    assert state.outcome is not None
    assert state.outcome.exit_code == 6
    assert len(bench.events(e.ActionStarted)) == 4
    assert "4 actions and not done" in state.outcome.summary


@pytest.mark.req("D4")
async def test_step_timeout_ends_all_its_processes(bench: Bench) -> None:
    step = ExecutionStep(id="s", name="s", tool="run_command",
                         parameters={"command": "sleep 600 & echo $! > ../sleeper; wait"})  # fmt: skip
    limits = {**NO_RETRIES, "max_temporary_retries": 0}
    state = await bench.run_plan(steps(step), step_timeout_seconds=1.5, reflection=limits)
    assert state.outcome is not None
    assert state.outcome.exit_code == 124
    assert state.outcome.diagnosis is not None
    assert "step_timeout_seconds" in state.outcome.diagnosis.as_text()
    sleeper = int((bench.root.parent / "sleeper").read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(sleeper, 0)


@pytest.mark.req("D4", "O4")
async def test_prompt_states_the_remaining_budget(bench: Bench) -> None:
    step = ExecutionStep(id="s", name="s", description="x", step_type=StepType.COMMAND_EXECUTION,
                         checks=(FileCheck(path="x.txt"),))  # fmt: skip
    budget = {"max_tokens": 5000, "max_cost_usd": 1.5, "max_tool_calls": 7, "max_seconds": 600}
    answers = [act("list_files"), act("run_command", command="touch x.txt")]
    await bench.run_plan(steps(step), answers, budget=budget)
    budget_line = bench.prompts()[1].splitlines()[-1]
    assert "Actions left in this step: 9." in budget_line
    for amount in ("tokens", "$1.50", "6 tool calls", "seconds"):
        assert amount in budget_line


@pytest.mark.req("R8", "D4")
async def test_repeated_action_ends_the_run_with_the_loop_exit_code(bench: Bench) -> None:
    answers = [act("run_command", command="echo again")] * 30
    state = await bench.run_plan(steps(UNREACHABLE), answers, reflection=NO_RETRIES)
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.LOOP
    assert state.outcome.exit_code == 6


@pytest.mark.req("D4")
async def test_alternating_actions_are_detected(bench: Bench) -> None:
    bench.write(a__txt="a", b__txt="b")
    answers = [act("read_file", path="a.txt"), act("read_file", path="b.txt")] * 10
    state = await bench.run_plan(steps(UNREACHABLE), answers, reflection=NO_RETRIES)
    assert state.outcome is not None
    assert state.outcome.exit_code == 6
    assert len(bench.events(e.ActionStarted)) == 3
    assert "back and forth" in bench.events(e.ActionRefused)[0].reason


@pytest.mark.req("D4")
async def test_returning_to_an_earlier_workspace_state_is_no_progress(bench: Bench) -> None:
    answers = [act("run_command", command=f"echo {n % 2} > x.txt; echo try {n}") for n in range(10)]
    state = await bench.run_plan(steps(UNREACHABLE), answers, reflection=NO_RETRIES)
    assert state.outcome is not None
    assert state.outcome.exit_code == 6
    assert "no progress" in state.outcome.summary
    assert len(bench.events(e.ActionStarted)) == 3


@pytest.mark.req("O4")
async def test_commands_have_the_limits_of_the_run(bench: Bench) -> None:
    step = ExecutionStep(
        id="s", name="s", description="x", step_type=StepType.COMMAND_EXECUTION, checks=(FileCheck(path="x.txt"),)
    )
    write_limit = act("run_command", command="ulimit -d > x.txt")
    check = 'test "$(ulimit -d)" = 1048576 && grep -q 1048576 x.txt'
    state = await bench.run_plan(steps(step), [write_limit], checks=[check], command_memory_gb=1)
    assert bench.files() == {"x.txt": "1048576\n"}
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED


async def test_command_with_too_many_processes_is_ended(bench: Bench) -> None:
    many = "for i in 1 2 3 4 5 6 7 8 9; do sleep 60 & done; wait"
    step = ExecutionStep(id="s", name="many", tool="run_command", parameters={"command": many})
    state = await bench.run_plan(steps(step), [], command_processes=4, reflection={"max_step_retries": 0})
    assert state.steps["s"].status is StepStatus.FAILED


@pytest.mark.req("D4")
@pytest.mark.parametrize(
    "call",
    [("no_such_tool", {}), ("add_steps", {"steps": 3}), ("check", {}), ("remove_steps", {"steps": ["none"]})],
    ids=["unknown tool", "wrong arguments", "check", "a change that changes nothing"],
)
async def test_turns_without_an_action_end_an_attempt(bench: Bench, call: Call) -> None:
    """They count as neither actions nor refusals, so a model could go on with them until the step's time is up."""
    script = [STEP, *[[call] for _ in range(40)]]
    state = await bench.talk("Look at it.", script, reflection=NO_RETRIES)
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.LOOP
    assert f"{MAX_IDLE_TURNS} turns in a row" in state.outcome.summary
    assert len(bench.talker.requests) <= MAX_IDLE_TURNS + 4


@pytest.mark.req("D4", "D11")
async def test_looking_between_such_turns_is_progress(bench: Bench) -> None:
    bench.write(a__txt="a")
    wrong: list[list[Call]] = [[("no_such_tool", {})]] * (MAX_IDLE_TURNS - 1)
    look: list[Call] = [("read_file", {"path": "a.txt"})]
    script = [STEP, *wrong, look, *wrong, *[[("cannot", {"reason": "enough"})]] * 3]
    state = await bench.talk("Look at it.", script, reflection=NO_RETRIES)
    assert state.outcome is not None
    assert "turns in a row" not in state.outcome.summary
    assert bench.talker.left <= 2
