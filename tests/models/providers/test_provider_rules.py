"""The rules of single providers and servers for conversations: what they get, and what is learnt from their errors."""

import json
from typing import Any

import pytest

from support.loopback import Request
from support.wire import CALL, Call, Failed, Said, ask, bodies, client_for, conversation, refusing, scripted
from surefoot.models.base import Message, ModelRequest
from surefoot.models.items import AssistantTurn, Item, TextPart, ToolCall, ToolResultMessage, ToolSpec
from surefoot.models.providers.families import family_of, nearest_effort

NESTED = ToolSpec(
    name="plan",
    description="Plans.",
    parameters={
        "type": "object",
        "properties": {"steps": {"type": "array", "items": {"$ref": "#/$defs/Step"}}},
        "$defs": {
            "Step": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "then": {"$ref": "#/$defs/Step"}},
                "description": "a step",
            }
        },
    },
)


# -- OpenAI -----------------------------------------------------------------------------------------------------------


async def test_openai_gets_responses_with_reasoning_and_without_sampling() -> None:
    sent, _ = await bodies("responses", "gpt-5.4", ask_for=(ask("a", temperature=0.5, effort="minimal"),))
    [body] = sent
    assert (body["store"], body["include"]) == (False, ["reasoning.encrypted_content"])
    assert body["reasoning"] == {"effort": "low", "summary": "auto"}, "5.4 has no minimal; of none and low, the higher"
    assert not {"temperature", "max_tokens", "stop", "seed"} & body.keys()


async def test_openai_reasoning_items_are_sent_back_without_their_ids() -> None:
    sent, _ = await bodies("responses", "gpt-5.4")
    reasoning, call, result = sent[1]["input"][1:]
    assert reasoning == {
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": "Let me think."}],
        "encrypted_content": "gAAA1==",
    }
    assert (call["type"], result["type"]) == ("function_call", "function_call_output")


async def test_plain_requests_use_chat_completions_also_with_responses() -> None:
    async with scripted(Said(text="hello")) as server:
        client = client_for("responses", server, "gpt-5.4", provider="openai")
        await client.complete(ModelRequest(messages=(Message(role="user", content="hi"),), seed=1))
        await client.aclose()
    assert [request.path for request in server.requests] == ["/v1/chat/completions"]
    body = server.bodies()[0]
    assert body["max_completion_tokens"] == 1024
    assert "temperature" not in body


async def test_a_server_without_responses_gets_chat_completions() -> None:
    def respond(request: Request) -> Said | Failed:
        return Failed(404, "Not Found") if request.path.endswith("/responses") else CALL

    async with scripted(respond) as server:
        client = client_for("responses", server, "gpt-5.4")
        first = await client.complete(ask("a"))
        await client.complete(ask(*conversation(first)))
        await client.aclose()
    paths = [request.path.rpartition("/")[2] for request in server.requests]
    assert paths == ["responses", "completions", "completions"]
    assert first.as_turn().protocol == "chat"


@pytest.mark.parametrize(
    ("refused", "message"),
    [
        ("summary", "Your organization must be verified to generate reasoning summaries."),
        ("include", "Encrypted content is not supported with this model."),
        ("effort", "Unsupported parameter: 'reasoning.effort' is not supported with this model."),
    ],
)
async def test_what_responses_refuses_is_learnt(refused: str, message: str) -> None:
    script = refusing(lambda body: refused in body or refused in body.get("reasoning", {}), message)
    sent, _ = await bodies("responses", "gpt-5.4", script)
    assert len(sent) == 3
    assert refused not in sent[-1]
    assert refused not in sent[-1].get("reasoning", {})


async def test_openai_chat_gets_the_cache_key_and_no_sampling() -> None:
    request = ask("a", temperature=0.3, cache_key="run-1", effort="max")
    sent, _ = await bodies("chat", "gpt-5.4", ask_for=(request,), provider="openai")
    [body] = sent
    assert (body["prompt_cache_key"], body["reasoning_effort"]) == ("run-1", "xhigh")
    assert body["max_completion_tokens"] == 32_000
    assert "temperature" not in body


async def test_effort_is_given_up_and_not_the_tools_if_they_exclude_each_other() -> None:
    message = "Function tools with reasoning_effort are not supported for gpt-5.4 in /v1/chat/completions."
    script = refusing(lambda body: "reasoning_effort" in body, message)
    sent, replies = await bodies("chat", "gpt-5.4", script, provider="openai")
    assert "tools" in sent[-1]
    assert "reasoning_effort" not in sent[-1]
    assert replies[0].as_turn().protocol == "chat"


