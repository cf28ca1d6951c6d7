"""Live text of runs, for the sockets that watch them. It is dropped rather than queued."""

import time
from collections.abc import Callable
from typing import Any

from surefoot.journal.live_text import KEPT_CHARS, LiveTextListener
from surefoot.server.hub import Hub

MAX_LISTENERS = 200
"""How many runs are listened to at once."""
MAX_MESSAGES_PER_SECOND = 2_000
"""The limit over all sockets. With too many watchers, text has gaps."""

OnText = Callable[[dict[str, Any]], None]


class Texts:
    """Listens to the text of runs that a process drives, while clients watch them."""

    def __init__(self, hub: Hub, on_text: OnText) -> None:
        self._hub, self._on_text = hub, on_text
        self._listeners: dict[str, LiveTextListener] = {}
        self._latest: dict[str, dict[str, Any]] = {}
        self._left, self._since = float(MAX_MESSAGES_PER_SECOND), time.monotonic()

    def listen_to(self, run_ids: set[str]) -> None:
        """Listen to those of these runs that a process drives, and to no others."""
        live = {run_id for run_id in run_ids if self._hub.is_live(run_id)}
        for run_id in self._listeners.keys() - live:
            self._listeners.pop(run_id).close()
            self._latest.pop(run_id, None)
        for run_id in sorted(live - self._listeners.keys())[: MAX_LISTENERS - len(self._listeners)]:
            try:
                self._listeners[run_id] = LiveTextListener(self._hub.home, run_id, self._receive)
            except OSError as error:
                self._hub.report(f"live text cannot be received: {error}")
                return

    def latest(self, run_id: str) -> dict[str, Any] | None:
        """The end of the text that the run wrote last, for a socket that begins to watch it; None if there is none."""
        return self._latest.get(run_id)

    def close(self) -> None:
        self.listen_to(set())

    def may_send(self) -> bool:
        """Whether the limit allows one more message. If so, the message is counted."""
        now = time.monotonic()
        gained = (now - self._since) * MAX_MESSAGES_PER_SECOND
        self._left, self._since = min(self._left + gained, float(MAX_MESSAGES_PER_SECOND)), now
        if self._left < 1:
            return False
        self._left -= 1
        return True

    def _receive(self, message: dict[str, Any]) -> None:
        # The run has removed the secrets that it knows; the server may know others.
        message = {**message, "text": self._hub.redactor.redact_known(message["text"])}
        self._latest[message["run"]] = _joined(self._latest.get(message["run"]), message)
        self._on_text(message)


def _joined(before: dict[str, Any] | None, message: dict[str, Any]) -> dict[str, Any]:
    """The end of two consecutive pieces of the same text; else only the later one."""
    if before is None or before["id"] != message["id"] or message["offset"] != before["offset"] + len(before["text"]):
        return message
    whole = before["text"] + message["text"]
    text = whole[-KEPT_CHARS:]
    return {**message, "offset": before["offset"] + len(whole) - len(text), "text": text}
