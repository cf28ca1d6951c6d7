"""Sends to sockets: batches of whole rows, messages of steps, the list of runs, and text that may be lost.

A socket has a cursor into the journal for each run it watches. At most two batches are unacknowledged, so a slow client
costs no memory but its cursor.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

from surefoot.core.values import error_in_words
from surefoot.errors import SurefootError
from surefoot.server.hub import Hub
from surefoot.server.sockets.sessions import ListWatch, Problem, Session, Watch
from surefoot.view.fold import changed_since, snapshot
from surefoot.view.making import run_row
from surefoot.view.messages import task_list
from surefoot.view.rows import PROTOCOL, RunRow
from surefoot.view.state import RunView

BATCH_SECONDS = 0.06
MAX_UNACKNOWLEDGED = 2
MAX_BATCH_ROWS = 500
"""A client that lacks more rows than this gets a snapshot."""
MAX_QUEUE = 64
"""How many messages may wait in the socket's own queue. With as many, nothing more is put into it."""
MAX_QUEUE_FOR_TEXT = 8
"""Text has the lowest priority: with this many messages waiting, it is dropped."""
LISTED_RUNS = 100
AGAIN_SECONDS = 2.0
"""The delay before a run that could not be read is read again. It is doubled each time, to at most a minute."""
MAX_AGAIN_SECONDS = 60.0


