"""The two transports: the standard streams of a program, and streamable HTTP. Both limit the size of messages.

A program runs under the supervisor that also watches over commands: all processes that it starts end with it, and all
of them end when Surefoot ends or is killed. It is not in a sandbox, because it is the user's own program and often
needs access that commands must not have. It gets the environment of commands and the variables that its settings name.
"""

import asyncio
import contextlib
import os
from collections import deque
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surefoot.config.mcp import ConfiguredServer
from surefoot.errors import ToolUnavailable
from surefoot.journal.redact import neutralise
from surefoot.workspace.process.launch import supervisor_argv
from surefoot.workspace.process.programs import find_program
from surefoot.workspace.sandbox.environment import command_env

if TYPE_CHECKING:
    import httpx2
    from mcp.client._transport import TransportStreams

MAX_MESSAGE = 16_000_000
"""The maximum size of a message in bytes. A program that sends more is ended."""
STOP_SECONDS = 2.0
"""How long a program may take to end after its input is closed. Then it is killed with all of its processes."""
_STDERR_LINES = 20
_STDERR_LINE = 500
_CHUNK = 65_536


class Complaints:
    """The last lines that a program wrote to its standard error, and any other problem with it."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque(maxlen=_STDERR_LINES)
        self.problem = ""
        self.ended = asyncio.Event()
        """Set when the program has closed its output, as it does when it ends."""

    def add(self, line: bytes) -> None:
        text = neutralise(line[:_STDERR_LINE].decode("utf-8", "replace")).strip()
        if text:
            self._lines.append(text)

    @property
    def text(self) -> str:
        last = list(self._lines)[-3:]
        return self.problem or (f"it said: {' / '.join(last)}" if last else "")


def program_of(server: ConfiguredServer, root: Path) -> Path:
    """Return the program to start. A name is looked up on PATH, but not in workspaces.

    Raises ToolUnavailable if there is no such program.
    """
    command = server.settings.command
    program = Path(command) if command.startswith("/") else find_program(command, root)
    if program is None or not os.access(program, os.X_OK):
        raise ToolUnavailable(
            f"the program of the MCP server {server.name}, {command}, is not installed",
            remedy=f"install it, or correct its command: {server.source}. Programs inside the workspace are not "
            "found by name; give their absolute path",
        )
    return program


def server_env(server: ConfiguredServer, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a program: that of commands, and the variables that its settings name."""
    passed = {name: environ[name] for name in server.settings.pass_env if name in environ}
    return {**command_env(environ=environ), **passed, **server.settings.env}


def missing_variables(server: ConfiguredServer, environ: Mapping[str, str]) -> list[str]:
    names = (*server.settings.pass_env, *server.settings.headers_env.values())
    return [name for name in names if not environ.get(name)]


@contextlib.asynccontextmanager
async def stdio_transport(
    server: ConfiguredServer, root: Path, environ: Mapping[str, str], complaints: Complaints
) -> AsyncIterator["TransportStreams"]:
    """Start a program in the workspace and exchange messages with it, one JSON document per line."""
    import anyio
    from mcp.shared.message import SessionMessage

    process, lifeline = await _start(server, root, environ)
    to_session, from_server = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    to_server, from_session = anyio.create_memory_object_stream[SessionMessage](0)
    tasks = [
        asyncio.create_task(_read_messages(process, to_session, complaints)),
        asyncio.create_task(_write_messages(process, from_session)),
        asyncio.create_task(_read_stderr(process, complaints)),
    ]
    try:
        yield from_server, to_server
    finally:
        for stream in (from_server, to_server, to_session, from_session):
            stream.close()
        # Shielded: a cancelled run must not leave the program behind.
        await asyncio.shield(_stop(process, lifeline, tasks))


async def _start(
    server: ConfiguredServer, root: Path, environ: Mapping[str, str]
) -> tuple[asyncio.subprocess.Process, int]:
    """Start the program under the supervisor. Closing the returned descriptor ends all of its processes."""
    program = program_of(server, root)
    reading, lifeline = os.pipe()
    try:
        process = await asyncio.create_subprocess_exec(
            *supervisor_argv([f"lifeline={reading}"], [str(program), *server.settings.args]),
            cwd=root,
            env=server_env(server, environ),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            pass_fds=(reading,),
            start_new_session=True,
        )
    except OSError as error:
        os.close(lifeline)
        raise ToolUnavailable(
            f"the MCP server {server.name} could not be started: {error.strerror}", remedy="try again"
        ) from error
    finally:
        os.close(reading)
    return process, lifeline


