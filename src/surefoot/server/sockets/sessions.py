"""The sessions of sockets: their tokens, the runs that they watch, and what was sent to them."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field

from surefoot.server.security import Connection
from surefoot.server.tokens import Scope
from surefoot.view.rows import RunRow


@dataclass(slots=True)
class Watch:
    run: str
    rows: bool = True
    """Whether the client wants rows; likewise messages and live text."""
    messages: bool = True
    text: bool = True
    sent: int | None = None
    """The last event whose rows were sent to the client; None if it needs a snapshot."""
    messages_sent: int = 0
    """The last event whose messages were sent to the client."""
    needs_tasks: bool = False
    """Whether the client needs the task list first."""
    live: bool | None = None
    """Whether the client was last told that a process drives the run; None if it has to be told."""
    unacknowledged: int = 0


@dataclass(slots=True)
class ListWatch:
    sent: dict[str, RunRow] | None = None
    changed: set[str] = field(default_factory=set)
    unacknowledged: int = 0


@dataclass(slots=True)
class Problem:
    text: str = ""
    times: int = 0


@dataclass(slots=True, eq=False)
class Session:
    sid: str
    token: str
    scope: Scope
    connection: Connection | None
    watches: dict[str, Watch] = field(default_factory=dict)
    list_watch: ListWatch | None = None
    changed: set[str] = field(default_factory=set)
    """Runs with something to send."""
    problems: dict[str, Problem] = field(default_factory=dict)
    """By run: why it could not be read, as the client was told."""
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    sender: "asyncio.Task[None] | None" = None

    def notify(self, run_id: str) -> None:
        self.changed.add(run_id)
        self.wake.set()


class Sessions:
    """The sessions of all sockets, by socket id and by watched run."""

    def __init__(self) -> None:
        self._by_sid: dict[str, Session] = {}
        self._by_run: dict[str, set[Session]] = {}

    def __iter__(self) -> Iterator[Session]:
        return iter(list(self._by_sid.values()))

    def get(self, sid: str) -> Session | None:
        return self._by_sid.get(sid)

    def add(self, session: Session) -> None:
        self._by_sid[session.sid] = session

    def remove(self, sid: str) -> Session | None:
        session = self._by_sid.pop(sid, None)
        if session is not None:
            for run_id in list(session.watches):
                self.unwatch(session, run_id)
        return session

    def watch(self, session: Session, watch: Watch) -> None:
        session.watches[watch.run] = watch
        self._by_run.setdefault(watch.run, set()).add(session)

    def unwatch(self, session: Session, run_id: str) -> None:
        if session.watches.pop(run_id, None) is not None:
            self._by_run[run_id].discard(session)
            if not self._by_run[run_id]:
                del self._by_run[run_id]

    def watching(self, run_id: str) -> list[Session]:
        return list(self._by_run.get(run_id, ()))

    def watched_text(self) -> set[str]:
        """The runs whose text at least one client wants."""
        return {run for run, sessions in self._by_run.items() if any(s.watches[run].text for s in sessions)}
