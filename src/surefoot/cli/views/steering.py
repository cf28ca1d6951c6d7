"""The keys of the live view, and the control request that each of them sends.

A request takes the same way as one from another terminal: it is a message in the journal that the run reads.
"""

import os
import time
from collections.abc import Callable
from typing import TextIO

from surefoot.core.transitions import WORKING
from surefoot.journal.state import RunState

HINT = "p pause   s skip the step   r retry the step   e edit the plan   c cancel"
CONFIRM_SECONDS = 3.0
"""Time within which the second press of a key confirms a command that cannot be undone."""

SendControl = Callable[[str, str, str], None]
"""Sends a control request: run id, command, step id."""


class Steering:
    def __init__(self, keyboard: TextIO, send: SendControl) -> None:
        self._keyboard = keyboard
        self._send = send
        self._cancel_deadline = 0.0

    def read_keys(self, state: RunState) -> str:
        """Read the pressed keys and act on them. Returns a message to show, or an empty string."""
        fd = self._keyboard.fileno()
        if os.tcgetpgrp(fd) != os.getpgrp():
            return ""  # A background job must not read the terminal.
        message = ""
        for key in os.read(fd, 1024).decode(errors="replace"):
            message = self._press(key.lower(), state) or message
        return message

    def _press(self, key: str, state: RunState) -> str:
        if state.outcome is not None or state.stage not in WORKING:
            return ""
        match key:
            case "p":
                return self._request(state, "pause")
            case "s" | "r":
                return self._request_for_step(state, "skip" if key == "s" else "retry")
            case "e":
                return f"in another terminal: surefoot edit {state.run_id}"
            case "c":
                if time.monotonic() < self._cancel_deadline:
                    return self._request(state, "cancel")
                self._cancel_deadline = time.monotonic() + CONFIRM_SECONDS
                return "press c again to cancel the run"
        return ""

    def _request_for_step(self, state: RunState, command: str) -> str:
        running = sorted(state.running)
        if len(running) == 1:
            return self._request(state, command, running[0])
        if not running:
            return "no step is running"
        return f"several steps are running: surefoot {command} {state.run_id} STEP, with one of {', '.join(running)}"

    def _request(self, state: RunState, command: str, step_id: str = "") -> str:
        self._send(state.run_id, command, step_id)
        return f"requested: {command} {step_id}".rstrip()
