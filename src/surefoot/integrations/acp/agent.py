"""The agent's side of the protocol: each prompt starts a run in the session's folder, or answers its question."""

import asyncio
import os
import secrets
import stat
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from surefoot._version import __version__
from surefoot.api import Agent
from surefoot.config.extras import install_remedy
from surefoot.config.integrations import Integrations
from surefoot.config.mcp import ConfiguredServer
from surefoot.core.outcome import Verdict
from surefoot.errors import SurefootError, UsageError
from surefoot.integrations.acp.person import EditorPerson
from surefoot.integrations.acp.updates import Updates
from surefoot.integrations.attach import attached, equipped
from surefoot.journal.messages import ControlMessage
from surefoot.prompting.choose import writes_prose
from surefoot.results import SequentialExecutionPlan
from surefoot.tools.registry import default_toolbox

_STOP_REASONS = {
    Verdict.CANCELLED: "cancelled",
    Verdict.INTERRUPTED: "cancelled",
    Verdict.BUDGET: "max_tokens",
    Verdict.TIME: "max_turn_requests",
}


@dataclass(frozen=True, slots=True)
class Opened:
    """The agent of a session, with its integrations and MCP servers."""

    agent: Agent
    integrations: Integrations = field(default_factory=Integrations)
    mcp_servers: Sequence[ConfiguredServer] = ()
    """The servers from the settings. The agent already knows their secrets."""


MakeAgent = Callable[[Path, EditorPerson], Awaitable[Opened]]


@dataclass
class Session:
    id: str
    agent: Agent
    integrations: Integrations
    person: EditorPerson
    updates: Updates
    outgoing: "asyncio.Queue[Any]"
    notices: list[str] = field(default_factory=list)
    turn: "asyncio.Task[Any] | None" = None
    question: tuple[str, str] | None = None
    """The run and the question that the next message answers."""
    last_run: str | None = None
    """The run that the next one continues."""

    def tell(self, notice: str) -> None:
        """Show a message that is not part of the run, such as that telemetry cannot be delivered."""
        self.updates.say(f"{notice}\n\n")


