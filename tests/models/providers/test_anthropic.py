"""The Anthropic client against an HTTP server on loopback."""

import builtins
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from support.loopback import Loopback, Request, Response, closed_port, event_stream, json_response, serving
from surefoot.config.extras import install_remedy
from surefoot.errors import ModelRateLimited, ModelRejected, ModelRuntimeMissing, ModelUnavailable, NotAModelServer
from surefoot.models.base import Message, ModelRequest, Usage
from surefoot.models.providers.anthropic import MIN_CACHED_CHARS, Anthropic

KEY = "sk-ant-test-0123456789abcdefghij"
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}, "required": ["n"]}
EPHEMERAL = {"type": "ephemeral"}


def event(kind: str, **fields: Any) -> str:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields}, ensure_ascii=False)}\n\n"


def message_start(**usage: int) -> str:
    counts = {"input_tokens": 10, "output_tokens": 1, **usage}
    message = {"id": "1", "type": "message", "role": "assistant", "model": "claude-x-1", "content": [], "usage": counts}
    return event("message_start", message={**message, "stop_reason": None, "stop_sequence": None})


def delta(**fields: Any) -> str:
    return event("content_block_delta", index=0, delta=fields)


def message_end(reason: str, output_tokens: int = 5) -> list[str]:
    end = event("message_delta", delta={"stop_reason": reason}, usage={"output_tokens": output_tokens})
    return [event("content_block_stop", index=0), end, event("message_stop")]


def answering(*pieces: str, reason: str = "end_turn", **usage: int) -> Response:
    start = event("content_block_start", index=0, content_block={"type": "text", "text": ""})
    deltas = [delta(type="text_delta", text=piece) for piece in pieces]
    return event_stream([message_start(**usage), start, event("ping"), *deltas, *message_end(reason)])


def calling_tool(*pieces: str) -> Response:
    block = {"type": "tool_use", "id": "t1", "name": "answer", "input": {}}
    deltas = [delta(type="input_json_delta", partial_json=piece) for piece in pieces]
    return event_stream(
        [message_start(), event("content_block_start", index=0, content_block=block), *deltas, *message_end("tool_use")]
    )


def failing(status: int, kind: str, message: str, **headers: str) -> Response:
    return json_response({"type": "error", "error": {"type": kind, "message": message}}, status, **headers)


def request_for(text: str = "hello", **more: Any) -> ModelRequest:
    return ModelRequest(messages=(Message(role="user", content=text),), **more)


Start = Callable[..., Any]


@pytest.fixture
async def start() -> AsyncIterator[Start]:
    """`start(respond)` returns a client and its server."""
    cleanups: list[Any] = []

    async def begin(respond: Callable[[Request], Response], **more: Any) -> tuple[Anthropic, Loopback]:
        server = serving(respond)
        loopback = await server.__aenter__()
        client = Anthropic("claude-x", KEY, loopback.address, **more)
        cleanups.extend([client.aclose, lambda: server.__aexit__(None, None, None)])
        return client, loopback

    yield begin
    for cleanup in cleanups:
        await cleanup()


# -- answers ---------------------------------------------------------------------------------------------------------


async def test_an_answer_is_streamed_and_returned(start: Start) -> None:
    client, server = await start(lambda request: answering("Hel", "lo"))
    pieces: list[str] = []
    reply = await client.complete(request_for(temperature=0.5, max_tokens=77, stop=("END",)), pieces.append)
    assert (reply.text, reply.finish_reason, reply.model, reply.constrained) == ("Hello", "stop", "claude-x-1", False)
    assert pieces == ["Hel", "lo"]
    [request] = server.requests
    assert (request.path, request.headers["authorization"]) == ("/v1/messages", f"Bearer {KEY}")
    assert request.body == {
        "model": "claude-x",
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hello"}]}],
        "stream": True,
        "temperature": 0.5,
        "max_tokens": 77,
        "stop_sequences": ["END"],
    }


@pytest.mark.req("O5")
async def test_the_system_message_is_separate_and_the_others_alternate(start: Start) -> None:
    client, server = await start(lambda request: answering("x"))
    pairs = [("system", "s1"), ("system", "s2"), ("user", "a"), ("user", "b"), ("assistant", "c"), ("system", "d")]
    await client.complete(ModelRequest(messages=tuple(Message(role=r, content=c) for r, c in pairs)))
    body = server.bodies()[0]
    assert body["system"] == [{"type": "text", "text": "s1\n\ns2", "cache_control": EPHEMERAL}]
    assert body["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "a\n\nb"}]},
        {"role": "assistant", "content": "c"},
        {"role": "user", "content": "d"},
    ]