class Sender:
    def __init__(self, hub: Hub, server: Any, again_seconds: float = AGAIN_SECONDS) -> None:
        self._hub, self._server, self._again_seconds = hub, server, again_seconds
        # The receiver is a socket of this server, so nothing has to go through Redis.
        self._emit = partial(server.emit, ignore_queue=True)

    async def keep_sending(self, session: Session) -> None:
        """Send changes until cancelled. If sending fails, the socket is closed, and its client connects again."""
        try:
            while True:
                await session.wake.wait()
                session.wake.clear()
                # Changes within this time are sent together.
                await asyncio.sleep(BATCH_SECONDS)
                await self._send_changes(session)
        except Exception:
            await self._server.disconnect(session.sid)

    async def _send_changes(self, session: Session) -> None:
        for run_id in list(session.changed):
            # Discarded before sending, so that changes made meanwhile are sent too.
            session.changed.discard(run_id)
            watch = session.watches.get(run_id)
            if watch is not None and not await self._send_run(session, watch):
                session.changed.add(run_id)
        if session.list_watch is not None:
            await self._send_list(session, session.list_watch)

    async def send_text(self, session: Session, message: dict[str, Any]) -> None:
        if self.waiting(session) < MAX_QUEUE_FOR_TEXT:
            await self._emit("stream:text", {"v": PROTOCOL, **message}, to=session.sid)

    async def beat(self, session: Session, at: float) -> None:
        if self.waiting(session) < MAX_QUEUE:
            await self._emit("beat", {"at": at}, to=session.sid)

    def waiting(self, session: Session) -> int:
        """The number of messages in the socket's queue; for a socket that is gone, as if the queue were full."""
        try:
            socket = self._server.eio.sockets[self._server.manager.eio_sid_from_sid(session.sid, "/")]
        except KeyError:
            return MAX_QUEUE
        return int(socket.queue.qsize())

    async def _send_run(self, session: Session, watch: Watch) -> bool:
        """Send the changes of a run. Returns False if the client cannot take them now."""
        if watch.unacknowledged >= MAX_UNACKNOWLEDGED:
            return False
        if self.waiting(session) >= MAX_QUEUE:
            asyncio.get_running_loop().call_later(0.25, session.wake.set)
            return False
        view = await self._view(session, watch.run)
        if view is None:
            self._call_later(session, watch.run, session.notify, watch.run)
            return True
        # Messages are sent before rows: a client that reconnects asks for everything after its newest rows.
        while watch.messages and (watch.needs_tasks or watch.messages_sent < view.state.seq):
            await self._send_messages(session, watch, view)
        if watch.rows:
            await self._send_rows(session, watch, view)
        return True

    async def _view(self, session: Session, run_id: str) -> RunView | None:
        """The view of a run; None if it cannot be read. The client is then told why, once for each cause."""
        try:
            view = await self._hub.view(run_id)
        except Exception as error:
            # Not only our own errors: an event that the view cannot process must not end the sender.
            text = self._hub.redactor.redact_known(_text_of(error))
            problem = session.problems.setdefault(run_id, Problem())
            problem.times += 1
            if problem.text != text:
                problem.text = text
                message = {"v": PROTOCOL, "run": run_id, "message": text}
                await self._emit("run:error", message, to=session.sid)
            return None
        if session.problems.pop(run_id, None) and (watch := session.watches.get(run_id)):
            # The client clears the error when it gets rows, so rows are sent even if nothing has changed since.
            watch.live = None
            session.notify(run_id)
        return view

    def _call_later(self, session: Session, run_id: str, call: Callable[..., None], *arguments: Any) -> None:
        seconds = min(self._again_seconds * 2 ** min(session.problems[run_id].times - 1, 10), MAX_AGAIN_SECONDS)
        asyncio.get_running_loop().call_later(seconds, call, *arguments)

    async def _send_rows(self, session: Session, watch: Watch, view: RunView) -> None:
        after, upto = watch.sent, view.state.seq
        if after == upto and watch.live == view.live:
            return
        rows, removed = changed_since(view, after) if after is not None else ([], [])
        if after is None or len(rows) > MAX_BATCH_ROWS:
            message: dict[str, Any] = {"v": PROTOCOL, "run": watch.run, "seq": upto, "rows": snapshot(view)}
            name = "run:snapshot"
        else:
            if not rows and watch.live != view.live:
                rows = [run_row(view)]
            message = {"v": PROTOCOL, "run": watch.run, "after": after, "upto": upto}
            message |= {"upserts": rows, "removed": removed}
            name = "run:rows"
        watch.sent, watch.live = upto, view.live
        watch.unacknowledged += 1
        await self._emit(name, message, to=session.sid, callback=_acknowledged(session, watch))

    async def _send_messages(self, session: Session, watch: Watch, view: RunView) -> None:
        needs_tasks = watch.needs_tasks or watch.messages_sent < view.messages_dropped
        # A copy, because the view changes while something is being sent.
        messages = [(name, message) for seq, name, message in view.messages if seq > watch.messages_sent]
        watch.needs_tasks, watch.messages_sent = False, view.state.seq
        if needs_tasks:
            await self._emit("task:list", task_list(view), to=session.sid)
        for name, message in messages:
            await self._emit(name, message, to=session.sid)

    async def _send_list(self, session: Session, lists: ListWatch) -> None:
        if lists.unacknowledged >= MAX_UNACKNOWLEDGED or self.waiting(session) >= MAX_QUEUE:
            asyncio.get_running_loop().call_later(0.25, session.wake.set)
            return
        if lists.sent is None:
            lists.changed.clear()
            rows = await self._run_rows(session, lists)
            lists.sent = {row["id"]: row for row in rows}
            name, message = "runs:snapshot", {"v": PROTOCOL, "rows": rows}
        else:
            changed, lists.changed = lists.changed, set()
            list_rows = [await self._list_row(session, lists, run_id) for run_id in changed]
            upserts = [row for row in list_rows if row is not None and lists.sent.get(row["id"]) != row]
            if not upserts:
                return
            lists.sent |= {row["id"]: row for row in upserts}
            name, message = "runs:rows", {"v": PROTOCOL, "upserts": upserts, "removed": []}
        lists.unacknowledged += 1

        def acknowledge(*_: Any) -> None:
            lists.unacknowledged = max(lists.unacknowledged - 1, 0)
            if lists.changed:
                session.wake.set()

        await self._emit(name, message, to=session.sid, callback=acknowledge)

    async def _run_rows(self, session: Session, lists: ListWatch) -> list[RunRow]:
        # A damaged run, or one of another version, must not hide the others.
        rows = [await self._list_row(session, lists, item.run_id) for item in self._hub.summaries(LISTED_RUNS)]
        return [row for row in rows if row is not None]

    async def _list_row(self, session: Session, lists: ListWatch, run_id: str) -> RunRow | None:
        view = await self._view(session, run_id)
        if view is None:
            self._call_later(session, run_id, _mark_changed, session, lists, run_id)
            return None
        return run_row(view)


def _mark_changed(session: Session, lists: ListWatch, run_id: str) -> None:
    lists.changed.add(run_id)
    session.wake.set()


def _text_of(error: Exception) -> str:
    if isinstance(error, SurefootError):
        return f"{error} ({error.remedy})" if error.remedy else str(error)
    return error_in_words(error)


def _acknowledged(session: Session, watch: Watch) -> Callable[..., None]:
    def acknowledge(*_: Any) -> None:
        watch.unacknowledged = max(watch.unacknowledged - 1, 0)
        if watch.run in session.changed:
            session.wake.set()

    return acknowledge
