"""Every field of a submitted plan is acted on and shown, at the default settings and with a model that calls tools."""

import io
import json
from typing import Any

import pytest

from support.kit import Bench, fenced, understanding
from support.talk import results, submit
from surefoot.cli.report.details import details
from surefoot.cli.report.symbols import ASCII
from surefoot.cli.views.plain import PlainLines
from surefoot.core.outcome import Verdict
from surefoot.core.phases import ExecutionStatus
from surefoot.core.plan import DetailedPlan, ExecutionStep, StepDependency
from surefoot.core.transitions import StepStatus
from surefoot.journal import events as e
from surefoot.journal.messages import AnswerMessage

FINISH = ("finish_step", {"summary": "done"})
CANNOT = ("cannot", {"reason": "there is no such service"})


def write(path: str, text: str = "x\n") -> tuple[str, dict[str, Any]]:
    return "write_file", {"path": path, "content": text}


def step(name: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "description": f"{name}, as planned.", **fields}


@pytest.mark.req("P21", "A5", "O13")
async def test_an_unmet_precondition_blocks_the_step_with_the_reason(bench: Bench) -> None:
    plan = submit(
        step("Write a.txt"),
        step("Publish it", preconditions=["`test -e ready.flag`", "the weather is good"], after=[1]),
        step("Announce it", after=[2]),
    )
    state = await bench.talk("Write a.txt and publish it.", [plan, [write("a.txt"), FINISH]])
    assert [r.status for r in state.steps.values()] == [StepStatus.SUCCEEDED, StepStatus.BLOCKED, StepStatus.BLOCKED]
    reason = "its precondition does not hold: `test -e ready.flag`"
    blocked = state.as_plan().execution_history[1]
    assert blocked.error is not None
    assert blocked.error.startswith(reason)
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.UNVERIFIED
    assert reason in state.outcome.summary
    assert reason in "\n".join(map(str, details(state, ASCII)))


@pytest.mark.req("P21", "A13")
async def test_a_step_waits_for_what_another_one_brings_about(bench: Bench) -> None:
    plan = submit(
        step("Use it", preconditions=["ready.txt exists"], priority=5, tools=["read_file"]), step("Write ready.txt")
    )
    script = [plan, [write("ready.txt"), FINISH], [write("used.txt"), FINISH]]
    state = await bench.talk("Write ready.txt and use it.", script)
    assert [r.status for r in state.steps.values()] == [StepStatus.SUCCEEDED] * 2
    assert [event.step_id for event in bench.events(e.StepStarted)] == ["s2", "s1"]
    start = bench.talker.requests[-1].messages[-1].content
    assert "It should hold before you start: ready.txt exists" in start
    assert "Expected tools: read_file" in start


@pytest.mark.req("P21", "A13")
async def test_priority_orders_ready_steps_then_the_longest_path(bench: Bench) -> None:
    plan = submit(step("Low"), step("Long"), step("High", priority=2), step("Behind", after=[2]))
    turns = [[write(f"{i}.txt"), FINISH] for i in range(4)]
    await bench.talk("Write four files.", [plan, *turns])
    assert [event.step_id for event in bench.events(e.StepStarted)] == ["s3", "s2", "s1", "s4"]


@pytest.mark.req("P16", "A5")
@pytest.mark.parametrize("rows", ['outputs["s1"]["rows"]', 'outputs.get("s1")["rows"]', 'outputs.get("s1", 3)["rows"]'])
async def test_a_condition_that_cannot_be_evaluated_is_a_named_outcome(bench: Bench, rows: str) -> None:
    plan = submit(
        step("Load", when="False"),
        step("Use rows", when=f"{rows} > 0", after=[1]),
        step("Use nothing", when='outputs["s7"]["rows"] > 0'),
        step("Write a.txt"),
    )
    state = await bench.talk("Load rows, then write a.txt.", [plan, [write("a.txt"), FINISH]])
    skipped, blocked = state.steps["s2"], state.steps["s3"]
    assert (skipped.status, blocked.status) == (StepStatus.SKIPPED, StepStatus.BLOCKED)
    assert skipped.output is not None
    assert "'Load' was skipped and has no result" in skipped.output.logs[0]
    assert blocked.output is not None
    assert "its condition cannot be evaluated" in blocked.output.logs[0]
    assert state.steps["s4"].status is StepStatus.SUCCEEDED
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.UNVERIFIED


