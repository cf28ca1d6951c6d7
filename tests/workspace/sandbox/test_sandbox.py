"""The choice of a sandbox, and what a command sees in it."""

import os
import socket
import sys
from pathlib import Path

import pytest

from support.sandboxes import KINDS, sandbox_of, shell
from surefoot.errors import SandboxUnavailable
from surefoot.workspace.process.process import command_env, run_process
from surefoot.workspace.sandbox import sandbox as sandbox_module
from surefoot.workspace.sandbox.sandbox import choose_sandbox

# --- the choice -----------------------------------------------------------------------------------------------


def test_mode_off_uses_no_sandbox(workspace: Path) -> None:
    sandbox, line = choose_sandbox("off", workspace, state_folders=[])
    assert sandbox is None
    assert "off" in line


def test_mode_auto_describes_the_sandbox(workspace: Path) -> None:
    sandbox, line = choose_sandbox("auto", workspace, state_folders=[])
    if sandbox is None:
        pytest.skip(line)
    assert sandbox.name in line
    assert "writable" in line


def test_strict_without_bubblewrap_is_refused(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox_module, "_bubblewraps", list)
    with pytest.raises(SandboxUnavailable, match="not installed") as caught:
        choose_sandbox("strict", workspace, state_folders=[])
    assert "bubblewrap" in caught.value.remedy


def test_auto_without_bubblewrap_falls_back_to_landlock_and_then_to_none(
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
    assert "your full permissions" in line
    assert "the kernel has none" in line


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("echo bubblewrap 0.4.1", "too old"),
        ("case $1 in --version) echo bubblewrap 0.11.0;; *) echo no permission >&2; exit 1;; esac", "no permission"),
        # ignores its options and just runs the command: the probe detects that nothing is protected
        ("[ $1 = --version ] && echo bubblewrap 9.0; while [ $1 != -- ]; do shift; done; shift; exec \"$@\"", "ended"),
        ("exit 1", "bwrap: it does not start, or does not say its version"),
    ],
    ids=["too old", "refused by the system", "does nothing", "broken"],
)  # fmt: skip
def test_broken_bubblewrap_is_not_used(
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


def test_bubblewrap_that_cannot_start_is_not_called_too_old(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = tmp_path / "bwrap"
    fake.write_text("#!/does/not/exist\n")
    fake.chmod(0o755)
    monkeypatch.setattr(sandbox_module, "_bubblewraps", lambda: [fake])
    with pytest.raises(SandboxUnavailable, match="bwrap: it does not start, or does not say its version"):
        choose_sandbox("strict", workspace, state_folders=[])


def test_what_is_like_a_probed_workspace_is_not_probed_again(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sandbox_of("bubblewrap", workspace)
    real = sandbox_module._bubblewraps()[0]
    counting = tmp_path / "bwrap"
    counting.write_text(f'#!/bin/sh\n[ "$1" = --version ] || echo probe >> {tmp_path}/probes\nexec {real} "$@"\n')
    counting.chmod(0o755)
    monkeypatch.setattr(sandbox_module, "_bubblewraps", lambda: [counting])

    def probes(name: str, mode: int = 0o755, **files: str) -> int:
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        folder.chmod(mode)
        for file, text in files.items():
            (folder / file.replace("__", ".")).write_text(text)
        sandbox, line = choose_sandbox("strict", folder, state_folders=[tmp_path / "state"])
        assert sandbox is not None, line
        return len((tmp_path / "probes").read_text().split())

    assert [probes("first"), probes("first"), probes("copy")] == [1, 1, 1]
    assert probes("closed", mode=0o700) == 2
    assert probes("guarded", surefoot__toml="") == 3, "a file in it has a mount of its own"
    choose_sandbox("strict", tmp_path / "copy", state_folders=[tmp_path / "elsewhere"])
    assert probes("copy") == 4, "other files are hidden"


def test_root_folder_as_workspace_is_refused() -> None:
    with pytest.raises(SandboxUnavailable, match="the system itself"):
        choose_sandbox("strict", Path("/"), state_folders=[])


def test_workspace_of_another_user_falls_back_to_landlock(workspace: Path) -> None:
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


async def test_sandbox_that_fails_to_start_runs_nothing(workspace: Path, tmp_path: Path) -> None:
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


# --- visibility -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
async def test_temporary_files_are_private_to_the_command(kind: str, workspace: Path) -> None:
    sandbox = sandbox_of(kind, workspace)
    result = await shell("f=$(mktemp) && echo x > $f && echo $f", sandbox, workspace)
    assert result.ok, result.output
    assert not Path(result.output.strip()).exists()
    assert (await shell(f"cat {result.output}", sandbox, workspace)).exit_code == 1


@pytest.mark.parametrize("kind", KINDS)
async def test_more_folders_can_be_writable(kind: str, workspace: Path, tmp_path: Path) -> None:
    more = tmp_path / "more"
    more.mkdir()
    sandbox = sandbox_of(kind, workspace, writable=(more,))
    assert (await shell(f"echo x > {more}/file", sandbox, workspace)).ok
    assert (more / "file").read_text() == "x\n"
    await shell(f"echo x > {tmp_path}/file", sandbox, workspace)
    assert not (tmp_path / "file").exists()


@pytest.mark.parametrize("kind", KINDS)
async def test_network_can_be_allowed(kind: str, workspace: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        command = f"echo hello > /dev/tcp/127.0.0.1/{server.getsockname()[1]}"
        sandbox = sandbox_of(kind, workspace)
        assert not (await shell(command, sandbox, workspace)).ok
        assert (await shell(command, sandbox, workspace, network=True)).ok
        assert server.accept()[0].recv(10) == b"hello\n"


async def test_workspace_and_hidden_folders_can_be_nested(tmp_path: Path) -> None:
    """A copy of a workspace may be in Surefoot's state folder, and a state folder in a workspace."""
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


async def test_programs_below_tmp_stay_visible(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A virtual environment may be below /tmp, which is private to each command."""
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
    parent = Path(sys.prefix).resolve().parent
    if workspace.is_relative_to(parent):
        pytest.skip(f"the workspace is in {parent} too")
    result = await shell("echo fine", sandbox_of("bubblewrap", workspace, hidden=(parent,)), workspace)
    assert result.output == "fine\n"


async def test_hidden_path_in_an_inaccessible_folder_is_skipped(tmp_path: Path, workspace: Path) -> None:
    """Root can read folders of others; root in a sandbox cannot, and cannot mount anything there either."""
    if os.geteuid() != 0:
        pytest.skip("only root can read other users' closed folders")
    closed = tmp_path / "closed"
    (closed / "secret").mkdir(parents=True)
    os.chown(closed, 12345, 12345)
    closed.chmod(0o700)
    sandbox = sandbox_of("bubblewrap", workspace, hidden=(closed / "secret",))
    result = await shell(f"echo fine; ls {closed}/secret", sandbox, workspace)
    assert result.output.startswith("fine\n")
    assert "denied" in result.output or "No such file" in result.output


async def test_hidden_file_appears_empty(tmp_path: Path, workspace: Path) -> None:
    """Programs that read their settings must find none, not fail."""
    secret = Path("/etc/hosts")
    sandbox = sandbox_of("bubblewrap", workspace, hidden=(secret,))
    assert (await shell(f"cat {secret} && echo read", sandbox, workspace)).output == "read\n"
