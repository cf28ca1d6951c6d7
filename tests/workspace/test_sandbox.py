"""How a sandbox is chosen, what is seen in it, and how guarded files that do not exist yet are kept from being made."""

import asyncio
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from sandboxes import KINDS, sandbox_of
from surefoot.errors import SandboxUnavailable
from surefoot.workspace import guard as guard_module
from surefoot.workspace import sandbox as sandbox_module
from surefoot.workspace.guard import STAND_IN_TIME
from surefoot.workspace.process import Limits, ProcessResult, command_env, run_process, shell_argv
from surefoot.workspace.sandbox import Sandbox, choose_sandbox

STAND_INS = {".envrc", ".git", ".surefoot", ".vscode", "surefoot.toml"}


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


async def shell(command: str, sandbox: Sandbox, folder: Path, *, network: bool = False) -> ProcessResult:
    return await run_process(
        shell_argv(command), cwd=folder, env=command_env(), sandbox=sandbox, network=network, limits=Limits(timeout=300)
    )


# --- the choice -----------------------------------------------------------------------------------------------


def test_off_says_so(workspace: Path) -> None:
    sandbox, line = choose_sandbox("off", workspace, state_folders=[])
    assert sandbox is None
    assert "off" in line


def test_the_best_there_is_says_what_it_is(workspace: Path) -> None:
    sandbox, line = choose_sandbox("auto", workspace, state_folders=[])
    if sandbox is None:
        pytest.skip(line)
    assert sandbox.name in line
    assert "writable" in line


def test_without_bubblewrap_strict_refuses(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox_module, "_bubblewraps", list)
    with pytest.raises(SandboxUnavailable, match="not installed") as caught:
        choose_sandbox("strict", workspace, state_folders=[])
    assert "bubblewrap" in caught.value.remedy


