"""What a terminal command does on Ctrl-C, SIGTERM and SIGHUP."""

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def on_stop_signals(act: Callable[[signal.Signals], object]) -> Iterator[None]:
    """Call `act` in the event loop for each of these signals, instead of ending the process."""
    loop, signals = asyncio.get_running_loop(), (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    for number in signals:
        loop.add_signal_handler(number, act, number)
    try:
        yield
    finally:
        for number in signals:
            loop.remove_signal_handler(number)
