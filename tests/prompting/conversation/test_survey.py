"""Submissions that cannot be read: a few repeats with the error, then the phase has failed."""

from typing import Any, Literal

import pytest

from support.kit import NO_RETRIES, Bench
from support.talk import results, submit
from surefoot.core.outcome import Verdict
from surefoot.core.phases import PhaseStatus
from surefoot.core.transitions import StepStatus
from surefoot.journal import events as e
from surefoot.models.base import ModelTraits
from surefoot.workspace.sandbox.sandbox import choose_sandbox

UNREADABLE = ("submit_plan", {"steps": "first this, then that"})
FINISH = ("finish_step", {"summary": "done"})
WORK = [("write_file", {"path": "a.txt", "content": "x"}), ("finish_step", {"summary": "done"})]


@pytest.mark.req("O2", "A14", "P11")
async def test_a_plan_that_cannot_be_read_is_asked_for_a_few_times_then_the_fallback_is_used(bench: Bench) -> None:
    first = [*submit()[:2], UNREADABLE]
    state = await bench.talk("Write a.txt.", [first, *[[UNREADABLE]] * 3, WORK])
    for request in bench.talker.requests[1:4]:
        assert "This cannot be used: steps: Input should be a valid list" in results(request)[-1]
    refused = [event for event in bench.events(e.GateRefused) if event.phase == "planning"]
    assert len(refused) == 4, "the first submission, and max_retries_per_phase more"
    assert all("could not be read: steps" in event.messages[0] for event in refused)
    assert state.planning is not None
    assert state.planning.status is PhaseStatus.SKIPPED
    assert "fallback plan: the whole task as one step" in str(state.planning.validation)
    assert [r.status for r in state.steps.values()] == [StepStatus.SUCCEEDED]
    assert bench.files() == {"a.txt": "x"}


@pytest.mark.req("O2", "P20")
async def test_an_understanding_that_cannot_be_read_ends_the_run_after_a_few_times(bench: Bench) -> None:
    turn: list[Any] = [("submit_understanding", {"requirements": ["a.txt"]})]
    state = await bench.talk("Write a.txt.", [turn] * 4)
    assert len(bench.talker.requests) == 4
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.FAILED
    assert "understanding: Field required" in state.outcome.summary


@pytest.mark.req("O2")
async def test_one_unreadable_submission_is_corrected_in_place(bench: Bench) -> None:
    state = await bench.talk("Write a.txt.", [[*submit()[:2], UNREADABLE], submit()[2:], WORK])
    assert len(bench.talker.requests) == 3
    assert state.planning is not None
    assert (state.planning.status, state.planning.retry_count) == (PhaseStatus.SUCCESS, 1)


@pytest.mark.req("X11")
async def test_output_of_a_finish_in_the_planning_reply_is_shown_once(bench: Bench) -> None:
    bench.write(fails__py="raise SystemExit('the sum is odd')\n")
    write = ("write_file", {"path": "a.txt", "content": "x"})
    finish = ("finish_step", {"summary": "done"})
    mend = ("write_file", {"path": "fails.py", "content": "pass\n"})
    script = [[*submit(), write, finish], [mend, finish]]
    state = await bench.talk("Write a.txt.", script, checks=["python3 fails.py"])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    new = [item.content for item in bench.talker.requests[1].messages[3:]]
    assert "\n".join(new).count("the sum is odd") == 1
    assert "Not done, this fails" in "\n".join(new)
    assert any("# Step s1" in text for text in new)


@pytest.mark.req("X11")
async def test_a_check_that_the_work_broke_is_not_said_to_have_failed_before(bench: Bench) -> None:
    bench.write(ok__py="pass\n")
    spoil = ("write_file", {"path": "ok.py", "content": "raise SystemExit('the sum is odd')\n"})
    mend = ("write_file", {"path": "ok.py", "content": "print()\n"})
    script = [[*submit(), spoil, FINISH], [mend, FINISH]]
    await bench.talk("Print a line.", script, checks=["python3 ok.py"])
    new = "\n".join(item.content for item in bench.talker.requests[1].messages[3:])
    assert "- python3 ok.py (passed before the step, failed at your last finish_step)" in new
    assert "at the start of the step" not in new


@pytest.mark.req("X11", "P20")
async def test_work_after_a_simple_understanding_is_that_of_its_one_step(bench: Bench) -> None:
    understanding = submit(complexity="simple")[:1]
    state = await bench.talk("Write a.txt.", [[*understanding, *WORK]], checks=["grep -q x a.txt"])
    assert len(bench.talker.requests) == 1
    assert bench.files() == {"a.txt": "x"}
    assert [r.status for r in state.steps.values()] == [StepStatus.SUCCEEDED]


@pytest.mark.req("P20")
@pytest.mark.parametrize(
    ("understanding", "told"),
    [
        ({"complexity": "moderate"}, "write_file may change something: first submit the plan with submit_plan."),
        ({"complexity": "simple", "requirements": []}, "Not executed: work begins when a plan is accepted."),
    ],
    ids=["not simple", "refused"],
)
async def test_work_after_another_understanding_waits_for_a_plan(
    bench: Bench, understanding: dict[str, Any], told: str
) -> None:
    script = [[*submit(**understanding)[:1], *WORK], [*submit(), *WORK]]
    await bench.talk("Write a.txt.", script, checks=["test -f a.txt"])
    assert len(bench.talker.requests) == 2
    assert results(bench.talker.requests[1])[1] == told


