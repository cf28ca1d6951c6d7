"""Normalize messages to a form that every chat template accepts.

Some templates refuse consecutive user messages, system messages in the middle or at all, or empty messages. The result
of `alternate` has at most one system message, at the front, then user and assistant messages in turn, with a user
message first and last. All content is kept, in its order.
"""

from collections.abc import Iterable

from surefoot.models.base import Message
from surefoot.models.items import Item

SEPARATOR = "\n\n"
CONTINUE = "Go on."
"""Inserted where a template requires a user message and there is none."""


def alternate(messages: Iterable[Item], *, fold_system: bool = False) -> tuple[Message, ...]:
    """Return the normalized messages. `fold_system` merges the system message into the first user message."""
    nonempty = [message for message in messages if message.content.strip()]
    leading = 0
    while leading < len(nonempty) and nonempty[leading].role == "system":
        leading += 1
    system = SEPARATOR.join(message.content for message in nonempty[:leading])
    turns = _merge_turns(nonempty[leading:])
    if not turns:
        # Some servers refuse a request without a user message.
        return (Message(role="user", content=system or CONTINUE),)
    if turns[0].role == "assistant":
        turns.insert(0, Message(role="user", content=CONTINUE))
    if turns[-1].role == "assistant":
        turns.append(Message(role="user", content=CONTINUE))
    if not system:
        return tuple(turns)
    if fold_system:
        first = Message(role="user", content=system + SEPARATOR + turns[0].content)
        return (first, *turns[1:])
    return (Message(role="system", content=system), *turns)


def with_instruction(messages: tuple[Message, ...], instruction: str) -> tuple[Message, ...]:
    """Append `instruction` to the last message, so that the prefix stays cached."""
    last = messages[-1]
    return (*messages[:-1], last.with_(content=last.content + SEPARATOR + instruction))


def _merge_turns(messages: list[Item]) -> list[Message]:
    """Merge consecutive messages of one role. Later system messages become user messages, to keep cached prefixes."""
    turns: list[Message] = []
    for message in messages:
        role = "assistant" if message.role == "assistant" else "user"
        if turns and turns[-1].role == role:
            turns[-1] = turns[-1].with_(content=turns[-1].content + SEPARATOR + message.content)
        else:
            turns.append(Message(role=role, content=message.content))
    return turns
