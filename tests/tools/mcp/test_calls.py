"""Calls of tools of a real server process: results, limits, and servers that die, hang or never start."""

import asyncio
import os
from pathlib import Path

import pytest

from support.kit import Bench
from surefoot.errors import ToolError, ToolTimeout, ToolUnavailable
from surefoot.tools.context import ToolContext
from surefoot.tools.invoke import call
from surefoot.tools.mcp import transport
from surefoot.tools.mcp.servers import mcp_toolbox
from surefoot.tools.registry import Toolbox
from surefoot.tools.tool import ToolResult, Writes

from .conftest import Configure

pytestmark = pytest.mark.req("X8")


class Caller:
    def __init__(self, toolbox: Toolbox, root: Path) -> None:
        self.toolbox, self.context = toolbox, ToolContext(root=root, truncate_middle=True)

    async def __call__(self, name: str, **arguments: object) -> ToolResult:
        return await call(self.toolbox.get(f"own__{name}"), self.context, arguments)


async def is_gone(pid: int) -> bool:
    """Whether a process ends, or is only waiting to be collected by its parent."""
    for _ in range(600):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == "Z":
            return True
        await asyncio.sleep(0.05)
    return False


@pytest.mark.slow
async def test_calls_and_a_server_that_dies_or_hangs(
    bench: Bench, configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All in one test, because starting a server is what costs."""
    monkeypatch.setenv("PASSED_TOKEN", "t0ken-that-is-passed")
    monkeypatch.setenv("OTHER_TOKEN", "t0ken-that-is-not")
    server = configure(pass_env=("PASSED_TOKEN",), env={"PLAIN": "1"}, call_seconds=10)
    async with mcp_toolbox([server], bench.root, bench.home) as toolbox:
        tool = Caller(toolbox, bench.root)
        await check_results(tool)

        first = (await tool("processes")).data["result"]
        with pytest.raises(ToolUnavailable, match="MCP server own ended during the call"):
            await tool("dies")
        assert [await is_gone(pid) for pid in first] == [True, True]
        second = (await tool("processes")).data["result"]
        assert second != first, "it was started anew"
        with pytest.raises(ToolTimeout, match="did not answer within 10 seconds"):
            await tool("hangs")
        assert [await is_gone(pid) for pid in second] == [True, True]


async def check_results(tool: Caller) -> None:
    toolbox = tool.toolbox
    look, note = toolbox.get("own__look"), toolbox.get("own__note")
    assert look.is_read_only
    assert (note.writes, note.external) == (Writes.FREE, True)
    assert "[tool of the MCP server own] Looks up a topic." in look.description

    assert (await tool("look", topic="rain")).summary == "rain is fine"
    measured = await tool("measure", width=3)
    assert measured.data == {"width": 3, "unit": "mm"}

    picture = (await tool("picture")).output
    assert "[image, image/png, 12 bytes, not shown]" in picture
    assert "[resource test://linked, linked, not read]" in picture
    assert "[resource test://blob, not shown]" in picture
    assert "c2VjcmV0" not in picture
    assert "\x1b" not in picture

    long = await tool("huge", characters=1_000_000)
    assert len(long.output) < 401_000
    assert long.output.startswith("begin")
    assert long.output.endswith(" end")
    assert len(long.summary) < 5_000

    names = (await tool("environment")).output
    assert "value of PASSED_TOKEN: t0ken-that-is-passed" in names
    assert "PLAIN" in names
    assert "OTHER_TOKEN" not in names

    failed = await tool("fails", topic="moon")
    assert not failed.ok
    assert "there is no moon" in failed.summary

    # A name that models may not use is replaced, and marked so that it stays unique.
    (weird,) = [name for name in toolbox.names if name.startswith("own__weird_name_")]
    assert (await call(toolbox.get(weird), tool.context, {"topic": "y"})).summary == "weird y"
    with pytest.raises(ToolError, match="has no argument"):
        await tool("look", subject="rain")
    with pytest.raises(ToolError, match="is wrong"):
        await tool("measure", width="wide")


async def test_servers_that_cannot_be_used_are_named_and_do_not_stop_the_run(
    bench: Bench, configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MISSING_TOKEN", raising=False)
    monkeypatch.setattr(transport, "MAX_MESSAGE", 1_000_000)
    servers = [
        configure(name="silent", command="sleep", args=("1000",), start_seconds=1),
        configure(name="absent", command="no-such-program"),
        configure(name="broken", command="sh", args=("-c", "echo wrong setting >&2"), pass_env=("MISSING_TOKEN",)),
        configure(name="flood", command="sh", args=("-c", "cat /dev/zero")),
    ]
    notices: list[str] = []
    async with mcp_toolbox(servers, bench.root, bench.home, notify=notices.append) as toolbox:
        assert not [name for name in toolbox.names if "__" in name]
    silent, absent, broken, flood = sorted(
        notices,
        key=lambda n: ["silent", "absent", "broken", "flood"].index(
            next(word for word in n.split() if word.strip(",") in ("silent", "absent", "broken", "flood")).strip(",")
        ),
    )
    assert "the MCP server silent was not ready within 1 seconds; its tools are missing in this run" in silent
    assert "no-such-program, is not installed" in absent
    assert "it said: wrong setting" in broken
    assert "these variables are not set: MISSING_TOKEN" in broken
    assert "it sent a message of more than 1 MB" in flood


async def test_a_program_in_the_workspace_is_not_started_by_its_name(
    bench: Bench, configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted = bench.root / "planted-server"
    planted.write_text("#!/bin/sh\ntouch started\n")
    planted.chmod(0o755)
    monkeypatch.setenv("PATH", f"{bench.root}:{os.environ['PATH']}")
    notices: list[str] = []
    async with mcp_toolbox([configure(command=planted.name)], bench.root, bench.home, notify=notices.append):
        pass
    assert "is not installed" in notices[0]
    assert not (bench.root / "started").exists()
