"""Bring messages into the one shape that every chat template takes.

Some templates refuse two user messages in a row, some a system message in the middle or none at all, some an
empty one. What comes out of `alternate` pleases all of them: at most one system message, at the front, then user
and assistant in turn, a user message first and last. Nothing that was said is lost, and its order is kept.
"""

from collections.abc import Iterable

from surefoot.models.base import Message

BETWEEN = "\n\n"
GO_ON = "Go on."
"""Stands where a template demands a user message and nobody said anything."""


def alternate(messages: Iterable[Message], *, fold_system: bool = False) -> tuple[Message, ...]:
    """`fold_system` puts the system message at the top of the first user message, for templates that have none."""
    said = [message for message in messages if message.content.strip()]
    opening = 0
    while opening < len(said) and said[opening].role == "system":
        opening += 1
    system = BETWEEN.join(message.content for message in said[:opening])
    turns = _in_turn(said[opening:])
    if not turns:
        # A lone instruction is a question: some servers refuse a request in which no user speaks.
        return (Message(role="user", content=system or GO_ON),)
    if turns[0].role == "assistant":
        turns.insert(0, Message(role="user", content=GO_ON))
    if turns[-1].role == "assistant":
        turns.append(Message(role="user", content=GO_ON))
    if not system:
        return tuple(turns)
    if fold_system:
        first = Message(role="user", content=system + BETWEEN + turns[0].content)
        return (first, *turns[1:])
    return (Message(role="system", content=system), *turns)


def with_instruction(messages: tuple[Message, ...], instruction: str) -> tuple[Message, ...]:
    """The same messages with `instruction` at the very end, so that the stable beginning stays what it was."""
    last = messages[-1]
    return (*messages[:-1], last.with_(content=last.content + BETWEEN + instruction))


def _in_turn(messages: list[Message]) -> list[Message]:
    """A later system message is said by the user: moving it to the front would change every cached prefix."""
    turns: list[Message] = []
    for message in messages:
        role = "assistant" if message.role == "assistant" else "user"
        if turns and turns[-1].role == role:
            turns[-1] = turns[-1].with_(content=turns[-1].content + BETWEEN + message.content)
        else:
            turns.append(Message(role=role, content=message.content))
    return turns
