"""The OpenAI-compatible client against an HTTP server on loopback."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from support.loopback import Loopback, Request, Response, closed_port, event_stream, json_response, serving
from surefoot.errors import (
    ModelRateLimited,
    ModelRejected,
    ModelUnavailable,
    NotAModelServer,
    UnknownModel,
    UsageError,
)
from surefoot.models.base import Message, ModelRequest, ModelTraits, Usage
from surefoot.models.providers.openai_compatible import OpenAICompatible
from surefoot.models.providers.wire.schema import fits_strict_mode

KEY = "sk-test-0123456789abcdefghij"
OPEN_SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
CLOSED_SCHEMA = {**OPEN_SCHEMA, "additionalProperties": False}
INSTRUCTION = "Answer with one JSON object that fits this JSON schema: "


def chunk(text: str | None = None, finish: str | None = None, **more: Any) -> str:
    choice = {"index": 0, "delta": {} if text is None else {"content": text}, "finish_reason": finish}
    body = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m-2026", "choices": [choice], **more}
    return f"data: {json.dumps(body, ensure_ascii=False)}\n\n"


def answering(*pieces: str, finish: str = "stop", **more: Any) -> Response:
    return event_stream(
        [*map(chunk, pieces), chunk(finish=finish), chunk(**{"choices": [], **more}), "data: [DONE]\n\n"]
    )


def failing(status: int, message: str, **more: Any) -> Response:
    headers = more.pop("headers", {})
    return json_response({"error": {"message": message, **more}}, status, **headers)


def request_for(text: str = "hello", **more: Any) -> ModelRequest:
    return ModelRequest(messages=(Message(role="user", content=text),), **more)


Start = Callable[..., Any]


@pytest.fixture
async def start() -> AsyncIterator[Start]:
    """`start(respond)` returns a client and its server."""
    cleanups: list[Any] = []

    async def begin(respond: Callable[[Request], Response], **more: Any) -> tuple[OpenAICompatible, Loopback]:
        server = serving(respond)
        loopback = await server.__aenter__()
        client = OpenAICompatible(f"{loopback.address}/v1", "m", more.pop("api_key", KEY), **more)
        cleanups.extend([client.aclose, lambda: server.__aexit__(None, None, None)])
        return client, loopback

    yield begin
    for cleanup in cleanups:
        await cleanup()


# -- answers ---------------------------------------------------------------------------------------------------------


@pytest.mark.req("X5")
@pytest.mark.parametrize("repeated", ["", "def half("])
async def test_a_begun_answer_is_returned_completely(start: Start, repeated: str) -> None:
    """Servers that continue a begun answer repeat the beginning or omit it."""
    client, server = await start(lambda request: answering(repeated, "n):"))
    reply = await client.complete(request_for(begin="def half(", stop=("n):",)))
    assert reply.text == "def half(n):"
    assert server.requests[0].body["messages"][-1] == {"role": "assistant", "content": "def half("}


async def test_an_answer_is_streamed_and_returned(start: Start) -> None:
    client, server = await start(lambda request: answering("Hel", "lo"))
    pieces: list[str] = []
    reply = await client.complete(request_for(temperature=0.5, max_tokens=77, seed=3, stop=("END",)), pieces.append)
    assert (reply.text, reply.finish_reason, reply.model, reply.constrained) == ("Hello", "stop", "m-2026", False)
    assert pieces == ["Hel", "lo"]
    [request] = server.requests
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.body == {
        "model": "m",
        "messages": [{"role": "user", "content": "hello"}],
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": 0.5,
        "max_tokens": 77,
        "seed": 3,
        "stop": ["END"],
    }


async def test_characters_split_between_packets_are_decoded(start: Start) -> None:
    raw = (chunk("你好，世界 🙂") + chunk(finish="stop") + "data: [DONE]\n\n").encode()
    headers = {"content-type": "text/event-stream"}
    client, _ = await start(lambda request: Response([raw[i : i + 1] for i in range(len(raw))], headers=headers))
    assert (await client.complete(request_for())).text == "你好，世界 🙂"


@pytest.mark.parametrize(
    ("reason", "expected"),
    [("stop", "stop"), ("length", "length"), ("content_filter", "other"), ("tool_calls", "other")],
)
async def test_finish_reason(start: Start, reason: str, expected: str) -> None:
    client, _ = await start(lambda request: answering("x", finish=reason))
    assert (await client.complete(request_for())).finish_reason == expected


@pytest.mark.parametrize(
    ("fields", "counts"),
    [
        (
            {"usage": {"prompt_tokens": 100, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 64}}},
            (100, 7, 64),
        ),
        ({"usage": {"prompt_tokens": 100, "completion_tokens": 7, "prompt_cache_hit_tokens": 32}}, (100, 7, 32)),
        ({"usage": {"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": None}}, (9, 2, 0)),
        ({"timings": {"cache_n": 40, "prompt_n": 2, "predicted_n": 5}}, (42, 5, 40)),
        (
            {"usage": {"prompt_tokens": 42, "completion_tokens": 5}, "timings": {"cache_n": 40, "prompt_n": 2}},
            (42, 5, 40),
        ),
        ({"usage": None}, (0, 0, 0)),
    ],
    ids=["openai", "deepseek", "no details", "only timings", "llama.cpp", "nothing"],
)
async def test_usage_is_read_from_every_known_format(
    start: Start, fields: dict[str, Any], counts: tuple[int, int, int]
) -> None:
    client, _ = await start(lambda request: answering("x", **fields))
    prompt, output, cached = counts
    expected = Usage(prompt_tokens=prompt, output_tokens=output, cached_tokens=cached)
    assert (await client.complete(request_for())).usage == expected


async def test_reasoning_and_empty_fields_are_ignored(start: Start) -> None:
    odd = [
        chunk(choices=[{"index": 0, "delta": {"reasoning_content": "hm"}, "finish_reason": ""}]),
        chunk(choices=[{"index": 0, "delta": None}]),
        chunk(choices=None),
        ": keep-alive\n\n",
    ]
    client, _ = await start(lambda request: event_stream([*odd, chunk("yes"), chunk(finish="stop")]))
    assert (await client.complete(request_for())).text == "yes"


async def test_a_refusal_has_finish_reason_other(start: Start) -> None:
    refusing = chunk(choices=[{"index": 0, "delta": {"refusal": "I will not."}, "finish_reason": None}])
    client, server = await start(lambda request: event_stream([refusing, chunk(finish="stop")]))
    reply = await client.complete(request_for(output_schema=OPEN_SCHEMA))
    assert (reply.text, reply.finish_reason) == ("I will not.", "other")
    await client.complete(request_for(output_schema=OPEN_SCHEMA))
    assert "response_format" in server.bodies()[1], "a refusal says nothing about the features of the server"


@pytest.mark.req("O5")
async def test_messages_alternate(start: Start) -> None:
    client, server = await start(lambda request: answering("x"))
    pairs = [("system", "s1"), ("system", "s2"), ("user", "a"), ("user", "b"), ("assistant", "c"), ("system", "d")]
    await client.complete(ModelRequest(messages=tuple(Message(role=r, content=c) for r, c in pairs)))
    assert server.bodies()[0]["messages"] == [
        {"role": "system", "content": "s1\n\ns2"},
        {"role": "user", "content": "a\n\nb"},
        {"role": "assistant", "content": "c"},
        {"role": "user", "content": "d"},
    ]


@pytest.mark.req("O5")
async def test_the_system_message_is_folded_if_the_server_refuses_it(start: Start) -> None:
    def gemma(request: Request) -> Response:
        roles = [message["role"] for message in request.body["messages"]]
        return failing(500, "Jinja error: System role not supported") if "system" in roles else answering("x")

    client, server = await start(gemma)
    request = ModelRequest(messages=(Message(role="system", content="s"), Message(role="user", content="u")))
    await client.complete(request)
    await client.complete(request)
    assert len(server.requests) == 3
    assert server.bodies()[-1]["messages"] == [{"role": "user", "content": "s\n\nu"}]


# -- schemas ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("schema", "strict"), [(OPEN_SCHEMA, False), (CLOSED_SCHEMA, True)])
async def test_a_schema_is_enforced(start: Start, schema: dict[str, Any], strict: bool) -> None:
    client, server = await start(lambda request: answering('{"n": 1}'))
    reply = await client.complete(request_for(output_schema=schema))
    assert reply.constrained
    described = {"name": "answer", "schema": schema, "strict": strict}
    assert server.bodies()[0]["response_format"] == {"type": "json_schema", "json_schema": described}
    assert server.bodies()[0]["messages"][-1]["content"] == "hello"


def test_strict_mode_is_checked_at_every_depth() -> None:
    def around(inner: dict[str, Any]) -> dict[str, Any]:
        return {"type": "object", "properties": {"a": inner}, "required": ["a"], "additionalProperties": False}

    assert fits_strict_mode(around(around({"type": "array", "items": CLOSED_SCHEMA})))
    assert not fits_strict_mode(around({"type": "array", "items": OPEN_SCHEMA}))
    assert not fits_strict_mode(around({"anyOf": [{"type": "null"}, OPEN_SCHEMA]}))
    assert not fits_strict_mode({**around(CLOSED_SCHEMA), "$defs": {"x": OPEN_SCHEMA}})
    assert not fits_strict_mode({**around(CLOSED_SCHEMA), "required": []})
    assert fits_strict_mode(around({"enum": ["properties"]}))


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "This response_format type is unavailable now"),
        (404, "No endpoints found that support response_format"),
        (422, "response_format: Input should be 'text' or 'json_object'"),
        (500, "json_schema is not supported by this backend"),
    ],
)
async def test_a_server_without_schemas_falls_back_to_json_mode_once(start: Start, status: int, message: str) -> None:
    def respond(request: Request) -> Response:
        kind = request.body.get("response_format", {}).get("type")
        return failing(status, message) if kind == "json_schema" else answering('{"n": 1}')

    client, server = await start(respond)
    first = await client.complete(request_for(output_schema=CLOSED_SCHEMA))
    assert (first.text, first.constrained, len(server.requests)) == ('{"n": 1}', False, 2)
    # Another client of the same server and model uses JSON mode at once.
    again = OpenAICompatible(f"{server.address}/v1", "m", KEY)
    await again.complete(request_for(output_schema=OPEN_SCHEMA))
    await again.aclose()
    assert len(server.requests) == 3
    for body, schema in zip(server.bodies()[1:], (CLOSED_SCHEMA, OPEN_SCHEMA), strict=True):
        assert body["response_format"] == {"type": "json_object"}
        compact = json.dumps(schema, separators=(",", ":"))
        assert body["messages"][-1] == {"role": "user", "content": f"hello\n\n{INSTRUCTION}{compact}"}


async def test_features_are_remembered_per_model(start: Start) -> None:
    def respond(request: Request) -> Response:
        unsupported = request.body["model"] == "m" and "response_format" in request.body
        return failing(400, "response_format is not supported") if unsupported else answering('{"n": 1}')

    client, server = await start(respond)
    assert not (await client.complete(request_for(output_schema=OPEN_SCHEMA))).constrained
    other = OpenAICompatible(f"{server.address}/v1", "other", KEY)
    assert (await other.complete(request_for(output_schema=OPEN_SCHEMA))).constrained
    await other.aclose()


async def test_a_server_without_response_format_gets_the_schema_in_the_prompt(start: Start) -> None:
    def respond(request: Request) -> Response:
        refused = "response_format" in request.body
        return failing(400, "Unrecognized request argument: response_format") if refused else answering('{"n": 1}')

    client, server = await start(respond)
    for total in (3, 4):
        reply = await client.complete(request_for(output_schema=OPEN_SCHEMA))
        assert not reply.constrained
        assert len(server.requests) == total
    assert INSTRUCTION in server.bodies()[-1]["messages"][-1]["content"]


async def test_a_schema_that_cannot_be_compiled_does_not_affect_others(start: Start) -> None:
    def respond(request: Request) -> Response:
        described = request.body.get("response_format", {}).get("json_schema")
        bad = described and "bad" in described["schema"]["properties"]
        return failing(400, "Invalid schema for response_format 'answer'") if bad else answering('{"bad": 1, "n": 1}')

    client, server = await start(respond)
    bad = {"type": "object", "properties": {"bad": {"type": "integer"}}, "required": ["bad"]}
    assert not (await client.complete(request_for(output_schema=bad))).constrained
    assert (await client.complete(request_for(output_schema=OPEN_SCHEMA))).constrained
    assert not (await client.complete(request_for(output_schema=bad))).constrained
    assert len(server.requests) == 4


@pytest.mark.parametrize("answer", ["Sure! The number is one.", '{"other": 1}', "[1]"])
async def test_a_server_that_ignores_the_schema_is_detected(start: Start, answer: str) -> None:
    client, server = await start(lambda request: answering(answer))
    first = await client.complete(request_for(output_schema=OPEN_SCHEMA))
    assert (first.text, first.constrained) == (answer, False)
    await client.complete(request_for(output_schema=OPEN_SCHEMA))
    assert INSTRUCTION in server.bodies()[1]["messages"][-1]["content"]


async def test_a_truncated_answer_does_not_count_as_ignoring_the_schema(start: Start) -> None:
    client, server = await start(lambda request: answering('{"n"', finish="length"))
    assert (await client.complete(request_for(output_schema=OPEN_SCHEMA))).constrained
    await client.complete(request_for(output_schema=OPEN_SCHEMA))
    assert server.bodies()[1]["response_format"]["type"] == "json_schema"


# -- unsupported fields ----------------------------------------------------------------------------------------------


async def test_renamed_and_unsupported_fields_are_learnt_once(start: Start) -> None:
    def newer(request: Request) -> Response:
        if "max_tokens" in request.body:
            message = (
                "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens'."
            )
            return failing(400, message, param="max_tokens", code="unsupported_parameter")
        if "temperature" in request.body:
            message = "Unsupported value: 'temperature' does not support 0 with this model."
            return failing(400, message, param="temperature", code="unsupported_value")
        return answering("x")

    client, server = await start(newer)
    await client.complete(request_for(max_tokens=50))
    assert len(server.requests) == 3
    await client.complete(request_for(max_tokens=60))
    assert len(server.requests) == 4
    assert server.bodies()[-1]["max_completion_tokens"] == 60
    assert not {"max_tokens", "temperature"} & server.bodies()[-1].keys()


@pytest.mark.parametrize("name", ["seed", "stop", "stream_options"])
async def test_an_unsupported_field_is_omitted(start: Start, name: str) -> None:
    def choosy(request: Request) -> Response:
        detail = [{"loc": ["body", name], "msg": "Extra inputs are not permitted", "input": request.body}]
        return json_response({"detail": detail}, 422) if name in request.body else answering("one STOP two")

    client, server = await start(choosy)
    reply = await client.complete(request_for(seed=1, stop=("STOP",)))
    assert len(server.requests) == 2
    assert server.bodies()[1] == {key: value for key, value in server.bodies()[0].items() if key != name}
    assert reply.text == ("one " if name == "stop" else "one STOP two")


async def test_a_limit_that_is_too_large_is_not_mistaken_for_an_unknown_field(start: Start) -> None:
    message = (
        "'max_tokens' or 'max_completion_tokens' is too large: 9000. This model's maximum context length is 8192 tokens"
    )
    client, server = await start(lambda request: failing(400, message))
    with pytest.raises(ModelRejected, match="does not fit into the context of m"):
        await client.complete(request_for())
    assert len(server.requests) == 1


async def test_the_number_of_forms_tried_is_limited(start: Start) -> None:
    client, server = await start(lambda request: failing(400, "response_format, 'temperature' and \"seed\" are wrong"))
    with pytest.raises(ModelRejected, match="are wrong"):
        await client.complete(request_for(output_schema=OPEN_SCHEMA, seed=1))
    assert len(server.requests) <= 5


# -- errors ----------------------------------------------------------------------------------------------------------


@pytest.mark.req("P11")
@pytest.mark.parametrize(
    ("headers", "wait"),
    [({"retry_after": "7"}, 7.0), ({"retry_after_ms": "1500", "retry_after": "7"}, 1.5), ({}, None)],
)
async def test_rate_limits_are_temporary_with_the_time_to_wait(
    start: Start, headers: dict[str, str], wait: float | None
) -> None:
    client, server = await start(lambda request: failing(429, "slow down", headers=headers))
    with pytest.raises(ModelRateLimited, match="slow down") as caught:
        await client.complete(request_for())
    assert (caught.value.temporary, caught.value.retry_after) == (True, wait)
    assert len(server.requests) == 1, "the client does not retry"


async def test_retry_after_may_be_a_date(start: Start) -> None:
    headers = {"retry_after": "Fri, 01 Jan 2100 00:00:00 GMT"}
    client, _ = await start(lambda request: failing(429, "slow down", headers=headers))
    with pytest.raises(ModelRateLimited) as caught:
        await client.complete(request_for())
    assert caught.value.retry_after is not None
    assert caught.value.retry_after > 1_000_000


@pytest.mark.req("P11")
@pytest.mark.parametrize(
    ("status", "code"), [(429, "insufficient_quota"), (402, "Insufficient Balance"), (400, "credit balance is too low")]
)
async def test_an_exhausted_quota_is_permanent(start: Start, status: int, code: str) -> None:
    client, _ = await start(lambda request: failing(status, "You exceeded your quota", code=code))
    with pytest.raises(ModelRejected, match="no quota left") as caught:
        await client.complete(request_for())
    assert not caught.value.temporary


@pytest.mark.req("P11")
@pytest.mark.parametrize("status", [500, 502, 503, 529, 408])
async def test_server_errors_are_temporary(start: Start, status: int) -> None:
    client, server = await start(lambda request: failing(status, "try later"))
    with pytest.raises(ModelUnavailable, match=f"status {status}.*try later") as caught:
        await client.complete(request_for(output_schema=OPEN_SCHEMA))
    assert caught.value.temporary
    assert caught.value.remedy
    assert len(server.requests) == 1


@pytest.mark.req("P11")
async def test_an_unreachable_server_is_temporary() -> None:
    address = await closed_port()
    client = OpenAICompatible(f"{address}/v1", "m", KEY)
    with pytest.raises(ModelUnavailable, match=f"{address}/v1 cannot be reached") as caught:
        await client.complete(request_for())
    assert "running" in caught.value.remedy
    await client.aclose()


@pytest.mark.req("P11")
@pytest.mark.parametrize(
    "response",
    [
        event_stream([chunk("half an ans")], end="lost"),
        event_stream([chunk("half an ans")]),
        event_stream([chunk("half an ans"), "data: [DONE]\n\n"]),
        event_stream([chunk("half an ans"), 'data: {"choices": [{"ind\n\n']),
        event_stream([]),
    ],
    ids=["connection lost", "ends early", "done too early", "event cut", "nothing at all"],
)
async def test_an_incomplete_answer_is_an_error(start: Start, response: Response) -> None:
    client, _ = await start(lambda request: response)
    with pytest.raises(ModelUnavailable):
        await client.complete(request_for())


async def test_a_connection_lost_after_the_answer_does_not_matter(start: Start) -> None:
    client, _ = await start(lambda request: event_stream([chunk("whole"), chunk(finish="stop")], end="lost"))
    assert (await client.complete(request_for())).text == "whole"


@pytest.mark.req("P11")
@pytest.mark.parametrize("response", [event_stream([], end="silent"), event_stream([chunk("hm")], end="silent")])
async def test_a_silent_server_times_out(start: Start, response: Response) -> None:
    client, _ = await start(lambda request: response, timeout=0.2)
    with pytest.raises(ModelUnavailable, match=r"sent nothing for 0\.2 seconds"):
        await client.complete(request_for())


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        ({"message": "out of memory", "type": "server_error"}, ModelUnavailable),
        ({"message": "slow", "code": 429}, ModelRateLimited),
        ({"message": "slow", "type": "rate_limit_error"}, ModelRateLimited),
        ({"message": "the request exceeds the available context size", "code": 400}, ModelRejected),
        ("just words", ModelUnavailable),
    ],
)
async def test_an_error_inside_the_stream_is_converted(start: Start, error: Any, expected: type) -> None:
    client, _ = await start(lambda request: event_stream([chunk("hm"), f"data: {json.dumps({'error': error})}\n\n"]))
    with pytest.raises(expected):
        await client.complete(request_for())


async def test_an_html_page_is_refused_with_a_hint_at_the_address(start: Start) -> None:
    page = Response([b"<html>Welcome</html>"], headers={"content-type": "text/html"})
    client, _ = await start(lambda request: page)
    with pytest.raises(ModelRejected, match="text/html") as caught:
        await client.complete(request_for())
    assert "/v1" in caught.value.remedy


@pytest.mark.parametrize(
    ("key", "variable", "remedy"),
    [
        (KEY, "OPENAI_API_KEY", "check the key in OPENAI_API_KEY"),
        (None, "OPENAI_API_KEY", "export OPENAI_API_KEY=..."),
        (None, "", "model.api_key_env"),
    ],
)
@pytest.mark.parametrize("status", [401, 403])
async def test_a_wrong_key_is_not_shown_but_its_variable_is(
    start: Start, status: int, key: str | None, variable: str, remedy: str
) -> None:
    client, server = await start(
        lambda request: failing(status, f"Incorrect API key provided: {KEY}"), api_key=key, key_variable=variable
    )
    with pytest.raises(ModelRejected, match="API key") as caught:
        await client.complete(request_for())
    assert remedy in caught.value.remedy
    assert KEY not in str(caught.value) + caught.value.remedy
    assert len(server.requests) == 1


async def test_short_keys_and_passwords_are_not_shown(start: Start) -> None:
    client, server = await start(lambda request: failing(418, "short hunter2 is no key"), api_key="short")
    address = server.address.replace("http://", "http://me:hunter2@")
    client = OpenAICompatible(f"{address}/v1", "m", "short")
    with pytest.raises(ModelRejected) as caught:
        await client.complete(request_for())
    await client.aclose()
    assert "short" not in str(caught.value)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("status", "message"), [(404, "model 'm' not found, try pulling it first"), (400, "Model Not Exist")]
)
async def test_an_unknown_model_lists_the_available_ones(start: Start, status: int, message: str) -> None:
    def respond(request: Request) -> Response:
        listing = {"object": "list", "data": [{"id": "qwen"}, {"id": "llama"}]}
        return json_response(listing) if request.path == "/v1/models" else failing(status, message)

    client, _ = await start(respond)
    with pytest.raises(UnknownModel, match="has no model m") as caught:
        await client.complete(request_for())
    assert caught.value.remedy == "choose one that it has with -m: qwen, llama"


@pytest.mark.parametrize(
    "listing",
    [
        json_response({}, 404),
        json_response({"data": None}),
        json_response({"data": [1, {}]}),
        json_response([]),
        Response([b"<html>"]),
    ],
)
async def test_an_address_without_a_model_server(start: Start, listing: Response) -> None:
    client, _ = await start(
        lambda request: listing if request.method == "GET" else json_response({"detail": "Not Found"}, 404)
    )
    with pytest.raises(NotAModelServer, match=r"no model server answers at .* \(status 404\): Not Found") as caught:
        await client.complete(request_for())
    assert "/v1" in caught.value.remedy


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, {"message": "This model's maximum context length is 8192 tokens", "code": "context_length_exceeded"}),
        (400, {"message": "the request exceeds the available context size", "type": "exceed_context_size_error"}),
        (500, {"message": "input is larger than the context window"}),
        (413, {"message": "payload too large"}),
    ],
)
async def test_a_prompt_that_is_too_long_is_permanent_with_a_remedy(
    start: Start, status: int, error: dict[str, str]
) -> None:
    client, _ = await start(lambda request: json_response({"error": error}, status))
    with pytest.raises(ModelRejected, match="context of m") as caught:
        await client.complete(request_for())
    assert "context_tokens" in caught.value.remedy


async def test_error_messages_of_servers_are_quoted_on_one_short_line(start: Start) -> None:
    client, _ = await start(lambda request: failing(418, "tea\x1b[2J\n" * 500))
    with pytest.raises(ModelRejected) as caught:
        await client.complete(request_for())
    assert len(str(caught.value)) < 500
    assert "\n" not in str(caught.value)
    assert "\x1b" not in str(caught.value)


@pytest.mark.parametrize("address", ["127.0.0.1:8080/v1", "ftp://host/v1", "http://", ""])
def test_an_invalid_address_is_refused(address: str) -> None:
    with pytest.raises(UsageError, match="not the address of a server"):
        OpenAICompatible(address, "m")


# -- client behaviour -------------------------------------------------------------------------------------------------


async def test_without_a_key_the_openai_variables_are_not_sent(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-somebody-else")
    monkeypatch.setenv("OPENAI_ADMIN_KEY", "sk-of-somebody-else")
    client, server = await start(lambda request: answering("x"), api_key=None)
    await client.complete(request_for())
    assert "authorization" not in server.requests[0].headers
    assert "somebody" not in str(server.requests)


async def test_proxies_are_not_used_for_loopback(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.setenv("HTTP_PROXY", await closed_port())
    client, _ = await start(lambda request: answering("x"))
    assert (await client.complete(request_for())).text == "x"


async def test_a_client_is_usable_after_cancellation(start: Start) -> None:
    received = asyncio.Event()
    responses = [event_stream([chunk("hm")], end="silent"), answering("x")]
    client, _ = await start(lambda request: responses.pop(0))
    task = asyncio.create_task(client.complete(request_for(), lambda piece: received.set()))
    await received.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await client.complete(request_for())).text == "x"


async def test_concurrent_requests(start: Start) -> None:
    client, _ = await start(lambda request: answering(request.body["messages"][0]["content"]))
    replies = await asyncio.gather(*(client.complete(request_for(f"q{i}")) for i in range(8)))
    assert [reply.text for reply in replies] == [f"q{i}" for i in range(8)]


async def test_a_closed_client_can_be_closed_and_used_again(start: Start) -> None:
    client, _ = await start(lambda request: answering("x"))
    await client.complete(request_for())
    await client.aclose()
    await client.aclose()
    assert (await client.complete(request_for())).text == "x"


def test_name_and_traits() -> None:
    client = OpenAICompatible("http://127.0.0.1:1/v1", "m", traits=ModelTraits(context_tokens=5000), name="local/m")
    assert (client.name, client.traits.context_tokens) == ("local/m", 5000)
    assert OpenAICompatible("http://127.0.0.1:1/v1", "m").name == "m"


def test_sdks_are_imported_only_when_used() -> None:
    code = (
        "import sys, surefoot.models.providers.openai_compatible, surefoot.models.providers.anthropic\n"
        "import surefoot.models.select\n"
        "print([name for name in ('openai', 'anthropic', 'httpx2', 'http.client') if name in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