@pytest.mark.req("P16")
async def test_a_condition_without_a_result_skips_its_step_and_the_run_ends(bench: Bench) -> None:
    """The same in a given plan, with a model that calls no tools."""
    steps = (
        ExecutionStep(id="a", name="a", tool="list_files", when="False"),
        ExecutionStep(id="b", name="b", tool="list_files", when='outputs["a"]["result"]["rows"] > 0'),
    )
    plan = DetailedPlan(steps=steps, dependencies=(StepDependency(step_id="b", depends_on="a"),))
    state = await bench.run_plan(plan)
    assert state.steps["b"].status is StepStatus.SKIPPED
    assert state.outcome is not None


@pytest.mark.req("P16")
@pytest.mark.parametrize(
    ("conditions", "checks", "headline"),
    [
        (["False"], [], "Nothing done: every step was skipped"),
        (["False"], ["true"], "Nothing done: every step was skipped"),
        (['outputs["x"]'], [], "Nothing done: no step could be reached"),
        (["False", 'outputs["x"]'], [], "Nothing done: every step was skipped or could not be reached"),
        (["False", ""], [], "Done, not verified"),
    ],
)
async def test_a_run_whose_steps_all_ended_without_running_does_not_say_done(
    bench: Bench, conditions: list[str], checks: list[str], headline: str
) -> None:
    plan = DetailedPlan(
        steps=tuple(
            ExecutionStep(id=f"s{n}", name=f"s{n}", tool="list_files", when=when) for n, when in enumerate(conditions)
        )
    )
    state = await bench.run_plan(plan, checks=checks)
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.UNVERIFIED
    shown = [str(line) for line in details(state, ASCII)]
    assert any(line.split("  ")[0].endswith(headline) for line in shown), shown
    assert ("done, but" in state.outcome.summary) is headline.startswith("Done")


@pytest.mark.req("P21", "P12")
async def test_a_step_that_requires_confirmation_asks(bench: Bench) -> None:
    plan = submit(step("Write a.txt", requires_confirmation=True))
    state = await bench.talk("Write a.txt.", [plan])
    (question,) = state.open_questions
    assert "Write a.txt" in question.text
    bench.journal.send(state.run_id, AnswerMessage(question_id=question.id, answer="yes"))
    state = await bench.talk_on(state.run_id, [[write("a.txt"), FINISH]])
    assert state.steps["s1"].status is StepStatus.SUCCEEDED


@pytest.mark.req("P21", "A4")
async def test_allow_failure_critical_and_fallback_let_the_run_go_on(bench: Bench) -> None:
    plan = submit(
        step("Fetch", allow_failure=True),
        step("Decorate", critical=False),
        step("Count", fallback={"rows": 0}),
        step("Write a.txt", after=[1, 2, 3]),
    )
    script = [plan, [CANNOT], [CANNOT], [CANNOT], [write("a.txt"), FINISH]]
    state = await bench.talk("Fetch, decorate, count and write a.txt.", script)
    statuses = [r.status for r in state.steps.values()]
    assert statuses == [StepStatus.PARTIAL, StepStatus.SKIPPED, StepStatus.DEGRADED, StepStatus.SUCCEEDED]
    assert state.steps["s1"].output is not None
    assert state.steps["s1"].output.status is ExecutionStatus.PARTIAL_SUCCESS


@pytest.mark.req("P21", "P13")
async def test_rollback_steps_undo_effects_outside_the_workspace(bench: Bench) -> None:
    outside = bench.home / "announced"
    plan = submit(step("Announce", rollback_steps=[f"rm {outside}"]))
    announce = ("run_command", {"command": f"touch {outside}"})
    state = await bench.talk("Announce it.", [plan, [announce], [CANNOT]])
    assert state.outcome is not None
    assert state.outcome.verdict in (Verdict.FAILED, Verdict.BLOCKED)
    assert not outside.exists()
    (undone,) = bench.events(e.CompensationFinished)
    assert undone.ok