async def _stop(process: asyncio.subprocess.Process, lifeline: int, tasks: list["asyncio.Task[None]"]) -> None:
    assert process.stdin is not None
    process.stdin.close()
    waiting = asyncio.create_task(process.wait())
    await asyncio.wait({waiting}, timeout=STOP_SECONDS)
    os.close(lifeline)
    await waiting
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)


async def _read_messages(process: asyncio.subprocess.Process, to_session: Any, complaints: Complaints) -> None:
    import anyio
    import mcp_types
    from mcp.shared.message import SessionMessage

    assert process.stdout is not None
    parts: list[bytes] = []
    size = 0
    with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
        async with to_session:
            while chunk := await process.stdout.read(_CHUNK):
                *lines, rest = chunk.split(b"\n")
                for line in lines:
                    message, parts, size = b"".join([*parts, line]), [], 0
                    if not message.strip():
                        continue
                    try:
                        parsed = mcp_types.jsonrpc_message_adapter.validate_json(message, by_name=False)
                    except ValueError:
                        # Programs often print other text to their standard output: the line is not a message.
                        complaints.add(message)
                        continue
                    await to_session.send(SessionMessage(parsed))
                parts.append(rest)
                size += len(rest)
                if size > MAX_MESSAGE:
                    complaints.problem = f"it sent a message of more than {MAX_MESSAGE // 1_000_000} MB"
                    break
    complaints.ended.set()
    # A program that cannot write does not end, and its end is seen only after all of its output was read.
    while await process.stdout.read(_CHUNK):
        pass


async def _write_messages(process: asyncio.subprocess.Process, from_session: Any) -> None:
    import anyio

    assert process.stdin is not None
    with contextlib.suppress(anyio.ClosedResourceError, ConnectionError, RuntimeError):
        async with from_session:
            async for message in from_session:
                data = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                process.stdin.write(data.encode() + b"\n")
                await process.stdin.drain()


async def _read_stderr(process: asyncio.subprocess.Process, complaints: Complaints) -> None:
    assert process.stderr is not None
    while chunk := await process.stderr.read(_CHUNK):
        for line in chunk.splitlines()[-_STDERR_LINES:]:
            complaints.add(line)


@contextlib.asynccontextmanager
async def http_transport(server: ConfiguredServer, environ: Mapping[str, str]) -> AsyncIterator["TransportStreams"]:
    """Talk to a server over streamable HTTP, with the headers that its settings name."""
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    headers = {
        header: environ[variable] for header, variable in server.settings.headers_env.items() if variable in environ
    }
    seconds = max(server.settings.call_seconds, server.settings.start_seconds)
    timeout = httpx2.Timeout(30.0, read=seconds + 5)
    async with (
        httpx2.AsyncClient(headers=headers, timeout=timeout, transport=_limited_transport()) as client,
        streamable_http_client(server.settings.url, http_client=client, max_sse_event_size=MAX_MESSAGE) as streams,
    ):
        yield streams


def _limited_transport() -> "httpx2.AsyncBaseTransport":
    """Return a transport that refuses responses above the limit. In event streams, each event is limited."""
    import httpx2

    class LimitedStream(httpx2.AsyncByteStream):
        def __init__(self, stream: httpx2.AsyncByteStream) -> None:
            self._stream = stream

        async def __aiter__(self) -> AsyncIterator[bytes]:
            size = 0
            async for chunk in self._stream:
                size += len(chunk)
                if size > MAX_MESSAGE:
                    raise httpx2.ReadError(f"the answer has more than {MAX_MESSAGE // 1_000_000} MB")
                yield chunk

        async def aclose(self) -> None:
            await self._stream.aclose()

    class LimitedTransport(httpx2.AsyncHTTPTransport):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            response = await super().handle_async_request(request)
            if "text/event-stream" not in response.headers.get("content-type", ""):
                assert isinstance(response.stream, httpx2.AsyncByteStream)
                response.stream = LimitedStream(response.stream)
            return response

    return LimitedTransport()


def ended_reason(error: BaseException) -> str:
    """Return a short text for an error of the library, which is often nested in exception groups."""
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    text = " ".join(neutralise(str(error)).split())[:300]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