@pytest.mark.req("P20")
async def test_all_phases_are_needed_where_the_user_wants_them(bench: Bench) -> None:
    plan, understanding = submit()[2:], submit(complexity="simple")[:1]
    script = [[*plan, *WORK], understanding, [submit()[1]], WORK]
    state = await bench.talk("Write a.txt.", script, checks=["test -f a.txt"], phases="full")
    assert results(bench.talker.requests[1])[0].startswith("Kept.")
    assert state.understanding is not None
    assert state.understanding.status is PhaseStatus.SUCCESS


@pytest.mark.req("P20", "P11")
async def test_a_kept_plan_is_judged_once(bench: Bench) -> None:
    cyclic = (
        "submit_plan",
        {"steps": [{"name": f"Part {n}", "description": "a.txt", "after": [3 - n]} for n in (1, 2)]},
    )
    look: tuple[str, dict[str, Any]] = ("list_files", {})
    script = [[cyclic], submit()[:2], [look], submit()[2:], WORK]
    await bench.talk("Write a.txt.", script, phases="full")
    refused = [event for event in bench.events(e.GateRefused) if event.phase == "planning"]
    assert len(refused) == 1
    assert "in a cycle: step 1 -> step 2 -> step 1" in refused[0].messages[0]


async def test_where_only_a_plan_is_asked_for_no_work_is_invited(bench: Bench) -> None:
    state = await bench.talk("Write a.txt.", [[*submit(), *WORK]], phases="plan")
    assert bench.files() == {}
    assert state.plan is not None
    prompt = "\n".join(item.content for item in bench.talker.requests[0].messages)
    assert "work of the first step" not in prompt
    assert prompt.count("Only a plan is asked for: nothing is carried out now") == 2


@pytest.mark.req("X11")
async def test_what_failed_before_the_run_is_not_repeated_after_the_plan(bench: Bench) -> None:
    """The work has begun in the reply with the plan: the old output would look as if it had not helped."""
    bench.write(fails__py="raise SystemExit('the sum is odd')\n")
    mend = ("write_file", {"path": "fails.py", "content": "pass\n"})
    script = [[*submit(), mend], [("finish_step", {"summary": "done"})]]
    state = await bench.talk("Mend it.", script, checks=["python3 fails.py"])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    first, second = bench.talker.requests
    assert "- python3 fails.py (failed before the run)" in first.messages[1].content
    assert "the sum is odd" in first.messages[1].content
    new = "\n".join(item.content for item in second.messages[3:])
    assert "- python3 fails.py (failed before the step)" in new
    assert "the sum is odd" not in new


@pytest.mark.parametrize("edit_format", ["edit_file", "apply_patch"])
async def test_the_system_text_names_the_tool_that_edits(
    bench: Bench, edit_format: Literal["edit_file", "apply_patch"]
) -> None:
    traits = ModelTraits(tools="native", context_tokens=200_000, edit_format=edit_format)
    await bench.talk("Write a.txt.", [submit(), WORK], traits=traits)
    offered = {tool.name for tool in bench.talker.requests[0].tools}
    assert f"{edit_format} for changes" in bench.talker.requests[0].messages[0].content
    assert offered & {"edit_file", "apply_patch"} == {edit_format}


FRUITLESS: dict[str, list[Any]] = {
    "no such tool": [("submit_planning", {"steps": []})],
    "no such argument": [("read_file", {"pth": "a.txt"})],
    "work before the plan": [("finish_step", {"summary": "done"})],
    "the same look": [("read_file", {"path": "spec.md"})],
}


@pytest.mark.req("O2", "P11", "D11")
@pytest.mark.parametrize("turn", FRUITLESS.values(), ids=FRUITLESS.keys())
async def test_turns_that_bring_nothing_are_told_what_is_missing_and_end_soon(bench: Bench, turn: list[Any]) -> None:
    bench.write(spec__md="Write x into a.txt.")
    state = await bench.talk("Write a.txt.", [turn] * 40)
    assert len(bench.talker.requests) <= 13, "three turns for each attempt at the phase"
    prompt = "\n".join(item.content for item in bench.talker.requests[2].messages)
    assert "Still missing: submit_understanding and submit_plan. Look" in prompt
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.FAILED
    assert "the model did not submit an understanding: it " in state.outcome.summary


