"""A real server of files, the one of the Model Context Protocol's own project, writes into the workspace of a run."""

from pathlib import Path
from typing import Any

import pytest

from support.kit import Bench, PreparedPerson, act, steps
from support.node import node_package
from surefoot.config.mcp import ConfiguredServer, McpServer
from surefoot.core.plan import CommandCheck, ExecutionStep
from surefoot.core.transitions import Verdict
from surefoot.journal import events as e
from surefoot.models.base import ModelRequest
from surefoot.tools.mcp.servers import mcp_toolbox

PACKAGE = "@modelcontextprotocol/server-filesystem"
CHECK = "grep -qx 42 total.txt"


def server_of_files(root: Path) -> ConfiguredServer:
    program = node_package(PACKAGE, "^2026.8.31") / "node_modules" / ".bin" / "mcp-server-filesystem"
    settings = McpServer(command=str(program), args=(str(root),), start_seconds=300, call_seconds=300)
    return ConfiguredServer("files", settings, "config.toml:1")


@pytest.mark.req("X8")
@pytest.mark.slow
async def test_a_file_that_a_server_writes_is_approved_undone_and_written_again(bench: Bench) -> None:
    target, seen = bench.root / "total.txt", list[bool]()

    def repair(request: ModelRequest) -> dict[str, Any]:
        seen.append(target.exists())
        return act("files__write_file", path=str(target), content="42\n")

    bench.write(notes__txt="20 and 22\n")
    bench.person = person = PreparedPerson("yes", "yes")
    read, write = (
        ExecutionStep(id=tool, name=tool, tool=f"files__{tool}", parameters=parameters)
        for tool, parameters in (
            ("read_text_file", {"path": str(bench.root / "notes.txt")}),
            ("write_file", {"path": str(target), "content": "24\n"}),
        )
    )
    write = write.with_(checks=(CommandCheck(command=CHECK, origin="user"),))
    plan = steps(read, write, after=[(write.id, read.id)])
    async with mcp_toolbox([server_of_files(bench.root)], bench.root, bench.home) as bench.toolbox:
        state = await bench.run_plan(plan, [repair], checks=[CHECK])

    looked, wrong, right = bench.events(e.ActionFinished)
    assert "20 and 22" in looked.summary, "the answer of the real server"
    assert (wrong.ok, right.ok) == (True, True), "the server wrote both times"
    asked = [question.text.partition("content: ")[2].strip() for question in person.questions]
    assert asked == ["24", "42"], "each call that writes asks, with what it writes, and reading asks nobody"
    assert [event.paths for event in bench.events(e.RolledBack)] == [("total.txt",)]
    assert seen == [False], "the wrong file was gone when the model was asked again"
    assert bench.files() == {"notes.txt": "20 and 22\n", "total.txt": "42\n"}
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
