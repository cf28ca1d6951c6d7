"""The live view: a reader of events that keeps one picture of the run at the bottom of the terminal."""

import asyncio
import contextlib
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Self, TextIO

from rich.text import Text

from surefoot import events as e
from surefoot.cli.follow import Follower
from surefoot.cli.frame import Room, frame, starting
from surefoot.cli.keys import loud_again, quiet_keys
from surefoot.cli.marks import Marks, marks_for
from surefoot.cli.screen import Screen
from surefoot.cli.steering import HINT, Send, Steering
from surefoot.errors import SurefootError

FRAMES_PER_SECOND = 8
ROOM_FOR_HINT = 16
"""With fewer rows, what is being done comes before what could be asked for."""


class LiveView:
    """Painted by the event loop that drives the run, so nothing changes while it is being drawn."""

    def __init__(self, stream: TextIO, keyboard: TextIO, isolation: str = "") -> None:
        self.follower = Follower()
        self.marks: Marks = marks_for(stream.encoding)
        self._screen = Screen(stream)
        self._keyboard = keyboard
        self._isolation = isolation
        self._aside = 0
        self._steering: Steering | None = None
        self._stack = contextlib.AsyncExitStack()

    # -- reading -----------------------------------------------------------------------------------------------------

    def on_record(self, record: e.Record) -> None:
        self.follower.on_record(record)

    def on_text(self, piece: str) -> None:
        self.follower.on_text(piece)

    # -- showing -----------------------------------------------------------------------------------------------------

    def remark(self, said: str) -> None:
        self.follower.now = said

    def steered_by(self, send: Send) -> None:
        if self._keyboard.isatty():
            self._steering = Steering(self._keyboard, send)
            self._listen()

    def _listen(self) -> None:
        if self._steering is not None and not self._aside:
            asyncio.get_running_loop().add_reader(self._keyboard.fileno(), self._pressed)

    def _pressed(self) -> None:
        assert self._steering is not None
        try:
            said = self._steering.pressed(self.follower.state)
        except (OSError, SurefootError) as error:
            # A terminal that is gone would be ready to be read for ever.
            self._deafen()
            said = str(error)
        if said:
            self.remark(said)

    def _deafen(self) -> None:
        if self._steering is not None:
            asyncio.get_running_loop().remove_reader(self._keyboard.fileno())

    def abandon(self) -> None:
        self._screen.clear()
        loud_again(self._keyboard)

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGCONT, self._screen.forget)
        self._stack.callback(loop.remove_signal_handler, signal.SIGCONT)
        self._stack.callback(self._screen.clear)
        self._stack.enter_context(quiet_keys(self._keyboard))
        self._stack.callback(self._deafen)
        painting = asyncio.create_task(self._keep_painting())
        self._stack.push_async_callback(_ended, painting)
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._stack.aclose()

    @contextlib.contextmanager
    def aside(self) -> Iterator[TextIO]:
        """Make room for something else, such as a question; the picture comes back after it."""
        self._aside += 1
        self._deafen()
        self._screen.clear()
        try:
            with quiet_keys(self._keyboard, loud=True):
                yield self._screen.stream
        finally:
            self._aside -= 1
            self._listen()

    def paint(self) -> None:
        columns, rows = self._screen.size()
        state, now = self.follower.state, time.time()
        hint = [Text(HINT[:columns], style="dim")] if self._steering and rows > ROOM_FOR_HINT else []
        room = Room(columns, rows - 1 - len(hint), clock=now)
        if self._aside:
            return
        if not state.run_id:
            self._screen.paint(starting(self.marks, room))
            return
        seconds = state.active_seconds + (0.0 if state.outcome else max(now - state.updated_at, 0.0))
        lines = frame(self.follower, self.marks, room, isolation=self._isolation, seconds=seconds)
        self._screen.paint([*lines, *hint])

    async def _keep_painting(self) -> None:
        while True:
            self.paint()
            await asyncio.sleep(1 / FRAMES_PER_SECOND)


async def _ended(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait([task])


def export_svg(records: list[e.Record], path: Path, width: int = 100, isolation: str = "") -> None:
    """The last picture of a recorded run as an SVG file that needs nothing from the network."""
    import io
    import re

    from rich.console import Console

    from surefoot.cli.marks import UNICODE

    follower = Follower()
    follower.replay(records)
    console = Console(
        record=True, width=width, file=io.StringIO(), force_terminal=True, color_system="truecolor", highlight=False
    )
    room = Room(width, 60)
    for line in frame(follower, UNICODE, room, isolation=isolation, seconds=follower.state.active_seconds):
        console.print(line, soft_wrap=True)
    # Rich points to a font on the web; a picture must not fetch anything when it is looked at.
    path.write_text(re.sub(r"@font-face \{.*?\}\s*", "", console.export_svg(title="surefoot"), flags=re.DOTALL))
