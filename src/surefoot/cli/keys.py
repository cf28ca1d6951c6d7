"""The keyboard while a picture is on the screen: keys must neither show in it nor be taken for a later answer."""

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import TextIO

if sys.platform == "win32":
    raise ImportError("the terminal view needs a POSIX terminal")
import asyncio
import termios


@contextlib.contextmanager
def quiet_keys(keyboard: TextIO, *, loud: bool = False) -> Iterator[None]:
    """Keys are not echoed inside and come one by one (with `loud`: they are echoed and come as lines again, and what
    was typed before is dropped)."""
    try:
        fd = keyboard.fileno()
        before = termios.tcgetattr(fd)
        changed = termios.tcgetattr(fd)
        lines = termios.ECHO | termios.ICANON
        changed[3] = changed[3] | lines if loud else changed[3] & ~lines
        changed[6][termios.VMIN], changed[6][termios.VTIME] = 1, 0
        termios.tcsetattr(fd, termios.TCSANOW, changed)
        if loud:
            termios.tcflush(fd, termios.TCIFLUSH)
    except (termios.error, OSError, ValueError):
        # Not a terminal after all: there is nothing to be kept quiet.
        yield
        return
    try:
        yield
    finally:
        with contextlib.suppress(termios.error, OSError):
            termios.tcsetattr(fd, termios.TCSANOW, before)


def loud_again(keyboard: TextIO) -> None:
    """Echo keys from now on, whatever was before; for a process that has no time to leave in good order."""
    with contextlib.suppress(termios.error, OSError, ValueError):
        mode = termios.tcgetattr(keyboard.fileno())
        mode[3] |= termios.ECHO | termios.ICANON
        termios.tcsetattr(keyboard.fileno(), termios.TCSANOW, mode)


async def read_line(keyboard: TextIO) -> str | None:
    """One line, or None at its end (Ctrl-D). Waiting for it can be cancelled, which `input()` in a thread cannot."""
    loop = asyncio.get_running_loop()
    typed: asyncio.Future[bytes] = loop.create_future()
    fd = keyboard.fileno()

    def ready() -> None:
        if not typed.done():
            typed.set_result(os.read(fd, 65_536))

    loop.add_reader(fd, ready)
    try:
        data = await typed
    finally:
        loop.remove_reader(fd)
    return data.decode(errors="replace").rstrip("\r\n") if data else None
