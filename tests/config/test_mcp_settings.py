"""The settings of MCP servers: what they say, what is refused, and whom a project must have the trust of."""

from pathlib import Path

import pytest

from surefoot.config import paths
from surefoot.config.layers import load
from surefoot.config.mcp import servers_in
from surefoot.config.sources import from_toml
from surefoot.config.trust import TrustStore
from surefoot.errors import ConfigError

pytestmark = pytest.mark.req("X8")

SERVER = '[mcp.servers.files]\ncommand = "files-server"\nargs = ["."]\n'


def test_a_projects_server_needs_trust_of_its_own(tmp_path: Path) -> None:
    project, environ = tmp_path / "project", {"HOME": str(tmp_path / "home"), "PATH": ""}
    project.mkdir()
    config = project / "surefoot.toml"
    config.write_text(f"[execution]\nnetwork = true\n{SERVER}")
    store = TrustStore(paths.trust_file(paths.state_home(environ)))
    assert load(project, environ=environ).mcp_servers == {}

    store.add(config, config.read_bytes())
    settings = load(project, environ=environ)
    assert settings.execution.network, "the file is trusted"
    assert settings.mcp_servers == {}
    assert "the MCP server files" in settings.notices[0]
    assert "surefoot mcp trust files" in settings.notices[0]

    server = servers_in(from_toml(config, config.read_bytes()))["files"]
    store.add_server(config, server)
    assert load(project, environ=environ).mcp_servers["files"].settings.args == (".",)

    config.write_text(config.read_text().replace('"."', '"/"'))
    store.add(config, config.read_bytes())
    assert load(project, environ=environ).mcp_servers == {}, "another definition is another server"
    store.add_server(config, servers_in(from_toml(config, config.read_bytes()))["files"])
    store.remove(config)
    store.add(config, config.read_bytes())
    assert load(project, environ=environ).mcp_servers == {}, "the trust of a file ends with that of its servers"


def test_a_server_of_the_user_needs_no_trust(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "PATH": ""}
    config = paths.user_config(environ)
    config.parent.mkdir(parents=True)
    config.write_text(SERVER)
    server = load(tmp_path, environ=environ).mcp_servers["files"]
    assert (server.settings.kind, server.source) == ("stdio", f"{config}:1")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[mcp.servers.a]\n", "either a command or a url"),
        ('[mcp.servers.a]\ncommand = "x"\nurl = "https://a.org"\n', "either a command or a url"),
        ('[mcp.servers.a]\ncommand = "./x"\n', "a name on PATH or an absolute path"),
        ('[mcp.servers.a]\nurl = "http://example.org/mcp"\n', "https address"),
        ('[mcp.servers.a]\nurl = "https://me:secret@example.org/mcp"\n', "without a user name"),
        ('[mcp.servers.a]\ncommand = "x"\nenv = {API_TOKEN = "t"}\n', "looks like a secret"),
        (
            '[mcp.servers.a]\nurl = "https://a.org"\nheaders_env = {Authorization = "Bearer t0k"}\n',
            "the name of an env",
        ),
        ('[mcp.servers.a]\ncommand = "x"\ntimeout = 3\n', "there is no such setting"),
        ('[mcp.servers.a__b]\ncommand = "x"\n', "is not a name for an MCP server"),
        ('[mcp.server.a]\ncommand = "x"\n', r"is not a setting of \[mcp\]"),
    ],
)
def test_wrong_settings_are_refused_with_the_reason(text: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem) as error:
        from_toml(Path("config.toml"), text.encode())
    assert str(error.value).startswith("config.toml:")
    assert error.value.remedy
