"""The interface of everything that shows a run while it happens: the live view, plain lines, JSON lines."""

import contextlib
import sys
from collections.abc import Iterator
from typing import Protocol, Self, TextIO

from surefoot.cli.views.follower import Follower
from surefoot.cli.views.steering import SendControl
from surefoot.journal import events as e


class Watcher(Protocol):
    follower: Follower

    def on_record(self, record: e.Record) -> None: ...

    def on_text(self, piece: str) -> None: ...

    def on_call(self, tool: str, subject: str) -> None:
        """Called while the model is writing a call of this tool."""
        ...

    def on_check(self, label: str) -> None:
        """Called when the engine starts this check."""
        ...

    def notify(self, message: str) -> None:
        """Show a message about the session itself, such as that a stop was requested."""
        ...

    def abandon(self) -> None:
        """Restore the terminal, because the process is about to be killed."""
        ...

    def suspended(self) -> contextlib.AbstractContextManager[TextIO]:
        """Stop drawing and yield a stream on which a question can be asked."""
        ...

    def accept_keys(self, send: SendControl) -> None:
        """Turn key presses into control requests, where there is a keyboard."""
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *error: object) -> None: ...


class LineWatcher:
    """Base class of watchers that only write lines."""

    def __init__(self) -> None:
        self.follower = Follower()

    def on_text(self, piece: str) -> None:
        pass

    def on_call(self, tool: str, subject: str) -> None:
        pass

    def on_check(self, label: str) -> None:
        pass

    def notify(self, message: str) -> None:
        with contextlib.suppress(OSError):
            print(message, file=sys.stderr, flush=True)

    def abandon(self) -> None:
        pass

    def accept_keys(self, send: SendControl) -> None:
        pass

    @contextlib.contextmanager
    def suspended(self) -> Iterator[TextIO]:
        yield sys.stderr

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        pass