async def test_the_levels_of_effort_that_an_error_lists_are_used() -> None:
    message = "Unsupported value: 'reasoning_effort' does not support 'high' with this model. Supported values are: 'low' and 'medium'."  # noqa: E501
    script = refusing(lambda body: body.get("reasoning_effort") == "high", message)
    sent, _ = await bodies("chat", "o3", script, provider="openai")
    assert [body.get("reasoning_effort") for body in sent] == ["high", "medium", "medium"]


# -- Anthropic --------------------------------------------------------------------------------------------------------


async def test_anthropic_thinking_is_sent_back_exactly() -> None:
    sent, _ = await bodies("messages", "claude-opus-4-7")
    thinking, redacted, call = sent[1]["messages"][1]["content"]
    assert thinking == {"type": "thinking", "thinking": "Let me think.", "signature": "EqQB1+/=="}
    assert redacted == {"type": "redacted_thinking", "data": "EmwK1"}
    assert call["type"] == "tool_use"


async def test_newer_claude_models_get_effort_and_adaptive_thinking_and_no_temperature() -> None:
    sent, _ = await bodies("messages", "claude-opus-4-7", ask_for=(ask("a", temperature=0.5, effort="xhigh"),))
    assert sent[0]["thinking"] == {"type": "adaptive"}
    assert sent[0]["output_config"] == {"effort": "xhigh"}
    assert "temperature" not in sent[0]


@pytest.mark.parametrize(
    ("effort", "limit", "thinking"),
    [
        ("high", 32_000, {"type": "enabled", "budget_tokens": 16_384}),
        ("high", 8_000, {"type": "enabled", "budget_tokens": 6_976}),
        ("high", 2_000, None),
        ("none", 32_000, None),
        (None, 32_000, None),
    ],
)
async def test_older_claude_models_get_a_budget_for_thinking(effort: Any, limit: int, thinking: Any) -> None:
    request = ask("a", effort=effort, max_tokens=limit, tool_choice="required")
    sent, _ = await bodies("messages", "claude-sonnet-4-5", ask_for=(request,))
    assert sent[0].get("thinking") == thinking
    assert sent[0]["max_tokens"] == limit
    assert "output_config" not in sent[0]
    # A forced call and a budget exclude each other.
    assert sent[0].get("tool_choice") == (None if thinking else {"type": "any"})


async def test_anthropic_gets_ids_of_its_alphabet_and_no_empty_text() -> None:
    turn = AssistantTurn(
        parts=(TextPart(text=" \n"), ToolCall(id="functions.read_file:0", name="read_file", raw="{}")),
        protocol="chat",
        model="kimi-k2",
    )
    result = ToolResultMessage(call_id="functions.read_file:0", text="")
    sent, _ = await bodies("messages", "claude-x", ask_for=(ask("a", turn, result),))
    [use] = sent[0]["messages"][1]["content"]
    [answer] = sent[0]["messages"][2]["content"]
    assert use["id"] == answer["tool_use_id"]
    assert use["id"].isalnum()
    assert answer["content"] == [{"type": "text", "text": "(no output)"}]


async def test_anthropic_has_at_most_four_cache_breakpoints() -> None:
    items: list[Item] = [Message(role="system", content="s"), Message(role="user", content="a")]
    for number in range(5):
        items.append(AssistantTurn(parts=(ToolCall(id=f"c{number}", name="read_file", raw="{}"),)))
        items.append(ToolResultMessage(call_id=f"c{number}", text="x"))
    sent, _ = await bodies("messages", "claude-x", ask_for=(ask(*items),))
    marked = [
        (index, message["role"])
        for index, message in enumerate(sent[0]["messages"])
        if any("cache_control" in block for block in message["content"])
    ]
    assert marked == [(8, "user"), (10, "user")], "the end of this request, and of the one before"
    assert json.dumps(sent[0]).count("cache_control") == 4
    assert "cache_control" in sent[0]["tools"][-1]
    assert "cache_control" in sent[0]["system"][-1]


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("adaptive thinking is not supported on this model",
         {"thinking": {"type": "enabled", "budget_tokens": 16_384}}),
        ("This model does not support thinking", {"thinking": None}),
        ("output_config.effort: not supported on this model",
         {"output_config": None, "thinking": {"type": "adaptive"}}),
        ("max_tokens: 32000 > 8192, which is the maximum allowed number of output tokens", {"max_tokens": 8192}),
    ],
)  # fmt: skip
async def test_what_anthropic_refuses_is_learnt(message: str, expected: dict[str, Any]) -> None:
    sent, _ = await bodies("messages", "claude-x", Failed(400, message), CALL)
    assert len(sent) == 3
    for body in sent[1:]:
        assert {key: body.get(key) for key in expected} == expected


