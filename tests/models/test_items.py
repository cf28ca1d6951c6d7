"""Conversation items and requests as values: stored, read back and compared by fingerprint."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from surefoot.models.base import Message, ModelReply, ModelRequest, ModelTraits, Usage
from surefoot.models.items import (
    AssistantTurn,
    Item,
    ReasoningPart,
    TextPart,
    ToolCall,
    ToolResultMessage,
    ToolSpec,
    dump_item,
    load_item,
)

TOOL = ToolSpec(name="read_file", description="Reads a file.", parameters={"type": "object", "properties": {}})
TURN = AssistantTurn(
    parts=(
        ReasoningPart(data={"type": "thinking", "thinking": "hm", "signature": "s=="}, text="hm"),
        TextPart(text="Let me look."),
        ToolCall(id="c1", name="read_file", arguments={"path": "ä.py", "b": 1, "a": 2}, raw='{"path": "ä.py"}'),
    ),
    protocol="messages",
    model="claude-x",
)

plain_json = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
fields = st.dictionaries(st.text(max_size=4), plain_json, max_size=3)
parts = st.one_of(
    st.builds(TextPart, text=st.text(max_size=9), extra=fields),
    st.builds(ReasoningPart, data=fields, text=st.text(max_size=9)),
    st.builds(ToolCall, id=st.text(max_size=9), name=st.text(max_size=9), arguments=fields, raw=st.text(max_size=9)),
)
items = st.one_of(
    st.builds(Message, role=st.sampled_from(["system", "user", "assistant"]), content=st.text(max_size=20)),
    st.builds(AssistantTurn, parts=st.lists(parts, max_size=4).map(tuple), model=st.text(max_size=4)),
    st.builds(ToolResultMessage, call_id=st.text(max_size=4), text=st.text(max_size=20), ok=st.booleans()),
)


@pytest.mark.req("X11")
@given(item=items)
def test_a_stored_item_is_read_back_equal_and_with_the_same_bytes(item: Item) -> None:
    again = load_item(dump_item(item))
    assert again == item
    assert type(again) is type(item)
    assert dump_item(again) == dump_item(item)


@pytest.mark.req("X11")
def test_a_request_from_stored_items_has_the_same_fingerprint() -> None:
    question = Message(role="user", content="fix it")
    result = ToolResultMessage(call_id="c1", text="x = 1", ok=True)
    request = ModelRequest(messages=(question, TURN, result), tools=(TOOL,), temperature=None)
    stored = tuple(load_item(dump_item(item)) for item in request.messages)
    again = ModelRequest.model_validate_json(request.model_dump_json())
    assert request.with_(messages=stored).fingerprint() == request.fingerprint() == again.fingerprint()


@pytest.mark.parametrize(
    "change",
    [
        {"tools": (TOOL,)},
        {"tool_choice": "required"},
        {"effort": "high"},
        {"temperature": None},
        {"messages": (Message(role="user", content="a"), TURN)},
    ],
)
def test_what_changes_an_answer_counts_in_the_fingerprint(change: dict[str, Any]) -> None:
    request = ModelRequest(messages=(Message(role="user", content="a"),))
    assert request.with_(**change).fingerprint() != request.fingerprint()
    assert request.with_(cache_key="run-1").fingerprint() == request.fingerprint()


@pytest.mark.req("X4")
def test_the_fingerprint_of_a_plain_request_does_not_change_between_versions() -> None:
    """Recorded answers are found by it."""
    messages = (Message(role="system", content="s"), Message(role="user", content="ü"))
    request = ModelRequest(messages=messages, output_schema={"type": "object"}, max_tokens=7, seed=1)
    assert request.fingerprint() == "5776835f289f1262ba393e95e17327b807a51f0d2986bb6a7449aea3cdbf61b7"
    begun = request.with_(begin="def", stop=("x",))
    assert begun.fingerprint() == "47cc741b2fee447c7478f8f35b9715f548e907ad686750117fc7b39406a8cd7f"


def test_the_parts_of_a_turn_can_be_asked_for() -> None:
    assert (TURN.content, TURN.reasoning, [call.name for call in TURN.calls]) == ("Let me look.", "hm", ["read_file"])
    reply = ModelReply(text=TURN.content, turn=TURN, finish_reason="tool_calls")
    assert (reply.calls, reply.as_turn()) == (TURN.calls, TURN)
    assert ModelReply(text="yes").as_turn().content == "yes"
    assert ModelReply(text="").as_turn().parts == ()


def test_an_item_with_unknown_fields_is_refused() -> None:
    with pytest.raises(ValidationError):
        load_item(b'{"role": "user", "content": "a", "colour": "red"}')


def test_usage_adds_every_count() -> None:
    one = Usage(prompt_tokens=1, output_tokens=2, cached_tokens=3, cache_write_tokens=4, reasoning_tokens=5)
    assert set((one + one).model_dump().values()) == {2, 4, 6, 8, 10}


@pytest.mark.parametrize(
    ("traits", "limit"),
    [
        (ModelTraits(context_tokens=200_000, max_output_tokens=64_000), 32_000),
        (ModelTraits(context_tokens=200_000, max_output_tokens=8_192), 8_192),
        (ModelTraits(context_tokens=32_768), 8_192),
        (ModelTraits(context_tokens=1_000_000), 32_000),
    ],
)
def test_the_output_limit_is_the_models_or_32k(traits: ModelTraits, limit: int) -> None:
    assert traits.output_limit == limit
