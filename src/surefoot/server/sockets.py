"""The Socket.IO side: who watches what, and one sender for each socket.

A socket has a cursor into the journal for each run it watches, and gets batches of whole rows. At most two batches are
unacknowledged, so a slow client costs one number, and no memory. Everything else goes through `commands`.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from surefoot.errors import SurefootError
from surefoot.server.commands import CommandRequest, Commands
from surefoot.server.hub import Hub
from surefoot.server.rows import PROTOCOL, RunRow
from surefoot.server.security import CONNECTION, Connection
from surefoot.server.tokens import Scope, Tokens
from surefoot.server.view.fold import changed_since, snapshot
from surefoot.server.view.making import run_row
from surefoot.server.view.messages import task_list
from surefoot.server.view.state import RunView

BATCH_SECONDS = 0.06
BEAT_SECONDS = 10.0
MAX_UNACKNOWLEDGED = 2
MAX_BATCH_ROWS = 500
"""A client that lacks more rows than this gets a snapshot."""
MAX_QUEUE = 64
"""How many messages may wait in the socket's own queue before nothing more is put into it."""
MAX_WATCHES = 50
LISTED_RUNS = 100
_STEP_COMMANDS = {"step:skip": "skip", "step:retry": "retry"}
_RUN_COMMANDS = {"run:pause": "pause", "run:resume": "resume", "run:cancel": "cancel", "question:answer": "answer"}


@dataclass(slots=True)
class Watch:
    run: str
    rows: bool = True
    tools: bool = True
    sent: int | None = None
    """The last event that the client has rows of; None: it needs a snapshot."""
    tools_sent: int = 0
    """The last event whose messages the client has."""
    needs_tasks: bool = False
    """Whether the client needs the task list first."""
    live: bool | None = None
    """Whether the client was told that a process drives the run."""
    unacknowledged: int = 0


@dataclass(slots=True, eq=False)
class Session:
    sid: str
    token: str
    scope: Scope
    connection: Connection | None
    watches: dict[str, Watch] = field(default_factory=dict)
    lists: "ListWatch | None" = None
    changed: set[str] = field(default_factory=set)
    """Runs with something to send."""
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    sender: "asyncio.Task[None] | None" = None


@dataclass(slots=True)
class ListWatch:
    sent: dict[str, RunRow] | None = None
    changed: set[str] = field(default_factory=set)
    unacknowledged: int = 0


