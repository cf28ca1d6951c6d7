"""What is learnt from the errors of servers, and how their streams are put together."""

import json
from typing import Any

import pytest

from support.loopback import Request, event_stream, serving
from support.wire import CALL, Failed, Said, ask, bodies, client_for, conversation, refusing, scripted
from surefoot.models.base import ModelReply
from surefoot.models.items import AssistantTurn, TextPart

# -- what servers refuse ----------------------------------------------------------------------------------------------


def is_native(body: dict[str, Any]) -> bool:
    return "tools" in body


@pytest.mark.req("X11")
@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "registry.ollama.ai/library/gemma2:9b does not support tools"),
        (400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'),
        (500, "tools param requires --jinja flag"),
        (404, "No endpoints found that support tool use."),
        (422, "Unsupported parameter(s): `tools`"),
    ],
)
async def test_a_server_that_refuses_tools_gets_the_text_protocol(status: int, message: str) -> None:
    answer = "I look.\n<tool_call><function=read_file><parameter=path>a.py</parameter></function></tool_call>"

    def respond(request: Request) -> Said | Failed:
        return Failed(status, message) if is_native(request.body) else Said(text=answer)

    async with scripted(respond) as server:
        client = client_for("chat", server, "m")
        first = await client.complete(ask("a"))
        second = await client.complete(ask(*conversation(first)))
        await client.aclose()
    assert len(server.bodies()) == 3, "one refusal is enough"
    for reply in (first, second):
        assert [(call.name, call.arguments) for call in reply.calls] == [("read_file", {"path": "a.py"})]
        assert (reply.text, reply.as_turn().protocol) == ("I look.", "text")
    assert first.calls[0].id != second.calls[0].id
    roles = [message["role"] for message in server.bodies()[-1]["messages"]]
    assert roles == ["system", "user", "assistant", "user"]


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ("parallel_tool_calls", 'Unknown name "parallel_tool_calls": Cannot find field.'),
        ("chat_template_kwargs", "Unrecognized request argument supplied: chat_template_kwargs"),
        ("stream_options", "stream_options is not permitted"),
    ],
)
async def test_refused_fields_are_omitted_from_then_on(field: str, message: str) -> None:
    sent, replies = await bodies("chat", "m", refusing(lambda body: field in body, message))
    assert [field in body for body in sent] == [True, False, False]
    assert all("tools" in body for body in sent)
    assert replies[-1].calls


async def test_a_refused_forced_call_is_not_forced_again() -> None:
    script = refusing(lambda body: "tool_choice" in body, "tool_choice: 'required' is not supported in thinking mode")
    sent, _ = await bodies("chat", "m", script, ask_for=(ask("a", tool_choice="required"),) * 2)
    assert [body.get("tool_choice") for body in sent] == ["required", None, None]


async def test_strict_tools_are_for_vllm_only_and_given_up_if_refused() -> None:
    def strict(body: dict[str, Any]) -> bool:
        return any("strict" in tool["function"] for tool in body["tools"])

    sent, _ = await bodies("chat", "m")
    assert not any(map(strict, sent))
    sent, _ = await bodies("chat", "m", refusing(strict, "tools.0.function.strict: extra inputs are not permitted"),
                           provider="vllm")  # fmt: skip
    assert [strict(body) for body in sent] == [True, False, False]


async def test_refused_reasoning_is_not_sent_back_again() -> None:
    def echoed(body: dict[str, Any]) -> bool:
        return any("reasoning_content" in message for message in body["messages"])

    message = "messages.1.reasoning_content: Extra inputs are not permitted 'reasoning_content'"
    sent, _ = await bodies("chat", "m", refusing(echoed, message))
    assert [echoed(body) for body in sent] == [False, True, False]


async def test_reasoning_that_a_server_misses_is_sent_in_every_turn() -> None:
    earlier_turn = AssistantTurn(parts=(TextPart(text="Hello."),))
    message = "thinking is enabled but reasoning_content is missing in assistant tool call message at index 1"
    sent, _ = await bodies("chat", "m", Failed(400, message), CALL, ask_for=(ask("a", earlier_turn, "b"),))
    assert sent[1]["messages"][1] == {"role": "assistant", "content": "Hello.", "reasoning_content": ""}


@pytest.mark.parametrize(
    ("message", "limit"),
    [
        ("max_tokens is too large: 32000. This model supports at most 16384 completion tokens.", 16_384),
        ("Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", 8_192),
        ("`max_tokens` must be less than or equal to `4096`", 4_096),
    ],
)
async def test_the_longest_answer_that_a_server_allows_is_learnt(message: str, limit: int) -> None:
    sent, _ = await bodies("chat", "m", refusing(lambda body: body["max_tokens"] > limit, message))
    assert [body["max_tokens"] for body in sent] == [32_000, limit, limit]


