"""A conversation survives the end of the process: the next request is the same, byte for byte."""

from typing import Any

import pytest

from support.kit import Bench
from support.talk import CALC_TEST, TalkingModel, assert_valid, results, submit
from surefoot.core.outcome import Verdict
from surefoot.engine.loop import start_run
from surefoot.engine.runtime.run import Run
from surefoot.engine.runtime.services import Services
from surefoot.journal import events as e
from surefoot.journal.reducers import fold
from surefoot.models.items import AssistantTurn
from surefoot.prompting.conversation.dialogue import Dialogue

CHECK = "python3 test_calc.py"
FIX = ("edit_file", {"path": "calc.py", "search": "a - b", "replace": "a + b"})
FINISH = ("finish_step", {"summary": "fixed"})
READ = ("read_file", {"path": "calc.py"})
RUN = ("run_command", {"command": "echo hello"})
SCRIPT: list[Any] = [
    [READ],
    submit(
        *(
            {"name": name, "description": name, "after": after}
            for name, after in (("One", []), ("Two", [1]), ("Three", [2]))
        )
    ),
    [RUN, ("write_file", {"path": "a.txt", "content": "a"})],
    # Calls after finish_step belong to the next step.
    [FINISH, ("write_file", {"path": "b.txt", "content": "b"}), READ],
    [FINISH],
    [READ, FIX, FINISH],
]


@pytest.fixture
def calc(bench: Bench) -> Bench:
    bench.write(calc__py="def add(a, b):\n    return a - b\n", test_calc__py=CALC_TEST)
    return bench


@pytest.mark.req("X11")
async def test_every_prefix_of_the_events_renders_to_the_request_that_was_sent(calc: Bench) -> None:
    await calc.talk("Fix it.", SCRIPT, checks=[CHECK])
    sent = [request.fingerprint() for request in calc.talker.requests]
    assert [event.request for event in calc.events(e.ModelAnswered)] == sent
    rendered = []
    for number, record in enumerate(calc.records):
        if isinstance(record.event, e.ModelAnswered):
            before = fold(calc.records[:number])
            dialogue = Dialogue(Run(Services(calc.journal, TalkingModel([]), calc.home), before))
            request = dialogue.request(before.conversations[record.event.conversation])
            assert_valid(request)
            rendered.append(request.fingerprint())
    assert rendered == sent


@pytest.mark.req("X11")
async def test_in_any_prefix_of_the_events_every_call_can_be_answered_once(calc: Bench) -> None:
    """Also between two events of one turn: a call without a result was not executed."""
    await calc.talk("Fix it.", SCRIPT, checks=[CHECK])
    for number in range(1, len(calc.records) + 1):
        state = fold(calc.records[:number])
        run = Run(Services(calc.journal, TalkingModel([]), calc.home), state)
        dialogue = Dialogue(run)
        for conversation in list(state.conversations.values()):
            if isinstance(dialogue.items(conversation)[-1], AssistantTurn):
                open_calls = dialogue.open_calls(conversation)
                answers = dialogue.results_of_open_calls(conversation)
                assert [item.call_id for item in answers if hasattr(item, "call_id")] == [c.id for c in open_calls]


async def test_a_call_that_waits_for_approval_is_carried_out_when_it_was_answered(calc: Bench) -> None:
    state = await calc.talk("Fix it.", [submit(), [READ, FIX, FINISH]], checks=[CHECK], approve="ask")
    assert state.outcome is None
    (question,) = state.open_questions
    await calc.journal.append(state.run_id, [e.QuestionAnswered(question_id=question.id, answer="yes")])
    state = await calc.talk_on(state.run_id, [])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    assert calc.talker.requests == []


class Cut(BaseException):
    """Stands for the end of the process."""


async def test_an_interrupted_call_is_told_as_undone(calc: Bench) -> None:
    def cut_after_intent(record: e.Record) -> None:
        if isinstance(record.event, e.ActionStarted) and record.event.tool == "run_command":
            raise Cut

    services = Services(calc.journal, TalkingModel([submit(), [FIX, RUN, FINISH]]), calc.home)
    services.bus.subscribe(calc.records.append)
    services.bus.subscribe(cut_after_intent)
    with pytest.raises(Cut):
        await start_run(services, calc.task("Fix it.", [CHECK]), calc.config())
    state = await calc.talk_on(calc.events(e.RunCreated)[0].run_id, [[FINISH]])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    edited, interrupted, finished = results(calc.talker.requests[0])
    assert "a + b" in edited
    assert interrupted.startswith("This was interrupted")
    assert finished.startswith("This was not executed")


@pytest.mark.req("X11")
@pytest.mark.parametrize(
    "turns", [[submit(), [FIX, FINISH]], [[*submit(), FIX, FINISH]]], ids=["alone", "with the plan"]
)
async def test_a_step_that_is_done_is_not_asked_about_again(calc: Bench, turns: list[Any]) -> None:
    """The process ended after the model was told, and before the end of the step was recorded."""

    def cut_after_answer(record: e.Record) -> None:
        if isinstance(record.event, e.CallAnswered) and record.event.tool == "finish_step" and record.event.ok:
            raise Cut

    services = Services(calc.journal, TalkingModel(turns), calc.home)
    services.bus.subscribe(calc.records.append)
    services.bus.subscribe(cut_after_answer)
    with pytest.raises(Cut):
        await start_run(services, calc.task("Fix it.", [CHECK]), calc.config())
    state = await calc.talk_on(calc.events(e.RunCreated)[0].run_id, [])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    assert calc.talker.requests == []
