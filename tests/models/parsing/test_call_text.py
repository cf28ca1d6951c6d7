"""Calls that are written as text."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefoot.models.base import Message, ModelRequest
from surefoot.models.items import AssistantTurn, TextPart, ToolCall, ToolResultMessage, ToolSpec
from surefoot.models.parsing.call_text import find_calls
from surefoot.models.providers.wire.text import as_plain, read_turn

TOOLS = (
    ToolSpec(
        name="write_file",
        description="Writes.",
        parameters={
            "type": "object",
            "properties": {
                "path": {"type": "string"},
                "content": {"type": "string"},
                "count": {"type": "integer"},
                "paths": {"type": "array", "items": {"type": "string"}},
            },
        },
    ),
    ToolSpec(name="run_command", description="Runs.", parameters={"type": "object"}),
)
WRITE_A = ("write_file", {"path": "a"})
CODE = 'if a < b:\n    print("</p>", \'x\', "\\n")\n\n# ```end```'


@pytest.mark.req("X11")
@pytest.mark.parametrize(
    ("text", "calls", "rest"),
    [
        (
            f"<function=write_file>\n<parameter=content>\n{CODE}\n</parameter>\n</function>",
            [("write_file", {"content": CODE})],
            "",
        ),
        (
            "Hi.\n<tool_call>\n<function=write_file>\n<parameter=count>\n3\n</parameter>\n</function>\n</tool_call>\n",
            [("write_file", {"count": 3})],
            "Hi.",
        ),
        ('<invoke name="write_file"><parameter name="path">a</parameter></invoke>', [WRITE_A], ""),
        (
            "<function=write_file><parameter=path>a<parameter=content>b",
            [("write_file", {"path": "a", "content": "b"})],
            "",
        ),
        ('<tool_call>{"name": "write_file", "arguments": {"path": "a"}}</tool_call>', [WRITE_A], ""),
        ('<tool_call>\n{"name": "write_file", "arguments": {"path": "a"}}', [WRITE_A], ""),
        ('<function=write_file>{"path": "a"}</function>', [("write_file", '{"path": "a"}')], ""),
        ("<function=run_command></function>", [("run_command", {})], ""),
        ("No call.", [], "No call."),
        ('Use {"name": "write_file", "arguments": {}}.', [], 'Use {"name": "write_file", "arguments": {}}.'),
    ],
)
def test_calls_are_found(text: str, calls: list[tuple[str, Any]], rest: str) -> None:
    found, left = find_calls(text, TOOLS)
    assert [(call.name, call.arguments) for call in found] == calls
    assert left == rest


@pytest.mark.parametrize(
    "text",
    [
        'I write.\n```json\n{"name": "write_file", "arguments": {"path": "a"}}\n```',
        'I write.\n```tool_call\n{"tool": "write_file", "args": {"path": "a"}}\n```',
        '{"name": "write_file", "parameters": {"path": "a"}}',
        '{"type": "function", "function": {"name": "write_file", "arguments": "{\\"path\\": \\"a\\"}"}}',
    ],
)
def test_fenced_json_is_read_only_from_models_without_tools(text: str) -> None:
    assert find_calls(text, TOOLS)[0] == ()
    [call] = find_calls(text, TOOLS, fences=True)[0]
    assert call.name == "write_file"
    arguments = json.loads(call.arguments) if isinstance(call.arguments, str) else call.arguments
    assert arguments == {"path": "a"}


def test_fenced_json_that_is_an_example_stays_text() -> None:
    text = '```json\n{"name": "surefoot", "version": 1}\n```\n```json\n{"name": "x", "arguments": {}}\n```'
    assert find_calls(text, TOOLS, fences=True) == ((), text)


@given(text=st.text() | st.text(alphabet="<>/=tool_calfunctiparme{}\"'\n "))
def test_any_text_can_be_searched(text: str) -> None:
    calls, rest = find_calls(text, TOOLS, fences=True)
    assert rest == text or calls


plain = st.text(st.characters(exclude_categories=("Cs", "Cc"))).filter(lambda text: "<" not in text)
arguments = st.fixed_dictionaries(
    {}, optional={"path": plain, "content": plain, "count": st.integers(), "paths": st.lists(plain, max_size=3)}
)


@pytest.mark.req("X11")
@given(calls=st.lists(arguments, min_size=1, max_size=3), answer_text=plain.filter(lambda text: text.strip() == text))
def test_what_is_written_in_the_text_protocol_is_read_back(calls: list[dict[str, Any]], answer_text: str) -> None:
    parts = [ToolCall(id=f"c{n}", name="write_file", arguments=values) for n, values in enumerate(calls)]
    turn = AssistantTurn(parts=(*([TextPart(text=answer_text)] if answer_text else []), *parts))
    results = [ToolResultMessage(call_id=part.id, text="ok") for part in parts]
    question = Message(role="user", content="Go.")
    request = ModelRequest(messages=(question, turn, *results), tools=TOOLS)
    written = as_plain(request).messages[2]
    asked = ModelRequest(messages=(question,), tools=TOOLS)
    read = read_turn(asked, written.content, "", model="m", truncated=False)
    assert [call.arguments for call in read.calls] == calls
    assert not any(call.problem for call in read.calls)


items = st.lists(
    st.one_of(
        st.builds(Message, role=st.sampled_from(["system", "user", "assistant"]), content=st.text(max_size=9)),
        st.builds(ToolResultMessage, call_id=st.just("c"), text=st.text(max_size=9), ok=st.booleans()),
        st.just(AssistantTurn(parts=(ToolCall(id="c", name="run_command"),))),
    ),
    max_size=9,
)


@pytest.mark.req("O5")
@given(messages=items)
def test_any_conversation_becomes_alternating_text(messages: list[Any]) -> None:
    sent = as_plain(ModelRequest(messages=tuple(messages), tools=TOOLS)).messages
    assert all(isinstance(message, Message) and message.content.strip() for message in sent)
    roles = [message.role for message in sent]
    rest = roles[1:] if roles[0] == "system" else roles
    assert rest == ["user", "assistant"] * (len(rest) // 2) + ["user"]
