"""The Anthropic client against real HTTP on loopback, speaking that protocol's events."""

import builtins
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from models.loopback import Asked, Loopback, Told, closed_port, events, plain, serving
from surefoot.errors import ModelRateLimited, ModelRejected, ModelRuntimeMissing, ModelUnavailable
from surefoot.models.anthropic import WORTH_CACHING, Anthropic
from surefoot.models.base import Message, ModelRequest, Usage

KEY = "sk-ant-test-0123456789abcdefghij"
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}, "required": ["n"]}
EPHEMERAL = {"type": "ephemeral"}


def event(kind: str, **fields: Any) -> str:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields}, ensure_ascii=False)}\n\n"


def beginning(**usage: int) -> str:
    counts = {"input_tokens": 10, "output_tokens": 1, **usage}
    message = {"id": "1", "type": "message", "role": "assistant", "model": "claude-x-1", "content": [], "usage": counts}
    return event("message_start", message={**message, "stop_reason": None, "stop_sequence": None})


def delta(**fields: Any) -> str:
    return event("content_block_delta", index=0, delta=fields)


def ending(reason: str, output_tokens: int = 5) -> list[str]:
    end = event("message_delta", delta={"stop_reason": reason}, usage={"output_tokens": output_tokens})
    return [event("content_block_stop", index=0), end, event("message_stop")]


def spoken(*pieces: str, reason: str = "end_turn", **usage: int) -> Told:
    start = event("content_block_start", index=0, content_block={"type": "text", "text": ""})
    said = [delta(type="text_delta", text=piece) for piece in pieces]
    return events([beginning(**usage), start, event("ping"), *said, *ending(reason)])


def called(*pieces: str) -> Told:
    block = {"type": "tool_use", "id": "t1", "name": "answer", "input": {}}
    said = [delta(type="input_json_delta", partial_json=piece) for piece in pieces]
    return events([beginning(), event("content_block_start", index=0, content_block=block), *said, *ending("tool_use")])


def fault(status: int, kind: str, message: str, **headers: str) -> Told:
    return plain({"type": "error", "error": {"type": kind, "message": message}}, status, **headers)


def question(text: str = "hello", **more: Any) -> ModelRequest:
    return ModelRequest(messages=(Message(role="user", content=text),), **more)


Start = Callable[..., Any]


@pytest.fixture
async def start() -> AsyncIterator[Start]:
    """`start(answer)` gives a client and its server."""
    closing: list[Any] = []

    async def begin(answer: Callable[[Asked], Told], **more: Any) -> tuple[Anthropic, Loopback]:
        server = serving(answer)
        loopback = await server.__aenter__()
        client = Anthropic("claude-x", KEY, loopback.address, **more)
        closing.extend([client.aclose, lambda: server.__aexit__(None, None, None)])
        return client, loopback

    yield begin
    for close in closing:
        await close()


# -- answers ---------------------------------------------------------------------------------------------------------


async def test_an_answer_comes_in_pieces_and_as_a_whole(start: Start) -> None:
    client, server = await start(lambda asked: spoken("Hel", "lo"))
    pieces: list[str] = []
    reply = await client.complete(question(temperature=0.5, max_tokens=77, stop=("END",)), pieces.append)
    assert (reply.text, reply.finish_reason, reply.model, reply.constrained) == ("Hello", "stop", "claude-x-1", False)
    assert pieces == ["Hel", "lo"]
    [asked] = server.asked
    assert (asked.path, asked.headers["authorization"]) == ("/v1/messages", f"Bearer {KEY}")
    assert asked.body == {
        "model": "claude-x",
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hello"}]}],
        "stream": True,
        "temperature": 0.5,
        "max_tokens": 77,
        "stop_sequences": ["END"],
    }


@pytest.mark.req("O5")
async def test_the_system_message_is_apart_and_the_others_arrive_in_turn(start: Start) -> None:
    client, server = await start(lambda asked: spoken("x"))
    said = [("system", "s1"), ("system", "s2"), ("user", "a"), ("user", "b"), ("assistant", "c"), ("system", "d")]
    await client.complete(ModelRequest(messages=tuple(Message(role=r, content=c) for r, c in said)))
    body = server.bodies()[0]
    assert body["system"] == [{"type": "text", "text": "s1\n\ns2", "cache_control": EPHEMERAL}]
    assert body["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "a\n\nb"}]},
        {"role": "assistant", "content": "c"},
        {"role": "user", "content": "d"},
    ]


