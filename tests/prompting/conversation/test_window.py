"""A conversation never overflows: old results are masked, then a new window opens."""

import re
from typing import Any

import pytest

from support.kit import Bench
from support.talk import CALC_TEST, TALKING, TalkingModel, request_chars, submit
from surefoot.core.outcome import Verdict
from surefoot.engine.loop import start_run
from surefoot.engine.runtime.services import Services
from surefoot.errors import ContextOverflow
from surefoot.journal import events as e
from surefoot.journal.state import RunState
from surefoot.models.base import ModelRequest, ModelTraits
from surefoot.models.items import AssistantTurn, Item, Message, ToolCall, ToolResultMessage
from surefoot.prompting.conversation.window import tail

CHECK = "python3 test_calc.py"
FIX = ("edit_file", {"path": "calc.py", "search": "a - b", "replace": "a + b"})
FINISH = ("finish_step", {"summary": "fixed"})


@pytest.fixture
def calc(bench: Bench) -> Bench:
    bench.write(calc__py="def add(a, b):\n    return a - b\n", test_calc__py=CALC_TEST)
    for number in range(12):
        (bench.root / f"long{number}.txt").write_text(f"line of file {number}\n" * 400)
    return bench


def reads(count: int) -> list[Any]:
    return [[("read_file", {"path": f"long{number}.txt"})] for number in range(count)]


async def run(bench: Bench, script: list[Any], traits: ModelTraits) -> RunState:
    bench.talker = TalkingModel(script, traits)
    services = Services(bench.journal, bench.talker, bench.home)
    services.bus.subscribe(bench.records.append)
    return await start_run(services, bench.task("Fix it.", [CHECK]), bench.config())


@pytest.mark.req("X14")
async def test_old_results_are_masked_in_one_batch(calc: Bench) -> None:
    traits = TALKING.with_(context_tokens=16_000, max_output_tokens=1_000)
    state = await run(calc, [submit(), *reads(12), [FIX, FINISH]], traits)
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    assert calc.events(e.ConversationMasked)
    last = calc.talker.requests[-1]
    texts = [item.text for item in last.messages if isinstance(item, ToolResultMessage)]
    assert any("no longer shown" in text for text in texts)
    assert "line of file 11\n" * 100 in texts[-1]
    assert max(map(request_chars, calc.talker.requests)) / 3.5 < traits.context_tokens


@pytest.mark.req("X14")
async def test_a_masked_result_can_be_read_again_by_its_id(calc: Bench) -> None:
    seen: list[str] = []

    def recall(request: ModelRequest) -> Any:
        masked = [i.text for i in request.messages if isinstance(i, ToolResultMessage) and "no longer shown" in i.text]
        seen[:] = re.findall(r'read_result\("([^"]+)"\)', masked[0])
        return [("read_result", {"action_id": seen[0]})]

    traits = TALKING.with_(context_tokens=16_000, max_output_tokens=1_000)
    state = await run(calc, [submit(), *reads(12), recall, [FIX, FINISH]], traits)
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    texts = [item.text for item in calc.talker.requests[-1].messages if isinstance(item, ToolResultMessage)]
    assert "line of file 0\n" * 100 in texts[-1]


@pytest.mark.req("X14")
async def test_results_that_the_model_has_not_seen_are_not_masked(calc: Bench) -> None:
    """Five files in one reply are more than the newest results that are kept, and fit."""
    traits = TALKING.with_(context_tokens=20_000, max_output_tokens=1_000)
    batch = [call for turn in reads(5) for call in turn]
    state = await run(calc, [submit(), *reads(3), batch, [FIX, FINISH]], traits)
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    last = calc.talker.requests[-1]
    turn = max(at for at, item in enumerate(last.messages) if isinstance(item, AssistantTurn))
    results = [item for item in last.messages[turn:] if isinstance(item, ToolResultMessage)]
    assert len(results) == 5
    assert not [item.text for item in results if "no longer shown" in item.text]
    assert any("no longer shown" in item.content for item in last.messages[:turn]), "older ones are"


@pytest.mark.req("X14")
async def test_a_new_window_has_the_engine_s_facts_the_model_s_notes_and_the_newest_items(calc: Bench) -> None:
    traits = TALKING.with_(context_tokens=12_000, max_output_tokens=1_000)
    wants_notes = "Write, as plain text"

    def answer(calls: Any) -> Any:
        def turn(request: ModelRequest) -> Any:
            if wants_notes in request.messages[-1].content:
                script.insert(0, answer(calls))
                return "I have written the files; add subtracts."
            return calls

        return turn

    writes = [[("write_file", {"path": f"new{n}.txt", "content": f"text {n}\n" * 700})] for n in range(8)]
    script = [answer(turn) for turn in [submit(), *writes, [FIX, FINISH]]]
    model = TalkingModel([], traits)
    model._script = script
    bench = calc
    bench.talker = model
    services = Services(bench.journal, model, bench.home)
    services.bus.subscribe(bench.records.append)
    state = await start_run(services, bench.task("Fix it.", [CHECK]), bench.config())
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    windows = [event for event in calc.events(e.ConversationOpened) if event.reason == "a new window"]
    assert windows
    last = model.requests[-1]
    assert any("add subtracts" in item.content for item in last.messages)
    assert last.messages[:2] == model.requests[0].messages[:2]


@pytest.mark.req("X14")
async def test_an_overflow_shrinks_the_request_and_goes_on(calc: Bench) -> None:
    overflow = ContextOverflow("too long", limit=20_000)
    script = [submit(), *reads(6), overflow, [FIX, FINISH]]
    state = await run(calc, script, TALKING)
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    too_long, shorter = calc.talker.requests[-2:]
    assert request_chars(shorter) < request_chars(too_long)


def test_the_tail_begins_with_a_turn_of_the_model() -> None:
    call = ToolCall(id="c1", name="read_file")
    items: list[Item] = [
        Message(role="system", content="s"),
        Message(role="user", content="t"),
        AssistantTurn(parts=(call,)),
        ToolResultMessage(call_id="c1", text="x" * 90_000),
        AssistantTurn(parts=(call.with_(id="c2"),)),
        ToolResultMessage(call_id="c2", text="short"),
    ]
    assert tail(items, 2, 200_000) == items[4:]
    assert tail(items[:4], 2, 200_000) == []
