"""The keyboard of the terminal: without echo while the live view is drawn, line by line while a question is asked."""

import contextlib
import os
import select
import signal
import sys
from collections.abc import Iterator
from typing import TextIO

if sys.platform == "win32":
    raise ImportError("the terminal view needs a POSIX terminal")
import asyncio
import termios

_LINE_MODE = termios.ECHO | termios.ICANON


def raw_keys(keyboard: TextIO) -> contextlib.AbstractContextManager[None]:
    """Turn echo and line mode off inside the context: keys arrive one by one."""
    return _line_mode(keyboard, on=False)


def typed_lines(keyboard: TextIO) -> contextlib.AbstractContextManager[None]:
    """Turn echo and line mode on inside the context. Keys that were pressed before it are discarded."""
    return _line_mode(keyboard, on=True)


@contextlib.contextmanager
def _line_mode(keyboard: TextIO, *, on: bool) -> Iterator[None]:
    try:
        fd = keyboard.fileno()
        previous = termios.tcgetattr(fd)
        mode = termios.tcgetattr(fd)
        mode[3] = mode[3] | _LINE_MODE if on else mode[3] & ~_LINE_MODE
        mode[6][termios.VMIN], mode[6][termios.VTIME] = 1, 0
        termios.tcsetattr(fd, termios.TCSANOW, mode)
        if on:
            termios.tcflush(fd, termios.TCIFLUSH)
    except (termios.error, OSError, ValueError):
        # Not a terminal, so there is no mode to change.
        yield
        return
    try:
        yield
    finally:
        with contextlib.suppress(termios.error, OSError):
            termios.tcsetattr(fd, termios.TCSANOW, previous)


def restore_line_mode(keyboard: TextIO) -> None:
    """Turn echo and line mode on, because the process is about to be killed."""
    with contextlib.suppress(termios.error, OSError, ValueError):
        mode = termios.tcgetattr(keyboard.fileno())
        mode[3] |= _LINE_MODE
        termios.tcsetattr(keyboard.fileno(), termios.TCSANOW, mode)


def wait_for_line(keyboard: TextIO) -> str:
    """Read one line; raises EOFError at the end of the input (Ctrl-D).

    `input()` misses a Ctrl-C that arrives just before it begins to wait. Here a signal also writes to a pipe, which
    ends the wait.
    """
    receiver, sender = os.pipe()
    os.set_blocking(sender, False)
    previous = signal.set_wakeup_fd(sender, warn_on_full_buffer=False)
    try:
        while keyboard.fileno() not in select.select([keyboard.fileno(), receiver], [], [])[0]:
            os.read(receiver, 100)
        data = os.read(keyboard.fileno(), 65_536)
    finally:
        signal.set_wakeup_fd(previous)
        os.close(receiver)
        os.close(sender)
    if not data:
        raise EOFError
    return data.decode(errors="replace").rstrip("\r\n")


async def read_line(keyboard: TextIO) -> str | None:
    """Read one line; None at the end of the input (Ctrl-D). Unlike `input()` in a thread, this can be cancelled."""
    loop = asyncio.get_running_loop()
    received: asyncio.Future[bytes] = loop.create_future()
    fd = keyboard.fileno()

    def on_readable() -> None:
        if not received.done():
            try:
                received.set_result(os.read(fd, 65_536))
            except OSError:  # the terminal is gone
                received.set_result(b"")

    loop.add_reader(fd, on_readable)
    try:
        data = await received
    finally:
        loop.remove_reader(fd)
    return data.decode(errors="replace").rstrip("\r\n") if data else None
