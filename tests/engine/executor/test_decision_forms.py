"""Decisions in the form of the design documents, and steps that are removed from the middle of a plan."""

from typing import Any

import pytest

from support.kit import Bench, act, done, steps
from support.talk import submit
from surefoot.core.phases import ExecutionPhase
from surefoot.core.plan import Condition, ExecutionStep, FileCheck, StepType
from surefoot.core.transitions import Stage, StepStatus
from surefoot.engine.loop import start_run
from surefoot.engine.planner.gate import skipped
from surefoot.journal import events as e


def step(step_id: str) -> ExecutionStep:
    return ExecutionStep(
        id=step_id, name=f"Step {step_id}", description="x", step_type=StepType.COMMAND_EXECUTION,
        expected_outputs=(f"the result of {step_id}",),
    )  # fmt: skip


def touch(name: str) -> dict[str, Any]:
    return act("run_command", command=f"touch {name}")


@pytest.mark.req("D10", "D2", "D3")
async def test_decision_in_the_form_of_the_design_document_is_read(bench: Bench) -> None:
    """No `decision` and no `tool`: it only says that more steps are needed, and then that the step is complete."""
    more = {
        "is_complete": False,
        "reason": "several files are needed",
        "suggested_next_steps": [{"name": "Config", "description": "write it", "expected_output": "config.json"}],
        "steps_to_remove": ["Step b"],
    }
    answers = [
        touch("a"),
        more,
        {"is_complete": True, "reason": "written"},
        act("run_command", command="echo {} > config.json"),
        done(),
        touch("c"),
        done(),
    ]
    plan = steps(step("a"), step("b"), step("c"), after=[("b", "a"), ("c", "b")])
    state = await bench.run_plan(plan, answers)
    (revision,) = bench.events(e.PlanRevised)
    assert revision.reason == "several files are needed"
    assert revision.removed == ("b",)
    assert [run.step.name for run in state.steps.values()] == ["Step a", "Config", "Step c"]
    assert "Expected output: config.json" in state.steps[revision.added[0].id].step.description
    assert all(run.status is StepStatus.SUCCEEDED for run in state.steps.values())


@pytest.mark.req("D10", "D4")
async def test_revision_that_is_refused_again_and_again_ends_the_attempt(bench: Bench) -> None:
    nothing = {"is_complete": False, "reason": "x", "remove_steps": ["no such step"]}
    limits = {"max_step_retries": 0, "max_single_step_repairs": 0, "max_task_replanning_attempts": 0}
    state = await bench.run_plan(steps(step("a")), [nothing] * 5, reflection=limits)
    assert state.steps["a"].status is StepStatus.FAILED
    assert len(bench.events(e.ActionRefused)) == 3


@pytest.mark.req("D10")
async def test_decision_prompt_names_the_goal_and_the_available_data(bench: Bench) -> None:
    plan = steps(step("a"), step("b"), step("c"), after=[("b", "a"), ("c", "b")])
    await bench.run_plan(plan, [touch("a"), done(), touch("b"), done(), touch("c"), done()])
    prompt = bench.prompts()[-1]
    assert "Goal: the result of c" in prompt
    assert "read_result shows the results of: a, b" in prompt


@pytest.mark.req("D3", "A1")
async def test_removing_the_middle_of_a_chain_leaves_its_end_after_its_start(bench: Bench) -> None:
    plan = submit(
        {"name": "Start", "description": "write start.txt"},
        {"name": "A", "description": "write a.txt", "after": [1]},
        {"name": "B", "description": "write b.txt", "after": [2]},
        {"name": "C", "description": "write c.txt", "after": [3]},
    )

    def write(name: str) -> list[Any]:
        return [("write_file", {"path": name, "content": name}), ("finish_step", {"summary": name})]

    removing = [("remove_steps", {"steps": ["s3"], "reason": "B is not needed"}), *write("start.txt")]
    state = await bench.talk(
        "Write start.txt, a.txt, b.txt and c.txt.", [plan, removing, write("a.txt"), write("c.txt")]
    )
    assert state.plan is not None
    dependencies = [(d.step_id, d.depends_on, d.condition) for d in state.plan.dependencies]
    assert ("s4", "s2", Condition.SUCCESS) in dependencies
    started = [event.step_id for event in bench.events(e.StepStarted)]
    assert started == ["s1", "s2", "s4"]


@pytest.mark.req("O13", "P21")
async def test_decision_prompt_names_preconditions_and_expected_tools(bench: Bench) -> None:
    step = ExecutionStep(
        id="a", name="a", description="a", step_type=StepType.PREPARATION,
        preconditions=("the weather is good",), expected_tools=("list_files",),
    )  # fmt: skip
    await bench.run_plan(steps(step), [act("list_files"), done()])
    assert "It should hold before it starts: the weather is good\nExpected tools: list_files" in bench.prompts()[0]


MAKE_X = step("s").with_(description="make x.txt", checks=(FileCheck(path="x.txt"),))


@pytest.mark.req("D6", "D2")
async def test_decision_without_sense_is_asked_for_again_with_the_reason(bench: Bench) -> None:
    """An unknown tool, a missing argument, and text that is no decision: nothing of it is carried out."""
    good = act("run_command", command="touch x.txt")
    answers = ["I will think about it.", act("telepathy", what="x.txt"), act("run_command"), good]
    state = await bench.run_plan(steps(MAKE_X), answers)
    assert state.steps["s"].status is StepStatus.SUCCEEDED
    assert state.steps["s"].attempt == 1
    assert all(request.output_schema for request in bench.model.requests), "every decision has a schema"
    prompts = bench.prompts()
    assert "This cannot be used" in prompts[1]
    assert "telepathy" in prompts[2]
    assert "command" in prompts[3]
    assert [action.command for action in state.steps["s"].actions if action.ok] == ["touch x.txt"]


@pytest.mark.req("D6", "P14")
async def test_same_question_in_the_same_state_is_not_asked_twice(bench: Bench) -> None:
    """The process ends between a decision and its action. The next one has the same question, and takes the answer."""

    def end_process(record: e.Record) -> None:
        if isinstance(record.event, e.ModelAnswered):
            raise KeyboardInterrupt

    services = bench.services([act("run_command", command="touch x.txt")])
    services.bus.subscribe(end_process)
    given = e.PlanMade(result=skipped(ExecutionPhase.Planning(), "given", steps(MAKE_X)))
    with pytest.raises(KeyboardInterrupt):
        await start_run(services, bench.task("make x.txt", []), bench.config(), first=Stage.EXECUTION, given=[given])
    assert not bench.events(e.ActionStarted)
    state = await bench.resume(bench.journal.find("last"), [])
    assert state.steps["s"].status is StepStatus.SUCCEEDED
    assert not bench.model.requests
    assert state.model_calls == 1
