"""Messages between processes, as they are stored."""

import json
from typing import Any

import pytest

from surefoot.journal.messages import (
    AnswerMessage,
    ControlMessage,
    InboxMessage,
    UnreadableMessage,
    decode_message,
    encode_message,
)

STORED: list[tuple[InboxMessage, dict[str, Any]]] = [
    (AnswerMessage(question_id="q", answer="是"), {"type": "answer", "question_id": "q", "answer": "是"}),
    (
        AnswerMessage(question_id="q", answer="yes", by="ann", at=1.5),
        {"type": "answer", "question_id": "q", "answer": "yes", "by": "ann", "at": 1.5},
    ),
    (ControlMessage(command="pause"), {"type": "control", "command": "pause"}),
    (
        ControlMessage(command="edit", by="ann", why="b is taken", plan="[[step]]"),
        {"type": "control", "command": "edit", "by": "ann", "why": "b is taken", "plan": "[[step]]"},
    ),
]


@pytest.mark.req("A8", "P12")
@pytest.mark.parametrize(("message", "stored"), STORED)
def test_messages_are_stored_as_json_with_a_type(message: InboxMessage, stored: dict[str, Any]) -> None:
    assert json.loads(encode_message(message)) == stored
    assert decode_message(json.dumps(stored).encode()) == message


def test_messages_that_spell_out_defaults_are_read_too() -> None:
    stored = {"type": "control", "command": "skip", "step_id": "s1", "by": "user", "why": "", "plan": ""}
    assert decode_message(json.dumps(stored).encode()) == ControlMessage(command="skip", step_id="s1")


def test_unknown_fields_of_an_answer_are_ignored_and_those_of_a_control_are_not() -> None:
    answer = b'{"type": "answer", "question_id": "q", "answer": "yes", "from": "phone"}'
    assert decode_message(answer) == AnswerMessage(question_id="q", answer="yes")
    control = b'{"type": "control", "command": "pause", "until": "noon"}'
    assert decode_message(control) == UnreadableMessage("until is wrong: Unexpected keyword argument")


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"{", "not JSON"),
        (b"[]", "type is unknown: None"),
        (b'{"type": ["answer"]}', "type is unknown"),
        (b'{"type": "telegram"}', "type is unknown: 'telegram'"),
        (b'{"type": "answer", "question_id": "q"}', "answer is wrong: Field required"),
        (b'{"type": "answer", "question_id": "q", "answer": "yes", "at": "noon"}', "at is wrong"),
        (b'{"type": "control", "command": "explode"}', "command is wrong: Input should be 'pause'"),
        (b'{"type": "control", "command": "pause", "why": "\\udc80"}', "not valid Unicode"),
    ],
)
def test_unreadable_messages_say_why(body: bytes, reason: str) -> None:
    message = decode_message(body)
    assert isinstance(message, UnreadableMessage)
    assert reason in message.reason
