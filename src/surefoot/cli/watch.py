"""Who shows a run while it happens: the live view, plain lines, or JSON lines. A watcher can never break the run."""

import contextlib
import os
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Protocol, Self, TextIO

from surefoot import events as e
from surefoot.bus import Bus
from surefoot.cli.follow import Follower
from surefoot.errors import UsageError

if TYPE_CHECKING:
    from surefoot.cli.steering import Send


class Watcher(Protocol):
    follower: Follower

    def on_record(self, record: e.Record) -> None: ...

    def on_text(self, piece: str) -> None: ...

    def remark(self, said: str) -> None:
        """Something about the watching itself, such as that a stop was asked for."""
        ...

    def abandon(self) -> None:
        """The process ends here and now: leave the terminal as it was."""
        ...

    def aside(self) -> contextlib.AbstractContextManager[TextIO]:
        """Where a question can be put, with nothing painted over it meanwhile."""
        ...

    def steered_by(self, send: "Send") -> None:
        """How what a person asks for by a key gets to the run."""
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *error: object) -> None: ...


class LineWatcher:
    """What watchers that only write lines have in common."""

    def __init__(self) -> None:
        self.follower = Follower()

    def on_text(self, piece: str) -> None:
        pass

    def remark(self, said: str) -> None:
        with contextlib.suppress(OSError):
            print(said, file=sys.stderr, flush=True)

    def abandon(self) -> None:
        pass

    def steered_by(self, send: "Send") -> None:
        pass

    @contextlib.contextmanager
    def aside(self) -> Iterator[TextIO]:
        yield sys.stderr

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        pass


def choose_watcher(*, live: bool | None, as_json: bool, verbose: bool = False, isolation: str = "") -> Watcher:
    """What was asked for, else the live view where a person looks at both streams."""
    if as_json:
        if live is not None:
            raise UsageError("--json stands alone", remedy="leave out --live and --plain")
        from surefoot.cli.jsonl import JsonLines

        return JsonLines(sys.stdout)
    able = sys.stderr.isatty() and os.environ.get("TERM", "dumb") not in ("", "dumb")
    if live and not able:
        raise UsageError("--live needs a terminal that can move its cursor", remedy="leave it out for plain lines")
    if live or (live is None and able and sys.stdout.isatty()):
        from surefoot.cli.view import LiveView

        return LiveView(sys.stderr, sys.stdin, isolation)
    from surefoot.cli.marks import marks_for
    from surefoot.cli.plain import PlainLines

    return PlainLines(sys.stderr, marks_for(sys.stderr.encoding), verbose=verbose, isolation=isolation)


def watch(bus: Bus, watcher: Watcher, before: Iterable[e.Record] = ()) -> Callable[[], None]:
    """Subscribe a watcher, after it has caught up with what happened before. Returns the end of it."""
    guarded = _Guarded(watcher)
    guarded.call(watcher.follower.replay, before)
    return bus.subscribe(
        lambda record: guarded.call(watcher.on_record, record), lambda piece: guarded.call(watcher.on_text, piece)
    )


class _Guarded:
    """A fault in showing is told once and ends the showing, not the run."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher
        self._broken = False

    def call(self, function: Callable[..., None], argument: Any) -> None:
        if self._broken:
            return
        try:
            function(argument)
        except Exception as error:
            self._broken = True
            if os.environ.get("SUREFOOT_DEBUG"):
                traceback.print_exc()
            self._watcher.remark(f"the run goes on unseen: {type(error).__name__}: {error}")