class EditorAgent:
    """Serves one editor. `make_agent` opens an agent for the folder of a session."""

    def __init__(self, make_agent: MakeAgent, checks: Sequence[str] = ()) -> None:
        self._make_agent = make_agent
        self._checks = tuple(checks)
        self._sessions: dict[str, Session] = {}
        self._client: Any = None
        self._servers = AsyncExitStack()
        """The MCP servers of all sessions. They are kept, because the protocol does not say when a session ends."""

    async def aclose(self) -> None:
        """Stop the MCP servers. Called when the editor has disconnected."""
        await self._servers.aclose()

    def on_connect(self, conn: Any) -> None:
        self._client = conn

    async def initialize(self, protocol_version: int, **_: Any) -> Any:
        from acp import PROTOCOL_VERSION, InitializeResponse
        from acp.schema import AgentCapabilities, Implementation, PromptCapabilities

        return InitializeResponse(
            protocol_version=min(protocol_version, PROTOCOL_VERSION),
            agent_capabilities=AgentCapabilities(
                load_session=False,
                prompt_capabilities=PromptCapabilities(embedded_context=True),
            ),
            agent_info=Implementation(name="surefoot", title="Surefoot", version=__version__),
        )

    async def new_session(self, cwd: str, mcp_servers: Sequence[Any] | None = None, **_: Any) -> Any:
        from acp import NewSessionResponse

        session_id = secrets.token_hex(8)
        outgoing: asyncio.Queue[Any] = asyncio.Queue()
        with _as_request_error():
            if not Path(cwd).is_absolute():
                raise UsageError(f"the folder {cwd!r} is not an absolute path", remedy="send the whole path")
            person = EditorPerson(session_id, lambda text: session.updates.say(text))
            opened = await self._make_agent(Path(cwd), person)
            agent, services, notices = opened.agent, opened.agent.services, list[str]()
            await self._servers.enter_async_context(
                equipped(services, opened.mcp_servers, agent.workspace, lambda notice: notices.append(f"{notice}\n\n"))
            )
        person.client = self._client
        updates = Updates(
            agent.workspace,
            services.toolbox or default_toolbox(),
            services.redactor,
            outgoing.put_nowait,
            streams_text=writes_prose(services.model.traits),
        )
        services.bus.subscribe(updates.on_record, on_stream=updates.on_stream)
        session = Session(session_id, agent, opened.integrations, person, updates, outgoing, notices)
        if mcp_servers:
            session.notices.append("The MCP servers of the editor are not used in this session.\n\n")
        self._sessions[session_id] = session
        return NewSessionResponse(session_id=session_id)

    async def prompt(self, session_id: str, prompt: Sequence[Any], **_: Any) -> Any:
        from acp import PromptResponse

        session = self._session(session_id)
        with _as_request_error():
            if session.turn is not None:
                raise UsageError("this session is working already", remedy="wait for the end of the turn, or cancel it")
            text = text_of(prompt)
        sending = asyncio.create_task(self._keep_sending(session))
        session.turn = asyncio.create_task(self._run(session, text))
        try:
            stop_reason = await session.turn
            await session.outgoing.join()
        except asyncio.CancelledError:
            if not session.turn.cancelled():
                raise
            stop_reason = "cancelled"
        finally:
            session.turn = None
            sending.cancel()
        return PromptResponse(stop_reason=stop_reason)

    async def cancel(self, session_id: str, **_: Any) -> None:
        session = self._sessions.get(session_id)
        if session is None or session.turn is None:
            return
        if run_id := session.updates.state.run_id:
            # The run undoes its current step, and ends.
            session.agent.services.journal.send(run_id, ControlMessage(command="cancel", by="editor"))
        else:
            session.turn.cancel()

    # -- a turn ----------------------------------------------------------------------------------------------------

    async def _run(self, session: Session, text: str) -> Any:
        for notice in session.notices:
            session.updates.say(notice)
        session.notices.clear()
        try:
            async with attached(session.agent.services, session.integrations, session.tell):
                plan = await self._begin_or_answer(session, text)
        except SurefootError as error:
            session.updates.say(f"{error}\n\n{error.remedy}\n")
            return "end_turn"
        if plan.outcome is not None:
            session.updates.say_outcome(plan.outcome)
            return _STOP_REASONS.get(plan.outcome.verdict, "end_turn")
        questions = session.agent.questions(plan.task_id)
        session.question = (plan.task_id, questions[0].id) if questions else None
        session.updates.say(f"Waiting: run {plan.task_id}. Your next message is the answer.\n" if questions else
                            f"Paused. `surefoot resume {plan.task_id}` continues it.\n")  # fmt: skip
        return "end_turn"

    async def _begin_or_answer(self, session: Session, text: str) -> SequentialExecutionPlan:
        agent, asked = session.agent, session.question
        if asked is None:
            session.updates.state.run_id = ""
            plan = await agent.execute_task(text, checks=self._checks, continues=session.last_run)
            session.last_run = plan.task_id
            return plan
        agent.leave_answer(*asked, text)  # if it raises, the question stays open for the next message
        session.question = None
        return await agent.resume(asked[0])

    async def _keep_sending(self, session: Session) -> None:
        while True:
            update = await session.outgoing.get()
            try:
                await self._client.session_update(session_id=session.id, update=update)
            finally:
                session.outgoing.task_done()

    def _session(self, session_id: str) -> Session:
        from acp import RequestError

        if session_id not in self._sessions:
            raise RequestError.invalid_params({"message": f"there is no session {session_id!r}"})
        return self._sessions[session_id]


@contextmanager
def _as_request_error() -> Iterator[None]:
    """Turn errors of Surefoot into errors of the protocol, with their remedy."""
    from acp import RequestError

    try:
        yield
    except SurefootError as error:
        raise RequestError(-32602, str(error), {"remedy": error.remedy}) from error


def text_of(prompt: Sequence[Any]) -> str:
    """The task in a prompt: its text, and the files that it refers to. Raises UsageError for other content."""
    parts: list[str] = []
    for block in prompt:
        match block.type:
            case "text":
                parts.append(block.text)
            case "resource_link":
                parts.append(f"({block.uri.removeprefix('file://')})")
            case "resource" if hasattr(block.resource, "text"):
                parts.append(f"\n\n{block.resource.uri.removeprefix('file://')}:\n{block.resource.text}\n")
            case other:
                raise UsageError(f"a prompt with {other} cannot be used", remedy="describe it in words")
    text = "".join(parts).strip()
    if not text:
        raise UsageError("the prompt has no text", remedy="say what is to be done")
    return text


def _is_file(fd: int) -> bool:
    """Whether a descriptor is a file, or a device such as /dev/null. The event loop would wait forever for either."""
    mode = os.fstat(fd).st_mode
    return stat.S_ISREG(mode) or (stat.S_ISCHR(mode) and not os.isatty(fd))


async def serve_stdio(make_agent: MakeAgent, checks: Sequence[str] = ()) -> None:
    """Serve the editor that started this process, until it closes the connection."""
    if any(_is_file(fd) for fd in (0, 1)):
        raise UsageError(
            "an editor talks to this command over pipes, and its input or output is a file",
            remedy="let the editor start it: see docs/guides/editors.md",
        )
    try:
        from acp import run_agent
    except ImportError as error:
        raise UsageError(f"the protocol's library cannot be imported: {error}", remedy=install_remedy("acp")) from None
    agent: Any = EditorAgent(make_agent, checks)
    try:
        await run_agent(agent)
    finally:
        await agent.aclose()
