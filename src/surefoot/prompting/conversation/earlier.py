"""The beginning of a run's conversation.

A run that continues another one has that run's conversation before its task, or only the end of it if the whole does
not fit. The facts about the earlier run are part of the message with the task in any case.
"""

from collections.abc import Sequence
from typing import NamedTuple

from surefoot.models.items import Item, Message, ToolSpec, load_item
from surefoot.models.tokens import weigh_item, weigh_tools
from surefoot.prompting.conversation.texts import opening
from surefoot.prompting.conversation.window import MASK_AT, tail
from surefoot.prompting.results import mask_item
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
