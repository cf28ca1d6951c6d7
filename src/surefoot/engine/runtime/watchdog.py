"""Ends a run that goes on after its time limit. It is a thread, because a blocked event loop cannot watch itself."""

import asyncio
import contextlib
import faulthandler
import sys
import threading
import time
from collections.abc import Callable, Iterator

LOOK_SECONDS = 0.5
GRACE_SECONDS = 15.0
"""How long after the time limit the event loop may take to answer."""
STOP_SECONDS = 180.0
"""How long after the time limit the run may take to undo unfinished work and to end."""

EndProcess = Callable[[str, str], None]
"""Ends the process. Called in the watchdog's thread with the id of the run and the reason."""


class Watchdog:
    """Watches one run. `due` returns when its time is up, by the monotonic clock; None while no limit applies."""

    def __init__(self, run_id: str, due: Callable[[], float | None], end_process: EndProcess | None) -> None:
        self._run_id = run_id
        self._due = due
        self._end_process = end_process
        self._ended = threading.Event()
        self._answered_at = 0.0

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Watch the run inside the `with` block. Does nothing without an `end_process`."""
        if self._end_process is None:
            yield
            return
        self._ended.clear()
        thread = threading.Thread(
            target=self._watch, args=(asyncio.get_running_loop(),), name="surefoot-watchdog", daemon=True
        )
        thread.start()
        try:
            yield
        finally:
            self._ended.set()
            faulthandler.cancel_dump_traceback_later()

    def _watch(self, loop: asyncio.AbstractEventLoop) -> None:
        while not self._ended.wait(LOOK_SECONDS):
            due, now = self._due(), time.monotonic()
            self.set_last_resort()
            if due is None or now < due:
                self._answered_at = now
                continue
            try:
                loop.call_soon_threadsafe(self._answer)
            except RuntimeError:
                return  # the loop is closed
            if now - max(self._answered_at, due) > GRACE_SECONDS:
                self._end("the event loop does not answer, because something blocks it")
            elif now - due > STOP_SECONDS:
                self._end("the run does not stop")

    def _answer(self) -> None:
        self._answered_at = time.monotonic()

    def _end(self, reason: str) -> None:
        if not self._ended.is_set() and self._end_process is not None:
            self._end_process(self._run_id, reason)

    def set_last_resort(self) -> None:
        """Set a timer that ends the process even if a call blocks every thread, as a regular expression can.

        Called whenever the run's clock starts, because such a call may begin before the watchdog's thread looks.
        """
        if self._ended.is_set() or self._end_process is None:
            return
        due = self._due()
        if due is None:
            faulthandler.cancel_dump_traceback_later()
            return
        seconds = due + GRACE_SECONDS + STOP_SECONDS - time.monotonic()
        # One call replaces the earlier timer. Between a cancel and a second call, another thread could begin to block.
        with contextlib.suppress(OSError, ValueError, AttributeError, RuntimeError):
            faulthandler.dump_traceback_later(max(seconds, 1.0), exit=True, file=sys.__stderr__ or sys.stderr)
