"""The beginning of a run's conversation.

A run that continues another one has that run's conversation before its task, or only the end of it if the whole does
not fit. The facts about the earlier run are part of the message with the task in any case.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

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
    ToolSpec,
    load_item,
)
from surefoot.models.tokens import weigh_item, weigh_tools
from surefoot.prompting.conversation.dialogue import NOT_EXECUTED, known_result, mask_item
from surefoot.prompting.conversation.texts import opening
from surefoot.prompting.conversation.window import MASK_AT, tail
from surefoot.prompting.run_context import RunContext

MAX_EARLIER_TOKENS = 60_000
"""How long the conversation of an earlier run may be, as for a step that continues another step's."""
RECENT_SHARE = 4
"""If it is too long, results are masked, except those in its newest part: one part in this many of the room."""
LEFT_OUT = "(The beginning of this conversation is left out here. What came of it follows after its end.)"


class Beginning(NamedTuple):
    items: list[Item]
    earlier: int = 0
    """How many items after the first are from the earlier run."""


def beginning(run: RunContext, tools: Sequence[ToolSpec], *, planned: bool = False) -> Beginning:
    """Return the items that every conversation of a run begins with. `planned`: the plan was given."""
    items = opening(run, planned=planned)
    if run.state.context is None:
        return Beginning(items)
    window, limit = run.model.traits.context_tokens, run.model.traits.output_limit
    room = MASK_AT * max(window - limit, window // 2) - weigh_tools(tools) - sum(map(weigh_item, items))
    earlier = _fitting(
        [load_item(run.journal.get_blob(key)) for key in run.state.context.items], min(room, MAX_EARLIER_TOKENS)
    )
    return Beginning([items[0], *earlier, *items[1:]], len(earlier))


def _fitting(items: list[Item], room: float) -> list[Item]:
    """Return the items if they fit, with their old results masked if need be; otherwise their end."""
    if _weight(items) <= room:
        return items
    masked, recent = list(items), 0.0
    for position in range(len(items) - 1, -1, -1):
        recent += weigh_item(items[position])
        short = mask_item(items[position])
        if recent > room / RECENT_SHARE and 2 * weigh_item(short) < weigh_item(items[position]):
            masked[position] = short
    if _weight(masked) <= room:
        return masked
    note = Message(role="user", content=LEFT_OUT)
    kept = tail(masked, 0, round(max(room - weigh_item(note), 0) * 5))
    return [note, *kept] if kept else []


def _weight(items: Sequence[Item]) -> float:
    return sum(map(weigh_item, items))


# -- the run that is continued -------------------------------------------------------------------------------------


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
