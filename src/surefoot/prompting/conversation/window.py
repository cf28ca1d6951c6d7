"""Keeps a conversation within the window: old results are masked in one batch, then a new window opens. Pure."""

from collections.abc import Sequence

from surefoot.journal.state import Conversation
from surefoot.models.items import AssistantTurn, Item, ToolResultMessage

MASK_AT = 0.6
"""The share of the window at which old results are masked."""
CLOSE_AT = 0.85
"""The share of the window at which a new window opens."""
RECENT_TOKENS = 40_000
"""The newest results stay as they are, up to this size."""
WORTH_MASKING_TOKENS = 20_000
"""Masking breaks the server's cache, so it has to be worth it."""
TAIL_TOKENS = 15_000
"""How much of the newest conversation a new window begins with."""
CHARS_PER_TOKEN = 3.0
"""A conservative bound for text that the server has not counted yet."""
ITEM_TOKENS = 8
"""What the form of an item costs."""
SHOWN_CHARS = 160


def masked_line(text: str) -> str:
    """Return the one line that stands for a masked result."""
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    shown = first if len(first) <= SHOWN_CHARS else f"{first[:SHOWN_CHARS]}..."
    return f"{shown}\n[this old result of {len(text):,} characters is no longer shown; repeat the call to see it again]"


def size_of(item: Item) -> int:
    """Estimate the tokens of an item."""
    text = item.content
    if isinstance(item, AssistantTurn):
        text += item.reasoning + "".join(call.raw or str(call.arguments) for call in item.calls)
    return round(len(text) / CHARS_PER_TOKEN) + ITEM_TOKENS


def size(conversation: Conversation, items: Sequence[Item]) -> int:
    """Return the size of the next request: what the server counted, and an estimate of what came since."""
    return conversation.prompt_tokens + sum(map(size_of, items[conversation.counted :]))


def to_mask(conversation: Conversation, items: Sequence[Item], window: int, *, force: bool = False) -> tuple[int, ...]:
    """Return the positions of old results to mask now; empty if there is room, or it is not worth it."""
    if not force and size(conversation, items) < MASK_AT * window:
        return ()
    recent, found, gained = 0, [], 0
    keep = min(RECENT_TOKENS, window // 8 if force else window // 4)
    for position in range(len(items) - 1, conversation.prefix - 1, -1):
        item = items[position]
        if not isinstance(item, ToolResultMessage) or position in conversation.masked:
            continue
        tokens = size_of(item)
        recent += tokens
        if recent > keep and tokens > 2 * size_of(item.with_(text=masked_line(item.text))):
            found.append(position)
            gained += tokens
    worth = force or gained >= min(WORTH_MASKING_TOKENS, window // 8)
    return tuple(sorted(found)) if worth else ()


def needs_new_window(conversation: Conversation, items: Sequence[Item], window: int) -> bool:
    return size(conversation, items) >= CLOSE_AT * window


def tail(items: Sequence[Item], prefix: int, window: int) -> Sequence[Item]:
    """Return the newest items that a new window begins with. They begin with a turn of the model, so that every result
    has its call."""
    room = min(TAIL_TOKENS, window // 5)
    start = len(items)
    for position in range(len(items) - 1, prefix - 1, -1):
        room -= size_of(items[position])
        if room < 0:
            break
        if isinstance(items[position], AssistantTurn):
            start = position
    return items[start:]