async def test_reasoning_of_another_account_is_dropped_and_the_turn_kept() -> None:
    message = "messages.1.content.0: Invalid `signature` in `thinking` block"

    def respond(request: Request) -> Said | Failed:
        return Failed(400, message) if "EqQB1" in json.dumps(request.body) else CALL

    sent, replies = await bodies("messages", "claude-x", respond)
    assert [block["type"] for block in sent[-1]["messages"][1]["content"]] == ["tool_use"]
    assert replies[-1].calls


# -- DeepSeek, Kimi, GLM, Qwen, Mistral -------------------------------------------------------------------------------


async def test_deepseek_gets_reasoning_content_in_every_turn_also_empty() -> None:
    foreign = AssistantTurn(parts=(TextPart(text="Hello."),), protocol="messages", model="claude-x")
    async with scripted(CALL, Said(calls=(Call("run_command", {"command": "ls"}),))) as server:
        client = client_for("chat", server, "deepseek-reasoner")
        items: list[Any] = ["a", foreign, "b"]
        for _ in range(2):
            reply = await client.complete(ask(*items, tool_choice="required", temperature=0.7))
            items += conversation(reply)[1:]
        await client.complete(ask(*items))
        await client.aclose()
    turns = [message for message in server.bodies()[-1]["messages"] if message["role"] == "assistant"]
    assert [turn["reasoning_content"] for turn in turns] == ["", "Let me think.", ""]
    assert all(isinstance(m["content"], str) for m in server.bodies()[-1]["messages"] if m["role"] == "tool")
    for body in server.bodies():
        assert not {"tool_choice", "temperature"} & body.keys()


@pytest.mark.parametrize(("model", "temperature"), [("kimi-k2-0905", 0.6), ("kimi-k2.5", 1.0), ("glm-4.6", 1.0)])
async def test_models_with_a_fixed_temperature_get_it(model: str, temperature: float) -> None:
    sent, _ = await bodies("chat", model, ask_for=(ask("a", temperature=0.2), ask("a")))
    assert [body["temperature"] for body in sent] == [temperature, temperature]


@pytest.mark.parametrize("model", ["kimi-k2.5", "glm-4.7"])
async def test_kimi_and_glm_get_their_reasoning_back(model: str) -> None:
    sent, _ = await bodies("chat", model)
    assert sent[1]["messages"][1]["reasoning_content"] == "Let me think."


@pytest.mark.parametrize(
    ("model", "wanted", "sent"),
    [("kimi-k2.5", "none", "low"), ("glm-5.3", "medium", "high"), ("glm-5.2", "minimal", "minimal"),
     ("deepseek-v4", "max", "high"), ("qwen3-coder-plus", "high", None)],
)  # fmt: skip
async def test_the_nearest_level_of_effort_is_sent(model: str, wanted: Any, sent: str | None) -> None:
    requests, _ = await bodies("chat", model, ask_for=(ask("a", effort=wanted),), provider="openrouter")
    assert requests[0].get("reasoning_effort") == sent


async def test_glm_arrays_written_as_strings_are_read() -> None:
    scripted_reply = Said(calls=(Call("read_file", {"path": "a.py", "lines": "[1, 5]"}),))
    _, [reply] = await bodies("chat", "glm-4.6", scripted_reply, ask_for=(ask("a"),))
    assert reply.calls[0].arguments == {"path": "a.py", "lines": [1, 5]}


async def test_minimax_strings_in_pieces_are_joined() -> None:
    scripted_reply = Said(calls=(Call("run_command", {"command": ["cat a\n", "cat b"]}),))
    _, [reply] = await bodies("chat", "minimax-m2", scripted_reply, ask_for=(ask("a"),))
    assert reply.calls[0].arguments == {"command": "cat a\ncat b"}


async def test_qwen_gets_schemas_without_references_and_no_forced_call() -> None:
    request = ask("a", tools=(NESTED,), tool_choice="required")
    sent, _ = await bodies("chat", "Qwen/Qwen3-Coder-30B-A3B-Instruct", ask_for=(request,))
    [tool] = sent[0]["tools"]
    parameters = tool["function"]["parameters"]
    assert "$" not in json.dumps(parameters)
    step = parameters["properties"]["steps"]["items"]
    assert step["properties"]["name"] == {"type": "string"}
    assert step["properties"]["then"] == {"type": "object"}, "a recursive part has no finite form"
    assert not {"tool_choice", "strict"} & {*sent[0], *tool["function"]}


