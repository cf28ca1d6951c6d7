"""The conversation with the model, as the server and the report show it."""

import json
from typing import Any

import pytest

from surefoot.journal import events as e
from surefoot.journal.redact import Redactor
from surefoot.models.items import AssistantTurn, ToolCall, dump_item
from surefoot.view.conversation import MAX_TEXT, Transcript

SECRET = 'two lines\nand a "quote" of it'


def shown(*calls: ToolCall) -> dict[str, Any]:
    blob = dump_item(AssistantTurn(parts=calls))
    event = e.ConversationGrew(conversation="c", items=("blob",))
    transcript = Transcript(lambda _: blob, Redactor([SECRET]).redact_known)
    (message,) = transcript.messages(e.Record(7, 1.0, event))
    sent: dict[str, Any] = json.loads(json.dumps(message))
    return sent


@pytest.mark.req("A7")
def test_the_arguments_of_calls_are_json_without_secrets() -> None:
    arguments = {"path": "é.py", "deep": {"flags": [True, None, 1.5, f"a {SECRET} b"]}, "n": 3}
    message = shown(ToolCall(id="c1", name="write_file", arguments=arguments))
    (call,) = message["calls"]
    assert call["name"] == "write_file"
    assert call["arguments"] == {"path": "é.py", "deep": {"flags": [True, None, 1.5, "a [redacted] b"]}, "n": 3}
    assert message["truncated"] == 0


def test_long_arguments_are_cut_and_counted_and_unreadable_ones_shown_as_they_were() -> None:
    message = shown(
        ToolCall(id="c1", name="write_file", arguments={"content": "x" * (MAX_TEXT + 5)}),
        ToolCall(id="c2", name="search", raw=f"{{not json {SECRET}", problem="it is no JSON"),
    )
    first, second = message["calls"]
    assert first["arguments"] == {"content": "x" * MAX_TEXT}
    assert message["truncated"] == 5
    assert second["arguments"] == "{not json [redacted]"
