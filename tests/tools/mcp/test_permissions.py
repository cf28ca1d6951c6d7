"""Tools of MCP servers in runs: who is asked, pins, the ladder, effects outside. The server talks over real HTTP."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from typing import Any

import pytest
import uvicorn

from support.kit import Bench, PreparedPerson, steps
from support.mcp_server import make
from surefoot.config.mcp import ConfiguredServer, McpServer
from surefoot.core.plan import CommandCheck, ExecutionStep
from surefoot.core.transitions import Rung, StepStatus
from surefoot.errors import ToolError
from surefoot.journal.state import RunState
from surefoot.tools.context import ToolContext
from surefoot.tools.invoke import call
from surefoot.tools.mcp.servers import Server, mcp_toolbox, secrets_for

pytestmark = pytest.mark.req("X8")


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


@contextlib.asynccontextmanager
async def serving(port: int, variant: str = "", headers: list[str] | None = None) -> AsyncIterator[None]:
    app: Any = make(variant).streamable_http_app()

    async def watched(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and headers is not None:
            headers.append(dict(scope["headers"]).get(b"authorization", b"").decode())
        await app(scope, receive, send)

    server = uvicorn.Server(uvicorn.Config(watched, port=port, log_level="critical", timeout_graceful_shutdown=0))
    task = asyncio.create_task(server.serve())
    while not server.started:  # noqa: ASYNC110 - it has no event for this
        await asyncio.sleep(0.02)
    try:
        yield
    finally:
        server.should_exit = True
        await task


def web(port: int, **settings: Any) -> ConfiguredServer:
    return ConfiguredServer("web", McpServer(url=f"http://127.0.0.1:{port}/mcp", **settings), "config.toml:1")


def step(tool: str, **parameters: Any) -> ExecutionStep:
    return ExecutionStep(id="p", name="use the tool", tool=f"web__{tool}", parameters=parameters)


async def run(bench: Bench, server: ConfiguredServer, one: ExecutionStep, *answers: str, **config: Any) -> RunState:
    """Run a plan of one step. The questions are in `bench.person`."""
    bench.person = PreparedPerson(*answers)
    async with mcp_toolbox([server], bench.root, bench.home) as bench.toolbox:
        return await bench.run_plan(steps(one), **config)


def questions(bench: Bench) -> list[str]:
    assert isinstance(bench.person, PreparedPerson)
    return [question.text for question in bench.person.questions]


async def test_who_is_asked(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEB_AUTH", "Bearer abcdef-0123456789")
    port, seen = free_port(), list[str]()
    server = web(port, headers_env={"Authorization": "WEB_AUTH"}, alternatives={"fails": ("look", "no_such_tool")})
    look, note = step("look", topic="rain"), step("note", text="hello")
    async with serving(port, headers=seen):
        state = await run(bench, server, look)
        assert state.steps["p"].status is StepStatus.SUCCEEDED
        assert questions(bench) == [], "it says that it only reads"
        assert set(seen) == {"Bearer abcdef-0123456789"}

        await run(bench, web(port, trust_annotations=False), look, "no")
        assert "web__look in" in questions(bench)[0], "its word does not count"

        state = await run(bench, server, note, "no", reflection={"max_step_retries": 0})
        assert "web__note in" in questions(bench)[0]
        assert "text: hello" in questions(bench)[0]
        assert not (bench.root / "note.txt").exists()
        state = await run(bench, server, note, deny=("web__note",))
        assert questions(bench) == []
        assert state.steps["p"].status is not StepStatus.SUCCEEDED
        state = await run(bench, server, note, approve="never")
        assert state.steps["p"].status is not StepStatus.SUCCEEDED

        # Allowed by a rule, but the check of the step stays red.
        monkeypatch.chdir(bench.root)
        red = note.with_(checks=(CommandCheck(command="false", origin="user"),))
        limits = {"max_step_retries": 0, "max_single_step_repairs": 0, "max_task_replanning_attempts": 0}
        state = await run(bench, server, red, allow=("web__note",), reflection=limits)
        assert not (bench.root / "note.txt").exists(), "what it did in the workspace is undone"
        assert (bench.root.parent / "outside.txt").read_text() == "hello", "elsewhere it is not"
        assert state.outcome is not None
        assert "web__note(text='hello')" in state.outcome.left_outside[0]

        state = await run(bench, server, step("fails", topic="rain"), allow=("web__fails",))
        assert Rung.ALTERNATIVE_TOOL in state.steps["p"].rungs
        assert state.steps["p"].status is StepStatus.SUCCEEDED, "the other tool of the server did it"
    assert secrets_for([server]) == {"WEB_AUTH": "Bearer abcdef-0123456789", "WEB_AUTH ": "abcdef-0123456789"}


async def test_a_changed_tool_asks_again(bench: Bench) -> None:
    port = free_port()
    server, look, retries = web(port), step("look", topic="rain"), {"reflection": {"max_step_retries": 0}}
    allowed = {"allow": ("web__look", "web__added"), **retries}
    async with serving(port):
        await run(bench, server, look, **allowed)
        assert questions(bench) == []
    async with serving(port, "changed"):
        state = await run(bench, server, look, approve="never", **allowed)
        assert state.steps["p"].status is not StepStatus.SUCCEEDED, "nobody is asked, so it is refused"
        state = await run(bench, server, look, "no", **allowed)
        assert "the MCP server web has changed this tool since its tools were accepted" in questions(bench)[0]
        assert "description before: Looks up a topic." in questions(bench)[0]
        assert "description now: Looks up a topic, and now also sends it to a friend." in questions(bench)[0]
        assert state.steps["p"].status is not StepStatus.SUCCEEDED
        async with mcp_toolbox([server], bench.root, bench.home) as toolbox:
            # A call that nobody reviewed is refused by the tool itself.
            with pytest.raises(ToolError, match="has changed its tool 'look' since it was accepted"):
                await call(toolbox.get("web__look"), ToolContext(root=bench.root), {"topic": "rain"})
        state = await run(bench, server, look, "yes", **allowed)
        assert state.steps["p"].status is StepStatus.SUCCEEDED
        state = await run(bench, server, look, **allowed)
        assert questions(bench) == [], "it was accepted"
        state = await run(bench, server, step("added"), "yes", **allowed)
        assert "the MCP server web has added this tool" in questions(bench)[0]
        assert Server(server, bench.root, bench.home).pins.changed() == []


async def test_a_call_that_may_have_had_an_effect_is_not_repeated_by_itself(bench: Bench) -> None:
    port = free_port()
    async with serving(port), mcp_toolbox([web(port, call_seconds=0.5)], bench.root, bench.home) as toolbox:
        with pytest.raises(ToolError, match=r"did not answer within 0\.5 seconds") as unclear:
            await call(toolbox.get("web__hangs_and_writes"), ToolContext(root=bench.root), {})
    assert not unclear.value.temporary
    assert "may have happened" in unclear.value.remedy
