"""Ask for the next turn of a conversation, and keep the conversation within the model's window.

Old results are masked first; then the conversation continues in a new window. A request that a server refuses as too
long is shortened repeatedly, as far as possible. The window that the server reports is recorded, so a resumed run knows
it.
"""

from collections.abc import Callable, Sequence

from surefoot.core.purpose import Purpose
from surefoot.errors import ContextOverflow
from surefoot.journal import events as e
from surefoot.journal.state import Conversation
from surefoot.models.items import AssistantTurn, Item, Message
from surefoot.models.tokens import weigh, weigh_item, weigh_tools
from surefoot.prompting.conversation import window
from surefoot.prompting.conversation.dialogue import Dialogue
from surefoot.prompting.fit import shorten
from surefoot.prompting.run_context import RunContext

HANDOFF = (
    "The conversation is nearly too long and goes on in a new window. Write, as plain text and without calling a tool, "
    "what you need there: what you found out, what is done, what is left, and exact names and places."
)
NEW_WINDOW = "a new window"
SHORTENED = "the request was too long"
MAX_SHRINKS = 12
"""How often a request is shortened. Each time makes it at least a fifth shorter."""
LEAST = 600
"""A request whose messages have fewer tokens than this is not shortened any more."""

Restart = Callable[[], str]
"""Returns the text after the task in a new window: what is done, and what to do now."""


class Room:
    def __init__(self, run: RunContext, dialogue: Dialogue) -> None:
        self._run = run
        self._dialogue = dialogue

    async def ask(self, conversation: Conversation, purpose: Purpose, restart: Restart) -> AssistantTurn:
        """Ask for the next turn. The conversation may continue under another id: see `Dialogue.newest`."""
        conversation = await self._make_room(conversation, purpose, restart)
        for _ in range(MAX_SHRINKS):
            try:
                return await self._dialogue.ask(conversation, purpose)
            except ContextOverflow as error:
                shorter = self._shorter(conversation, error, restart)
                if shorter is None:
                    raise
                conversation = shorter
        return await self._dialogue.ask(conversation, purpose)

    async def _make_room(self, conversation: Conversation, purpose: Purpose, restart: Restart) -> Conversation:
        """Mask old results if the conversation grows long. If that is not enough, continue in a new window."""
        self._mask(conversation)
        items, tools = self._dialogue.items(conversation), self._tools(conversation)
        size = self._dialogue.window
        room = max(size - self._run.model.traits.output_limit, size // 2)
        if not window.needs_new_window(conversation, items, room, tools):
            return conversation
        if await self._run.tokens.size(self._dialogue.request(conversation)) < window.CLOSE_AT * room:
            return conversation  # the server's own count is smaller than the estimate
        if conversation.turns == 0 and len(items) <= conversation.prefix + 1:
            return conversation  # there is nothing yet to take notes of
        self._dialogue.append(conversation, [Message(role="user", content=HANDOFF)])
        try:
            handoff = (await self._dialogue.ask(conversation, purpose)).content
        except ContextOverflow:
            handoff = ""
        notes = f"# Your notes from the window before\n{handoff}" if handoff else ""
        text = "\n\n".join(filter(None, [restart(), notes]))
        tail = window.tail(items, conversation.prefix, size)
        return self._reopen(conversation, [Message(role="user", content=text), *tail], NEW_WINDOW)

    def _mask(self, conversation: Conversation, *, limit: int = 0) -> None:
        items, size = self._dialogue.items(conversation), limit or self._dialogue.window
        positions = window.to_mask(conversation, items, size, self._tools(conversation), force=bool(limit))
        if positions or (limit and limit != self._dialogue.window):
            self._run.note(e.ConversationMasked(conversation=conversation.id, positions=positions, window=limit))

    def _shorter(self, conversation: Conversation, error: ContextOverflow, restart: Restart) -> Conversation | None:
        """Shorten a conversation whose request was refused. Returns None if nothing can be shortened."""
        before = self._weight(conversation)
        tools = self._tools(conversation)
        limit = error.limit or min(self._dialogue.window, round(before + tools)) * 3 // 4
        answer = min(self._run.model.traits.output_limit, limit // 8)
        scale = error.needed / (before + tools) if error.needed else 1.0
        target = min((limit - answer) / max(scale, 0.5) * 0.95 - tools, before * 0.8)
        if before <= LEAST:
            return None
        self._mask(conversation, limit=limit)
        if self._weight(conversation) <= target:
            return conversation
        return self._rebuilt(conversation, max(target, LEAST / 2), restart)

    def _rebuilt(self, conversation: Conversation, target: float, restart: Restart) -> Conversation:
        """Continue in a new conversation of at most `target` tokens: the task, what to do now, the newest items."""
        items = self._dialogue.items(conversation)
        prefix = self._dialogue.head(conversation)
        start = Message(role="user", content=shorten(restart(), target / 4))
        last = max((at for at, item in enumerate(items) if isinstance(item, AssistantTurn)), default=len(items))
        unanswered = [item for item in items[last:] if isinstance(item, Message)] if last < len(items) else []
        room = target - weigh_item(start)
        if sum(map(weigh_item, prefix)) <= room * 0.8:
            room -= sum(map(weigh_item, prefix))
            tail = window.tail(items, conversation.prefix, round(room * 5)) or _cut(unanswered, room)
            return self._reopen(conversation, [start, *tail], SHORTENED)
        system = [item for item in prefix if item.role == "system"]
        room -= sum(map(weigh_item, system))
        task = [item for item in prefix if item.role != "system"]
        new = self._dialogue.start_like(conversation, [*system, *_cut(task, max(room * 0.7, 1))], SHORTENED)
        room -= self._weight(new) - sum(map(weigh_item, system))
        tail = window.tail(items, conversation.prefix, round(max(room, 0) * 5)) or _cut(unanswered, room)
        self._dialogue.append(new, [start, *tail])
        return new

    def _reopen(self, conversation: Conversation, items: list[Item], reason: str) -> Conversation:
        """Continue after the instructions and the task, which includes the facts about a run that is continued."""
        if not conversation.earlier:
            return self._dialogue.start_like(conversation, items, reason, keep=conversation.prefix)
        new = self._dialogue.start_like(conversation, self._dialogue.head(conversation), reason)
        self._dialogue.append(new, items)
        return new

    def _weight(self, conversation: Conversation) -> float:
        return sum(map(weigh_item, self._dialogue.items(conversation)))

    def _tools(self, conversation: Conversation) -> float:
        return weigh_tools(self._dialogue.tools(conversation))


def _cut(items: Sequence[Item], room: float) -> list[Item]:
    """Shorten messages so that they fit together."""
    share = max(room, 1) / max(sum(weigh(item.content) for item in items), 1)
    return [
        item.with_(content=shorten(item.content, weigh(item.content) * min(share, 1.0)))
        if isinstance(item, Message)
        else item
        for item in items
    ]
