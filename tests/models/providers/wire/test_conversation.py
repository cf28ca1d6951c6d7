"""Conversations with tools over every wire protocol, against a scripted server on loopback."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from support.wire import FORMS, Call, Failed, Said, ask, client_for, scripted
from surefoot.errors import ContextOverflow, ModelRateLimited, ModelUnavailable
from surefoot.models.base import Live, Message, ModelReply
from surefoot.models.items import AssistantTurn, Item, ToolResultMessage, dump_item, load_item

GOLDEN = Path(__file__).with_name("golden")
SYSTEM = Message(role="system", content="You fix code.")
LOOK = Said(
    text="Let me look.",
    reasoning="The bug is probably in a.py.",
    calls=(Call("read_file", {"path": "a.py"}), Call("run_command", {"command": "pytest -q\necho 'ä'"})),
)
every_form = pytest.mark.parametrize("form", FORMS)


def results_of(reply: ModelReply, *texts: str) -> list[Item]:
    """The turn and the results of its calls; a result that starts with "!" is a failure."""
    turn = load_item(dump_item(reply.as_turn()))
    assert isinstance(turn, AssistantTurn)
    assert len(texts) == len(turn.calls)
    results = [
        ToolResultMessage(call_id=call.id, text=text, ok=not text.startswith("!"))
        for call, text in zip(turn.calls, texts, strict=True)
    ]
    return [turn, *results]


def without_marks(value: Any) -> Any:
    if isinstance(value, list):
        return [without_marks(part) for part in value]
    if isinstance(value, dict):
        return {key: without_marks(part) for key, part in value.items() if key != "cache_control"}
    return value


def entries(body: dict[str, Any]) -> list[Any]:
    """The growing part of a request."""
    found = without_marks(body.get("input") or body["messages"])
    assert isinstance(found, list)
    return found


# -- requests ---------------------------------------------------------------------------------------------------------


@pytest.mark.req("X11")
@every_form
async def test_the_third_request_of_a_conversation(form: str) -> None:
    """Golden requests. To renew them, delete the files and look at the difference."""
    async with scripted(LOOK, Said(calls=(Call("read_file", {"path": "b.py"}),)), form=form) as server:
        client = client_for(form, server, "claude-x" if form == "messages" else "m")
        items: list[Item] = [SYSTEM, Message(role="user", content="Fix it.")]
        reply = await client.complete(ask(*items, effort="high", cache_key="run-1"))
        items += results_of(reply, "x = 1\n", "!exit code 1")
        items.append(Message(role="user", content="Only a.py may change."))
        reply = await client.complete(ask(*items, effort="high", cache_key="run-1"))
        items += results_of(reply, "")
        await client.complete(ask(*items, effort="high", cache_key="run-1"))
        await client.aclose()
    path = GOLDEN / f"{form}.json"
    sent = json.dumps(server.bodies()[-1], indent=2, ensure_ascii=False) + "\n"
    if not path.exists():
        path.write_text(sent)
    assert json.loads(sent) == json.loads(path.read_text())


@pytest.mark.req("X11")
@every_form
async def test_each_request_extends_the_one_before_it(form: str) -> None:
    """The prefix of a conversation stays the same, so that servers read it from their cache."""
    async with scripted(LOOK, form=form) as server:
        client = client_for(form, server)
        items: list[Item] = [SYSTEM, Message(role="user", content="Fix it.")]
        for _ in range(4):
            items += results_of(await client.complete(ask(*items)), "one", "two")
        await client.aclose()
    bodies = [body for body in server.bodies() if form != "text" or "tools" not in body]
    assert len(bodies) == 4
    for before, after in pairwise(bodies):
        assert entries(after)[: len(entries(before))] == entries(before)
        rest = {key: value for key, value in without_marks(after).items() if key not in ("input", "messages")}
        assert rest == {key: value for key, value in without_marks(before).items() if key in rest}


@every_form
async def test_every_call_has_its_result_under_the_same_id(form: str) -> None:
    same = Said(calls=(Call("read_file", {"path": "a"}, id="c:0"), Call("read_file", {"path": "b"}, id="c:0")))
    async with scripted(same, form=form) as server:
        client = client_for(form, server)
        items: list[Item] = [Message(role="user", content="Fix it.")]
        for _ in range(3):
            items += results_of(await client.complete(ask(*items)), "one", "two")
        await client.complete(ask(*items))
        await client.aclose()
    calls = [call.id for item in items if isinstance(item, AssistantTurn) for call in item.calls]
    assert len(set(calls)) == len(calls) == 6, "ids that a server repeats are made unique"
    made, answered = ids_in(form, server.bodies()[-1])
    assert made == answered
    if form != "text":
        assert len(set(made)) == 6


def ids_in(form: str, body: dict[str, Any]) -> tuple[list[str], list[str]]:
    if form == "chat":
        calls = [call["id"] for message in body["messages"] for call in message.get("tool_calls", ())]
        return calls, [message["tool_call_id"] for message in body["messages"] if message["role"] == "tool"]
    if form == "responses":
        kinds = {"function_call": list[str](), "function_call_output": list[str]()}
        for item in body["input"]:
            kinds.get(item["type"], []).append(item.get("call_id", ""))
        return kinds["function_call"], kinds["function_call_output"]
    if form == "messages":
        blocks = [block for message in body["messages"] for block in message["content"]]
        return (
            [block["id"] for block in blocks if block["type"] == "tool_use"],
            [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"],
        )
    text = "\n".join(message["content"] for message in body["messages"][1:])
    return ["call"] * text.count("<function="), ["call"] * text.count("<tool_result name=")


@every_form
async def test_turns_without_text_and_calls_are_not_sent(form: str) -> None:
    async with scripted(Said(reasoning="hm"), form=form) as server:
        client = client_for(form, server)
        reply = await client.complete(ask("Fix it."))
        assert (reply.text, reply.calls, reply.finish_reason) == ("", (), "stop")
        await client.complete(ask("Fix it.", reply.as_turn(), "Please answer."))
        await client.aclose()
    assert "hm" not in json.dumps(entries(server.bodies()[-1]))


# -- answers ----------------------------------------------------------------------------------------------------------


@pytest.mark.req("X11")
@every_form
@pytest.mark.parametrize("piece", [1, 3, 1000])
async def test_text_reasoning_and_calls_are_streamed(form: str, piece: int) -> None:
    scripted_reply = Said(LOOK.text, LOOK.calls, LOOK.reasoning, piece=piece)
    text: list[str] = []
    thoughts: list[str] = []
    calls: dict[int, tuple[str, str]] = {}

    def on_call(index: int, name: str, arguments: str) -> None:
        calls[index] = (name, calls.get(index, ("", ""))[1] + arguments)

    async with scripted(scripted_reply, form=form) as server:
        client = client_for(form, server)
        reply = await client.complete(ask("Fix it."), Live(text.append, thoughts.append, on_call))
        await client.aclose()
    assert reply.finish_reason == "tool_calls"
    assert [(call.name, call.arguments, call.problem) for call in reply.calls] == [
        ("read_file", {"path": "a.py"}, ""),
        ("run_command", {"command": "pytest -q\necho 'ä'"}, ""),
    ]
    assert reply.text.strip() == "Let me look."
    assert "".join(text).startswith("Let me look.")
    if form != "text":
        assert "".join(thoughts) == LOOK.reasoning
        assert [calls[index] for index in sorted(calls)] == [(call.name, call.raw) for call in LOOK.calls]
        assert reply.as_turn().reasoning == LOOK.reasoning


@every_form
async def test_a_plain_function_still_receives_the_text(form: str) -> None:
    received: list[str] = []
    async with scripted(Said(text="All is done."), form=form) as server:
        client = client_for(form, server)
        reply = await client.complete(ask("Fix it."), received.append)
        await client.aclose()
    assert "".join(received) == reply.text == "All is done."
    assert (reply.finish_reason, reply.calls) == ("stop", ())


@pytest.mark.parametrize("form", ["chat", "responses", "messages"])
async def test_usage_is_counted(form: str) -> None:
    every: dict[str, dict[str, Any]] = {
        "chat": {
            "prompt_tokens": 100,
            "completion_tokens": 50,
            "prompt_tokens_details": {"cached_tokens": 64, "cache_write_tokens": 30},
            "completion_tokens_details": {"reasoning_tokens": 40},
        },
        "responses": {
            "input_tokens": 100,
            "output_tokens": 50,
            "total_tokens": 150,
            "input_tokens_details": {"cached_tokens": 64, "cache_write_tokens": 30},
            "output_tokens_details": {"reasoning_tokens": 40},
        },
        "messages": {"input_tokens": 6, "cache_read_input_tokens": 64, "cache_creation_input_tokens": 30},
    }
    async with scripted(Said(text="x", usage=every[form]), form=form) as server:
        client = client_for(form, server)
        usage = (await client.complete(ask("Fix it."))).usage
        await client.aclose()
    assert (usage.prompt_tokens, usage.cached_tokens, usage.cache_write_tokens) == (100, 64, 30)
    if form != "messages":  # which does not tell
        assert usage.reasoning_tokens == 40


# -- malformed calls --------------------------------------------------------------------------------------------------


@pytest.mark.req("X11")
@pytest.mark.parametrize("form", ["chat", "responses", "messages"])
@pytest.mark.parametrize(
    ("name", "raw", "arguments"),
    [
        ("read_file", '{"path": "a\tb.py"}', {"path": "a\tb.py"}),
        ("read_file", '{"path": "a", "start": "5", "lines": "[1, 5]"}', {"path": "a", "start": 5, "lines": [1, 5]}),
        ("read_file", '{"path": "a.py"}}</tool_call>', {"path": "a.py"}),
        ("read_file", '{"path": "a.py"', {"path": "a.py"}),
        ("functions.read_file", '{"file_path": "a.py"}', {"path": "a.py"}),
        ("Read_File</function", '{"path": "a.py"}', {"path": "a.py"}),
        ("view", '{"filePath": "a.py"}', {"path": "a.py"}),
    ],
)  # fmt: skip
async def test_a_repaired_call_is_sent_back_as_it_was_understood(
    form: str, name: str, raw: str, arguments: dict[str, Any]
) -> None:
    async with scripted(Said(calls=(Call(name, raw),)), form=form) as server:
        client = client_for(form, server)
        reply = await client.complete(ask("Fix it."))
        [call] = reply.calls
        assert (call.name, call.arguments, call.problem, call.repaired, call.raw) == (
            "read_file", arguments, "", True, raw
        )  # fmt: skip
        await client.complete(ask("Fix it.", *results_of(reply, "x")))
        await client.aclose()
    assert sent_call(form, server.bodies()[-1]) == ("read_file", arguments)


@pytest.mark.req("X11")
@pytest.mark.parametrize("form", ["chat", "responses", "messages"])
@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (Call("read_file", '{"path": "a.py", '), "not valid JSON"),
        (Call("read_file", '{"path": "a.py"} {"path": "b.py"}'), "text after the arguments"),
        (Call("read_file", "[1, 2]"), "must be a JSON object, not array"),
        (Call("fly", '{"to": "moon"}'), "there is no tool 'fly'; the tools are read_file, run_command"),
    ],
)
async def test_an_unreadable_call_says_what_is_wrong_and_is_never_sent_back_raw(
    form: str, call: Call, problem: str
) -> None:
    async with scripted(Said(calls=(call,)), form=form) as server:
        client = client_for(form, server)
        reply = await client.complete(ask("Fix it."))
        [read] = reply.calls
        assert problem in read.problem
        assert (read.arguments, reply.finish_reason) == ({}, "tool_calls")
        await client.complete(ask("Fix it.", *results_of(reply, f"!{read.problem}")))
        await client.aclose()
    assert sent_call(form, server.bodies()[-1]) == (call.name, {"invalid": call.raw})


def sent_call(form: str, body: dict[str, Any]) -> tuple[str, Any]:
    """Name and arguments of the one call in a request. The arguments must be valid JSON."""
    if form == "chat":
        [function] = [call["function"] for message in body["messages"] for call in message.get("tool_calls", ())]
        return function["name"], json.loads(function["arguments"])
    if form == "responses":
        [item] = [item for item in body["input"] if item["type"] == "function_call"]
        return item["name"], json.loads(item["arguments"])
    [block] = [b for message in body["messages"] for b in message["content"] if b["type"] == "tool_use"]
    return block["name"], block["input"]


@every_form
async def test_a_call_that_was_cut_at_the_output_limit_is_not_executed(form: str) -> None:
    cut = Said(calls=(Call("read_file", {"path": "a.py"}), Call("run_command", '{"command": "pyt')), finish="length")
    async with scripted(cut, form=form) as server:
        client = client_for(form, server)
        reply = await client.complete(ask("Fix it."))
        await client.aclose()
    assert reply.finish_reason == "length"
    assert reply.calls[0].problem == ""
    if form != "text":
        assert "cut off at the output limit" in reply.calls[1].problem


# -- errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.req("X14")
@every_form
@pytest.mark.parametrize(
    ("status", "message", "more", "limit"),
    [
        (400, "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.",
         {"code": "context_length_exceeded"}, 8192),
        (400, "prompt is too long: 210123 tokens > 200000 maximum", {"type": "invalid_request_error"}, 200_000),
        (400, "the request exceeds the available context size",
         {"type": "exceed_context_size_error", "n_prompt_tokens": 9001, "n_ctx": 4096}, 4096),
        (400, "Your input exceeds the context window of this model.", {"code": "context_length_exceeded"}, None),
        (400, "input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000", {}, 200_000),
        (400, "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", {}, 1_048_576),
        (400, "Invalid request: Your request exceeded model token limit: 262144", {}, 262_144),
        (413, "Request too large", {}, None),
        (400, "request (13050 tokens) exceeds the available context size (8192 tokens), try increasing it", {}, 8192),
        (400, "The decoder prompt (length 13050) is longer than the maximum model length of 8192.", {}, 8192),
        (400, "This model's maximum prompt length is 131072 but the request contains 537812 tokens.", {}, 131_072),
        (400, "The input (13050 tokens) is longer than the model's context length (8192 tokens).", {}, 8192),
        (400, "prompt token count of 13050 exceeds the limit of 8192", {}, 8192),
        (422, "`inputs` tokens + `max_new_tokens` must be <= 8193. Given: 13050 `inputs` tokens", {}, 8193),
        (400, "Range of input length should be [1, 129024]", {}, 129_024),
        (400, "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens.",
         {"code": "context_length_exceeded"}, 272_000),
    ],
)  # fmt: skip
async def test_a_conversation_that_is_too_long_is_an_overflow(
    form: str, status: int, message: str, more: dict[str, Any], limit: int | None
) -> None:
    async with scripted(Failed(status, message, more=more), form=form) as server:
        client = client_for(form, server)
        with pytest.raises(ContextOverflow) as caught:
            await client.complete(ask("Fix it."))
        await client.aclose()
    assert caught.value.limit == limit
    assert not caught.value.temporary


@every_form
async def test_a_rate_limit_is_temporary_and_says_how_long_to_wait(form: str) -> None:
    async with scripted(Failed(429, "slow down", headers={"retry_after": "7"}), form=form) as server:
        client = client_for(form, server)
        with pytest.raises(ModelRateLimited) as caught:
            await client.complete(ask("Fix it."))
        await client.aclose()
    assert (caught.value.temporary, caught.value.retry_after) == (True, 7)
    assert len([body for body in server.bodies() if form != "text" or "tools" not in body]) == 1, "no silent retry"


@pytest.mark.req("X11")
@every_form
@pytest.mark.parametrize("end", ["lost", "cut"])
async def test_a_cut_stream_is_temporary_and_its_calls_are_not_returned(form: str, end: Any) -> None:
    scripted_reply = Said(LOOK.text, LOOK.calls, LOOK.reasoning, end=end)
    async with scripted(scripted_reply, form=form) as server:
        client = client_for(form, server)
        with pytest.raises(ModelUnavailable) as caught:
            await client.complete(ask("Fix it."))
        await client.aclose()
    assert caught.value.temporary


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        ({"code": "rate_limit_exceeded", "message": "slow down"}, ModelRateLimited),
        ({"code": "server_error", "message": "oops"}, ModelUnavailable),
        ({"code": "context_length_exceeded", "message": "Your input exceeds the context window"}, ContextOverflow),
    ],
)
async def test_a_failed_response_is_converted(error: dict[str, str], expected: type[Exception]) -> None:
    from support.loopback import event_stream, serving

    body = {"type": "response.failed", "response": {"id": "r", "status": "failed", "error": error, "output": []}}
    line = f"event: response.failed\ndata: {json.dumps(body)}\n\n"
    async with serving(lambda _: event_stream([line])) as server:
        client = client_for("responses", server)
        with pytest.raises(expected):
            await client.complete(ask("Fix it."))
        await client.aclose()