@pytest.mark.req("O2", "P11", "R4")
async def test_a_replan_without_a_plan_ends_soon_as_the_loop_that_it_is(bench: Bench) -> None:
    """The step ended for lack of progress; then the model goes on with work that is refused."""
    useless = [("write_file", {"path": "b.txt", "content": "b"}), ("finish_step", {"summary": "done"})]
    checks = ["test -f a.txt"]
    state = await bench.talk("Write a.txt.", [submit(), *[useless] * 40], checks=checks, reflection=NO_RETRIES)
    replanned = next(
        n for n, request in enumerate(bench.talker.requests) if "A new plan is needed" in request.messages[-1].content
    )
    assert "call cannot and say why" in bench.talker.requests[replanned].messages[-1].content
    assert len(bench.talker.requests) - replanned == 3, "the tries of the gate are not begun anew"
    prompt = bench.talker.requests[-1].messages[-1].content
    assert prompt.startswith("Still missing: submit_plan")
    assert "call cannot and say why" in prompt
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.LOOP
    assert state.outcome.summary.startswith("the model did not submit a plan: it made calls that bring nothing; before")
    assert "no progress" in state.outcome.summary


@pytest.mark.req("O2")
async def test_an_unreadable_plan_is_told_before_its_understanding_is_there(bench: Bench) -> None:
    state = await bench.talk("Write a.txt.", [[UNREADABLE], submit(), WORK])
    assert results(bench.talker.requests[1]) == ["This cannot be used: steps: Input should be a valid list"]
    assert bench.talker.requests[1].messages[-1].content.startswith("Still missing: submit_understanding")
    assert [r.status for r in state.steps.values()] == [StepStatus.SUCCEEDED]


@pytest.mark.req("O2", "A14", "P11")
async def test_a_model_that_submits_only_unreadable_plans_gets_the_task_as_one_step(bench: Bench) -> None:
    """Twelve turns without an understanding, three more for the plan; then the work begins."""
    state = await bench.talk("Write a.txt.", [*[[UNREADABLE]] * 15, WORK])
    assert state.understanding is not None
    assert state.planning is not None
    assert (state.understanding.status, state.planning.status) == (PhaseStatus.SKIPPED, PhaseStatus.SKIPPED)
    assert any("going on with the fallback plan" in warning for warning in state.warnings)
    assert [r.status for r in state.steps.values()] == [StepStatus.SUCCEEDED]


@pytest.mark.req("D11", "X11")
async def test_new_looks_are_progress_however_many_there_are(bench: Bench) -> None:
    for number in range(12):
        (bench.root / f"{number}.md").write_text(f"part {number}")
    looks: list[Any] = [[("read_file", {"path": f"{number}.md"})] for number in range(12)]
    state = await bench.talk("Write a.txt.", [*looks, submit(), WORK])
    assert not bench.events(e.GateRefused)
    assert [r.status for r in state.steps.values()] == [StepStatus.SUCCEEDED]
    assert not any("Still missing" in item.content for item in bench.talker.requests[-1].messages)


@pytest.mark.req("A14", "P20")
async def test_a_plan_without_understanding_is_accepted_at_once(bench: Bench) -> None:
    """The task itself takes the place of the understanding, and says that nothing was judged."""
    plan = submit({"name": "Write the file", "description": "a.txt"})[2:]
    state = await bench.talk("Write a.txt.", [[*plan, *WORK]])
    (used,) = (event.result for event in bench.events(e.Understood))
    assert used.status is PhaseStatus.SKIPPED
    assert used.validation.confidence == 0
    assert "the task is taken as it is written" in used.validation.messages[0]
    assert not bench.events(e.GateRefused)
    assert bench.files() == {"a.txt": "x"}
    assert [(r.step.name, r.status) for r in state.steps.values()] == [("Write the file", StepStatus.SUCCEEDED)]


@pytest.mark.req("P20")
async def test_a_plan_alone_is_accepted_after_turns_without_a_submission(bench: Bench) -> None:
    state = await bench.talk("Write a.txt.", [*["Well."] * 3, [*submit()[2:], *WORK]])
    assert "or call submit_understanding and submit_plan." in bench.talker.requests[1].messages[-1].content
    assert len(bench.talker.requests) == 4
    assert bench.files() == {"a.txt": "x"}
    assert state.understanding is not None
    assert state.understanding.status is PhaseStatus.SKIPPED


@pytest.mark.req("P20")
async def test_a_plan_alone_does_not_evade_the_gate_of_a_refused_understanding(bench: Bench) -> None:
    refused, plan = submit(requirements=[])[:1], submit()[2:]
    state = await bench.talk("Write a.txt.", [refused, plan, submit()[:1], WORK])
    assert results(bench.talker.requests[2])[0].startswith("Kept.")
    assert state.understanding is not None
    assert state.understanding.status is PhaseStatus.SUCCESS


@pytest.mark.parametrize("network", [False, True])
@pytest.mark.parametrize("sandbox", ["auto", "off"])
async def test_the_model_is_told_whether_commands_can_reach_the_network(
    bench: Bench, sandbox: Literal["auto", "off"], network: bool
) -> None:
    """Without a sandbox nothing keeps commands from the network, whatever the setting says."""
    await bench.talk("Write a.txt.", [submit(), WORK], sandbox=sandbox, network=network)
    confined = choose_sandbox(sandbox, bench.root, state_folders=[])[0] is not None
    access = "without" if confined and not network else "with"
    assert f"in the folder's root, {access} access to the network. They" in bench.talker.requests[0].messages[0].content
