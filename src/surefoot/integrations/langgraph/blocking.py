"""A thread with an event loop that runs the nodes, for programs that call graphs without asyncio."""

import asyncio
import contextvars
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any


class LoopThread:
    """Starts with the first call and lives as long as the process, because a journal belongs to one event loop."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    def call(self, work: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        """Run async work in the caller's context, and wait for its result. KeyboardInterrupt cancels the work."""
        loop, context = self._running_loop(), contextvars.copy_context()
        outcome: Future[Any] = Future()
        started: list[asyncio.Task[Any]] = []

        def finish(task: asyncio.Task[Any]) -> None:
            error = asyncio.CancelledError() if task.cancelled() else task.exception()
            if error is None:
                outcome.set_result(task.result())
            else:
                outcome.set_exception(error)

        def start() -> None:
            task = loop.create_task(work(), context=context)
            started.append(task)
            task.add_done_callback(finish)

        loop.call_soon_threadsafe(start)
        try:
            return outcome.result()
        except KeyboardInterrupt:
            loop.call_soon_threadsafe(lambda: [task.cancel() for task in started])
            outcome.exception()
            raise

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, name="surefoot-graph", daemon=True).start()
            return self._loop
