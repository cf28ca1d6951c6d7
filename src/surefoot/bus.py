"""Live fan-out: readers get each record after it is durable, and pieces of answers as they are written."""

from collections.abc import Callable

from surefoot.events import Record

OnRecord = Callable[[Record], None]
OnText = Callable[[str], None]


class Bus:
    def __init__(self) -> None:
        self._readers: list[tuple[OnRecord, OnText | None]] = []

    def subscribe(self, on_record: OnRecord, on_text: OnText | None = None) -> Callable[[], None]:
        """Returns the function that ends the subscription."""
        reader = (on_record, on_text)
        self._readers.append(reader)
        return lambda: self._readers.remove(reader)

    def publish(self, record: Record) -> None:
        for on_record, _ in list(self._readers):
            on_record(record)

    def text(self, piece: str) -> None:
        """Part of an answer that is still being written: shown, and not a fact yet."""
        for _, on_text in list(self._readers):
            if on_text is not None:
                on_text(piece)
