"""Guarded files, and the stand-ins that keep missing ones from being created."""

import asyncio
import os
import shutil
import signal
import stat
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from support.sandboxes import KINDS, sandbox_of, shell
from surefoot.workspace.sandbox import capture as capture_module
from surefoot.workspace.sandbox.guard import STAND_IN_TIME
from surefoot.workspace.sandbox.sandbox import choose_sandbox

STAND_INS = {".envrc", ".git", ".surefoot", ".vscode", "surefoot.toml"}


async def test_stand_ins_exist_only_while_a_command_runs(workspace: Path) -> None:
    os.utime(workspace, ns=(10**18, 10**18))
    result = await shell("ls -A; git status >/dev/null 2>&1", sandbox_of("bubblewrap", workspace), workspace)
    assert set(result.output.split()) == STAND_INS
    assert list(workspace.iterdir()) == []
    assert workspace.stat().st_mtime_ns == 10**18, "a command that changes nothing must not change a time"


async def test_folder_time_changed_by_the_command_is_kept(workspace: Path) -> None:
    os.utime(workspace, ns=(10**18, 10**18))
    await shell("touch new", sandbox_of("bubblewrap", workspace), workspace)
    assert workspace.stat().st_mtime_ns != 10**18


async def test_stand_ins_stay_until_the_last_command_ends(workspace: Path) -> None:
    """Removing a folder outside also removes the mounts on it in other sandboxes."""
    sandbox = sandbox_of("bubblewrap", workspace)
    slow = asyncio.create_task(
        shell("touch begun; until [ -e go ]; do sleep 0.02; done; echo evil > .envrc", sandbox, workspace)
    )
    while not (workspace / "begun").exists():  # noqa: ASYNC110 - the command sets no events here
        await asyncio.sleep(0.02)
    assert (await shell("true", sandbox, workspace)).ok
    assert (workspace / ".envrc").is_dir()
    (workspace / "go").touch()
    assert not (await slow).ok
    assert sorted(p.name for p in workspace.iterdir()) == ["begun", "go"]


def test_stand_ins_left_by_a_crash_are_removed_by_the_next_command(workspace: Path) -> None:
    sandbox_of("bubblewrap", workspace)
    program = f"""
        import asyncio
        from pathlib import Path
        from support.sandboxes import sandbox_of
        from surefoot.workspace.process.process import command_env, run_process
        folder = Path({str(workspace)!r})
        command = ["sh", "-c", "touch begun; sleep 600"]
        asyncio.run(run_process(command, cwd=folder, env=command_env(), sandbox=sandbox_of("bubblewrap", folder)))
    """
    paths = ":".join([str(Path(__file__).parents[2]), *sys.path])
    surefoot = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program)], env={**os.environ, "PYTHONPATH": paths}
    )
    while not (workspace / "begun").exists():
        assert surefoot.poll() is None
        time.sleep(0.02)
    os.kill(surefoot.pid, signal.SIGKILL)
    surefoot.wait()
    assert {p.name for p in workspace.iterdir()} == STAND_INS | {"begun"}
    asyncio.run(shell("true", sandbox_of("bubblewrap", workspace), workspace))
    assert [p.name for p in workspace.iterdir()] == ["begun"]


async def test_empty_folder_of_the_user_is_kept(workspace: Path) -> None:
    (workspace / ".vscode").mkdir()
    await shell("true", sandbox_of("bubblewrap", workspace), workspace)
    assert [p.name for p in workspace.iterdir()] == [".vscode"]


async def test_home_as_workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh/id_rsa").write_text("secret")
    monkeypatch.setenv("HOME", str(home))
    sandbox, line = choose_sandbox("auto", home, state_folders=[home / ".local/state/surefoot"])
    if sandbox is None or sandbox.name != "bubblewrap":
        pytest.skip(line)
    script = """
        for f in .bashrc .zshrc .config/fish/config.fish .config/autostart/x.desktop .local/bin/git .gitconfig \
            .ssh/authorized_keys .aws/credentials .local/state/surefoot/journal.db; do
            mkdir -p $(dirname $f); echo evil > $f && echo WROTE $f
        done
        cat .ssh/id_rsa; echo fine > project-file
    """
    result = await shell(script, sandbox, home)
    assert "WROTE" not in result.output
    assert "secret" not in result.output
    left = sorted(str(p.relative_to(home)) for p in home.rglob("*"))
    assert left == [".ssh", ".ssh/id_rsa", "project-file"]


async def test_git_init_needs_a_writable_git_folder(workspace: Path) -> None:
    refused = await shell("git init -q .", sandbox_of("bubblewrap", workspace), workspace)
    assert not refused.ok
    assert not (workspace / ".git").exists()
    allowed = await shell(
        "git init -q .", sandbox_of("bubblewrap", workspace, writable=(workspace / ".git",)), workspace
    )
    if shutil.which("git"):
        assert allowed.ok, allowed.output
        assert (workspace / ".git/config").is_file()


async def test_git_config_that_is_a_pipe_does_not_block(workspace: Path) -> None:
    (workspace / ".git/hooks").mkdir(parents=True)
    os.mkfifo(workspace / ".git/config")
    for kind in KINDS:
        assert (await shell("true", sandbox_of(kind, workspace), workspace)).ok
    assert stat.S_ISFIFO((workspace / ".git/config").stat().st_mode)


async def test_change_to_a_large_guarded_file_is_reported(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capture_module, "MAX_CAPTURED_BYTES", 10)
    (workspace / ".envrc").write_text("more than ten bytes")
    result = await shell("echo evil > .envrc", sandbox_of("landlock", workspace), workspace)
    assert any(".envrc" in note and "could not be undone" in note for note in result.notes)


def test_stand_in_time_is_in_1970() -> None:
    assert time.gmtime(STAND_IN_TIME // 10**9).tm_year == 1970
