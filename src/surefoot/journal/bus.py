"""Publishes records to subscribers once they are durable, and model answers while they are streamed."""

from collections.abc import Callable

from surefoot.journal.events import Record

OnRecord = Callable[[Record], None]
OnText = Callable[[str], None]
OnCall = Callable[[str, str], None]
"""Takes the tool of a call that the model is writing, and its most telling argument; empty until that is known."""


class Bus:
    def __init__(self) -> None:
        self._subscribers: list[tuple[OnRecord, OnText | None, OnCall | None]] = []

    def subscribe(
        self, on_record: OnRecord, on_text: OnText | None = None, on_call: OnCall | None = None
    ) -> Callable[[], None]:
        """Subscribe to records, to streamed text and calls. Returns a function that ends the subscription."""
        subscriber = (on_record, on_text, on_call)
        self._subscribers.append(subscriber)
        return lambda: self._subscribers.remove(subscriber)

    def publish(self, record: Record) -> None:
        for on_record, _, _ in list(self._subscribers):
            on_record(record)

    def text(self, piece: str) -> None:
        """Publish a part of an answer that is still being streamed and is not recorded yet."""
        for _, on_text, _ in list(self._subscribers):
            if on_text is not None:
                on_text(piece)

    def call(self, tool: str, subject: str) -> None:
        """Publish which call the model is writing. It is not recorded, and not carried out yet."""
        for _, _, on_call in list(self._subscribers):
            if on_call is not None:
                on_call(tool, subject)
