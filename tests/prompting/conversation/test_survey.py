"""Submissions that cannot be read: a few repeats with the error, then the phase has failed."""

from typing import Any

import pytest

from support.kit import Bench
from support.talk import results, submit
from surefoot.core.outcome import Verdict
from surefoot.core.phases import PhaseStatus
from surefoot.core.transitions import StepStatus
from surefoot.journal import events as e

UNREADABLE = ("submit_plan", {"steps": "first this, then that"})
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
