"""The OpenAI-compatible client against real HTTP on loopback: what servers can, refuse, break and say."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from models.loopback import Asked, Loopback, Told, closed_port, events, plain, serving
from surefoot.errors import ModelRateLimited, ModelRejected, ModelUnavailable, UsageError
from surefoot.models.base import Message, ModelRequest, ModelTraits, Usage
from surefoot.models.dialect import fits_strict_mode
from surefoot.models.openai_compatible import OpenAICompatible

KEY = "sk-test-0123456789abcdefghij"
OPEN_SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
CLOSED_SCHEMA = {**OPEN_SCHEMA, "additionalProperties": False}
INSTRUCTION = "Answer with one JSON object that fits this JSON schema: "


def chunk(text: str | None = None, finish: str | None = None, **more: Any) -> str:
    choice = {"index": 0, "delta": {} if text is None else {"content": text}, "finish_reason": finish}
    said = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m-2026", "choices": [choice], **more}
    return f"data: {json.dumps(said, ensure_ascii=False)}\n\n"


def spoken(*pieces: str, finish: str = "stop", **more: Any) -> Told:
    return events([*map(chunk, pieces), chunk(finish=finish), chunk(**{"choices": [], **more}), "data: [DONE]\n\n"])


def fault(status: int, message: str, **more: Any) -> Told:
    headers = more.pop("headers", {})
    return plain({"error": {"message": message, **more}}, status, **headers)


def question(text: str = "hello", **more: Any) -> ModelRequest:
    return ModelRequest(messages=(Message(role="user", content=text),), **more)


Start = Callable[..., Any]


@pytest.fixture
async def start() -> AsyncIterator[Start]:
    """`start(answer)` gives a client and its server."""
    ending: list[Any] = []

    async def begin(answer: Callable[[Asked], Told], **more: Any) -> tuple[OpenAICompatible, Loopback]:
        server = serving(answer)
        loopback = await server.__aenter__()
        client = OpenAICompatible(f"{loopback.address}/v1", "m", more.pop("api_key", KEY), **more)
        ending.extend([client.aclose, lambda: server.__aexit__(None, None, None)])
        return client, loopback

    yield begin
    for end in ending:
        await end()


# -- answers ---------------------------------------------------------------------------------------------------------


@pytest.mark.req("P19")
@pytest.mark.parametrize("repeated", ["", "def half("])
async def test_an_answer_that_was_begun_is_given_whole(start: Start, repeated: str) -> None:
    """Servers that can go on from there repeat the beginning, or leave it out."""
    client, server = await start(lambda asked: spoken(repeated, "n):"))
    reply = await client.complete(question(begin="def half(", stop=("n):",)))
    assert reply.text == "def half(n):"
    assert server.asked[0].body["messages"][-1] == {"role": "assistant", "content": "def half("}


async def test_an_answer_comes_in_pieces_and_as_a_whole(start: Start) -> None:
    client, server = await start(lambda asked: spoken("Hel", "lo"))
    pieces: list[str] = []
    reply = await client.complete(question(temperature=0.5, max_tokens=77, seed=3, stop=("END",)), pieces.append)
    assert (reply.text, reply.finish_reason, reply.model, reply.constrained) == ("Hello", "stop", "m-2026", False)
    assert pieces == ["Hel", "lo"]
    [asked] = server.asked
    assert asked.path == "/v1/chat/completions"
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert asked.body == {
        "model": "m",
        "messages": [{"role": "user", "content": "hello"}],
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": 0.5,
        "max_tokens": 77,
        "seed": 3,
        "stop": ["END"],
    }


async def test_letters_that_are_split_between_packets_stay_whole(start: Start) -> None:
    raw = (chunk("你好，世界 🙂") + chunk(finish="stop") + "data: [DONE]\n\n").encode()
    headers = {"content-type": "text/event-stream"}
    client, _ = await start(lambda asked: Told([raw[i : i + 1] for i in range(len(raw))], headers=headers))
    assert (await client.complete(question())).text == "你好，世界 🙂"


@pytest.mark.parametrize(
    ("said", "means"), [("stop", "stop"), ("length", "length"), ("content_filter", "other"), ("tool_calls", "other")]
)
async def test_why_it_ended(start: Start, said: str, means: str) -> None:
    client, _ = await start(lambda asked: spoken("x", finish=said))
    assert (await client.complete(question())).finish_reason == means


@pytest.mark.parametrize(
    ("told", "counted"),
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
async def test_usage_is_read_however_it_is_told(
    start: Start, told: dict[str, Any], counted: tuple[int, int, int]
) -> None:
    client, _ = await start(lambda asked: spoken("x", **told))
    prompt, output, cached = counted
    expected = Usage(prompt_tokens=prompt, output_tokens=output, cached_tokens=cached)
    assert (await client.complete(question())).usage == expected


async def test_thoughts_and_empty_fields_are_not_the_answer(start: Start) -> None:
    odd = [
        chunk(choices=[{"index": 0, "delta": {"reasoning_content": "hm"}, "finish_reason": ""}]),
        chunk(choices=[{"index": 0, "delta": None}]),
        chunk(choices=None),
        ": keep-alive\n\n",
    ]
    client, _ = await start(lambda asked: events([*odd, chunk("yes"), chunk(finish="stop")]))
    assert (await client.complete(question())).text == "yes"


async def test_a_refusal_is_no_proper_end(start: Start) -> None:
    refusing = chunk(choices=[{"index": 0, "delta": {"refusal": "I will not."}, "finish_reason": None}])
    client, server = await start(lambda asked: events([refusing, chunk(finish="stop")]))
    reply = await client.complete(question(output_schema=OPEN_SCHEMA))
    assert (reply.text, reply.finish_reason) == ("I will not.", "other")
    await client.complete(question(output_schema=OPEN_SCHEMA))
    assert "response_format" in server.bodies()[1], "a refusal says nothing about what the server can"


@pytest.mark.req("O5")
async def test_messages_arrive_in_turn(start: Start) -> None:
    client, server = await start(lambda asked: spoken("x"))
    said = [("system", "s1"), ("system", "s2"), ("user", "a"), ("user", "b"), ("assistant", "c"), ("system", "d")]
    await client.complete(ModelRequest(messages=tuple(Message(role=r, content=c) for r, c in said)))
    assert server.bodies()[0]["messages"] == [
        {"role": "system", "content": "s1\n\ns2"},
        {"role": "user", "content": "a\n\nb"},
        {"role": "assistant", "content": "c"},
        {"role": "user", "content": "d"},
    ]


@pytest.mark.req("O5")
async def test_a_template_without_a_system_role_gets_none(start: Start) -> None:
    def gemma(asked: Asked) -> Told:
        roles = [message["role"] for message in asked.body["messages"]]
        return fault(500, "Jinja error: System role not supported") if "system" in roles else spoken("x")

    client, server = await start(gemma)
    request = ModelRequest(messages=(Message(role="system", content="s"), Message(role="user", content="u")))
    await client.complete(request)
    await client.complete(request)
    assert len(server.asked) == 3
    assert server.bodies()[-1]["messages"] == [{"role": "user", "content": "s\n\nu"}]


# -- schemas ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("schema", "strict"), [(OPEN_SCHEMA, False), (CLOSED_SCHEMA, True)])
async def test_a_schema_is_enforced_where_the_server_can(start: Start, schema: dict[str, Any], strict: bool) -> None:
    client, server = await start(lambda asked: spoken('{"n": 1}'))
    reply = await client.complete(question(output_schema=schema))
    assert reply.constrained
    described = {"name": "answer", "schema": schema, "strict": strict}
    assert server.bodies()[0]["response_format"] == {"type": "json_schema", "json_schema": described}
    assert server.bodies()[0]["messages"][-1]["content"] == "hello"


def test_strict_mode_is_judged_at_every_depth() -> None:
    def around(inner: dict[str, Any]) -> dict[str, Any]:
        return {"type": "object", "properties": {"a": inner}, "required": ["a"], "additionalProperties": False}

    assert fits_strict_mode(around(around({"type": "array", "items": CLOSED_SCHEMA})))
    assert not fits_strict_mode(around({"type": "array", "items": OPEN_SCHEMA}))
    assert not fits_strict_mode(around({"anyOf": [{"type": "null"}, OPEN_SCHEMA]}))
    assert not fits_strict_mode({**around(CLOSED_SCHEMA), "$defs": {"x": OPEN_SCHEMA}})
    assert not fits_strict_mode({**around(CLOSED_SCHEMA), "required": []})
    assert fits_strict_mode(around({"enum": ["properties"]}))


@pytest.mark.parametrize(
    ("status", "complaint"),
    [
        (400, "This response_format type is unavailable now"),
        (404, "No endpoints found that support response_format"),
        (422, "response_format: Input should be 'text' or 'json_object'"),
        (500, "json_schema is not supported by this backend"),
    ],
)
async def test_a_server_without_schemas_is_asked_for_json_and_that_is_remembered(
    start: Start, status: int, complaint: str
) -> None:
    def answer(asked: Asked) -> Told:
        kind = asked.body.get("response_format", {}).get("type")
        return fault(status, complaint) if kind == "json_schema" else spoken('{"n": 1}')

    client, server = await start(answer)
    first = await client.complete(question(output_schema=CLOSED_SCHEMA))
    assert (first.text, first.constrained, len(server.asked)) == ('{"n": 1}', False, 2)
    # Another client of the same server and model knows it too.
    again = OpenAICompatible(f"{server.address}/v1", "m", KEY)
    await again.complete(question(output_schema=OPEN_SCHEMA))
    await again.aclose()
    assert len(server.asked) == 3
    for body, schema in zip(server.bodies()[1:], (CLOSED_SCHEMA, OPEN_SCHEMA), strict=True):
        assert body["response_format"] == {"type": "json_object"}
        compact = json.dumps(schema, separators=(",", ":"))
        assert body["messages"][-1] == {"role": "user", "content": f"hello\n\n{INSTRUCTION}{compact}"}


async def test_what_one_model_lacks_another_on_the_same_server_may_have(start: Start) -> None:
    def answer(asked: Asked) -> Told:
        lacking = asked.body["model"] == "m" and "response_format" in asked.body
        return fault(400, "response_format is not supported") if lacking else spoken('{"n": 1}')

    client, server = await start(answer)
    assert not (await client.complete(question(output_schema=OPEN_SCHEMA))).constrained
    other = OpenAICompatible(f"{server.address}/v1", "other", KEY)
    assert (await other.complete(question(output_schema=OPEN_SCHEMA))).constrained
    await other.aclose()


async def test_a_server_without_any_response_format_is_only_asked(start: Start) -> None:
    def answer(asked: Asked) -> Told:
        refused = "response_format" in asked.body
        return fault(400, "Unrecognized request argument: response_format") if refused else spoken('{"n": 1}')

    client, server = await start(answer)
    for asked_by_then in (3, 4):
        reply = await client.complete(question(output_schema=OPEN_SCHEMA))
        assert not reply.constrained
        assert len(server.asked) == asked_by_then
    assert INSTRUCTION in server.bodies()[-1]["messages"][-1]["content"]


async def test_one_schema_that_cannot_be_compiled_does_not_spoil_the_others(start: Start) -> None:
    def answer(asked: Asked) -> Told:
        described = asked.body.get("response_format", {}).get("json_schema")
        bad = described and "bad" in described["schema"]["properties"]
        return fault(400, "Invalid schema for response_format 'answer'") if bad else spoken('{"bad": 1, "n": 1}')

    client, server = await start(answer)
    bad = {"type": "object", "properties": {"bad": {"type": "integer"}}, "required": ["bad"]}
    assert not (await client.complete(question(output_schema=bad))).constrained
    assert (await client.complete(question(output_schema=OPEN_SCHEMA))).constrained
    assert not (await client.complete(question(output_schema=bad))).constrained
    assert len(server.asked) == 4


@pytest.mark.parametrize("answer", ["Sure! The number is one.", '{"other": 1}', "[1]"])
async def test_a_server_that_takes_a_schema_and_ignores_it_is_found_out(start: Start, answer: str) -> None:
    client, server = await start(lambda asked: spoken(answer))
    first = await client.complete(question(output_schema=OPEN_SCHEMA))
    assert (first.text, first.constrained) == (answer, False)
    await client.complete(question(output_schema=OPEN_SCHEMA))
    assert INSTRUCTION in server.bodies()[1]["messages"][-1]["content"]


async def test_an_answer_that_ran_out_of_tokens_says_nothing_about_the_server(start: Start) -> None:
    client, server = await start(lambda asked: spoken('{"n"', finish="length"))
    assert (await client.complete(question(output_schema=OPEN_SCHEMA))).constrained
    await client.complete(question(output_schema=OPEN_SCHEMA))
    assert server.bodies()[1]["response_format"]["type"] == "json_schema"


# -- what servers refuse ---------------------------------------------------------------------------------------------


async def test_newer_names_and_missing_settings_are_learnt_once(start: Start) -> None:
    def newer(asked: Asked) -> Told:
        if "max_tokens" in asked.body:
            said = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens'."
            return fault(400, said, param="max_tokens", code="unsupported_parameter")
        if "temperature" in asked.body:
            said = "Unsupported value: 'temperature' does not support 0 with this model."
            return fault(400, said, param="temperature", code="unsupported_value")
        return spoken("x")

    client, server = await start(newer)
    await client.complete(question(max_tokens=50))
    assert len(server.asked) == 3
    await client.complete(question(max_tokens=60))
    assert len(server.asked) == 4
    assert server.bodies()[-1]["max_completion_tokens"] == 60
    assert not {"max_tokens", "temperature"} & server.bodies()[-1].keys()


@pytest.mark.parametrize("name", ["seed", "stop", "stream_options"])
async def test_a_field_that_is_not_known_is_left_out(start: Start, name: str) -> None:
    def choosy(asked: Asked) -> Told:
        detail = [{"loc": ["body", name], "msg": "Extra inputs are not permitted", "input": asked.body}]
        return plain({"detail": detail}, 422) if name in asked.body else spoken("one STOP two")

    client, server = await start(choosy)
    reply = await client.complete(question(seed=1, stop=("STOP",)))
    assert len(server.asked) == 2
    assert server.bodies()[1] == {key: value for key, value in server.bodies()[0].items() if key != name}
    assert reply.text == ("one " if name == "stop" else "one STOP two")


async def test_a_limit_that_is_too_large_is_not_taken_for_a_wrong_name(start: Start) -> None:
    said = (
        "'max_tokens' or 'max_completion_tokens' is too large: 9000. This model's maximum context length is 8192 tokens"
    )
    client, server = await start(lambda asked: fault(400, said))
    with pytest.raises(ModelRejected, match="does not fit into the context of m"):
        await client.complete(question())
    assert len(server.asked) == 1


async def test_a_server_that_always_finds_fault_is_not_asked_for_ever(start: Start) -> None:
    client, server = await start(lambda asked: fault(400, "response_format, 'temperature' and \"seed\" are wrong"))
    with pytest.raises(ModelRejected, match="are wrong"):
        await client.complete(question(output_schema=OPEN_SCHEMA, seed=1))
    assert len(server.asked) <= 5


# -- faults ----------------------------------------------------------------------------------------------------------


@pytest.mark.req("P11")
@pytest.mark.parametrize(
    ("headers", "wait"),
    [({"retry_after": "7"}, 7.0), ({"retry_after_ms": "1500", "retry_after": "7"}, 1.5), ({}, None)],
)
async def test_too_many_requests_are_temporary_and_say_how_long(
    start: Start, headers: dict[str, str], wait: float | None
) -> None:
    client, server = await start(lambda asked: fault(429, "slow down", headers=headers))
    with pytest.raises(ModelRateLimited, match="slow down") as caught:
        await client.complete(question())
    assert (caught.value.temporary, caught.value.retry_after) == (True, wait)
    assert len(server.asked) == 1, "retries are the engine's"


async def test_a_date_to_come_back_at_is_understood(start: Start) -> None:
    headers = {"retry_after": "Fri, 01 Jan 2100 00:00:00 GMT"}
    client, _ = await start(lambda asked: fault(429, "slow down", headers=headers))
    with pytest.raises(ModelRateLimited) as caught:
        await client.complete(question())
    assert caught.value.retry_after is not None
    assert caught.value.retry_after > 1_000_000


@pytest.mark.req("P11")
@pytest.mark.parametrize(
    ("status", "said"), [(429, "insufficient_quota"), (402, "Insufficient Balance"), (400, "credit balance is too low")]
)
async def test_an_empty_account_is_permanent(start: Start, status: int, said: str) -> None:
    client, _ = await start(lambda asked: fault(status, "You exceeded your quota", code=said))
    with pytest.raises(ModelRejected, match="no quota left") as caught:
        await client.complete(question())
    assert not caught.value.temporary


@pytest.mark.req("P11")
@pytest.mark.parametrize("status", [500, 502, 503, 529, 408])
async def test_a_server_in_trouble_is_temporary(start: Start, status: int) -> None:
    client, server = await start(lambda asked: fault(status, "try later"))
    with pytest.raises(ModelUnavailable, match=f"status {status}.*try later") as caught:
        await client.complete(question(output_schema=OPEN_SCHEMA))
    assert caught.value.temporary
    assert caught.value.remedy
    assert len(server.asked) == 1


@pytest.mark.req("P11")
async def test_nobody_listening_is_temporary_and_named() -> None:
    address = await closed_port()
    client = OpenAICompatible(f"{address}/v1", "m", KEY)
    with pytest.raises(ModelUnavailable, match=f"{address}/v1 cannot be reached") as caught:
        await client.complete(question())
    assert "running" in caught.value.remedy
    await client.aclose()


@pytest.mark.req("P11")
@pytest.mark.parametrize(
    "told",
    [
        events([chunk("half an ans")], end="lost"),
        events([chunk("half an ans")]),
        events([chunk("half an ans"), "data: [DONE]\n\n"]),
        events([chunk("half an ans"), 'data: {"choices": [{"ind\n\n']),
        events([]),
    ],
    ids=["connection lost", "ends early", "done too early", "event cut", "nothing at all"],
)
async def test_an_answer_that_breaks_off_is_no_answer(start: Start, told: Told) -> None:
    client, _ = await start(lambda asked: told)
    with pytest.raises(ModelUnavailable):
        await client.complete(question())


async def test_an_answer_that_is_whole_survives_a_connection_lost_after_it(start: Start) -> None:
    client, _ = await start(lambda asked: events([chunk("whole"), chunk(finish="stop")], end="lost"))
    assert (await client.complete(question())).text == "whole"


@pytest.mark.req("P11")
@pytest.mark.parametrize("told", [events([], end="silent"), events([chunk("hm")], end="silent")])
async def test_silence_ends_in_a_timeout(start: Start, told: Told) -> None:
    client, _ = await start(lambda asked: told, timeout=0.2)
    with pytest.raises(ModelUnavailable, match=r"silent for 0\.2 seconds"):
        await client.complete(question())


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
async def test_an_error_inside_the_stream_means_what_it_says(start: Start, error: Any, expected: type) -> None:
    client, _ = await start(lambda asked: events([chunk("hm"), f"data: {json.dumps({'error': error})}\n\n"]))
    with pytest.raises(expected):
        await client.complete(question())


async def test_a_page_instead_of_an_answer_points_to_the_address(start: Start) -> None:
    page = Told([b"<html>Welcome</html>"], headers={"content-type": "text/html"})
    client, _ = await start(lambda asked: page)
    with pytest.raises(ModelRejected, match="text/html") as caught:
        await client.complete(question())
    assert "/v1" in caught.value.remedy


@pytest.mark.parametrize(
    ("key", "variable", "remedy"),
    [
        (KEY, "OPENAI_API_KEY", "check the key in OPENAI_API_KEY"),
        (None, "OPENAI_API_KEY", "set OPENAI_API_KEY"),
        (None, "", "model.api_key_env"),
    ],
)
@pytest.mark.parametrize("status", [401, 403])
async def test_a_wrong_key_names_its_variable_and_never_itself(
    start: Start, status: int, key: str | None, variable: str, remedy: str
) -> None:
    client, server = await start(
        lambda asked: fault(status, f"Incorrect API key provided: {KEY}"), api_key=key, key_variable=variable
    )
    with pytest.raises(ModelRejected, match="API key") as caught:
        await client.complete(question())
    assert remedy in caught.value.remedy
    assert KEY not in str(caught.value) + caught.value.remedy
    assert len(server.asked) == 1


async def test_short_keys_and_passwords_in_addresses_are_not_shown(start: Start) -> None:
    client, server = await start(lambda asked: fault(418, "short hunter2 is no key"), api_key="short")
    address = server.address.replace("http://", "http://me:hunter2@")
    client = OpenAICompatible(f"{address}/v1", "m", "short")
    with pytest.raises(ModelRejected) as caught:
        await client.complete(question())
    await client.aclose()
    assert "short" not in str(caught.value)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("status", "said"), [(404, "model 'm' not found, try pulling it first"), (400, "Model Not Exist")]
)
async def test_an_unknown_model_is_told_with_those_that_are_there(start: Start, status: int, said: str) -> None:
    def answer(asked: Asked) -> Told:
        listing = {"object": "list", "data": [{"id": "qwen"}, {"id": "llama"}]}
        return plain(listing) if asked.path == "/v1/models" else fault(status, said)

    client, _ = await start(answer)
    with pytest.raises(ModelRejected, match="has no model m") as caught:
        await client.complete(question())
    assert caught.value.remedy == "it has qwen, llama"


@pytest.mark.parametrize(
    "listing", [plain({}, 404), plain({"data": None}), plain({"data": [1, {}]}), plain([]), Told([b"<html>"])]
)
async def test_an_unknown_model_where_nothing_is_listed_points_to_name_and_address(start: Start, listing: Told) -> None:
    client, _ = await start(lambda asked: listing if asked.method == "GET" else plain({"detail": "Not Found"}, 404))
    with pytest.raises(ModelRejected, match="knows no model m: Not Found") as caught:
        await client.complete(question())
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
async def test_a_prompt_that_is_too_long_is_permanent_and_says_what_to_set(
    start: Start, status: int, error: dict[str, str]
) -> None:
    client, _ = await start(lambda asked: plain({"error": error}, status))
    with pytest.raises(ModelRejected, match="context of m") as caught:
        await client.complete(question())
    assert "context_tokens" in caught.value.remedy


async def test_the_words_of_a_server_are_shown_on_one_short_line(start: Start) -> None:
    client, _ = await start(lambda asked: fault(418, "tea\x1b[2J\n" * 500))
    with pytest.raises(ModelRejected) as caught:
        await client.complete(question())
    assert len(str(caught.value)) < 500
    assert "\n" not in str(caught.value)
    assert "\x1b" not in str(caught.value)


@pytest.mark.parametrize("address", ["127.0.0.1:8080/v1", "ftp://host/v1", "http://", ""])
def test_an_address_that_is_none_is_refused_at_once(address: str) -> None:
    with pytest.raises(UsageError, match="not the address of a server"):
        OpenAICompatible(address, "m")


# -- manners ---------------------------------------------------------------------------------------------------------


async def test_without_a_key_nobody_else_s_key_is_sent(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-somebody-else")
    monkeypatch.setenv("OPENAI_ADMIN_KEY", "sk-of-somebody-else")
    client, server = await start(lambda asked: spoken("x"), api_key=None)
    await client.complete(question())
    assert "authorization" not in server.asked[0].headers
    assert "somebody" not in str(server.asked)


async def test_a_proxy_for_the_world_is_not_used_on_this_machine(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.setenv("HTTP_PROXY", await closed_port())
    client, _ = await start(lambda asked: spoken("x"))
    assert (await client.complete(question())).text == "x"


async def test_cancelling_ends_the_request_and_the_client_stays_usable(start: Start) -> None:
    heard = asyncio.Event()
    told = [events([chunk("hm")], end="silent"), spoken("x")]
    client, _ = await start(lambda asked: told.pop(0))
    asking = asyncio.create_task(client.complete(question(), lambda piece: heard.set()))
    await heard.wait()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert (await client.complete(question())).text == "x"


async def test_questions_may_be_asked_at_the_same_time(start: Start) -> None:
    client, _ = await start(lambda asked: spoken(asked.body["messages"][0]["content"]))
    replies = await asyncio.gather(*(client.complete(question(f"q{i}")) for i in range(8)))
    assert [reply.text for reply in replies] == [f"q{i}" for i in range(8)]


async def test_it_can_be_closed_twice_and_used_again(start: Start) -> None:
    client, _ = await start(lambda asked: spoken("x"))
    await client.complete(question())
    await client.aclose()
    await client.aclose()
    assert (await client.complete(question())).text == "x"


def test_name_and_traits_are_as_given() -> None:
    given = OpenAICompatible("http://127.0.0.1:1/v1", "m", traits=ModelTraits(context_tokens=5000), name="local/m")
    assert (given.name, given.traits.context_tokens) == ("local/m", 5000)
    assert OpenAICompatible("http://127.0.0.1:1/v1", "m").name == "m"


def test_the_sdk_is_imported_only_when_used() -> None:
    code = (
        "import sys, surefoot.models.openai_compatible, surefoot.models.anthropic, surefoot.models.choose\n"
        "print([name for name in ('openai', 'anthropic', 'httpx2', 'http.client') if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
