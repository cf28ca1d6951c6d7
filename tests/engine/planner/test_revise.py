"""Revisions that a conversation asks for: the checks of the current step, and changes that cannot be used."""

from typing import Any

import pytest

from support.kit import Bench
from support.talk import results, submit
from surefoot.core.outcome import Verdict
from surefoot.core.transitions import StepStatus
from surefoot.engine.executor.conversation import REPLACE_CHECK
from surefoot.journal import events as e

WRITE = ("write_file", {"path": "a.txt", "content": "x\n"})
FINISH = ("finish_step", {"summary": "done"})
WRONG = {"kind": "command", "value": "grep -q y a.txt"}
RIGHT = {"kind": "command", "value": "grep -q x a.txt"}
OTHER = {"name": "Announce it", "description": "write b.txt", "after": [1]}


def change(**fields: Any) -> tuple[str, dict[str, Any]]:
    reason = fields.pop("reason", "the file has an x, not a y")
    return "change_steps", {"steps": [{"step": "s1", **fields}], "reason": reason}


def plan_of(*checks: dict[str, str]) -> list[Any]:
    return submit({"name": "Write a.txt", "description": "Write x into it.", "checks": list(checks)})


@pytest.mark.req("D3")
async def test_a_wrong_check_of_the_plan_is_replaced_while_its_step_runs(bench: Bench) -> None:
    script = [plan_of(WRONG), [WRITE, FINISH], [change(checks=[RIGHT]), FINISH]]
    state = await bench.talk("Write x into a.txt.", script)
    (refused,) = [t for t in results(bench.talker.requests[2]) if t.startswith("Not done")]
    assert REPLACE_CHECK in refused
    assert state.steps["s1"].status is StepStatus.SUCCEEDED
    assert state.steps["s1"].attempt == 1
    (revised,) = bench.events(e.PlanRevised)
    assert (revised.by, revised.reason) == ("model", "the file has an x, not a y")
    assert [check.label for check in revised.changed[0].checks] == [RIGHT["value"]]
    assert state.revisions == 1
    final = [r.check.label for r in bench.events(e.ChecksRan)[-1].results]
    assert final == [RIGHT["value"]]


@pytest.mark.req("D3", "X1")
async def test_a_check_of_the_user_is_never_replaced(bench: Bench) -> None:
    make_b = ("run_command", {"command": "echo z > b"})
    script = [plan_of(WRONG), [WRITE, change(checks=[RIGHT]), FINISH], [make_b, FINISH]]
    state = await bench.talk("Write x into a.txt.", script, checks=["grep -q z b"])
    outputs = results(bench.talker.requests[2])
    assert outputs[1].startswith("this step is now checked by: grep -q x a.txt, grep -q z b")
    assert "$ grep -q z b" in outputs[2]
    assert REPLACE_CHECK not in outputs[2], "the plan's check passes"
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED


@pytest.mark.req("D3")
async def test_replacing_needs_a_reason_and_only_checks_of_the_current_step_change(bench: Bench) -> None:
    script = [
        plan_of(WRONG),
        [WRITE, change(checks=[RIGHT], reason=""), change(description="something else")],
        [change(checks=[RIGHT], description="something else"), FINISH],
    ]
    state = await bench.talk("Write x into a.txt.", script)
    assert results(bench.talker.requests[2])[1:] == [
        "the plan was not changed: say in `reason` why the checks of this step are wrong",
        "the plan was not changed: this step has begun: only its checks can be replaced",
    ]
    assert state.steps["s1"].status is StepStatus.SUCCEEDED
    assert state.steps["s1"].step.description == "Write x into it."


@pytest.mark.req("D3", "O2")
@pytest.mark.parametrize("verb", ["add_steps", "change_steps"])
async def test_a_check_that_cannot_be_run_is_refused_and_the_run_goes_on(bench: Bench, verb: str) -> None:
    step = {"step": "s2", "name": "Announce it too", "description": "more", "checks": [{"value": " "}]}
    plan = submit({"name": "Write a.txt", "description": "Write x into it."}, OTHER)
    work = [("write_file", {"path": "b.txt", "content": "x\n"}), FINISH]
    state = await bench.talk("Write a.txt.", [plan, [(verb, {"steps": [step]}), WRITE, FINISH], work])
    refusals = [text for text in results(bench.talker.requests[2]) if "the plan was not changed" in text]
    assert refusals == ["the plan was not changed: a check of the kind command without a value"]
    assert [r.status for r in state.steps.values()] == [StepStatus.SUCCEEDED] * 2


