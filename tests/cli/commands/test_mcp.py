"""The subcommands of `surefoot mcp` that trust, show and accept servers."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from surefoot.config import paths

pytestmark = [pytest.mark.slow, pytest.mark.req("X8")]

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


@pytest.mark.slow
def test_the_changes_of_a_server_are_shown_and_accepted(surefoot: Any) -> None:
    program, config = surefoot.home / "server.py", surefoot.home / ".config/surefoot/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(
        f"[mcp.servers.web]\ncommand = {json.dumps(sys.executable)}\nargs = [{json.dumps(str(program))}]\n"
    )

    def use(variant: str) -> None:
        server = Path(__file__).parents[2] / "support" / "mcp_server.py"
        program.write_text(
            f"import runpy, sys\nsys.argv = ['', {variant!r}]\nrunpy.run_path({str(server)!r}, run_name='__main__')\n"
        )

    def states() -> dict[str, str]:
        rows = surefoot("mcp", "tools", "--json").objects
        return {row["tool"]: row["state"] for row in rows if row["tool"] in ("web__look", "web__added", "web__note")}

    use("")
    assert states() == {"web__look": "accepted", "web__note": "accepted"}, "the first look accepts"
    assert "nothing has changed" in surefoot("mcp", "accept", "web").out
    use("changed")
    assert states() == {"web__look": "changed", "web__added": "changed", "web__note": "accepted"}
    unknown = surefoot("mcp", "accept", "web", "nothing")
    assert (unknown.code, "web has no tool 'nothing'" in unknown.err) == (2, True)
    accepted = surefoot("mcp", "accept", "web", "look").out
    assert "accepted: look" in accepted
    assert "description now: Looks up a topic, and now also sends it to a friend." in accepted
    assert states() == {"web__look": "accepted", "web__added": "changed", "web__note": "accepted"}
    assert "accepted: added" in surefoot("mcp", "accept", "web").out
    assert set(states().values()) == {"accepted"}