@pytest.mark.parametrize(
    "text",
    [
        'I will look.\n<tool_call>\n{"name": "read_file", "arguments": {"path": "a.py"}}\n</tool_call>',
        "I will look.\n<tool_call>\n<function=read_file>\n<parameter=path>\na.py\n</parameter>\n</function>\n"
        "</tool_call>",
        "I will look.\n<function=read_file>\n<parameter=path>\na.py",
    ],
)
@pytest.mark.parametrize("where", ["text", "reasoning"])
async def test_calls_that_the_servers_parser_left_in_the_text_are_found(text: str, where: str) -> None:
    scripted_reply = Said(text=text) if where == "text" else Said(reasoning=text)
    _, [reply] = await bodies("chat", "qwen3-coder", scripted_reply, ask_for=(ask("a"),))
    assert [(call.name, call.arguments) for call in reply.calls] == [("read_file", {"path": "a.py"})]
    assert reply.finish_reason == "tool_calls"
    assert reply.text == ("I will look." if where == "text" else "")


async def test_markup_that_names_no_tool_stays_text() -> None:
    scripted_reply = Said(text="Write <function=foo> in your template.")
    _, [reply] = await bodies("chat", "qwen3-coder", scripted_reply, ask_for=(ask("a"),))
    assert (reply.calls, reply.text) == ((), "Write <function=foo> in your template.")


async def test_mistral_gets_ids_of_nine_characters_and_no_user_message_after_results() -> None:
    async with scripted(CALL) as server:
        client = client_for("chat", server, "devstral-medium")
        reply = await client.complete(ask("a"))
        await client.complete(ask(*conversation(reply), "Go on with b."))
        await client.aclose()
    messages = server.bodies()[-1]["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "tool", "assistant", "user"]
    [call] = messages[1]["tool_calls"]
    assert call["id"] == messages[2]["tool_call_id"]
    assert (len(call["id"]), call["id"].isalnum()) == (9, True)


# -- reasoning --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
async def test_reasoning_goes_back_under_the_name_it_came_with(name: str) -> None:
    scripted_reply = Said(calls=CALL.calls, reasoning="Let me think.", reasoning_field=name)
    sent, [first, _] = await bodies("chat", "m", scripted_reply)
    turn = sent[1]["messages"][1]
    assert {key: turn.get(key) for key in ("reasoning_content", "reasoning")} == {
        "reasoning_content": None,
        "reasoning": None,
        name: "Let me think.",
    }
    assert first.as_turn().reasoning == "Let me think."


@pytest.mark.req("X11")
@pytest.mark.parametrize("form", ["chat", "responses", "messages"])
@pytest.mark.parametrize("change", ["model", "protocol"])
async def test_reasoning_is_dropped_when_the_model_or_the_protocol_changes(form: str, change: str) -> None:
    async with scripted(CALL) as server:
        first = client_for(form, server, "claude-x")
        reply = await first.complete(ask("a"))
        other = form if change == "model" else "messages" if form == "chat" else "chat"
        second = client_for(other, server, "claude-y" if change == "model" else "claude-x")
        await second.complete(ask(*conversation(reply)))
        await first.aclose()
        await second.aclose()
    sent = json.dumps(server.bodies()[-1])
    assert "read_file" in sent
    assert not any(trace in sent for trace in ("Let me think", "EqQB", "EmwK", "gAAA"))


async def test_thinking_in_the_text_is_no_answer_and_goes_back_with_the_turn() -> None:
    scripted_reply = Said(text="<think>\nhm\n</think>\nHello.", calls=CALL.calls)
    sent, [first, _] = await bodies("chat", "minimax-m2", scripted_reply)
    assert first.text.strip() == "Hello."
    assert "hm" in first.as_turn().reasoning
    assert sent[1]["messages"][1]["content"] == "<think>\nhm\n</think>\nHello."


# -- families ---------------------------------------------------------------------------------------------------------


def test_the_format_of_edits_depends_on_the_family() -> None:
    others = ("gpt-oss-120b", "gpt-4o", "gpt-4.1", "gpt-4", "gpt-4-turbo", "gpt-3.5-turbo", "o3", "claude-x", "glm-4.6")
    trained = ("gpt-5", "gpt-5.6-codex", "codex-mini-latest", "openai/gpt-5.2", "gpt-7")
    assert {name for name in (*others, *trained) if family_of(name).apply_patch} == set(trained)


@pytest.mark.parametrize(
    ("name", "same"),
    [("anthropic/claude-opus-4.7", "claude-opus-4-7"), ("deepseek/deepseek-chat:free", "deepseek-chat"),
     ("Qwen/Qwen3-Coder-30B", "qwen3-coder"), ("openai/gpt-5", "gpt-5")],
)  # fmt: skip
def test_a_family_is_known_under_the_names_of_other_hosts(name: str, same: str) -> None:
    assert family_of(name) == family_of(same) != family_of("unknown")


def test_no_effort_is_sent_to_models_without_levels() -> None:
    assert nearest_effort("high", ()) is None
    assert nearest_effort(None, ("low", "high")) is None
    assert nearest_effort("medium", ("low", "high")) == "high"
