"""After a failure, at default settings: a fresh branch on the same prefix, and the survey goes on for a new plan."""

import pytest

from support.kit import Bench
from support.talk import submit
from surefoot.core.outcome import Verdict
from surefoot.journal import events as e
from surefoot.models.base import ModelRequest

CHECK = "python3 -c 'from calc import add; assert add(1, 2) == 3'"
FINISH = ("finish_step", {"summary": "done"})


def edit(to: str) -> tuple[str, dict[str, str]]:
    return ("edit_file", {"path": "calc.py", "search": "a - b", "replace": to})


@pytest.fixture
def calc(bench: Bench) -> Bench:
    bench.write(calc__py="def add(a, b):\n    return a - b\n")
    return bench


@pytest.mark.req("X11", "D5")
async def test_a_fresh_start_is_a_new_branch_on_the_same_prefix(calc: Bench) -> None:
    failing = [[edit("a * b"), ("write_file", {"path": "junk.txt", "content": "x"}), FINISH], *[[FINISH]] * 2]
    # The step is planned again first; a model that has nothing to change says so.
    script = [submit(), *failing, "The step is right as it is.", [edit("a + b"), FINISH]]
    state = await calc.talk("Fix add.", script, checks=[CHECK])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED, state.outcome.summary
    (rolled_back,) = calc.events(e.RolledBack)
    assert sorted(rolled_back.paths) == ["calc.py", "junk.txt"]
    assert calc.files() == {"calc.py": "def add(a, b):\n    return a + b\n"}
    fresh = next(event for event in calc.events(e.ConversationOpened) if event.reason == "a fresh start")
    survey, last = calc.talker.requests[0], calc.talker.requests[-1]
    assert last.tools == survey.tools
    assert last.messages[: len(survey.messages)] == survey.messages, "byte for byte: the server has it in its cache"
    assert fresh.keep > len(survey.messages), "the plan is part of it"
    prompt = last.messages[-1].content
    assert "All files that it had changed are as before that attempt: junk.txt, calc.py." in prompt
    assert prompt.count("no progress") == 1
    assert "Next time: plan this step differently." in prompt


@pytest.mark.req("X11", "D5")
async def test_files_that_the_user_changed_meanwhile_are_not_named_as_restored(calc: Bench) -> None:
    def edit_beside(request: ModelRequest) -> list[tuple[str, dict[str, str]]]:
        (calc.root / "notes.txt").write_text("mine")
        return [edit("a * b"), FINISH]

    script = [submit(), edit_beside, [FINISH], [FINISH], "It is right.", [edit("a + b"), FINISH]]
    state = await calc.talk("Fix add.", script, checks=[CHECK])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED, state.outcome.summary
    assert calc.files()["notes.txt"] == "mine"
    prompt = calc.talker.requests[-1].messages[-1].content
    assert "All files that it had changed are as before that attempt: calc.py." in prompt
    assert "notes.txt" not in prompt


@pytest.mark.req("X11", "D5")
async def test_a_call_after_a_failure_is_told_why_it_was_not_executed(calc: Bench) -> None:
    """The engine asks for the step in another form. Other calls of the answer are not carried out."""
    change = ("change_steps", {"steps": [{"step": "s1", "description": "Add."}]})
    failing = [[edit("a * b"), FINISH], *[[FINISH]] * 2]
    script = [submit(), *failing, [change, edit("a + b"), FINISH], [edit("a + b"), FINISH]]
    await calc.talk("Fix add.", script, checks=[CHECK])
    texts = [calc.journal.get_blob(event.result).decode() for event in calc.events(e.CallAnswered)]
    assert "Noted." in texts
    assert texts.count("This was not executed: the attempt has ended, and only change_steps was asked for.") == 2


@pytest.mark.req("X11", "D5")
async def test_a_new_plan_continues_the_survey_with_what_failed(calc: Bench) -> None:
    replan = [edit("a * b"), ("replan", {"reason": "the sign is read from a file that is missing"})]
    script = [submit(), replan, submit()[2:], [edit("a + b"), FINISH]]
    state = await calc.talk("Fix add.", script, checks=[CHECK])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED, state.outcome.summary
    survey, again = calc.talker.requests[0], calc.talker.requests[2]
    assert again.messages[: len(survey.messages)] == survey.messages
    assert [event.conversation for event in calc.events(e.ModelAnswered)][:3:2] == ["c1", "c1"]
    prompt = again.messages[-1].content
    assert "# What failed" in prompt
    assert prompt.count("the sign is read from a file that is missing") == 1
    assert "a * b" not in "".join(item.content for item in again.messages), "what was undone is not shown as done"
