"""The live view: follows the events of a run and keeps a frame of it at the bottom of the terminal."""

import asyncio
import contextlib
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Self, TextIO

from rich.text import Text

from surefoot.cli.report.symbols import Marks, marks_for
from surefoot.cli.views.follower import Follower
from surefoot.cli.views.frame import Viewport, frame, starting_frame
from surefoot.cli.views.keyboard import raw_keys, restore_line_mode, typed_lines
from surefoot.cli.views.screen import Screen
from surefoot.cli.views.steering import HINT, SendControl, Steering
from surefoot.errors import SurefootError
from surefoot.journal import events as e

FRAMES_PER_SECOND = 8
MIN_ROWS_FOR_HINT = 16
"""In a smaller terminal the rows are needed for the run itself."""


class LiveView:
    """Painted by the event loop that drives the run, so the state cannot change during a frame."""

    def __init__(self, stream: TextIO, keyboard: TextIO, isolation: str = "") -> None:
        self.follower = Follower()
        self.marks: Marks = marks_for(stream.encoding)
        self._screen = Screen(stream)
        self._keyboard = keyboard
        self._isolation = isolation
        self._suspended = 0
        self._steering: Steering | None = None
        self._stack = contextlib.AsyncExitStack()

    def on_record(self, record: e.Record) -> None:
        self.follower.on_record(record)

    def on_text(self, piece: str) -> None:
        self.follower.on_text(piece)

    def on_call(self, tool: str, subject: str) -> None:
        self.follower.on_call(tool, subject)

    def on_check(self, label: str) -> None:
        self.follower.on_check(label)

    def notify(self, message: str) -> None:
        self.follower.activity = message

    def accept_keys(self, send: SendControl) -> None:
        if self._keyboard.isatty():
            self._steering = Steering(self._keyboard, send)
            self._start_reading()

    def _start_reading(self) -> None:
        if self._steering is not None and not self._suspended:
            asyncio.get_running_loop().add_reader(self._keyboard.fileno(), self._on_key)

    def _on_key(self) -> None:
        assert self._steering is not None
        try:
            message = self._steering.read_keys(self.follower.state)
        except (OSError, SurefootError) as error:
            # The descriptor of a closed terminal is always readable, so reading would never stop.
            self._stop_reading()
            message = str(error)
        if message:
            self.notify(message)

    def _stop_reading(self) -> None:
        if self._steering is not None:
            asyncio.get_running_loop().remove_reader(self._keyboard.fileno())

    def abandon(self) -> None:
        self._screen.clear()
        restore_line_mode(self._keyboard)

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGCONT, self._screen.forget)
        self._stack.callback(loop.remove_signal_handler, signal.SIGCONT)
        self._stack.callback(self._screen.clear)
        self._stack.enter_context(raw_keys(self._keyboard))
        self._stack.callback(self._stop_reading)
        painting = asyncio.create_task(self._keep_painting())
        self._stack.push_async_callback(_cancel, painting)
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._stack.aclose()

    @contextlib.contextmanager
    def suspended(self) -> Iterator[TextIO]:
        """Erase the frame and hand the terminal over, for example to ask a question."""
        self._suspended += 1
        self._stop_reading()
        self._screen.clear()
        try:
            with typed_lines(self._keyboard):
                yield self._screen.stream
        finally:
            self._suspended -= 1
            self._start_reading()

    def paint(self) -> None:
        columns, rows = self._screen.size()
        state, now = self.follower.state, time.time()
        hint = [Text(HINT[:columns], style="dim")] if self._steering and rows > MIN_ROWS_FOR_HINT else []
        view = Viewport(columns, rows - 1 - len(hint), clock=now)
        if self._suspended:
            return
        if not state.run_id:
            self._screen.paint(starting_frame(self.marks, view))
            return
        seconds = state.active_seconds + (0.0 if state.outcome else max(now - state.updated_at, 0.0))
        lines = frame(self.follower, self.marks, view, isolation=self._isolation, seconds=seconds)
        self._screen.paint([*lines, *hint])

    async def _keep_painting(self) -> None:
        while True:
            self.paint()
            await asyncio.sleep(1 / FRAMES_PER_SECOND)


async def _cancel(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait([task])


def export_svg(records: list[e.Record], path: Path, width: int = 100, isolation: str = "") -> None:
    """Write the last frame of a recorded run as a self-contained SVG file."""
    import io
    import re

    from rich.console import Console

    from surefoot.cli.report.symbols import UNICODE

    follower = Follower()
    follower.replay(records)
    console = Console(
        record=True, width=width, file=io.StringIO(), force_terminal=True, color_system="truecolor", highlight=False
    )
    view = Viewport(width, 60)
    for line in frame(follower, UNICODE, view, isolation=isolation, seconds=follower.state.active_seconds):
        console.print(line, soft_wrap=True)
    # Rich refers to fonts on the web; opening the file must not fetch anything.
    path.write_text(re.sub(r"@font-face \{.*?\}\s*", "", console.export_svg(title="surefoot"), flags=re.DOTALL))
