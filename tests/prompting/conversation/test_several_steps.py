"""Calls after a finish_step belong to the next step, so that one reply can do several steps."""

from typing import Any

import pytest

from support.kit import Bench
from support.talk import assert_valid, results, submit
from surefoot.core.outcome import Verdict
from surefoot.journal import events as e

CHECK = "grep right a.txt && grep right b.txt && grep right c.txt"
FINISH = ("finish_step", {"summary": "done"})


def _step(name: str, *after: int) -> dict[str, Any]:
    checks = [{"kind": "command", "value": f"grep right {name}.txt"}]
    return {"name": f"Write {name}", "description": "", "after": list(after), "checks": checks}


def _write(name: str, text: str = "right") -> tuple[str, dict[str, str]]:
    return "write_file", {"path": f"{name}.txt", "content": text}


PLAN = submit(_step("a"), _step("b", 1), _step("c", 2))


@pytest.mark.req("X11")
async def test_a_reply_can_do_all_steps(bench: Bench) -> None:
    reply = [*PLAN, _write("a"), FINISH, _write("b"), FINISH, _write("c"), FINISH]
    state = await bench.talk("Write three files.", [reply], checks=[CHECK])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    assert len(bench.talker.requests) == 1
    written = {step.step_id: step.output.generated_files for step in bench.events(e.StepFinished) if step.output}
    assert written == {"s1": ("a.txt",), "s2": ("b.txt",), "s3": ("c.txt",)}


async def test_behind_a_red_finish_nothing_is_changed(bench: Bench) -> None:
    first = [*PLAN, _write("a", "wrong"), FINISH, _write("b"), FINISH]
    again = [_write("a"), FINISH, _write("b"), FINISH, _write("c"), FINISH]
    state = await bench.talk("Write three files.", [first, again], checks=[CHECK])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    _, failed, write, finish = results(bench.talker.requests[1])[3:]
    assert failed.startswith("Not done, this fails")
    assert write == finish == "Not executed, because step s1 is not finished."
    assert len(bench.talker.requests) == 2


async def test_a_later_step_that_fails_is_told_with_all_results_of_the_reply(bench: Bench) -> None:
    first = [*PLAN, _write("a"), FINISH, _write("b", "wrong"), FINISH, _write("c"), FINISH]
    again = [_write("b"), FINISH, _write("c"), FINISH]
    state = await bench.talk("Write three files.", [first, again], checks=[CHECK])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    request = bench.talker.requests[1]
    assert_valid(request)
    a, done, b, red, c, finish = results(request)[3:]
    assert a.startswith("created a.txt")
    assert done.startswith("Step s1 is done.")
    assert b.startswith("created b.txt")
    assert red.startswith("Not done, this fails")
    assert c == finish == "Not executed, because step s2 is not finished."
    assert request.messages[-1].content.startswith("# Step s2: Write b")


async def test_calls_behind_the_last_step_are_not_executed(bench: Bench) -> None:
    state = await bench.talk(
        "Write a.", [[*submit(_step("a")), _write("a"), FINISH, _write("b")]], checks=["grep right a.txt"]
    )
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    assert "b.txt" not in bench.files()


async def test_of_steps_that_run_together_the_first_gets_the_calls(bench: Bench) -> None:
    plan = submit(_step("a"), _step("b", 1), _step("c", 1))
    script = [[*plan, _write("a"), FINISH, _write("b"), FINISH], [_write("c"), FINISH]]
    state = await bench.talk("Write three files.", script, checks=[CHECK])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    written = {step.step_id: step.output.generated_files for step in bench.events(e.StepFinished) if step.output}
    assert written == {"s1": ("a.txt",), "s2": ("b.txt",), "s3": ("c.txt",)}


async def test_a_step_that_starts_again_does_not_get_the_calls_again(bench: Bench) -> None:
    first = [*PLAN, _write("a"), FINISH, _write("b", "wrong"), FINISH]
    script = [first, [FINISH], [FINISH], [FINISH], [("diagnose", {"root_cause": "wrong text"})]]
    bench_script = [*script, [_write("b"), FINISH], [_write("c"), FINISH]]
    state = await bench.talk("Write three files.", bench_script, checks=[CHECK])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    wrong = [event for event in bench.events(e.ActionStarted) if event.arguments.get("path") == "b.txt"]
    assert [event.call_id for event in wrong] == list(dict.fromkeys(event.call_id for event in wrong))
