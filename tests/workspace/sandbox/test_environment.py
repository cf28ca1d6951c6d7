"""The environment variables and the shell of a command."""

from pathlib import Path

import pytest

from surefoot.workspace.process.process import run_process
from surefoot.workspace.sandbox.environment import command_env, shell_argv


def test_environment_is_an_allowlist() -> None:
    given_env = {
        "PATH": "/usr/bin::.:bin:/bin",
        "HOME": "/home/u",
        "LC_TIME": "de_DE.UTF-8",
        "OPENAI_API_KEY": "sk-aaaaaaaaaaaaaaaa",
        "GITHUB_TOKEN": "ghp_whatever",
        "BASH_ENV": "/tmp/evil",
        "LD_PRELOAD": "/tmp/evil.so",
        "SSH_AUTH_SOCK": "/run/agent",
        "MY_SETTING": "1",
        "MY_TOKEN": "chosen-by-the-user",
        "NODE_PATH": "sk-aaaaaaaaaaaaaaaa",
    }
    env = command_env(given_env)
    assert env["PATH"].split(":")[:2] == ["/usr/bin", "/bin"]
    assert all(entry.startswith("/") for entry in env["PATH"].split(":"))
    assert (env["HOME"], env["LC_TIME"], env["LANG"]) == ("/home/u", "de_DE.UTF-8", "C.UTF-8")
    assert not {"MY_SETTING", "MY_TOKEN"} & env.keys()
    assert not {"OPENAI_API_KEY", "GITHUB_TOKEN", "BASH_ENV", "LD_PRELOAD", "SSH_AUTH_SOCK", "NODE_PATH"} & env.keys()
    assert (env["NO_COLOR"], env["GIT_TERMINAL_PROMPT"]) == ("1", "0")


async def test_shell_reads_no_startup_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (".bashrc", ".bash_profile", ".profile", "env"):
        (tmp_path / name).write_text("echo read\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("BASH_ENV", str(tmp_path / "env"))
    result = await run_process(shell_argv("echo only"), cwd=tmp_path, env=command_env())
    assert result.output == "only\n"
