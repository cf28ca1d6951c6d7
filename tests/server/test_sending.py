"""The sender of a socket, with a connection that is a list."""

import asyncio
from typing import Any

from support.recorded import RUN_ID, whole_run
from surefoot.server.sockets.sending import Sender
from surefoot.server.sockets.sessions import Session, Sessions, Watch
from surefoot.view.fold import view_of

RECORDS = whole_run()


class Runs:
    """A hub with one run, which can be at any of its events."""

    def __init__(self, upto: int) -> None:
        self.upto = upto

    async def view(self, run_id: str) -> Any:
        return view_of(RECORDS[: self.upto])


class Wire:
    """Takes messages, and lets something happen while the first one is being sent."""

    def __init__(self, meanwhile: Any) -> None:
        self.sent: list[tuple[str, dict[str, Any]]] = []
        self._meanwhile = meanwhile

    async def emit(
        self, name: str, message: dict[str, Any], to: str, callback: Any = None, ignore_queue: bool = False
    ) -> None:
        assert ignore_queue, "to one socket of this server"
        self.sent.append((name, message))
        await asyncio.sleep(0)
        if len(self.sent) == 1:
            self._meanwhile()
        if callback is not None:
            callback()


class RoomySender(Sender):
    def waiting(self, session: Session) -> int:
        return 0


async def test_what_changes_while_a_batch_is_being_sent_is_sent_next() -> None:
    runs, session, sessions = Runs(10), Session("sid", "token", "view", None), Sessions()

    def change() -> None:
        runs.upto = 11
        session.notify(RUN_ID)

    wire = Wire(change)
    sessions.add(session)
    sessions.watch(session, Watch(RUN_ID, tools=False))
    sending = asyncio.create_task(RoomySender(runs, wire).keep_sending(session))  # type: ignore[arg-type]
    session.notify(RUN_ID)
    async with asyncio.timeout(60):
        while len(wire.sent) < 2:  # noqa: ASYNC110 - filled by the sender
            await asyncio.sleep(0.01)
    sending.cancel()
    assert [name for name, _ in wire.sent] == ["run:snapshot", "run:rows"]
    assert (wire.sent[1][1]["after"], wire.sent[1][1]["upto"]) == (10, 11)


def test_a_socket_that_goes_away_watches_nothing_any_more() -> None:
    sessions, session = Sessions(), Session("sid", "token", "view", None)
    sessions.add(session)
    sessions.watch(session, Watch("one"))
    sessions.watch(session, Watch("two", text=False))
    assert (sessions.watching("one"), sessions.watched_text()) == ([session], {"one"})
    sessions.unwatch(session, "one")
    assert sessions.watching("one") == []
    assert sessions.remove("sid") is session
    assert sessions.watching("two") == []
    assert sessions.remove("sid") is None
