"""Publishes records to subscribers once they are durable, and text while it is streamed."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Literal, TypeAlias

from surefoot.journal.events import Record

OnRecord = Callable[[Record], None]
OnText = Callable[[str], None]
OnCall = Callable[[str, str], None]
"""Takes the tool of the call that the model is writing, and its main argument; empty until that is known."""
OnCheck = Callable[[str], None]
"""Takes the command of the check that the engine is running."""
StreamKind: TypeAlias = Literal["text", "output", "call"]
"""The answer of a model, the output of a command, or the call that a model is writing."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where streamed text comes from: one answer, or one command."""

    kind: StreamKind = "text"
    step: str = ""
    id: str = field(default_factory=lambda: secrets.token_hex(6))


OnStream = Callable[[Source, str], None]


@dataclass(frozen=True, slots=True, eq=False)
class _Subscriber:
    on_record: OnRecord | None
    on_text: OnText | None
    on_call: OnCall | None
    on_stream: OnStream | None
    on_check: OnCheck | None


class Bus:
    def __init__(self) -> None:
        self._subscribers: list[_Subscriber] = []

    def subscribe(
        self,
        on_record: OnRecord | None = None,
        on_text: OnText | None = None,
        on_call: OnCall | None = None,
        on_stream: OnStream | None = None,
        on_check: OnCheck | None = None,
    ) -> Callable[[], None]:
        """Subscribe to records, streamed text, calls and checks. `on_stream` gets text and calls with their source.

        Returns a function that ends the subscription.
        """
        subscriber = _Subscriber(on_record, on_text, on_call, on_stream, on_check)
        self._subscribers.append(subscriber)
        return lambda: self._subscribers.remove(subscriber)

    def publish(self, record: Record) -> None:
        for subscriber in list(self._subscribers):
            if subscriber.on_record is not None:
                subscriber.on_record(record)

    def text(self, source: Source, piece: str) -> None:
        """Publish a part of an answer or an output that is still being streamed and is not recorded yet."""
        for subscriber in list(self._subscribers):
            if subscriber.on_text is not None:
                subscriber.on_text(piece)
            if subscriber.on_stream is not None:
                subscriber.on_stream(source, piece)

    def writer(self, source: Source) -> Callable[[str], None]:
        """Return a function that publishes text of one source. The text must be free of secrets."""
        return partial(self.text, source)

    def call(self, tool: str, subject: str, step: str = "") -> None:
        """Publish which call the model is writing. It is not recorded, and not carried out yet."""
        source = Source("call", step)
        for subscriber in list(self._subscribers):
            if subscriber.on_call is not None:
                subscriber.on_call(tool, subject)
            if subscriber.on_stream is not None:
                subscriber.on_stream(source, f"{tool} {subject}".strip())

    def checking(self, label: str) -> None:
        """Publish which command the engine runs as a check. It is not recorded; the results are."""
        for subscriber in list(self._subscribers):
            if subscriber.on_check is not None:
                subscriber.on_check(label)
