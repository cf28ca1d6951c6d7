"""Publishes records to subscribers once they are durable, and model answers while they are streamed."""

from collections.abc import Callable

from surefoot.journal.events import Record

OnRecord = Callable[[Record], None]
OnText = Callable[[str], None]


class Bus:
    def __init__(self) -> None:
        self._subscribers: list[tuple[OnRecord, OnText | None]] = []

    def subscribe(self, on_record: OnRecord, on_text: OnText | None = None) -> Callable[[], None]:
        """Subscribe to records and streamed text. Returns a function that ends the subscription."""
        subscriber = (on_record, on_text)
        self._subscribers.append(subscriber)
        return lambda: self._subscribers.remove(subscriber)

    def publish(self, record: Record) -> None:
        for on_record, _ in list(self._subscribers):
            on_record(record)

    def text(self, piece: str) -> None:
        """Publish a part of an answer that is still being streamed and is not recorded yet."""
        for _, on_text in list(self._subscribers):
            if on_text is not None:
                on_text(piece)
