"""A scripted model server in a thread of its own, for tests that wait for a terminal in the main thread."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from support.loopback import Loopback
from support.wire import Call, Said, Script, scripted


def calls(*pairs: tuple[str, dict[str, Any]], text: str = "") -> Said:
    """An answer with these calls, each a name and its arguments."""
    return Said(text=text, calls=tuple(Call(name, arguments) for name, arguments in pairs))


@contextmanager
def chat_server(*script: Script) -> Iterator[Loopback]:
    """Serve these answers in turn. The requests can be read while it serves."""
    ready, done = threading.Event(), threading.Event()
    found: list[Loopback] = []

    async def serve() -> None:
        async with scripted(*script) as server:
            found.append(server)
            ready.set()
            await asyncio.to_thread(done.wait)

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    ready.wait()
    try:
        yield found[0]
    finally:
        done.set()
        thread.join()
