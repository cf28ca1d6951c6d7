"""The content of a run: tasks, prompts, answers, arguments, results, reasons. Sent only if the user enables it."""

import json
from collections.abc import Callable
from typing import Any

from surefoot.errors import JournalError
from surefoot.integrations.otel import names as n

MAX_CHARS = 16_384
"""The maximum length of one text. Of a longer one, the beginning and the end are kept."""


class Content:
    """Makes attributes of texts, without secrets. There are none if content is switched off."""

    def __init__(self, enabled: bool, redact: Callable[[str], str], get_blob: Callable[[str], bytes]) -> None:
        self.enabled = enabled
        self.redact = redact
        self._get_blob = get_blob

    def text(self, name: str, text: str) -> dict[str, str]:
        return {name: self._short(text)} if self.enabled and text else {}

    def json(self, name: str, value: Any) -> dict[str, str]:
        if not self.enabled or not value:
            return {}
        return {name: self._short(json.dumps(value, ensure_ascii=False, default=str))}

    def messages(self, prompt: str, answer: str, finish_reason: str) -> dict[str, str]:
        """A prompt and an answer, given by their blobs, in the JSON format of the semantic conventions."""
        if not self.enabled:
            return {}
        asked = {"role": "user", "parts": [{"type": "text", "content": self._read(prompt)}]}
        answered = {"role": "assistant", "parts": [{"type": "text", "content": self._read(answer)}]}
        return {
            n.INPUT_MESSAGES: json.dumps([asked], ensure_ascii=False),
            n.OUTPUT_MESSAGES: json.dumps([{**answered, "finish_reason": finish_reason}], ensure_ascii=False),
        }

    def _read(self, digest: str) -> str:
        try:
            return self._short(self._get_blob(digest).decode(errors="replace"))
        except JournalError as error:
            return f"(cannot be read: {error})"

    def _short(self, text: str) -> str:
        # Redacted first: a secret that is cut in two would no longer be recognised.
        text = self.redact(text)
        half = MAX_CHARS // 2
        return text if len(text) <= MAX_CHARS else f"{text[:half]}\n... ({len(text):,} characters) ...\n{text[-half:]}"