async def test_an_answer_that_does_not_fit_beside_its_prompt_is_shortened_once() -> None:
    message = (
        "'max_tokens' or 'max_completion_tokens' is too large: 32000. This model's maximum context length is 16384 "
        "tokens and your request has 5000 input tokens (32000 > 16384 - 5000)."
    )
    sent, _ = await bodies("chat", "m", Failed(400, message), CALL)
    assert [body["max_tokens"] for body in sent] == [32_000, 11_384, 32_000], "another prompt has another room"


# -- streams ----------------------------------------------------------------------------------------------------------


async def stream_of(server_lines: list[dict[str, Any]]) -> ModelReply:
    def line(delta: dict[str, Any], finish: str | None = None) -> str:
        choices = [{"index": 0, "delta": delta, "finish_reason": finish}]
        body = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices}
        return f"data: {json.dumps(body)}\n\n"

    lines = [*map(line, server_lines), line({}, "stop"), "data: [DONE]\n\n"]
    async with serving(lambda _: event_stream(lines)) as server:
        client = client_for("chat", server)
        reply = await client.complete(ask("a"))
        await client.aclose()
    return reply


def delta(
    index: int | None, name: str | None = None, arguments: Any = None, call_id: str | None = None
) -> dict[str, Any]:
    call: dict[str, Any] = {"function": {"name": name, "arguments": arguments}, "id": call_id}
    return {"tool_calls": [call if index is None else {**call, "index": index}]}


@pytest.mark.parametrize(
    "lines",
    [
        # Each call whole, under the same index (Gemini).
        [delta(0, "read_file", '{"path": "a"}', "x"), delta(0, "run_command", '{"command": "b"}', "y")],
        # No index and no id.
        [delta(None, "read_file", '{"path": '), delta(None, None, '"a"}'),
         delta(None, "run_command", '{"command": "b"}')],
        # The name in every piece, and null elsewhere.
        [delta(0, "read_file", '{"path"', "x"), delta(0, "read_file", ': "a"}', "x"),
         delta(1, "run_command", None, "y"), delta(1, None, '{"command": "b"}')],
        # Indexes that do not start at 0 (llama.cpp after reasoning), interleaved.
        [delta(1, "read_file", "", "x"), delta(2, "run_command", "", "y"), delta(1, None, '{"path": "a"}'),
         delta(2, None, '{"command": "b"}')],
    ],
)  # fmt: skip
async def test_calls_are_put_together_from_any_kind_of_pieces(lines: list[dict[str, Any]]) -> None:
    reply = await stream_of(lines)
    assert [(call.name, call.arguments) for call in reply.calls] == [
        ("read_file", {"path": "a"}),
        ("run_command", {"command": "b"}),
    ]
    assert len({call.id for call in reply.calls}) == 2
    assert reply.finish_reason == "tool_calls", "servers that say stop have made calls all the same"


async def test_signatures_of_calls_and_details_of_reasoning_go_back() -> None:
    """Gemini signs its calls; OpenRouter describes reasoning in blocks."""
    signed = {"extra_content": {"google": {"thought_signature": "abc"}}}
    call = {"index": 0, "id": "x", "type": "function", "function": {"name": "read_file", "arguments": "{}"}, **signed}
    details = [{"type": "reasoning.text", "text": text, "index": 0} for text in ("Let ", "me see.")]
    reply = await stream_of([{"reasoning_details": [detail]} for detail in details] + [{"tool_calls": [call]}])
    async with scripted(CALL) as server:
        client = client_for("chat", server)
        await client.complete(ask(*conversation(reply)))
        await client.aclose()
    turn = server.bodies()[0]["messages"][1]
    assert turn["tool_calls"][0]["extra_content"] == signed["extra_content"]
    assert turn["reasoning_details"] == [{"type": "reasoning.text", "text": "Let me see.", "index": 0}]


@pytest.mark.req("X11")
async def test_native_calls_of_a_server_that_takes_no_list_of_tools_are_taken() -> None:
    refuse = refusing(lambda body: "tools" in body, "this model does not support tools")
    sent, (reply,) = await bodies("chat", "m", refuse, ask_for=(ask("Fix it."),))
    assert "tools" not in sent[-1]
    assert [(call.name, call.arguments) for call in reply.calls] == [("read_file", {"path": "a.py"})]