@pytest.mark.req("P21", "P7", "P8")
async def test_durations_milestones_tools_and_resources_are_shown(bench: Bench) -> None:
    stream = io.StringIO()
    plan = submit(
        step("Write a.txt", estimated_minutes=4, tools=["write_file"], validation_criteria=["a.txt exists"]),
        step("Write b.txt", estimated_minutes=3, after=[1]),
    )
    plan[2][1].update({"milestones": [{"name": "half way", "after": [1]}], "required_resources": ["a quiet room"]})
    state = await bench.talk("Write a.txt and b.txt.", [plan, [write("a.txt"), FINISH], [write("b.txt"), FINISH]])
    lines = PlainLines(stream, ASCII)
    for record in bench.records:
        lines.on_record(record)
    plain = stream.getvalue()
    for shown in ("1. Write a.txt (about 4 min)", "about 7 min", "needs: a quiet room", "milestone reached: half way"):
        assert shown in plain
    text = "\n".join(map(str, details(state, ASCII)))
    for shown in (
        "about 7 min",
        "milestone: half way (reached)",
        "expected tools: write_file",
        "criterion: a.txt exists",
    ):
        assert shown in text
    made = json.loads(state.as_plan().model_dump_json())["plan"]["output"]
    assert (made["estimated_duration"], made["steps"][0]["expected_tools"]) == (7, ["write_file"])
    assert made["milestones"] == [{"name": "half way", "step_ids": ["s1"]}]


@pytest.mark.req("P21", "P8")
async def test_a_model_without_tool_calls_can_give_the_fields_too(bench: Bench) -> None:
    fields = {"preconditions": ["`false`"], "priority": 3, "estimated_minutes": 2, "tools": ["write_file"]}
    plan = {
        "steps": [
            {"name": "Write a.txt", "description": "Write x.", "file": "a.txt", "allow_failure": True},
            {"name": "Write b.txt", "description": "Write y.", "file": "b.txt", **fields},
        ],
        "success_criteria": ["a.txt exists"],
    }
    approach = {"approach": "write both", "expected_outcomes": ["two files"], "alternatives": [{"name": "one file"}]}
    answers = [understanding("a.txt", "b.txt", complexity="complex"), approach, plan, fenced("x", "")]
    state = await bench.run("Write a.txt and b.txt.", answers)
    assert state.plan is not None
    one, two = state.plan.steps
    assert (one.allow_failure, two.priority, two.expected_tools) == (True, 3, ("write_file",))
    assert state.plan.estimated_duration == 2
    assert [r.status for r in state.steps.values()] == [StepStatus.SUCCEEDED, StepStatus.BLOCKED]
    assert state.validation is not None
    assert state.validation.output is not None
    assert [c.met for c in state.validation.output.criteria] == [True]


@pytest.mark.req("P4", "P21")
async def test_a_plan_with_an_impossible_field_is_refused_with_the_reason(bench: Bench) -> None:
    bad = submit(step("Write a.txt", when="rows >", checks=[{"kind": "text_matches", "value": "x"}]))
    good = submit(step("Write a.txt"))[2:]
    state = await bench.talk("Write a.txt.", [bad, good, [write("a.txt"), FINISH]])
    refused = results(bench.talker.requests[1])[-1]
    assert "'rows >' is no Python expression" in refused
    assert "text_matches 'x' names no file" in refused
    assert state.steps["s1"].status is StepStatus.SUCCEEDED


@pytest.mark.req("P16")
async def test_checks_of_the_plan_that_the_engine_may_not_run_are_told(bench: Bench) -> None:
    plan = submit(
        step(
            "Write a.txt",
            checks=[{"kind": "command", "value": "touch x"}, {"kind": "command", "value": "test -e a.txt"}],
        )
    )
    state = await bench.talk("Write a.txt.", [plan, [write("a.txt"), FINISH]], deny=("run_command(touch *)",))
    prompt = bench.talker.requests[1].messages[-1].content
    runs, not_run = prompt.split("finish_step does not run these checks of the plan")
    assert "- test -e a.txt (failed before the step)" in runs
    assert "Run them yourself before you finish the step:\n- touch x" in not_run
    assert state.outcome is not None
