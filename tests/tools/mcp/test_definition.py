"""What a hostile server says about its tools does no harm: names, descriptions and schemas."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from support.mcp_server import INJECTION
from surefoot.tools.arguments import convert_arguments
from surefoot.tools.mcp.definition import (
    MAX_DESCRIPTION,
    ToolDefinition,
    full_name,
    shown_description,
    shown_parameters,
)
from surefoot.tools.tool import Tool

pytestmark = pytest.mark.req("X8")


def tool(description: str = "", schema: dict[str, Any] | None = None, **more: Any) -> ToolDefinition:
    whole = {"type": "object", **(schema or {}), **more}
    return ToolDefinition(name="t", description=description, input_schema=whole)


async def nothing(**_: Any) -> str:
    return ""


@pytest.mark.attack("mcp")
def test_a_description_is_marked_shortened_and_made_visible() -> None:
    shown = shown_description("own", tool(INJECTION))
    assert shown.startswith("[tool of the MCP server own] Looks things up.")
    assert len(shown) <= MAX_DESCRIPTION + 40
    assert not set("\x1b\u200b\u202e\n") & set(shown)
    assert "<U+200B>" in shown


def test_names_are_prefixed_and_stay_different() -> None:
    names = [full_name("own", name) for name in ("read_file", "a.b", "a b", "a_b", "x" * 200, "x" * 201)]
    assert names[0] == "own__read_file"
    assert len(set(names)) == len(names)
    for name in names:
        Tool(name, "", {"type": "object", "properties": {}}, nothing)


@pytest.mark.attack("mcp")
def test_a_schema_cannot_fetch_loop_or_take_for_ever() -> None:
    hostile = {
        "remote": {"$ref": "http://127.0.0.1:1/schema.json"},
        "slow": {"type": "string", "pattern": "^(a+)+$"},
        "nested": {
            "type": "object",
            "properties": {"deep": {"type": "string", "description": "\x1b[2J" + "x" * 9_000}},
        },
        "choice": {"enum": ["a\u200b", "b"]},
        "part": {"anyOf": [{"$ref": "http://127.0.0.1:1/schema.json"}, {"type": "string"}]},
    }
    parameters = shown_parameters(tool(properties=hostile, required=["slow"]))
    assert parameters is not None
    text = json.dumps(parameters)
    assert "http://" not in text
    assert "pattern" not in text
    assert "\\u001b" not in text
    assert "\\u200b" not in text
    assert len(text) < 2_000
    assert parameters["properties"]["part"] == {"anyOf": [{}, {"type": "string"}]}, "the rest of it stays"
    given = {"slow": "a" * 60 + "!", "remote": 1, "nested": {"deep": "x"}}
    assert convert_arguments("t", parameters, None, given) == given

    loops = {
        "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}},
        "properties": {"x": {"$ref": "#/$defs/a"}},
    }
    parameters = shown_parameters(tool(schema=loops))
    assert parameters is not None
    assert parameters["properties"] == {"x": {}}
    assert convert_arguments("t", parameters, None, {"x": 5}) == {"x": 5}

    for broken in ({"properties": {"x": {"type": 5}}}, {"properties": 3, "required": "x"}, {"properties": {"x": None}}):
        assert shown_parameters(tool(schema=dict(broken))) is not None
    assert shown_parameters(tool(properties={"bad name\n": {}}, required=["bad name\n"])) is None


def test_shared_parts_of_a_schema_keep_their_meaning() -> None:
    kind = {"definitions": {"Size": {"enum": ["s", "l"]}}, "properties": {"size": {"$ref": "#/definitions/Size"}}}
    parameters = shown_parameters(tool(schema=kind))
    assert parameters is not None
    assert convert_arguments("t", parameters, None, {"size": "s"}) == {"size": "s"}
    with pytest.raises(Exception, match="is wrong"):
        convert_arguments("t", parameters, None, {"size": "m"})


def test_everything_that_a_person_agreed_to_is_in_the_digest() -> None:
    one = tool("text", properties={"a": {}})
    others = [tool("other", properties={"a": {}}), tool("text", properties={"b": {}}), one.with_(read_only=True)]
    assert len({one.digest, *(other.digest for other in others)}) == 4


@pytest.mark.slow
def test_a_killed_program_leaves_no_server_behind(tmp_path: Path) -> None:
    """The server never answers. It has started a process in a session of its own."""
    server = 'setsid sleep 1000 & echo "$$ $!" > started; sleep 1000'
    program = f"""
import asyncio
from pathlib import Path
from surefoot.config.mcp import ConfiguredServer, McpServer
from surefoot.tools.mcp.connection import Connection
settings = McpServer(command="sh", args=("-c", {server!r}), start_seconds=600)
asyncio.run(Connection(ConfiguredServer("own", settings, ""), Path({str(tmp_path)!r})).tools())
"""
    process = subprocess.Popen([sys.executable, "-c", program])
    started = tmp_path / "started"
    while process.poll() is None and not (started.exists() and started.read_text().endswith("\n")):
        time.sleep(0.05)
    pids = [int(pid) for pid in started.read_text().split()]
    process.send_signal(signal.SIGKILL)
    process.wait()
    for pid in pids:
        while Path(f"/proc/{pid}").exists() and ") Z " not in Path(f"/proc/{pid}/stat").read_text():
            time.sleep(0.05)
