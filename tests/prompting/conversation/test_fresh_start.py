"""After a failure, at default settings: a fresh branch on the same prefix, and the survey goes on for a new plan."""

import pytest

from support.kit import Bench
from support.talk import submit
from surefoot.core.outcome import Verdict
from surefoot.journal import events as e

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
    assert "All files are as before that attempt, also junk.txt, calc.py, which it had changed." in prompt
    assert "no progress" in prompt


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
    assert "the sign is read from a file that is missing" in prompt
    assert "a * b" not in "".join(item.content for item in again.messages), "what was undone is not shown as done"
