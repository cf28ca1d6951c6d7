"""The Socket.IO server: connections, watches, and commands, which `commands` executes."""

import asyncio
import contextlib
import time
from collections.abc import Callable
from typing import Any, get_args

from pydantic import ValidationError

from surefoot.core.values import what_is_wrong
from surefoot.errors import SurefootError
from surefoot.server.commands import CommandRequest, Commands, StartRequest, Verb
from surefoot.server.hub import Hub
from surefoot.server.security import CONNECTION, Connection
from surefoot.server.sockets.manager import room_of
from surefoot.server.sockets.sending import Sender
from surefoot.server.sockets.sessions import ListWatch, Session, Sessions, Watch
from surefoot.server.sockets.texts import Texts
from surefoot.server.tokens import Tokens

BEAT_SECONDS = 10.0
LOOK_SECONDS = 0.5
"""The interval at which revoked tokens and the runs to listen to are looked up."""
MAX_WATCHES = 50
MAX_WAITING_TEXT = 200
"""How many messages with text may wait to be sent. More are dropped."""
_SUBJECTS = {"skip": "step", "retry": "step", "answer": "question"}
EVENTS: dict[str, str] = {f"{_SUBJECTS.get(verb, 'run')}:{verb}": verb for verb in get_args(Verb)}
"""The commands as events: the same verbs as over HTTP."""


class Sockets:
    def __init__(
        self,
        hub: Hub,
        commands: Commands,
        tokens: Tokens,
        allowed_origin: Callable[[str], bool],
        client_manager: Any = None,
    ) -> None:
        import socketio

        self._hub, self._commands, self._tokens = hub, commands, tokens
        self._sessions = Sessions()
        self._texts = Texts(hub, self._on_text)
        self._waiting_text: asyncio.Queue[dict[str, Any]] = asyncio.Queue(MAX_WAITING_TEXT)
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
            client_manager=client_manager,
        )
        self._sender = Sender(hub, self.server)
        self._register()
        hub.subscribe(self._on_change)

    def _register(self) -> None:
        server = self.server
        server.on("connect", self._connect)
        server.on("disconnect", self._disconnect)
        server.on("run:watch", self._watch)
        server.on("run:unwatch", self._unwatch)
        server.on("runs:watch", self._watch_list)
        server.on("run:start", self._start)
        for event, verb in EVENTS.items():
            server.on(event, self._command(verb))

    async def keep_going(self) -> None:
        """Run the background tasks of the sockets. Never returns."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._keep_looking())
            group.create_task(self._keep_sending_text())

    async def _keep_looking(self) -> None:
        """Send heartbeats that the page can see, drop sockets whose token is no longer valid, and listen to the runs
        that are watched."""
        beat = 0.0
        while True:
            scopes = {token: self._tokens.scope_of(token) for token in {session.token for session in self._sessions}}
            for session in self._sessions:
                if scopes.get(session.token, session.scope) != session.scope:
                    await self._drop(session)
            if time.monotonic() >= beat:
                beat = time.monotonic() + BEAT_SECONDS
                for session in self._sessions:
                    await self._sender.beat(session, time.time())
            self._texts.listen_to(self._sessions.watched_text())
            await asyncio.sleep(LOOK_SECONDS)

    def close(self) -> None:
        self._texts.close()
        for session in self._sessions:
            if session.sender:
                session.sender.cancel()

    # -- connections ------------------------------------------------------------------------------------------------

    async def _connect(self, sid: str, environ: dict[str, Any], auth: Any = None) -> bool:
        token = auth.get("token") if isinstance(auth, dict) else None
        scope = self._tokens.scope_of(token) if isinstance(token, str) else None
        connection = (environ.get("asgi.scope") or {}).get(CONNECTION)
        if scope is None or not isinstance(connection, Connection):
            return False
        connection.greeted.set()
        session = Session(sid, str(token), scope, connection)
        self._sessions.add(session)
        session.sender = asyncio.create_task(self._sender.keep_sending(session))
        return True

    async def _disconnect(self, sid: str, *reason: Any) -> None:
        if (session := self._sessions.remove(sid)) and session.sender:
            session.sender.cancel()

    async def _drop(self, session: Session) -> None:
        await self._disconnect(session.sid)
        await self.server.disconnect(session.sid)
        if session.connection:
            session.connection.closed.set()

    # -- requests of clients ----------------------------------------------------------------------------------------

    async def _watch(self, sid: str, request: Any = None) -> dict[str, Any]:
        session = self._sessions.get(sid)
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
        rows, tools, text = (request.get(name, True) is not False for name in ("rows", "tools", "text"))
        watch = Watch(run_id, rows, tools, text)
        # Messages are sent from here on, including those of events before the first batch.
        watch.sent, watch.messages_sent, watch.needs_tasks = known, known or view.state.seq, known is None
        self._sessions.watch(session, watch)
        await self.server.enter_room(sid, room_of(run_id))
        session.notify(run_id)
        if text and (latest := self._texts.latest(run_id)):
            await self._sender.send_text(session, latest)
        return {"head": view.state.seq}

    async def _unwatch(self, sid: str, request: Any = None) -> dict[str, Any]:
        session = self._sessions.get(sid)
        if session is not None and isinstance(request, dict):
            self._sessions.unwatch(session, str(request.get("run")))
            await self.server.leave_room(sid, room_of(str(request.get("run"))))
        return {}

    async def _watch_list(self, sid: str, request: Any = None) -> dict[str, Any]:
        session = self._sessions.get(sid)
        if session is not None:
            session.list_watch = ListWatch()
            session.wake.set()
        return {}

    async def _start(self, sid: str, request: Any = None) -> dict[str, Any]:
        if not self._may_control(sid):
            return _refused("this token is read-only")
        try:
            return await self._commands.start(StartRequest.model_validate(request))
        except (ValidationError, SurefootError) as error:
            return _refused(_reason(error))

    def _command(self, verb: str) -> Callable[..., Any]:
        async def handle(sid: str, request: Any = None) -> Any:
            if not self._may_control(sid):
                return _refused("this token is read-only")
            fields = dict(request) if isinstance(request, dict) else {}
            run_id = fields.pop("run", None)
            try:
                command = CommandRequest.model_validate({**fields, "command": verb})
                if not isinstance(run_id, str):
                    raise ValueError("say which run")
                return await self._commands.execute(run_id, command)
            except (ValidationError, ValueError, SurefootError) as error:
                return _refused(_reason(error))

        return handle

    def _may_control(self, sid: str) -> bool:
        session = self._sessions.get(sid)
        return session is not None and self._tokens.scope_of(session.token) == "control"

    # -- changes of runs --------------------------------------------------------------------------------------------

    def _on_change(self, run_id: str) -> None:
        for session in self._sessions.watching(run_id):
            session.notify(run_id)
        for session in self._sessions:
            if session.list_watch is not None:
                session.list_watch.changed.add(run_id)
                session.wake.set()

    def _on_text(self, message: dict[str, Any]) -> None:
        with contextlib.suppress(asyncio.QueueFull):
            self._waiting_text.put_nowait(message)

    async def _keep_sending_text(self) -> None:
        while True:
            message = await self._waiting_text.get()
            for session in self._sessions.watching(message["run"]):
                watch = session.watches.get(message["run"])
                if watch is not None and watch.text and self._texts.may_send():
                    await self._sender.send_text(session, message)


def _refused(reason: str) -> dict[str, Any]:
    return {"refused": True, "reason": reason}


def _reason(error: Exception) -> str:
    return what_is_wrong(error, 1) if isinstance(error, ValidationError) else str(error)
