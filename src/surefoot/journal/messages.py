"""Messages that other processes leave for the driver of a run: answers to its questions, and controls.

They are stored as JSON with a `type`. Fields at their default are left out, so older versions can read them.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any, Literal, NamedTuple, TypeAlias

from pydantic import ConfigDict, TypeAdapter, ValidationError

from surefoot.core.values import wrong_fields
from surefoot.errors import JournalError
from surefoot.journal.events import ControlCommand


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerMessage:
    question_id: str
    answer: str
    by: str = "user"
    at: float | None = None
    """When it was given, in seconds since the epoch; None: when it is received."""
    type: Literal["answer"] = "answer"


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlMessage:
    __pydantic_config__ = ConfigDict(extra="forbid")

    command: ControlCommand
    step_id: str = ""
    by: str = "user"
    why: str = ""
    plan: str = ""
    """The steps still to come, in the format of `engine/planner/plan_toml.py`; for the command `edit`."""
    removes: tuple[str, ...] | None = None
    """The steps that `plan` leaves out on purpose. None: all that it lacks."""
    id: str = ""
    """Copied to the event that the message becomes, so that the sender can find it."""
    type: Literal["control"] = "control"


@dataclass(frozen=True, slots=True)
class UnreadableMessage:
    """A message from another version of Surefoot, or from another program."""

    reason: str


InboxMessage: TypeAlias = AnswerMessage | ControlMessage

_ADAPTERS: dict[str, TypeAdapter[Any]] = {
    "answer": TypeAdapter(AnswerMessage),
    "control": TypeAdapter(ControlMessage),
}


class InboxItem(NamedTuple):
    id: int
    body: InboxMessage | UnreadableMessage


def answered_in(inbox: Iterable[InboxItem]) -> set[str]:
    """Return the questions with an answer in the inbox, which the run has not taken up yet."""
    return {item.body.question_id for item in inbox if isinstance(item.body, AnswerMessage)}


def encode_message(message: InboxMessage) -> bytes:
    set_fields = [field.name for field in fields(message) if getattr(message, field.name) != field.default]
    try:
        return json.dumps({"type": message.type, **{name: getattr(message, name) for name in set_fields}}).encode()
    except (TypeError, ValueError) as error:
        raise JournalError(
            f"the message cannot be written as JSON: {error}", remedy="send plain text and numbers"
        ) from error


def decode_message(body: bytes) -> InboxMessage | UnreadableMessage:
    try:
        values = json.loads(body)
        # An event made of text with lone surrogates could not be written, and would end the run.
        json.dumps(values, ensure_ascii=False).encode()
    except ValueError as error:
        return UnreadableMessage(f"it is not JSON, or not valid Unicode: {error}")
    kind = values.get("type") if isinstance(values, dict) else None
    adapter = _ADAPTERS.get(kind) if isinstance(kind, str) else None
    if adapter is None:
        return UnreadableMessage(f"its type is unknown: {kind!r}")
    try:
        message: InboxMessage = adapter.validate_python(values)
    except ValidationError as error:
        where, problem = wrong_fields(error)[0]
        return UnreadableMessage(f"{where} is wrong: {problem}")
    return message
