"""Output of any length in bounded memory: its beginning, its end, and how much was left out between them."""

import codecs
from collections.abc import Callable


class BoundedOutput:
    """Collects bytes as they arrive; never holds more than about one and a half times `limit`."""

    def __init__(self, limit: int, on_text: Callable[[str], None] | None = None) -> None:
        self.total = 0
        self._head_limit = limit // 2
        self._tail_limit = limit - self._head_limit
        self._head = bytearray()
        self._tail = bytearray()
        self._on_text = on_text
        # Incremental, because a character may be split between two pieces.
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def feed(self, piece: bytes) -> None:
        self.total += len(piece)
        if self._on_text and (text := self._decoder.decode(piece)):
            self._on_text(text)
        room = self._head_limit - len(self._head)
        if room > 0:
            self._head += piece[:room]
            piece = piece[room:]
        self._tail += piece
        if len(self._tail) > 2 * self._tail_limit:
            del self._tail[: -self._tail_limit or None]

    def close(self) -> None:
        if self._on_text and (text := self._decoder.decode(b"", final=True)):
            self._on_text(text)

    @property
    def truncated(self) -> bool:
        return self.total > self._head_limit + self._tail_limit

    def text(self) -> str:
        if not self.truncated:
            return (self._head + self._tail).decode("utf-8", "replace")
        head = _without_partial_character(bytes(self._head))
        tail = bytes(self._tail[-self._tail_limit :]) if self._tail_limit else b""
        # A tail that starts in the middle of a character starts with up to three continuation bytes.
        start = next((i for i in range(min(4, len(tail))) if tail[i] & 0xC0 != 0x80), len(tail) if len(tail) < 4 else 0)
        left_out = self.total - len(head) - len(tail) + start
        return (
            head.decode("utf-8", "replace")
            + f"\n[... {left_out:,} bytes of output left out ...]\n"
            + tail[start:].decode("utf-8", "replace")
        )


def _without_partial_character(head: bytes) -> bytes:
    """Drop a character that the limit cut in two; other invalid UTF-8 stays and is replaced when decoded."""
    for back in range(1, min(4, len(head) + 1)):
        lead = head[-back]
        if lead & 0xC0 == 0x80:
            continue
        length = 4 if lead >= 0xF0 else 3 if lead >= 0xE0 else 2 if lead >= 0xC0 else 1
        return head[:-back] if length > back else head
    return head
