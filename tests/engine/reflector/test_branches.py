"""Candidates of a conversation: branches of it at the same message, in copies of the workspace. The checks choose."""

import re
from typing import Any

import pytest

from support.kit import Bench
from support.talk import TalkingModel, submit
from surefoot.core.outcome import Verdict
from surefoot.core.transitions import Rung
from surefoot.engine.loop import start_run
from surefoot.engine.runtime.services import Services
from surefoot.journal import events as e
from surefoot.models.base import ModelRequest
from surefoot.models.items import AssistantTurn

CHECK = "python3 -c 'from calc import add; assert add(1, 2) == 3'"
FINISH = ("finish_step", {"summary": "done"})
LIMITS = {"candidates": 3, "max_step_retries": 2}


def edit(to: str) -> Any:
    return ("edit_file", {"path": "calc.py", "search": "a - b", "replace": to})


RED = [[edit("a // b"), ("write_file", {"path": "trace.txt", "content": "x"}), FINISH], [FINISH], [FINISH]]
GREEN = [[("run_command", {"command": "echo new > new.txt"}), edit("a + b")], [("check", {}), FINISH]]


@pytest.fixture
def calc(bench: Bench) -> Bench:
    bench.write(calc__py="def add(a, b):\n    return a - b\n")
    return bench


def scripted(*candidates: list[Any], then: str = "*", reasons: int = 200) -> list[Any]:
    """A model that fails until it works on candidates. It decides by what it is shown."""

    def answer(request: ModelRequest) -> Any:
        items = request.messages
        if "Say why with diagnose" in items[-1].content:
            return [("diagnose", {"category": "parameter_error", "root_cause": "the sign", "fix": "another"})]
        starts = [at for at, item in enumerate(items) if item.role == "user" and "# Step " in item.content]
        if not starts:
            return submit()
        turns = sum(isinstance(item, AssistantTurn) for item in items[starts[-1] :])
        if number := re.search(r"# Candidate (\d)", items[starts[-1]].content):
            return candidates[int(number.group(1)) - 1][turns]
        fresh = "earlier attempt at this step failed" in items[starts[-1]].content
        return [edit(f"a {then if fresh else '*'} b"), FINISH] if turns == 0 else [FINISH]

    return [answer] * reasons


async def run(bench: Bench, script: list[Any], **limits: Any) -> Any:
    return await bench.talk("Fix add.", script, checks=[CHECK], reflection={**LIMITS, **limits})


@pytest.mark.req("D5", "X11")
async def test_the_first_branch_whose_checks_pass_is_taken_and_the_others_leave_no_trace(calc: Bench) -> None:
    state = await run(calc, scripted(RED, GREEN))
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED, state.outcome.summary
    assert Rung.CANDIDATES in [event.rung for event in calc.events(e.RungChosen)]
    tried = calc.events(e.CandidateTried)
    assert [candidate.number for candidate in tried] == [1, 2], "no third one is asked for"
    assert calc.files() == {"calc.py": "def add(a, b):\n    return a + b\n", "new.txt": "new\n"}
    opened = {event.conversation: event for event in calc.events(e.ConversationOpened)}
    branches = [opened[candidate.conversation] for candidate in tried]
    assert [branch.candidate for branch in branches] == [1, 2]
    assert {(branch.parent, branch.keep) for branch in branches} == {("c1", branches[0].keep)}, "the same message"
    first, second = (next(r for r in calc.talker.requests if f"# Candidate {n} of 3" in _texts(r)) for n in (1, 2))
    shared = branches[0].keep
    assert first.messages[:shared] == second.messages[:shared], "servers have the beginning in their cache"
    assert "a // b" in second.messages[-1].content, "it is told what the first one did"


async def test_without_a_passing_branch_nothing_is_taken(calc: Bench) -> None:
    limits = {"max_single_step_repairs": 0, "max_task_replanning_attempts": 0, "max_consecutive_failures": 2}
    state = await run(calc, scripted(RED, RED, RED), **limits)
    assert [candidate.number for candidate in calc.events(e.CandidateTried)][:3] == [1, 2, 3]
    assert calc.files() == {"calc.py": "def add(a, b):\n    return a - b\n"}
    assert state.outcome is None or state.outcome.verdict is not Verdict.VERIFIED


class Cut(BaseException):
    """Stands for the end of the process."""


@pytest.mark.req("P14")
@pytest.mark.parametrize("where", ["in a branch", "while it is taken"])
async def test_a_killed_process_goes_on_in_the_branch_and_asks_nothing_twice(calc: Bench, where: str) -> None:
    def cut(record: e.Record) -> None:
        event = record.event
        in_branch = isinstance(event, e.CallAnswered) and event.tool == "edit_file" and event.conversation == second()
        taken = isinstance(event, e.ActionFinished) and bool(calc.events(e.CandidateTried)[1:])
        if in_branch if where == "in a branch" else taken:
            raise Cut

    def second() -> str:
        return next((event.conversation for event in calc.events(e.ConversationOpened) if event.candidate == 2), "")

    services = Services(calc.journal, TalkingModel(scripted(RED, GREEN)), calc.home)
    services.bus.subscribe(calc.records.append)
    services.bus.subscribe(cut)
    with pytest.raises(Cut):
        await start_run(services, calc.task("Fix add.", [CHECK]), calc.config(reflection=LIMITS))
    state = await calc.talk_on(calc.events(e.RunCreated)[0].run_id, scripted(RED, GREEN))
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED, state.outcome.summary
    assert calc.files() == {"calc.py": "def add(a, b):\n    return a + b\n", "new.txt": "new\n"}
    sent = [event.request for event in calc.events(e.ModelAnswered)]
    assert len(set(sent)) == len(sent)


async def test_a_conversation_has_no_candidates_unless_they_are_configured(calc: Bench) -> None:
    state = await calc.talk("Fix add.", scripted(then="+"), checks=[CHECK])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    assert not calc.events(e.CandidateTried)


def _texts(request: Any) -> str:
    return "\n".join(item.content for item in request.messages)
