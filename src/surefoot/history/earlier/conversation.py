"""The conversation of an earlier run, as a run that continues it gets it."""

from collections.abc import Sequence
from typing import Any

from surefoot.journal.redact import Redactor
from surefoot.journal.state import Conversation, RunState
from surefoot.journal.store.base import Journal
from surefoot.models.items import (
    AssistantTurn,
    Item,
    Message,
    Part,
    ReasoningPart,
    TextPart,
    ToolCall,
    ToolResultMessage,
    load_item,
)
from surefoot.prompting.results import NOT_EXECUTED, known_result, mask_item


def conversation_of(state: RunState, journal: Journal, redactor: Redactor) -> list[Item]:
    """Return the newest conversation of a run as its model saw it, without the instructions and without secrets.

    Every call has its result. Branches for candidates are left out. Empty if the run had no conversation.
    """
    conversation = next((c for c in reversed(state.conversations.values()) if not c.candidate), None)
    if conversation is None:
        return []
    items = [load_item(journal.get_blob(key)) for key in conversation.items]
    items = [mask_item(item) if at in conversation.masked else item for at, item in enumerate(items)]
    items += _results(state, journal, redactor, conversation, items)
    return [_without_secrets(item, redactor) for item in items if item.role != "system"]


def _results(
    state: RunState, journal: Journal, redactor: Redactor, conversation: Conversation, items: Sequence[Item]
) -> list[Item]:
    """Return one result for each call of the last turn."""
    last = items[-1] if items else None
    return [
        known_result(state, journal, redactor, conversation, call)
        or ToolResultMessage(call_id=call.id, text=NOT_EXECUTED, ok=False)
        for call in (last.calls if isinstance(last, AssistantTurn) else ())
    ]


def _without_secrets(item: Item, redactor: Redactor) -> Item:
    """Remove secrets, even from the model's own turns: their calls are over, so nothing acts on them."""
    match item:
        case Message():
            return item.with_(content=redactor.redact(item.content))
        case ToolResultMessage():
            return item.with_(text=redactor.redact(item.text))
        case AssistantTurn():
            return item.with_(parts=tuple(part for old in item.parts for part in _clean_part(old, redactor)))


def _clean_part(part: Part, redactor: Redactor) -> list[Part]:
    """Return a part as it is, or without its secrets. Reasoning is sent back unchanged or not at all."""
    written = part.model_dump_json()
    if redactor.redact(written) == written:
        return [part]
    match part:
        case TextPart():
            return [TextPart(text=redactor.redact(part.text))]
        case ToolCall():
            arguments = _clean(part.arguments, redactor)
            return [ToolCall(id=part.id, name=part.name, arguments=arguments, problem=part.problem, repaired=True)]
        case ReasoningPart():
            return []


def _clean(value: Any, redactor: Redactor) -> Any:
    match value:
        case str():
            return redactor.redact(value)
        case dict():
            return {redactor.redact(str(key)): _clean(part, redactor) for key, part in value.items()}
        case list():
            return [_clean(part, redactor) for part in value]
    return value