async def test_the_common_prefix_of_prompts_is_marked_for_the_cache(start: Start) -> None:
    client, server = await start(lambda request: answering("x"))
    briefing = "one line of the briefing\n" * (MIN_CACHED_CHARS // 20)
    prompts = [f"{briefing}step {n}: what now?" for n in range(3)] + ["something else\nentirely", briefing]
    for prompt in prompts:
        await client.complete(request_for(prompt))
    contents = [body["messages"][0]["content"] for body in server.bodies()]
    assert contents[0] == [{"type": "text", "text": prompts[0]}], "no common prefix is known yet"
    for n in (1, 2):
        stable = {"type": "text", "text": briefing, "cache_control": EPHEMERAL}
        assert contents[n] == [stable, {"type": "text", "text": f"step {n}: what now?"}]
    assert contents[3] == [{"type": "text", "text": prompts[3]}]
    assert ["".join(block["text"] for block in content) for content in contents] == prompts


async def test_cached_tokens_are_counted(start: Start) -> None:
    client, _ = await start(lambda request: answering("x", cache_read_input_tokens=100, cache_creation_input_tokens=20))
    usage = (await client.complete(request_for())).usage
    assert usage == Usage(prompt_tokens=130, output_tokens=5, cached_tokens=100, cache_write_tokens=20)


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "other"),
    ],
)
async def test_finish_reason(start: Start, reason: str, expected: str) -> None:
    client, _ = await start(lambda request: answering("x", reason=reason))
    assert (await client.complete(request_for())).finish_reason == expected


async def test_thinking_is_ignored(start: Start) -> None:
    thinking = delta(type="thinking_delta", thinking="hm")
    client, _ = await start(
        lambda request: event_stream(
            [message_start(), thinking, delta(type="text_delta", text="yes"), *message_end("end_turn")]
        )
    )
    assert (await client.complete(request_for())).text == "yes"


async def test_characters_split_between_packets_are_decoded(start: Start) -> None:
    raw = b"".join(answering("你好，世界 🙂").pieces)
    headers = {"content-type": "text/event-stream"}
    client, _ = await start(lambda request: Response([raw[i : i + 1] for i in range(len(raw))], headers=headers))
    assert (await client.complete(request_for())).text == "你好，世界 🙂"


# -- schemas and unsupported fields ----------------------------------------------------------------------------------


async def test_a_schema_is_enforced_as_structured_output(start: Start) -> None:
    client, server = await start(lambda request: answering('{"n": 1}'))
    reply = await client.complete(request_for(output_schema=SCHEMA))
    assert (reply.text, reply.constrained) == ('{"n": 1}', True)
    described = server.bodies()[0]["output_config"]["format"]
    assert described["type"] == "json_schema"
    assert described["schema"]["additionalProperties"] is False
    assert "minimum" not in described["schema"]["properties"]["n"], (
        "the service refuses keywords that it cannot enforce"
    )


async def test_a_model_without_structured_output_falls_back_to_a_tool_call_once(start: Start) -> None:
    def older(request: Request) -> Response:
        if "output_config" in request.body:
            return failing(400, "invalid_request_error", "output_config.format: not supported by this model")
        return calling_tool('{"n"', ": 1}")

    client, server = await start(older)
    pieces: list[str] = []
    reply = await client.complete(request_for(output_schema=SCHEMA), pieces.append)
    assert (reply.text, reply.finish_reason, reply.constrained) == ('{"n": 1}', "stop", False)
    assert "".join(pieces) == reply.text
    again = Anthropic("claude-x", KEY, server.address)
    await again.complete(request_for(output_schema={**SCHEMA, "title": "another"}))
    await again.aclose()
    assert len(server.requests) == 3
    body = server.bodies()[1]
    assert body["tool_choice"] == {"type": "tool", "name": "answer"}
    assert body["tools"][0]["input_schema"] == SCHEMA


async def test_a_schema_that_cannot_be_compiled_does_not_affect_others(start: Start) -> None:
    def respond(request: Request) -> Response:
        described = request.body.get("output_config", {}).get("format", {}).get("schema", {})
        if "bad" in described.get("properties", {}):
            return failing(400, "invalid_request_error", "Schema is too complex to compile")
        return answering('{"n": 1}')

    client, server = await start(respond)
    bad = {"type": "object", "properties": {"bad": {"type": "integer"}}, "required": ["bad"]}
    for schema, constrained in ((bad, False), (SCHEMA, True), (bad, False)):
        assert (await client.complete(request_for(output_schema=schema))).constrained is constrained
    assert len(server.requests) == 4


async def test_an_unsupported_temperature_is_omitted_from_then_on(start: Start) -> None:
    def newer(request: Request) -> Response:
        refused = "temperature" in request.body
        message = "`temperature` is deprecated for this model."
        return failing(400, "invalid_request_error", message) if refused else answering("x")

    client, server = await start(newer)
    await client.complete(request_for())
    await client.complete(request_for())
    assert ["temperature" in body for body in server.bodies()] == [True, False, False]


# -- errors ----------------------------------------------------------------------------------------------------------


@pytest.mark.req("P11")
async def test_rate_limits_are_temporary_with_the_time_to_wait(start: Start) -> None:
    client, server = await start(lambda request: failing(429, "rate_limit_error", "slow down", retry_after="7"))
    with pytest.raises(ModelRateLimited, match="slow down") as caught:
        await client.complete(request_for())
    assert caught.value.retry_after == 7.0
    assert len(server.requests) == 1, "the client does not retry"