async def test_what_prompts_have_in_common_is_marked_for_the_cache(start: Start) -> None:
    client, server = await start(lambda asked: spoken("x"))
    briefing = "one line of the briefing\n" * (WORTH_CACHING // 20)
    prompts = [f"{briefing}step {n}: what now?" for n in range(3)] + ["something else\nentirely", briefing]
    for prompt in prompts:
        await client.complete(question(prompt))
    contents = [body["messages"][0]["content"] for body in server.bodies()]
    assert contents[0] == [{"type": "text", "text": prompts[0]}], "nothing is known to be stable yet"
    for n in (1, 2):
        stable = {"type": "text", "text": briefing, "cache_control": EPHEMERAL}
        assert contents[n] == [stable, {"type": "text", "text": f"step {n}: what now?"}]
    assert contents[3] == [{"type": "text", "text": prompts[3]}]
    assert ["".join(block["text"] for block in content) for content in contents] == prompts


async def test_the_cached_part_of_a_prompt_counts_and_is_told(start: Start) -> None:
    client, _ = await start(lambda asked: spoken("x", cache_read_input_tokens=100, cache_creation_input_tokens=20))
    usage = (await client.complete(question())).usage
    assert usage == Usage(prompt_tokens=130, output_tokens=5, cached_tokens=100)


@pytest.mark.parametrize(
    ("said", "means"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "other"),
    ],
)
async def test_why_it_ended(start: Start, said: str, means: str) -> None:
    client, _ = await start(lambda asked: spoken("x", reason=said))
    assert (await client.complete(question())).finish_reason == means


async def test_thoughts_are_not_the_answer(start: Start) -> None:
    thinking = delta(type="thinking_delta", thinking="hm")
    client, _ = await start(
        lambda asked: events([beginning(), thinking, delta(type="text_delta", text="yes"), *ending("end_turn")])
    )
    assert (await client.complete(question())).text == "yes"


async def test_letters_that_are_split_between_packets_stay_whole(start: Start) -> None:
    raw = b"".join(spoken("你好，世界 🙂").pieces)
    headers = {"content-type": "text/event-stream"}
    client, _ = await start(lambda asked: Told([raw[i : i + 1] for i in range(len(raw))], headers=headers))
    assert (await client.complete(question())).text == "你好，世界 🙂"


# -- schemas and what models refuse ----------------------------------------------------------------------------------


async def test_a_schema_is_enforced_as_structured_output(start: Start) -> None:
    client, server = await start(lambda asked: spoken('{"n": 1}'))
    reply = await client.complete(question(output_schema=SCHEMA))
    assert (reply.text, reply.constrained) == ('{"n": 1}', True)
    described = server.bodies()[0]["output_config"]["format"]
    assert described["type"] == "json_schema"
    assert described["schema"]["additionalProperties"] is False
    assert "minimum" not in described["schema"]["properties"]["n"], "the service refuses what it cannot enforce"


async def test_a_model_without_structured_output_answers_by_calling_a_tool_and_that_is_remembered(start: Start) -> None:
    def older(asked: Asked) -> Told:
        if "output_config" in asked.body:
            return fault(400, "invalid_request_error", "output_config.format: not supported by this model")
        return called('{"n"', ": 1}")

    client, server = await start(older)
    pieces: list[str] = []
    reply = await client.complete(question(output_schema=SCHEMA), pieces.append)
    assert (reply.text, reply.finish_reason, reply.constrained) == ('{"n": 1}', "stop", False)
    assert "".join(pieces) == reply.text
    again = Anthropic("claude-x", KEY, server.address)
    await again.complete(question(output_schema={**SCHEMA, "title": "another"}))
    await again.aclose()
    assert len(server.asked) == 3
    body = server.bodies()[1]
    assert body["tool_choice"] == {"type": "tool", "name": "answer"}
    assert body["tools"][0]["input_schema"] == SCHEMA


async def test_one_schema_that_cannot_be_compiled_does_not_spoil_the_others(start: Start) -> None:
    def answer(asked: Asked) -> Told:
        described = asked.body.get("output_config", {}).get("format", {}).get("schema", {})
        if "bad" in described.get("properties", {}):
            return fault(400, "invalid_request_error", "Schema is too complex to compile")
        return spoken('{"n": 1}')

    client, server = await start(answer)
    bad = {"type": "object", "properties": {"bad": {"type": "integer"}}, "required": ["bad"]}
    for schema, constrained in ((bad, False), (SCHEMA, True), (bad, False)):
        assert (await client.complete(question(output_schema=schema))).constrained is constrained
    assert len(server.asked) == 4


async def test_a_model_without_a_temperature_is_told_none_and_that_is_remembered(start: Start) -> None:
    def newer(asked: Asked) -> Told:
        refused = "temperature" in asked.body
        said = "`temperature` is deprecated for this model."
        return fault(400, "invalid_request_error", said) if refused else spoken("x")

    client, server = await start(newer)
    await client.complete(question())
    await client.complete(question())
    assert ["temperature" in body for body in server.bodies()] == [True, False, False]


# -- faults ----------------------------------------------------------------------------------------------------------


@pytest.mark.req("P11")
async def test_too_many_requests_are_temporary_and_say_how_long(start: Start) -> None:
    client, server = await start(lambda asked: fault(429, "rate_limit_error", "slow down", retry_after="7"))
    with pytest.raises(ModelRateLimited, match="slow down") as caught:
        await client.complete(question())
    assert caught.value.retry_after == 7.0
    assert len(server.asked) == 1, "retries are the engine's"


