"""The sender of a socket, with a connection that is a list."""

import asyncio
from typing import Any

import pytest

from support.recorded import RUN_ID, whole_run
from surefoot.errors import JournalBroken
from surefoot.journal.redact import Redactor
from surefoot.server.sockets.sending import Sender
from surefoot.server.sockets.sessions import ListWatch, Session, Sessions, Watch
from surefoot.view.fold import view_of

RECORDS = whole_run()
SECRET = "hunter2hunter2"


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


class Damaged(Runs):
    """Cannot give a view until it is repaired."""

    def __init__(self, error: Exception | None) -> None:
        super().__init__(10)
        self.error, self.asked = error, 0
        self.redactor = Redactor([SECRET])

    async def view(self, run_id: str) -> Any:
        self.asked += 1
        if self.error is not None:
            raise self.error
        return await super().view(run_id)


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
    sessions.watch(session, Watch(RUN_ID, messages=False))
    sending = asyncio.create_task(RoomySender(runs, wire).keep_sending(session))  # type: ignore[arg-type]
    session.notify(RUN_ID)
    async with asyncio.timeout(60):
        while len(wire.sent) < 2:  # noqa: ASYNC110 - filled by the sender
            await asyncio.sleep(0.01)
    sending.cancel()
    assert [name for name, _ in wire.sent] == ["run:snapshot", "run:rows"]
    assert (wire.sent[1][1]["after"], wire.sent[1][1]["upto"]) == (10, 11)


async def until(met: Any) -> None:
    async with asyncio.timeout(60):
        while not met():  # noqa: ASYNC110 - filled by the sender
            await asyncio.sleep(0.01)


@pytest.mark.req("A7")
@pytest.mark.parametrize(
    "error",
    [JournalBroken("event 3 was changed", remedy="restore it"), KeyError("hunter2hunter2")],
    ids=["own", "other"],
)
@pytest.mark.parametrize("of", ["run", "list"])
async def test_a_watcher_is_told_when_a_run_cannot_be_read_and_sees_it_when_it_can(error: Exception, of: str) -> None:
    runs, session, sessions = Damaged(error), Session("sid", "token", "view", None), Sessions()
    wire = Wire(lambda: None)
    sessions.add(session)
    sending = asyncio.create_task(RoomySender(runs, wire, again_seconds=0.01).keep_sending(session))  # type: ignore[arg-type]
    if of == "run":
        sessions.watch(session, Watch(RUN_ID, messages=False))
        session.notify(RUN_ID)
    else:
        session.list_watch = ListWatch(sent={}, changed={RUN_ID})
        session.wake.set()
    await until(lambda: wire.sent)
    ((name, message),) = wire.sent
    assert name == "run:error"
    assert (message["v"], message["run"]) == (1, RUN_ID)
    assert SECRET not in message["message"]
    assert isinstance(error, KeyError) or message["message"] == "event 3 was changed (restore it)"
    # It is tried again, and the same error is not told again.
    asked = runs.asked
    await until(lambda: runs.asked > asked + 3 or sending.done())
    assert len(wire.sent) == 1
    runs.error = None
    await until(lambda: len(wire.sent) > 1 or sending.done())
    assert wire.sent[1][0] == ("run:snapshot" if of == "run" else "runs:rows")
    sending.cancel()


@pytest.mark.parametrize("of", ["run", "list"])
async def test_a_watcher_that_has_all_rows_is_told_that_the_run_can_be_read_again(of: str) -> None:
    """Else a page would go on saying that it cannot, because nothing has changed in the run."""
    runs, session, sessions = Damaged(KeyError("x")), Session("sid", "token", "view", None), Sessions()
    wire = Wire(lambda: None)
    sessions.add(session)
    sending = asyncio.create_task(RoomySender(runs, wire, again_seconds=0.01).keep_sending(session))  # type: ignore[arg-type]
    upto = runs.upto
    sessions.watch(session, Watch(RUN_ID, messages=False, sent=upto, live=False))
    if of == "run":
        session.notify(RUN_ID)
    else:
        session.list_watch = ListWatch(sent={}, changed={RUN_ID})
        session.wake.set()
    await until(lambda: wire.sent)
    runs.error = None
    await until(lambda: any(name == "run:rows" for name, _ in wire.sent) or sending.done())
    (rows,) = [message for name, message in wire.sent if name == "run:rows"]
    assert (rows["after"], rows["upto"]) == (upto, upto)
    assert [row["kind"] for row in rows["upserts"]] == ["run"]
    sending.cancel()


async def test_a_socket_to_which_nothing_can_be_sent_is_closed() -> None:
    """So that its client connects again, instead of waiting for what does not come."""
    session, closed = Session("sid", "token", "view", None), []

    class Cut(Wire):
        async def emit(
            self, name: str, message: dict[str, Any], to: str, callback: Any = None, ignore_queue: bool = False
        ) -> None:
            raise RuntimeError("cut off")

        async def disconnect(self, sid: str) -> None:
            closed.append(sid)

    sessions = Sessions()
    sessions.add(session)
    sessions.watch(session, Watch(RUN_ID, messages=False))
    session.notify(RUN_ID)
    await RoomySender(Damaged(None), Cut(lambda: None)).keep_sending(session)  # type: ignore[arg-type]
    assert closed == ["sid"]


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