class Sockets:
    def __init__(self, hub: Hub, commands: Commands, tokens: Tokens, allowed_origin: Callable[[str], bool]) -> None:
        import socketio

        self._hub, self._commands, self._tokens = hub, commands, tokens
        self.sessions: dict[str, Session] = {}
        self.server = socketio.AsyncServer(
            async_mode="asgi",
            transports=["websocket"],
            cors_allowed_origins=allowed_origin,
            cors_credentials=False,
            max_http_buffer_size=256_000,
            ping_interval=10,
            ping_timeout=10,
            allow_upgrades=False,
            http_compression=False,
            namespaces=["/"],
        )
        self._register()
        hub.subscribe(self._on_change)

    def _register(self) -> None:
        server = self.server
        server.on("connect", self._connect)
        server.on("disconnect", self._disconnect)
        server.on("run:watch", self._watch)
        server.on("run:unwatch", self._unwatch)
        server.on("runs:watch", self._watch_list)
        for event, verb in {**_STEP_COMMANDS, **_RUN_COMMANDS}.items():
            server.on(event, self._command(verb))

    async def keep_going(self) -> None:
        """Send a heartbeat that the page can see, and drop sockets whose token is no longer valid. Never returns."""
        beat = 0.0
        while True:
            sessions = list(self.sessions.values())
            scopes = {token: self._tokens.scope_of(token) for token in {session.token for session in sessions}}
            for session in sessions:
                if scopes[session.token] != session.scope:
                    await self._drop(session)
            if time.monotonic() >= beat:
                beat = time.monotonic() + BEAT_SECONDS
                for session in list(self.sessions.values()):
                    if self._has_room(session):
                        await self.server.emit("beat", {"at": time.time()}, to=session.sid)
            await asyncio.sleep(0.5)

    # -- coming and going -------------------------------------------------------------------------------------------

    async def _connect(self, sid: str, environ: dict[str, Any], auth: Any = None) -> bool:
        token = auth.get("token") if isinstance(auth, dict) else None
        scope = self._tokens.scope_of(token) if isinstance(token, str) else None
        connection = (environ.get("asgi.scope") or {}).get(CONNECTION)
        if scope is None or not isinstance(connection, Connection):
            return False
        connection.greeted.set()
        session = Session(sid, str(token), scope, connection)
        self.sessions[sid] = session
        session.sender = asyncio.create_task(self._keep_sending(session))
        return True

    async def _disconnect(self, sid: str, *reason: Any) -> None:
        if (session := self.sessions.pop(sid, None)) and session.sender:
            session.sender.cancel()

    async def _drop(self, session: Session) -> None:
        await self._disconnect(session.sid)
        await self.server.disconnect(session.sid)
        if session.connection:
            session.connection.closed.set()

    # -- what clients ask -------------------------------------------------------------------------------------------

    async def _watch(self, sid: str, request: Any = None) -> dict[str, Any]:
        session = self.sessions.get(sid)
        if session is None or not isinstance(request, dict) or not isinstance(request.get("run"), str):
            return {"error": "say which run"}
        after = request.get("after")
        try:
            view = await self._hub.view(request["run"])
        except SurefootError as error:
            return {"error": str(error)}
        run_id = view.state.run_id
        if run_id not in session.watches and len(session.watches) >= MAX_WATCHES:
            return {"error": f"a socket watches at most {MAX_WATCHES} runs"}
        known = after if isinstance(after, int) and 0 < after <= view.state.seq else None
        watch = Watch(run_id, request.get("rows", True) is not False, request.get("tools", True) is not False)
        # Messages are sent from here on, also those of events before the first batch.
        watch.sent, watch.tools_sent, watch.needs_tasks = known, known or view.state.seq, known is None
        session.watches[run_id] = watch
        self._notify(session, run_id)
        return {"head": view.state.seq}

    async def _unwatch(self, sid: str, request: Any = None) -> dict[str, Any]:
        session = self.sessions.get(sid)
        if session is not None and isinstance(request, dict):
            session.watches.pop(str(request.get("run")), None)
        return {}

    async def _watch_list(self, sid: str, request: Any = None) -> dict[str, Any]:
        session = self.sessions.get(sid)
        if session is not None:
            session.lists = ListWatch()
            session.wake.set()
        return {}

    def _command(self, verb: str) -> Callable[..., Any]:
        async def handle(sid: str, request: Any = None) -> Any:
            session = self.sessions.get(sid)
            if session is None or self._tokens.scope_of(session.token) != "control":
                return {"refused": True, "reason": "this token may only look"}
            fields = dict(request) if isinstance(request, dict) else {}
            run_id = fields.pop("run", None)
            try:
                command = CommandRequest.model_validate({**fields, "command": verb})
                if not isinstance(run_id, str):
                    raise ValueError("say which run")
                return await self._commands.execute(run_id, command)
            except (ValidationError, ValueError, SurefootError) as error:
                return {"refused": True, "reason": _reason(error)}

        return handle

    # -- sending ----------------------------------------------------------------------------------------------------

    def _on_change(self, run_id: str) -> None:
        for session in self.sessions.values():
            if run_id in session.watches:
                self._notify(session, run_id)
            if session.lists is not None:
                session.lists.changed.add(run_id)
                session.wake.set()

    def _notify(self, session: Session, run_id: str) -> None:
        session.changed.add(run_id)
        session.wake.set()

    async def _keep_sending(self, session: Session) -> None:
        while True:
            await session.wake.wait()
            session.wake.clear()
            # What changes in this time is sent together.
            await asyncio.sleep(BATCH_SECONDS)
            for run_id in list(session.changed):
                # Before sending: what changes meanwhile must not be forgotten afterwards.
                session.changed.discard(run_id)
                watch = session.watches.get(run_id)
                if watch is not None and not await self._pump(session, watch):
                    session.changed.add(run_id)
            if session.lists is not None:
                await self._pump_list(session, session.lists)

    async def _pump(self, session: Session, watch: Watch) -> bool:
        """Send what is new of a run, as far as the client can take it. False if something is left."""
        if watch.unacknowledged >= MAX_UNACKNOWLEDGED:
            return False
        if not self._has_room(session):
            asyncio.get_running_loop().call_later(0.25, session.wake.set)
            return False
        try:
            view = await self._hub.view(watch.run)
        except SurefootError:
            return True
        if watch.rows:
            await self._send_rows(session, watch, view)
        if watch.tools:
            await self._send_messages(session, watch, view)
        return True

    def _has_room(self, session: Session) -> bool:
        try:
            socket = self.server.eio.sockets[self.server.manager.eio_sid_from_sid(session.sid, "/")]
        except KeyError:
            return False
        return bool(socket.queue.qsize() < MAX_QUEUE)

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
        await self.server.emit(name, message, to=session.sid, callback=self._acknowledged(session, watch))

    def _acknowledged(self, session: Session, watch: Watch) -> Callable[..., None]:
        def acknowledge(*_: Any) -> None:
            watch.unacknowledged = max(watch.unacknowledged - 1, 0)
            if watch.run in session.changed:
                session.wake.set()

        return acknowledge

    async def _send_messages(self, session: Session, watch: Watch, view: RunView) -> None:
        if watch.needs_tasks or watch.tools_sent < view.messages_dropped:
            watch.needs_tasks = False
            await self.server.emit("task:list", task_list(view), to=session.sid)
        for seq, name, message in view.messages:
            if seq > watch.tools_sent:
                await self.server.emit(name, message, to=session.sid)
        watch.tools_sent = view.state.seq

    async def _pump_list(self, session: Session, lists: ListWatch) -> None:
        if lists.unacknowledged >= MAX_UNACKNOWLEDGED or not self._has_room(session):
            asyncio.get_running_loop().call_later(0.25, session.wake.set)
            return
        if lists.sent is None:
            lists.changed.clear()
            rows = await self.run_rows()
            lists.sent = {row["id"]: row for row in rows}
            name, message = "runs:snapshot", {"v": PROTOCOL, "rows": rows}
        else:
            changed, lists.changed = lists.changed, set()
            views = [await self._hub.view(run_id) for run_id in changed]
            upserts = [row for row in map(run_row, views) if lists.sent.get(row["id"]) != row]
            if not upserts:
                return
            lists.sent |= {row["id"]: row for row in upserts}
            name, message = "runs:rows", {"v": PROTOCOL, "upserts": upserts, "removed": []}
        lists.unacknowledged += 1

        def acknowledge(*_: Any) -> None:
            lists.unacknowledged = max(lists.unacknowledged - 1, 0)
            if lists.changed:
                session.wake.set()

        await self.server.emit(name, message, to=session.sid, callback=acknowledge)

    async def run_rows(self, limit: int = LISTED_RUNS) -> list[RunRow]:
        rows = []
        for summary in self._hub.summaries(limit):
            # A run of another version, or a damaged one, does not hide the others.
            with contextlib.suppress(SurefootError):
                rows.append(run_row(await self._hub.view(summary.run_id)))
        return rows


def _reason(error: Exception) -> str:
    if isinstance(error, ValidationError):
        problem = error.errors()[0]
        return f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}"
    return str(error)
