"""Files that somebody changes while a run has stopped: the run is told of them, and takes nothing over silently."""

import asyncio
from typing import Any

import pytest

from support.kit import Bench
from support.talk import Call, results, submit
from surefoot.core.outcome import Verdict
from surefoot.core.transitions import Stage, StepStatus
from surefoot.errors import ModelRejected, RestoreConflict
from surefoot.history.undo import undo
from surefoot.journal import events as e
from surefoot.journal.messages import AnswerMessage
from surefoot.models.base import ModelRequest

MISSING: Call = ("cannot", {"reason": "data/countries.csv is missing"})
FINISH: Call = ("finish_step", {"summary": "done"})
READ: Call = ("read_file", {"path": "a.py"})


def writing(path: str, content: str) -> Call:
    return ("write_file", {"path": path, "content": content})


def cancel_run(_: ModelRequest) -> Any:
    raise asyncio.CancelledError


def add_countries(bench: Bench) -> None:
    (bench.root / "data").mkdir()
    (bench.root / "data/countries.csv").write_text("France\n")


async def interrupted(bench: Bench) -> str:
    """Return a run that was interrupted after it changed a.py, and after which the user added a line to that file."""
    bench.write(a__py="one = 1\n", b__py="b = 1\n")
    with pytest.raises(asyncio.CancelledError):
        await bench.talk("Set one to 2.", [submit(), [READ, writing("a.py", "one = 2\n")], cancel_run])
    (bench.root / "a.py").write_text("one = 2\nusers = 3\n")
    return bench.journal.find("last")


@pytest.mark.req("P14")
async def test_a_blocked_run_asks_the_model_again_when_a_person_resumes_it(bench: Bench) -> None:
    state = await bench.talk("Sum up data/countries.csv.", [[MISSING]])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.BLOCKED
    add_countries(bench)
    work = [writing("sum.txt", "1\n"), FINISH]
    state = await bench.talk_on(state.run_id, [submit(), work])
    (answer,) = results(bench.talker.requests[0])
    assert answer == ("The user resumed the run. These files are new or changed since: data/countries.csv. Look again.")
    assert bench.talker.requests[0].messages[-1].role == "tool", "it is told once"
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.UNVERIFIED
    assert state.outcome.changed_files == ("sum.txt",), "the file of the user is not the run's"
    assert any("data/countries.csv" in warning for warning in state.outcome.warnings)


@pytest.mark.req("P14")
async def test_a_run_that_is_blocked_again_does_not_claim_the_files_of_the_user(bench: Bench) -> None:
    state = await bench.talk("Sum up data/countries.csv.", [[MISSING]])
    add_countries(bench)
    for _ in range(2):
        state = await bench.talk_on(state.run_id, [[MISSING]])
        assert bench.talker.left == 0, "the model is asked"
        assert state.outcome is not None
        assert state.outcome.verdict is Verdict.BLOCKED
        assert state.outcome.changed_files == ()
        assert state.outcome.diagnosis is not None
        assert state.outcome.diagnosis.left_behind == ()
    assert results(bench.talker.requests[0]) == ["The user resumed the run. Look again."]


@pytest.mark.req("P14", "A11")
async def test_a_process_that_ends_before_the_answer_asks_the_same_question(bench: Bench) -> None:
    run_id = (await bench.talk("Sum up data/countries.csv.", [[MISSING]])).run_id
    add_countries(bench)
    with pytest.raises(asyncio.CancelledError):
        await bench.talk_on(run_id, [cancel_run])
    first = bench.talker.requests[0].fingerprint()
    state = await bench.talk_on(run_id, [[MISSING]])
    assert [request.fingerprint() for request in bench.talker.requests] == [first]
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.BLOCKED


@pytest.mark.req("P14")
async def test_a_step_that_could_not_be_done_is_asked_for_again_with_the_new_files(bench: Bench) -> None:
    state = await bench.talk("Sum up data/countries.csv.", [submit(), [MISSING]])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.FAILED
    add_countries(bench)
    state = await bench.talk_on(state.run_id, [[writing("sum.txt", "1\n"), FINISH]])
    assert (
        "changed these files. Look at them again: data/countries.csv" in bench.talker.requests[0].messages[-1].content
    )
    assert state.outcome is not None
    assert state.outcome.changed_files == ("sum.txt",)


