"""The subcommands of `surefoot mcp` that trust and show servers. The servers here are never started."""

from typing import Any

import pytest

from surefoot.config import paths

pytestmark = pytest.mark.req("X8")

SERVER = '[mcp.servers.files]\ncommand = "no-such-program"\npass_env = ["FILES_TOKEN"]\n'


def test_a_server_of_a_project_is_trusted_by_name(surefoot: Any) -> None:
    (surefoot.workspace / "surefoot.toml").write_text(SERVER)
    refused = surefoot("mcp", "trust", "files")
    assert refused.code == 2
    assert "itself is not trusted" in refused.err
    assert surefoot("trust").code == 0
    ignored = surefoot("mcp", "tools")
    assert (ignored.code, ignored.out) == (0, "")
    assert "the MCP server files of" in ignored.err
    assert "is not trusted and is not used" in ignored.err
    assert "defines no MCP server 'other'" in surefoot("mcp", "trust", "other").err
    assert "trusted: the MCP server files: no-such-program" in surefoot("mcp", "trust", "files").out

    listed = surefoot("mcp", "tools")
    assert listed.code == 1
    assert "files: the program of the MCP server files, no-such-program, is not installed" in listed.out
    assert "mcp.servers.files" in surefoot("config").out
    checked = surefoot("doctor", "--json")
    (finding,) = [row for row in checked.objects if row["what"] == "mcp"]
    assert finding["ok"] is None, "a run starts without it"
    assert "is not installed" in finding["said"]
    assert "no MCP server 'other' is configured" in surefoot("mcp", "accept", "other").err
    assert not paths.mcp_pins(surefoot.state).exists()
