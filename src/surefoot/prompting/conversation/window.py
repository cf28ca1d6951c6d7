"""Decide how to keep a conversation within the model's context window. Pure.

Old results are masked in one batch. If that is not enough, a new conversation continues from the newest items.
"""

from collections.abc import Sequence

from surefoot.journal.state import Conversation
from surefoot.models.items import AssistantTurn, Item, ToolResultMessage
from surefoot.models.tokens import weigh_item
from surefoot.prompting.results import mask

MASK_AT = 0.6
"""The share of the window at which old results are masked."""
CLOSE_AT = 0.85
"""The share of the window at which a new window opens."""
RECENT_TOKENS = 40_000
"""The newest results are not masked, up to this size."""
WORTH_MASKING_TOKENS = 20_000
"""Masking invalidates the server's cache, so it must save at least this much."""
WORTH_MASKING_ONE = 300
"""A result with fewer tokens than this stays: masking it gains nothing."""
TAIL_TOKENS = 15_000
"""How much of the newest conversation a new window begins with."""
MIN_SCALE, MAX_SCALE, MARGIN = 0.7, 4.0, 1.1


def size(conversation: Conversation, items: Sequence[Item], tools: float = 0.0) -> int:
    """Return the size of the next request in tokens: the server's last count, and an estimate of the items since.

    `tools` is the weight of the list of tools. The estimate is scaled by the server's count of the earlier items.
    """
    new = sum(map(weigh_item, items[conversation.counted :]))
    if not conversation.counted:
        return round(tools + new)
    weight = tools + sum(map(weigh_item, items[: conversation.counted]))
    scale = min(max(conversation.prompt_tokens / max(weight, 1) * MARGIN, MIN_SCALE), MAX_SCALE)
    return conversation.prompt_tokens + round(scale * new)


def to_mask(
    conversation: Conversation, items: Sequence[Item], window: int, tools: float = 0.0, *, force: bool = False
) -> tuple[int, ...]:
    """Return the positions of old results to mask now; empty if there is room, or masking is not worth it.

    `force`: the request is known to be too long, so every result but the newest is masked if need be.
    """
    if not force and size(conversation, items, tools) < MASK_AT * window:
        return ()
    recent, positions, gained = 0.0, [], 0.0
    keep = min(RECENT_TOKENS, window // 8 if force else window // 4)
    # The model has not seen the results after its last turn. They are masked only if they would not fit.
    unseen = max((at for at, item in enumerate(items) if isinstance(item, AssistantTurn)), default=len(items))
    fits = not force and size(conversation, items, tools) < window
    # If this run continues another, the prefix has results of that run, which may be masked too.
    first = 1 if conversation.earlier else conversation.prefix
    for position in range(len(items) - 1, first - 1, -1):
        item = items[position]
        if not isinstance(item, ToolResultMessage) or position in conversation.masked:
            continue
        tokens = weigh_item(item)
        recent += tokens
        if fits and position > unseen:
            continue
        if recent > keep and tokens > max(2 * weigh_item(item.with_(text=mask(item.text))), WORTH_MASKING_ONE):
            positions.append(position)
            gained += tokens
    worth = force or gained >= min(WORTH_MASKING_TOKENS, window // 8)
    return tuple(sorted(positions)) if worth else ()


def needs_new_window(conversation: Conversation, items: Sequence[Item], window: int, tools: float = 0.0) -> bool:
    return size(conversation, items, tools) >= CLOSE_AT * window


def tail(items: Sequence[Item], prefix: int, window: int) -> Sequence[Item]:
    """Return the newest items that a new window begins with. They begin with a turn of the model, so that every result
    has its call."""
    room: float = min(TAIL_TOKENS, window // 5)
    start = len(items)
    for position in range(len(items) - 1, prefix - 1, -1):
        room -= weigh_item(items[position])
        if room < 0:
            break
        if isinstance(items[position], AssistantTurn):
            start = position
    return items[start:]