@pytest.mark.req("P14", "X2")
async def test_changes_by_others_while_a_run_had_stopped_are_named_and_told_to_the_model(bench: Bench) -> None:
    run_id = await interrupted(bench)
    bench.write(new__txt="new\n")
    state = await bench.talk_on(run_id, [[FINISH]])
    (warning,) = [event.message for event in bench.events(e.Warned) if "interrupted" in event.message]
    assert "not by it: a.py, new.txt; undo" in warning
    told = [item.content for item in bench.talker.requests[0].messages if "somebody else" in item.content]
    assert told == ["While the run had stopped, somebody else changed these files. Look at them again: a.py, new.txt"]
    assert state.outcome is not None
    assert state.outcome.changed_files == ("a.py",)


@pytest.mark.req("P14", "X2")
async def test_nothing_is_said_if_nobody_changed_anything(bench: Bench) -> None:
    run_id = await interrupted(bench)
    bench.write(a__py="one = 2\n")
    state = await bench.talk_on(run_id, [[FINISH]])
    assert state.warnings == []
    assert not any("somebody else" in item.content for item in bench.talker.requests[0].messages)


@pytest.mark.req("P13", "X2")
async def test_undo_stops_at_a_file_that_the_user_changed_while_the_run_had_stopped(bench: Bench) -> None:
    run_id = await interrupted(bench)
    bench.write(b__py="b = 2\n")
    await bench.talk_on(run_id, [[FINISH]])
    with pytest.raises(RestoreConflict) as refused:
        await undo(bench.journal, bench.home, run_id)
    assert refused.value.paths == ("a.py",)
    assert bench.files() == {"a.py": "one = 2\nusers = 3\n", "b.py": "b = 2\n"}
    undone = await undo(bench.journal, bench.home, run_id, force=True)
    assert undone is not None
    assert bench.files() == {"a.py": "one = 1\n", "b.py": "b = 2\n"}
    await undo(bench.journal, bench.home, run_id, to=undone.current)
    assert bench.files() == {"a.py": "one = 2\nusers = 3\n", "b.py": "b = 2\n"}, "nothing is lost"


@pytest.mark.req("P13", "X2")
async def test_undo_stops_at_an_edit_right_after_the_interruption(bench: Bench) -> None:
    run_id = await interrupted(bench)
    with pytest.raises(RestoreConflict):
        await undo(bench.journal, bench.home, run_id)


@pytest.mark.req("P13", "X2")
@pytest.mark.parametrize("answer", ["keep", "overwrite"])
async def test_the_rollback_of_a_step_asks_about_a_file_that_the_user_changed_too(bench: Bench, answer: str) -> None:
    run_id = await interrupted(bench)
    state = await bench.talk_on(run_id, [[("cannot", {"reason": "it contradicts itself"})]])
    assert state.stage is Stage.WAITING
    (question,) = state.open_questions
    assert "a.py" in question.text
    assert bench.files()["a.py"] == "one = 2\nusers = 3\n"
    bench.journal.send(run_id, AnswerMessage(question_id=question.id, answer=answer))
    work = [writing("c.py", "c = 1\n"), FINISH]
    again: list[Any] = [work] if answer == "keep" else []
    state = await bench.talk_on(run_id, again)
    assert bench.files()["a.py"] == ("one = 2\nusers = 3\n" if answer == "keep" else "one = 1\n")


@pytest.mark.req("P13", "X2")
async def test_a_run_that_stops_within_a_step_leaves_a_file_that_the_user_changed_too(bench: Bench) -> None:
    run_id = await interrupted(bench)
    work = [writing("c.py", "c = 1\n")]
    state = await bench.talk_on(run_id, [work, ModelRejected("gone")])
    assert bench.files() == {"a.py": "one = 2\nusers = 3\n", "b.py": "b = 1\n"}
    assert "changed by the run and by somebody else, so left as it is: a.py" in state.warnings
    assert [step_run.status for step_run in state.steps.values()] == [StepStatus.PENDING]
