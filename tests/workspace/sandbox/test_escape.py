"""Escape attempts from the sandbox, executed for real, with canaries that must be untouched afterwards.

Every trick runs in each kind of sandbox that this machine has, as the user who runs the tests, and, if that is root,
again as an ordinary user. Some also run without a sandbox, to show that the canaries detect them.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.sandboxes import KINDS, sandbox_of
from support.tricks import (
    CHANGING_GUARDED_FILES,
    REACHING_OUT,
    READING_SECRETS,
    SECRET,
    TRICKS,
    WRITING_OUTSIDE,
    Trick,
    World,
)
from surefoot.errors import PathOutsideWorkspace
from surefoot.workspace.process.process import Limits, ProcessResult, run_process
from surefoot.workspace.process.supervisor.confine import landlock_abi
from surefoot.workspace.sandbox.sandbox import Sandbox
from surefoot.workspace.sandbox.secret_files import secret_paths


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    monkeypatch.setenv("SOME_SERVICE_TOKEN", SECRET)
    world = World(tmp_path)
    yield world
    world.close()


def sandbox_for(kind: str, world: World) -> Sandbox:
    return sandbox_of(kind, world.workspace, hidden=(*secret_paths(), world.state))


async def attempt(trick: Trick, world: World, sandbox: Sandbox | None) -> ProcessResult:
    return await run_process(
        trick.argv, cwd=world.workspace, env=world.env, sandbox=sandbox, limits=Limits(timeout=60, processes=100)
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("trick", TRICKS, ids=lambda trick: trick.name)
@pytest.mark.attack("escape")
async def test_trick_does_no_damage(trick: Trick, kind: str, world: World) -> None:
    if kind == "landlock" and trick.gap:
        pytest.skip(f"not promised with Landlock alone: {trick.gap}")
    if kind == "landlock" and landlock_abi() < trick.abi:
        pytest.skip(f"needs version {trick.abi} of Landlock")
    result = await attempt(trick, world, sandbox_for(kind, world))
    assert world.damage(result.output) == []


@pytest.mark.parametrize("kind", KINDS)
async def test_working_folder_outside_the_workspace_is_refused(kind: str, world: World) -> None:
    sandbox = sandbox_for(kind, world)
    for folder in (world.outside, world.workspace / "ready-made-link", world.workspace / ".."):
        with pytest.raises(PathOutsideWorkspace):
            await run_process(["true"], cwd=folder, env=world.env, sandbox=sandbox)


@pytest.mark.parametrize("kind", KINDS)
async def test_ordinary_work_in_the_workspace_succeeds(kind: str, world: World) -> None:
    """A sandbox in which nothing works would pass all the tests above."""
    script = """
        set -e
        echo new > new; mkdir -p a/b; mv new a/b/; ln -s a/b/new l; ln a/b/new h; chmod 755 h; rm h
        temporary=$(mktemp); echo x > $temporary; test -s $temporary
        python3 -c 'import socket; socket.socketpair()'
        if command -v git > /dev/null; then
            git add -A
            git -c advice.ignoredHook=0 -c user.name=n -c user.email=e commit -qm one
            git ls-files
        fi
        cat < <(echo done) > >(cat)
    """
    sandbox = sandbox_for(kind, world)
    result = await run_process(["/bin/bash", "-c", script], cwd=world.workspace, env=world.env, sandbox=sandbox)
    assert result.exit_code == 0, result.output
    *tracked, last = result.output.split()
    assert last == "done"
    if shutil.which("git"):
        assert "a/b/new" in tracked
    assert not {".envrc", "surefoot.toml"} & set(tracked), "stand-ins must be invisible to git"
    assert world.damage(result.output) == []
    assert (world.workspace / "a/b/new").read_text() == "new\n"


ALSO_UNCONFINED = ("dot dot", "symbolic link", "deleting", "mode", "authorized keys", "new hook", "fsmonitor", "direnv",
         "git settings elsewhere", "private key", "parent's environment", "tcp", "udp", "abstract socket",
         "socket file", "killing another process")  # fmt: skip


@pytest.mark.parametrize(
    "trick", [trick for trick in TRICKS if trick.name in ALSO_UNCONFINED], ids=lambda trick: trick.name
)
async def test_trick_does_damage_without_a_sandbox(trick: Trick, world: World) -> None:
    result = await attempt(trick, world, None)
    assert world.damage(result.output) != []


def test_every_group_has_a_trick_that_runs_without_a_sandbox() -> None:
    for kind in (WRITING_OUTSIDE, CHANGING_GUARDED_FILES, READING_SECRETS, REACHING_OUT):
        assert {trick.name for trick in kind} & set(ALSO_UNCONFINED)


@pytest.mark.slow
def test_suite_passes_as_an_ordinary_user() -> None:
    if os.geteuid() != 0:
        pytest.skip("these tests already run as an ordinary user")
    python = f"/usr/bin/python{sys.version_info[0]}.{sys.version_info[1]}"
    if not (os.access(python, os.X_OK) and shutil.which("setpriv")):
        pytest.skip(f"needs setpriv and {python}, which every user may execute (root's own Python may be private)")
    project = Path(__file__).parents[3]
    packages = [path for path in sys.path if path and not path.startswith(sys.base_prefix)]
    base = Path(tempfile.mkdtemp(prefix="surefoot-escape-"))
    os.chown(base, 65534, 65534)
    become_nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    options = ["-p", "no:cacheprovider", "--rootdir", str(project), "--basetemp", str(base / "t")]
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(base), "PYTHONPATH": ":".join(packages), "LANG": "C.UTF-8"}
    try:
        process = subprocess.run(
            [*become_nobody, python, "-B", "-m", "pytest", "-q", *options, __file__],
            cwd=project,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        shutil.rmtree(base)
    if "No module named" in process.stderr or "PermissionError" in process.stderr:
        pytest.skip(f"the tests or their tools are not readable for other users: {process.stderr[-200:]}")
    assert process.returncode == 0, process.stdout[-4000:] + process.stderr[-2000:]
    passed = re.search(r"(\d+) passed", process.stdout)
    assert passed, process.stdout[-1000:]
    assert int(passed.group(1)) > len(ALSO_UNCONFINED), process.stdout[-4000:]
