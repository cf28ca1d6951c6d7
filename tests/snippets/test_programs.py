"""Programs and data of pages that no other test runs."""

import json
import subprocess
import sys

import pytest
from mcp import Client, StdioServerParameters

from cli.conftest import PROGRAM, Surefoot
from cli.conftest import surefoot as surefoot
from snippets.stories import Shelf
from snippets.test_shell import shelf as shelf
from support.pages import page_at, rows, snippets


@pytest.mark.slow
def test_the_program_of_the_replay_guide_verifies_the_newest_run(shelf: Shelf) -> None:
    (code,) = snippets("guides/replay.md", "python")
    with shelf.take("done") as surefoot:
        done = subprocess.run(
            [sys.executable, "-c", code], env=surefoot.variables(), text=True, capture_output=True, check=False
        )
    assert (done.returncode, done.stdout) == (0, "every decision is the same\n"), done.stderr


def test_the_error_of_the_command_line_page_is_printed_so(surefoot: Surefoot) -> None:
    """With `--json`, and no model."""
    (shown,) = snippets("cli.md", "json")
    surefoot.environ["OLLAMA_HOST"] = "127.0.0.1:1"
    result = surefoot("run", "do it", "--json")
    wanted, real = json.loads(shown), result.objects[-1]
    assert real["error"].pop("remedy")
    assert wanted["error"].pop("remedy") == "..."
    assert real == wanted
    assert result.code == wanted["error"]["exit_code"]


@pytest.mark.slow
async def test_the_settings_of_the_mcp_guide_start_a_server_with_the_listed_tools(surefoot: Surefoot) -> None:
    (settings,) = snippets("guides/mcp.md", "json")
    server = json.loads(settings)["mcpServers"]["surefoot"]
    assert server["command"] == "surefoot"
    words = [word.replace("/path/to/project", str(surefoot.workspace)) for word in server["args"]]
    environ = surefoot.variables(SUREFOOT_MODEL=surefoot.script())
    parameters = StdioServerParameters(command=str(PROGRAM), args=words, env=environ, cwd=surefoot.home)
    async with Client(parameters) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
    section = page_at("guides/mcp.md").read_text("utf-8").partition("## Surefoot as a server")[2]
    assert tools == [row[0].strip("`") for row in rows(section)[2:]]