@pytest.mark.req("D3", "O13")
async def test_every_given_field_of_a_changed_step_counts(bench: Bench) -> None:
    plan = submit({"name": "Write a.txt", "description": "Write x into it."}, OTHER)
    fields = {"tools": ["write_file"], "estimated_minutes": 3, "files": ["b.txt"], "type": "testing", "priority": 2}
    changed = ("change_steps", {"steps": [{"step": "s2", **fields}], "reason": "more is known"})
    work = [("write_file", {"path": "b.txt", "content": "x\n"}), FINISH]
    state = await bench.talk("Write a.txt.", [plan, [changed, WRITE, FINISH], work])
    step = state.steps["s2"].step
    assert (step.expected_tools, step.estimated_duration, step.expected_outputs) == (("write_file",), 3, ("b.txt",))
    assert (step.step_type, step.priority, step.name) == ("testing", 2, "Announce it")


def three_steps() -> list[Any]:
    return submit(
        {"name": "Write a.txt", "description": "Write x into it."},
        {"name": "Write b.txt", "description": "Write x into it.", "after": [1]},
        {"name": "Write c.txt", "description": "Write x into it.", "after": [1]},
    )


def after(*changes: tuple[str, list[int]]) -> tuple[str, dict[str, Any]]:
    return "change_steps", {"steps": [{"step": s, "after": n} for s, n in changes], "reason": "b needs c"}


def finish_writing(name: str) -> list[Any]:
    return [("write_file", {"path": name, "content": "x\n"}), FINISH]


def order(bench: Bench) -> list[str]:
    return [event.step_id for event in bench.events(e.StepStarted)]


@pytest.mark.req("A6", "D3")
async def test_a_change_that_would_make_a_cycle_is_refused_with_its_path(bench: Bench) -> None:
    script = [
        three_steps(),
        [after(("s2", [3]), ("s3", [2])), WRITE, FINISH],
        finish_writing("b.txt"),
        finish_writing("c.txt"),
    ]
    state = await bench.talk("Write three files.", script)
    output = results(bench.talker.requests[2])[0]
    assert output.startswith("the plan was not changed: ")
    assert "s2" in output
    assert "s3" in output
    assert not bench.events(e.PlanRevised)
    assert order(bench) == ["s1", "s2", "s3"]
    assert [r.status for r in state.steps.values()] == [StepStatus.SUCCEEDED] * 3


@pytest.mark.req("D3", "A1")
async def test_a_changed_order_of_steps_is_carried_out(bench: Bench) -> None:
    script = [
        three_steps(),
        [after(("s2", [3])), WRITE, FINISH],
        finish_writing("c.txt"),
        finish_writing("b.txt"),
    ]
    state = await bench.talk("Write three files.", script)
    assert results(bench.talker.requests[2])[0].startswith("the plan is now:")
    assert order(bench) == ["s1", "s3", "s2"]
    assert state.plan is not None
    assert [(d.step_id, d.depends_on) for d in state.plan.dependencies] == [("s3", "s1"), ("s2", "s3")]


@pytest.mark.req("D3")
async def test_a_step_can_be_made_to_wait_for_nothing_and_for_no_step_that_there_is_not(bench: Bench) -> None:
    script = [
        three_steps(),
        [after(("s3", [])), after(("s2", [7])), WRITE, FINISH],
        finish_writing("b.txt"),
        finish_writing("c.txt"),
    ]
    state = await bench.talk("Write three files.", script)
    free, unknown = results(bench.talker.requests[2])[:2]
    assert free.startswith("the plan is now:")
    assert unknown == "the plan was not changed: 's2' is to come after step 7, and there is none"
    assert state.plan is not None
    assert [(d.step_id, d.depends_on) for d in state.plan.dependencies] == [("s2", "s1")]
