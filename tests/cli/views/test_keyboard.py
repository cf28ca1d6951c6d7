"""Lines that a person types."""

import ctypes
import operator
import os
import pty
import select
import signal
from collections.abc import Callable, Iterator
from functools import partial
from io import FileIO, TextIOWrapper
from typing import Any

import pytest

from surefoot.cli.views.keyboard import read_line, wait_for_line


@pytest.fixture
def terminal() -> Iterator[tuple[int, TextIOWrapper]]:
    typing, keyboard = pty.openpty()
    with TextIOWrapper(FileIO(keyboard), encoding="utf-8") as file:
        yield typing, file
    os.close(typing)


def test_lines_arrive_one_by_one_until_the_end_of_the_input(terminal: tuple[int, TextIOWrapper]) -> None:
    typing, keyboard = terminal
    os.write(typing, "first\nzweite Zeile \u00e4\n\x04".encode())
    assert wait_for_line(keyboard) == "first"
    assert wait_for_line(keyboard) == "zweite Zeile \u00e4"
    with pytest.raises(EOFError):
        wait_for_line(keyboard)


async def test_a_terminal_that_is_gone_is_the_end_of_the_input() -> None:
    typing, keyboard = pty.openpty()
    os.close(typing)
    with TextIOWrapper(FileIO(keyboard), encoding="utf-8") as file:
        assert await read_line(file) is None


def test_ctrl_c_just_before_the_wait_is_not_missed(
    terminal: tuple[int, TextIOWrapper], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The signal arrives inside C code, after the interpreter last looked for signals and before it waits."""
    _, keyboard = terminal
    wait: Any = select.select
    libc: Any = ctypes.CDLL(None)
    raise_signal = partial(libc["raise"], signal.SIGINT)
    results: list[Any] = []

    def interrupted(*files: Any) -> Any:
        calls: list[Callable[[], Any]] = [raise_signal, partial(wait, *files, 2.0)]
        results.extend(map(operator.call, calls))
        return results[1]

    monkeypatch.setattr(select, "select", interrupted)
    os.set_blocking(keyboard.fileno(), False)
    before = signal.set_wakeup_fd(-1)
    with pytest.raises(KeyboardInterrupt):
        wait_for_line(keyboard)
    assert results[1][0], "the signal ended the wait"
    assert signal.set_wakeup_fd(before) == -1, "what was set before is set again"