@pytest.mark.req("P11")
@pytest.mark.parametrize(("status", "kind"), [(500, "api_error"), (529, "overloaded_error"), (504, "timeout_error")])
async def test_server_errors_are_temporary(start: Start, status: int, kind: str) -> None:
    client, server = await start(lambda request: failing(status, kind, "Overloaded"))
    with pytest.raises(ModelUnavailable, match="Overloaded"):
        await client.complete(request_for())
    assert len(server.requests) == 1


@pytest.mark.req("P11")
@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("overloaded_error", ModelUnavailable),
        ("rate_limit_error", ModelRateLimited),
        ("invalid_request_error", ModelRejected),
    ],
)
async def test_an_error_inside_the_stream_is_converted(start: Start, kind: str, expected: type) -> None:
    error = event("error", error={"type": kind, "message": "out of order"})
    client, _ = await start(lambda request: event_stream([message_start(), error]))
    with pytest.raises(expected, match="out of order"):
        await client.complete(request_for())


@pytest.mark.req("P11")
@pytest.mark.parametrize(
    "response",
    [
        event_stream([message_start(), delta(type="text_delta", text="half")], end="lost"),
        event_stream([message_start(), delta(type="text_delta", text="half")]),
        event_stream([message_start(), 'event: content_block_delta\ndata: {"type": "cont\n\n']),
        event_stream([]),
    ],
    ids=["connection lost", "ends early", "event cut", "nothing at all"],
)
async def test_an_incomplete_answer_is_an_error(start: Start, response: Response) -> None:
    client, _ = await start(lambda request: response)
    with pytest.raises(ModelUnavailable):
        await client.complete(request_for())


@pytest.mark.req("P11")
async def test_a_silent_server_times_out(start: Start) -> None:
    client, _ = await start(lambda request: event_stream([message_start()], end="silent"), timeout=0.2)
    with pytest.raises(ModelUnavailable, match=r"sent nothing for 0\.2 seconds"):
        await client.complete(request_for())


@pytest.mark.req("P11")
async def test_an_unreachable_server_is_temporary() -> None:
    address = await closed_port()
    client = Anthropic("claude-x", KEY, address)
    with pytest.raises(ModelUnavailable, match=f"{address} cannot be reached"):
        await client.complete(request_for())
    await client.aclose()


async def test_a_wrong_key_is_not_shown_but_its_variable_is(start: Start) -> None:
    client, _ = await start(lambda request: failing(401, "authentication_error", f"invalid x-api-key {KEY}"))
    with pytest.raises(ModelRejected, match="API key") as caught:
        await client.complete(request_for())
    assert "ANTHROPIC_API_KEY" in caught.value.remedy
    assert KEY not in str(caught.value)


async def test_without_a_key_no_request_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    async with serving(lambda request: answering("x")) as server:
        client = Anthropic("claude-x", base_url=server.address)
        with pytest.raises(ModelRejected, match="requires an API key") as caught:
            await client.complete(request_for())
        assert caught.value.remedy == "export ANTHROPIC_API_KEY=..."
        assert server.requests == []


async def test_key_and_address_default_to_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving(lambda request: answering("x")) as server:
        monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.address)
        client = Anthropic("claude-x")
        assert (await client.complete(request_for())).text == "x"
        await client.aclose()
        assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"


async def test_an_unknown_model_is_permanent(start: Start) -> None:
    client, _ = await start(lambda request: failing(404, "not_found_error", "model: claude-x"))
    with pytest.raises(ModelRejected, match="does not know the model claude-x"):
        await client.complete(request_for())


async def test_an_address_without_a_model_server(start: Start) -> None:
    client, _ = await start(lambda request: json_response({"detail": "Not Found"}, 404))
    with pytest.raises(NotAModelServer, match="status 404") as caught:
        await client.complete(request_for())
    assert caught.value.remedy == "correct the address, from the program; it does not end in /v1"


@pytest.mark.parametrize(
    ("message", "match"),
    [
        ("prompt is too long: 210000 tokens > 200000 maximum", "context of claude-x"),
        ("Your credit balance is too low to access the API", "no quota left"),
    ],
)
async def test_other_rejections_are_permanent(start: Start, message: str, match: str) -> None:
    client, _ = await start(lambda request: failing(400, "invalid_request_error", message))
    with pytest.raises(ModelRejected, match=match):
        await client.complete(request_for())


async def test_an_html_page_is_refused(start: Start) -> None:
    client, _ = await start(lambda request: Response([b"<html>"], headers={"content-type": "text/html"}))
    with pytest.raises(ModelRejected, match="text/html"):
        await client.complete(request_for())


async def test_a_missing_sdk_has_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    original = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name == "anthropic":
            raise ImportError(name)
        return original(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ModelRuntimeMissing, match="not installed") as caught:
        await Anthropic("claude-x", KEY).complete(request_for())
    assert caught.value.remedy == install_remedy("anthropic")


def test_name_and_context_tokens() -> None:
    client = Anthropic("claude-x", KEY)
    assert (client.name, client.traits.context_tokens) == ("anthropic/claude-x", 200_000)
