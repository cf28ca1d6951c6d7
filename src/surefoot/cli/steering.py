"""Single keys while the live view is on the screen: what each asks of the run.

They go the same way as what is said from another terminal: a message in the journal, heeded by the run.
"""

import os
import time
from collections.abc import Callable
from typing import Any, TextIO

from surefoot.cli.control import who
from surefoot.machine import WORKING
from surefoot.state import RunState

HINT = "p pause   s skip the step   r do it again   e edit the plan   c cancel"
TWICE_SECONDS = 3.0
"""Within this time the second press of a key that cannot be taken back counts."""

Send = Callable[[str, dict[str, Any]], None]


class Steering:
    def __init__(self, keyboard: TextIO, send: Send) -> None:
        self._keyboard = keyboard
        self._send = send
        self._cancel_before = 0.0

    def pressed(self, state: RunState) -> str:
        """Reads what was typed and carries it out; what is to be said about it, if anything."""
        fd = self._keyboard.fileno()
        if os.tcgetpgrp(fd) != os.getpgrp():
            return ""  # in the background the keyboard is somebody else's
        said = ""
        for key in os.read(fd, 1024).decode(errors="replace"):
            said = self._press(key.lower(), state) or said
        return said

    def _press(self, key: str, state: RunState) -> str:
        if state.outcome is not None or state.stage not in WORKING:
            return ""
        match key:
            case "p":
                return self._ask(state, "pause")
            case "s" | "r":
                return self._step(state, "skip" if key == "s" else "retry")
            case "e":
                return f"in another terminal: surefoot edit {state.run_id}"
            case "c":
                if time.monotonic() < self._cancel_before:
                    return self._ask(state, "cancel")
                self._cancel_before = time.monotonic() + TWICE_SECONDS
                return "press c again to cancel the run"
        return ""

    def _step(self, state: RunState, command: str) -> str:
        running = sorted(state.running)
        if len(running) == 1:
            return self._ask(state, command, running[0])
        if not running:
            return "no step is running"
        return f"several steps are running: surefoot {command} {state.run_id} STEP, with one of {', '.join(running)}"

    def _ask(self, state: RunState, command: str, step_id: str = "") -> str:
        message = {"type": "control", "command": command, "step_id": step_id, "by": who(), "why": ""}
        self._send(state.run_id, message)
        return f"asked for: {command} {step_id}".rstrip()