def test_without_bubblewrap_auto_takes_landlock_and_then_nothing(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sandbox_of("landlock", workspace)
    monkeypatch.setattr(sandbox_module, "_bubblewraps", list)
    sandbox, line = choose_sandbox("auto", workspace, state_folders=[])
    assert sandbox is not None
    assert sandbox.name == "landlock"
    assert "bubblewrap is not installed" in line
    monkeypatch.setattr(sandbox_module, "landlock_problem", lambda _: "the kernel has none")
    sandbox, line = choose_sandbox("auto", workspace, state_folders=[])
    assert sandbox is None
    assert "all your rights" in line
    assert "the kernel has none" in line


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("echo bubblewrap 0.4.1", "too old"),
        ("case $1 in --version) echo bubblewrap 0.11.0;; *) echo no permission >&2; exit 1;; esac", "no permission"),
        # one that ignores its orders and just runs what it is given: nothing is protected, and the probe sees it
        ("[ $1 = --version ] && echo bubblewrap 9.0; while [ $1 != -- ]; do shift; done; shift; exec $@", "ended"),
        ("exit 1", "version unknown"),
    ],
    ids=["too old", "refused by the system", "does nothing", "broken"],
)  # fmt: skip
def test_a_bubblewrap_that_does_not_work_is_not_used(
    program: str, reason: str, workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = tmp_path / "bwrap"
    fake.write_text(f"#!/bin/sh\necho call >> {tmp_path}/calls\n{program}\n")
    fake.chmod(0o755)
    monkeypatch.setattr(sandbox_module, "_bubblewraps", lambda: [fake])
    for _ in range(3):
        with pytest.raises(SandboxUnavailable, match=reason):
            choose_sandbox("strict", workspace, state_folders=[])
    assert len((tmp_path / "calls").read_text().split()) <= 2, "the probe runs once"


def test_the_whole_file_system_is_no_workspace() -> None:
    with pytest.raises(SandboxUnavailable, match="the system itself"):
        choose_sandbox("strict", Path("/"), state_folders=[])


def test_a_workspace_of_another_user_is_left_to_landlock(workspace: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root works in other users' folders")
    sandbox_of("bubblewrap", workspace)
    sandbox_of("landlock", workspace)
    os.chown(workspace, 12345, 12345)
    workspace.parent.chmod(0o755)
    sandbox, line = choose_sandbox("auto", workspace, state_folders=[])
    assert sandbox is not None
    assert sandbox.name == "landlock"
    assert "another user" in line


async def test_a_sandbox_that_breaks_later_runs_nothing(workspace: Path, tmp_path: Path) -> None:
    working = sandbox_of("bubblewrap", workspace, writable=(tmp_path,))
    argv = working.wrap(["true"], cwd=workspace, network=False)

    class Broken:
        name = "broken"
        describe, guard = working.describe, working.guard

        def wrap(self, *_: object, **__: object) -> list[str]:
            return [argv[0], "--no-such-option", "--", "touch", str(workspace / "ran")]

    with pytest.raises(SandboxUnavailable, match="no-such-option") as caught:
        await run_process(["true"], cwd=workspace, env=command_env(), sandbox=Broken())
    assert caught.value.remedy
    assert not (workspace / "ran").exists()


# --- what is seen ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
async def test_temporary_files_are_the_commands_own(kind: str, workspace: Path) -> None:
    sandbox = sandbox_of(kind, workspace)
    made = await shell("f=$(mktemp) && echo x > $f && echo $f", sandbox, workspace)
    assert made.ok, made.output
    assert not Path(made.output.strip()).exists()
    assert (await shell(f"cat {made.output}", sandbox, workspace)).exit_code == 1


@pytest.mark.parametrize("kind", KINDS)
async def test_more_folders_can_be_opened(kind: str, workspace: Path, tmp_path: Path) -> None:
    more = tmp_path / "more"
    more.mkdir()
    sandbox = sandbox_of(kind, workspace, writable=(more,))
    assert (await shell(f"echo x > {more}/file", sandbox, workspace)).ok
    assert (more / "file").read_text() == "x\n"
    await shell(f"echo x > {tmp_path}/file", sandbox, workspace)
    assert not (tmp_path / "file").exists()


@pytest.mark.parametrize("kind", KINDS)
async def test_the_network_can_be_allowed(kind: str, workspace: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        command = f"echo hello > /dev/tcp/127.0.0.1/{server.getsockname()[1]}"
        sandbox = sandbox_of(kind, workspace)
        assert not (await shell(command, sandbox, workspace)).ok
        assert (await shell(command, sandbox, workspace, network=True)).ok
        assert server.accept()[0].recv(10) == b"hello\n"


async def test_folders_within_hidden_folders_within_workspaces(tmp_path: Path) -> None:
    """A copy of a workspace may live in Surefoot's own state, and a state folder in a workspace."""
    state = tmp_path / "state"
    workspace = state / "copies" / "one"
    (workspace / "inner-state").mkdir(parents=True)
    (workspace / "inner-state" / "journal").write_text("secret")
    (state / "journal").write_text("secret")
    sandbox = sandbox_of("bubblewrap", workspace, hidden=(state, workspace / "inner-state"))
    result = await shell("echo x > file; ls -A inner-state; cat ../../journal; touch inner-state/y", sandbox, workspace)
    assert (workspace / "file").read_text() == "x\n"
    assert "secret" not in result.output
    assert [p.name for p in (workspace / "inner-state").iterdir()] == ["journal"]


async def test_programs_below_tmp_stay_in_sight(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A virtual environment may well lie below /tmp, of which commands get one of their own."""
    workspace = tmp_path / "workspace"
    tools = tmp_path / "venv" / "bin"
    tools.mkdir(parents=True)
    workspace.mkdir()
    (tmp_path / "venv" / "pyvenv.cfg").touch()
    (tmp_path / "venv" / "part").write_text("found")
    (tools / "my-tool").write_text(f"#!/bin/sh\ncat {tmp_path}/venv/part\n")
    (tools / "my-tool").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    assert (await shell("my-tool", sandbox_of("bubblewrap", workspace), workspace)).output == "found"


async def test_surefoot_may_be_installed_in_a_hidden_folder(workspace: Path) -> None:
    above = Path(sys.prefix).resolve().parent
    if workspace.is_relative_to(above):
        pytest.skip(f"the workspace is in {above} too")
    result = await shell("echo fine", sandbox_of("bubblewrap", workspace, hidden=(above,)), workspace)
    assert result.output == "fine\n"


async def test_a_hidden_place_behind_a_closed_door_is_no_obstacle(tmp_path: Path, workspace: Path) -> None:
    """Root sees into folders of others; root in a sandbox does not, and cannot mount anything there either."""
    if os.geteuid() != 0:
        pytest.skip("only root sees into other users' closed folders")
    closed = tmp_path / "closed"
    (closed / "secret").mkdir(parents=True)
    os.chown(closed, 12345, 12345)
    closed.chmod(0o700)
    sandbox = sandbox_of("bubblewrap", workspace, hidden=(closed / "secret",))
    result = await shell(f"echo fine; ls {closed}/secret", sandbox, workspace)
    assert result.output.startswith("fine\n")
    assert "denied" in result.output or "No such file" in result.output


async def test_a_hidden_file_reads_as_an_empty_one(tmp_path: Path, workspace: Path) -> None:
    """Programs that look for their settings must find nothing, not fail."""
    secret = Path("/etc/hosts")
    sandbox = sandbox_of("bubblewrap", workspace, hidden=(secret,))
    assert (await shell(f"cat {secret} && echo read", sandbox, workspace)).output == "read\n"


# --- guarded files that are not there yet ---------------------------------------------------------------------


async def test_stand_ins_are_there_only_while_a_command_runs(workspace: Path) -> None:
    os.utime(workspace, ns=(10**18, 10**18))
    result = await shell("ls -A; git status >/dev/null 2>&1", sandbox_of("bubblewrap", workspace), workspace)
    assert set(result.output.split()) == STAND_INS
    assert list(workspace.iterdir()) == []
    assert workspace.stat().st_mtime_ns == 10**18, "a command that changes nothing leaves not even a time changed"


async def test_a_change_made_by_the_command_keeps_its_time(workspace: Path) -> None:
    os.utime(workspace, ns=(10**18, 10**18))
    await shell("touch new", sandbox_of("bubblewrap", workspace), workspace)
    assert workspace.stat().st_mtime_ns != 10**18


async def test_one_command_that_ends_does_not_open_the_door_for_another(workspace: Path) -> None:
    """Removing a folder on the outside also removes the mounts on it inside: the last one out takes it away."""
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


def test_stand_ins_that_a_crash_left_are_removed_by_the_next_command(workspace: Path) -> None:
    sandbox_of("bubblewrap", workspace)
    program = f"""
        import asyncio
        from pathlib import Path
        from sandboxes import sandbox_of
        from surefoot.workspace.process import command_env, run_process
        folder = Path({str(workspace)!r})
        command = ["sh", "-c", "touch begun; sleep 600"]
        asyncio.run(run_process(command, cwd=folder, env=command_env(), sandbox=sandbox_of("bubblewrap", folder)))
    """
    paths = ":".join([str(Path(__file__).parents[1]), *sys.path])
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


async def test_an_empty_folder_of_the_users_own_stays(workspace: Path) -> None:
    (workspace / ".vscode").mkdir()
    await shell("true", sandbox_of("bubblewrap", workspace), workspace)
    assert [p.name for p in workspace.iterdir()] == [".vscode"]


async def test_a_home_as_workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


async def test_git_init_needs_the_users_word(workspace: Path) -> None:
    refused = await shell("git init -q .", sandbox_of("bubblewrap", workspace), workspace)
    assert not refused.ok
    assert not (workspace / ".git").exists()
    allowed = await shell(
        "git init -q .", sandbox_of("bubblewrap", workspace, writable=(workspace / ".git",)), workspace
    )
    if shutil.which("git"):
        assert allowed.ok, allowed.output
        assert (workspace / ".git/config").is_file()


async def test_a_git_config_that_is_a_pipe_stops_nobody(workspace: Path) -> None:
    (workspace / ".git/hooks").mkdir(parents=True)
    os.mkfifo(workspace / ".git/config")
    for kind in KINDS:
        assert (await shell("true", sandbox_of(kind, workspace), workspace)).ok
    assert stat.S_ISFIFO((workspace / ".git/config").stat().st_mode)


async def test_a_file_too_large_to_keep_is_reported(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard_module, "KEPT_BYTES", 10)
    (workspace / ".envrc").write_text("more than ten bytes")
    result = await shell("echo evil > .envrc", sandbox_of("landlock", workspace), workspace)
    assert any(".envrc" in note and "could not be undone" in note for note in result.notes)


def test_stand_ins_are_told_by_their_date() -> None:
    assert time.gmtime(STAND_IN_TIME // 10**9).tm_year == 1970