@pytest.mark.req("P11")
@pytest.mark.parametrize(("status", "kind"), [(500, "api_error"), (529, "overloaded_error"), (504, "timeout_error")])
async def test_a_server_in_trouble_is_temporary(start: Start, status: int, kind: str) -> None:
    client, server = await start(lambda asked: fault(status, kind, "Overloaded"))
    with pytest.raises(ModelUnavailable, match="Overloaded"):
        await client.complete(question())
    assert len(server.asked) == 1


@pytest.mark.req("P11")
@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("overloaded_error", ModelUnavailable),
        ("rate_limit_error", ModelRateLimited),
        ("invalid_request_error", ModelRejected),
    ],
)
async def test_an_error_inside_the_stream_means_what_it_says(start: Start, kind: str, expected: type) -> None:
    error = event("error", error={"type": kind, "message": "so it goes"})
    client, _ = await start(lambda asked: events([beginning(), error]))
    with pytest.raises(expected, match="so it goes"):
        await client.complete(question())


@pytest.mark.req("P11")
@pytest.mark.parametrize(
    "told",
    [
        events([beginning(), delta(type="text_delta", text="half")], end="lost"),
        events([beginning(), delta(type="text_delta", text="half")]),
        events([beginning(), 'event: content_block_delta\ndata: {"type": "cont\n\n']),
        events([]),
    ],
    ids=["connection lost", "ends early", "event cut", "nothing at all"],
)
async def test_an_answer_that_breaks_off_is_no_answer(start: Start, told: Told) -> None:
    client, _ = await start(lambda asked: told)
    with pytest.raises(ModelUnavailable):
        await client.complete(question())


@pytest.mark.req("P11")
async def test_silence_ends_in_a_timeout(start: Start) -> None:
    client, _ = await start(lambda asked: events([beginning()], end="silent"), timeout=0.2)
    with pytest.raises(ModelUnavailable, match=r"silent for 0\.2 seconds"):
        await client.complete(question())


@pytest.mark.req("P11")
async def test_nobody_listening_is_temporary_and_named() -> None:
    address = await closed_port()
    client = Anthropic("claude-x", KEY, address)
    with pytest.raises(ModelUnavailable, match=f"{address} cannot be reached"):
        await client.complete(question())
    await client.aclose()


async def test_a_wrong_key_names_its_variable_and_never_itself(start: Start) -> None:
    client, _ = await start(lambda asked: fault(401, "authentication_error", f"invalid x-api-key {KEY}"))
    with pytest.raises(ModelRejected, match="API key") as caught:
        await client.complete(question())
    assert "ANTHROPIC_API_KEY" in caught.value.remedy
    assert KEY not in str(caught.value)


async def test_without_a_key_nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    async with serving(lambda asked: spoken("x")) as server:
        client = Anthropic("claude-x", base_url=server.address)
        with pytest.raises(ModelRejected, match="wants an API key") as caught:
            await client.complete(question())
        assert caught.value.remedy == "set ANTHROPIC_API_KEY"
        assert server.asked == []


async def test_key_and_address_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving(lambda asked: spoken("x")) as server:
        monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.address)
        client = Anthropic("claude-x")
        assert (await client.complete(question())).text == "x"
        await client.aclose()
        assert server.asked[0].headers["authorization"] == f"Bearer {KEY}"


async def test_an_unknown_model_is_permanent(start: Start) -> None:
    client, _ = await start(lambda asked: fault(404, "not_found_error", "model: claude-x"))
    with pytest.raises(ModelRejected, match="knows no model claude-x"):
        await client.complete(question())


@pytest.mark.parametrize(
    ("said", "match"),
    [
        ("prompt is too long: 210000 tokens > 200000 maximum", "context of claude-x"),
        ("Your credit balance is too low to access the API", "no quota left"),
    ],
)
async def test_other_refusals_are_permanent(start: Start, said: str, match: str) -> None:
    client, _ = await start(lambda asked: fault(400, "invalid_request_error", said))
    with pytest.raises(ModelRejected, match=match):
        await client.complete(question())


async def test_a_page_instead_of_an_answer_points_to_the_address(start: Start) -> None:
    client, _ = await start(lambda asked: Told([b"<html>"], headers={"content-type": "text/html"}))
    with pytest.raises(ModelRejected, match="text/html"):
        await client.complete(question())


async def test_a_missing_sdk_is_told_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name == "anthropic":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ModelRuntimeMissing, match="not installed") as caught:
        await Anthropic("claude-x", KEY).complete(question())
    assert "surefoot[anthropic]" in caught.value.remedy


def test_its_name_and_its_context() -> None:
    client = Anthropic("claude-x", KEY)
    assert (client.name, client.traits.context_tokens) == ("anthropic/claude-x", 200_000)
