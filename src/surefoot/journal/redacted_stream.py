"""Removes secrets from text that arrives in pieces. Text that may be the beginning of a secret is held back."""

from collections.abc import Callable

from surefoot.journal.redact import Redactor

MAX_HELD = 8_192
"""Longer held text is passed on in any case, so that an endless line is still shown."""


class RedactedStream:
    """Passes text on in whole lines, or with `by_word` in whole words, without secrets."""

    def __init__(self, redactor: Redactor, write: Callable[[str], None], *, by_word: bool = False) -> None:
        self._redactor = redactor
        self._write = write
        self._ends = "\n\r\t " if by_word else "\n\r"
        self._held = ""

    def feed(self, piece: str) -> None:
        self._held += piece
        if len(self._held) > MAX_HELD:
            self.flush()
            return
        if ready := self._complete():
            text, self._held = self._held[:ready], self._held[ready:]
            self._write(self._redactor.redact(text))

    def flush(self) -> None:
        """Pass on everything. Call this at the end of the stream."""
        text, self._held = self._held, ""
        if text:
            self._write(self._redactor.redact(text))

    def _complete(self) -> int:
        """Return how many characters can be passed on, because no later text can make them part of a secret."""
        held = self._held
        ready = max(held.rfind(end) for end in self._ends) + 1
        key = held.rfind("-----BEGIN ")
        if key >= 0 and "-----END " not in held[key:ready]:
            ready = min(ready, key)
        for value in self._redactor.values:
            # A value with spaces or line breaks may begin before the last of them and not be complete, or span it.
            if any(end in value for end in self._ends):
                ready = min(ready, len(held) - _begun(held, value))
                start = held.rfind(value, 0, ready + len(value))
                ready = start if 0 <= start < ready < start + len(value) else ready
        return ready


def _begun(text: str, value: str) -> int:
    """Return the length of the longest prefix of `value` that `text` ends with."""
    return next((size for size in range(min(len(value) - 1, len(text)), 0, -1) if text.endswith(value[:size])), 0)
