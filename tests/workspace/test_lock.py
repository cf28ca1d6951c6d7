"""One run per workspace, also when fifty start at once and when the owner dies."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from surefoot.errors import WorkspaceLocked
from surefoot.workspace.lock import WorkspaceLock


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "root").mkdir()
    return tmp_path / "root"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def held_by_child(root: Path, home: Path, run_id: str) -> int:
    """A real process that holds the lock until it is killed."""
    ready, tell = os.pipe()
    child = os.fork()
    if child == 0:
        WorkspaceLock(root, home, run_id).acquire()
        os.write(tell, b"!")
        time.sleep(600)
        os._exit(0)
    os.close(tell)
    assert os.read(ready, 1) == b"!"
    os.close(ready)
    return child


@pytest.mark.req("X2")
def test_the_second_one_is_told_who_has_it_and_what_to_do(root: Path, home: Path) -> None:
    with (
        WorkspaceLock(root, home, "run-1"),
        pytest.raises(WorkspaceLocked, match=rf"run run-1 \(process {os.getpid()}\).*since 20") as caught,
        WorkspaceLock(root, home, "run-2"),
    ):
        pass
    assert "--worktree" in caught.value.remedy
    with WorkspaceLock(root, home, "run-3"):
        pass


def test_another_folder_is_another_lock(tmp_path: Path, root: Path, home: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "alias").symlink_to(root)
    with (
        WorkspaceLock(root, home, "run-1"),
        WorkspaceLock(tmp_path / "other", home, "run-2"),
        pytest.raises(WorkspaceLocked, match="run-1"),
    ):
        WorkspaceLock(tmp_path / "alias", home, "run-3").acquire()


@pytest.mark.req("X2")
def test_a_killed_owner_leaves_no_lock(root: Path, home: Path) -> None:
    child = held_by_child(root, home, "run-1")
    with pytest.raises(WorkspaceLocked, match=f"process {child}"):
        WorkspaceLock(root, home, "run-2").acquire()
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with WorkspaceLock(root, home, "run-2"), pytest.raises(WorkspaceLocked, match="run-2"):
        WorkspaceLock(root, home, "run-3").acquire()


OWNER = """
import asyncio, sys
from pathlib import Path
from surefoot.workspace.environment import command_env
from surefoot.workspace.lock import WorkspaceLock
from surefoot.workspace.process import Limits, run_process
from surefoot.workspace.sandbox import choose_sandbox

root, home = Path(sys.argv[1]), Path(sys.argv[2])
sandbox, _ = choose_sandbox(sys.argv[3], root, state_folders=[home])
stubborn = "trap '' TERM INT HUP; while :; do echo x >> ticks; done"
with WorkspaceLock(root, home, "run-1"):
    asyncio.run(run_process(["sh", "-c", stubborn], cwd=root, env=command_env(), limits=Limits(), sandbox=sandbox))
"""


@pytest.mark.req("X2")
@pytest.mark.parametrize("sandbox", ["off", "auto"])
def test_a_folder_is_free_only_when_the_commands_of_a_killed_owner_have_ended(
    root: Path, home: Path, sandbox: str
) -> None:
    owner = subprocess.Popen([sys.executable, "-c", OWNER, root, home, sandbox])
    ticks = root / "ticks"
    while not ticks.exists():
        assert owner.poll() is None
        time.sleep(0.01)
    owner.kill()
    owner.wait()
    with WorkspaceLock(root, home, "run-2"):
        size = ticks.stat().st_size
        time.sleep(0.3)
        assert ticks.stat().st_size == size


@pytest.mark.req("X2")
def test_a_name_left_by_the_dead_is_not_believed(root: Path, home: Path) -> None:
    """Even if its process id belongs to someone else by now: only the kernel's lock counts."""
    with WorkspaceLock(root, home, "run-1"):
        (file,) = (home / "locks").iterdir()
        said = json.loads(file.read_text())
    file.write_text(json.dumps({**said, "pid": os.getppid()}))
    with WorkspaceLock(root, home, "run-2"):
        assert json.loads(file.read_text())["run_id"] == "run-2"


@pytest.mark.req("X2")
def test_the_dead_owner_is_not_named_while_the_new_one_is_still_writing(root: Path, home: Path) -> None:
    with WorkspaceLock(root, home, "run-new"):
        (file,) = (home / "locks").iterdir()
        said = file.read_text()
        file.write_text(json.dumps({**json.loads(said), "run_id": "run-dead", "started": 1}))
        writing = threading.Timer(0.3, file.write_text, [said])
        writing.start()
        with pytest.raises(WorkspaceLocked, match="run-new"):
            WorkspaceLock(root, home, "run-2").acquire()
        writing.join()


@pytest.mark.req("X2")
def test_fifty_at_once_are_one_owner_and_forty_nine_clear_messages(root: Path, home: Path) -> None:
    gate, open_gate = os.pipe()
    results, report = os.pipe()
    hold, let_go = os.pipe()
    children = []
    for number in range(50):
        child = os.fork()
        if child == 0:
            os.close(open_gate)
            os.close(let_go)
            os.read(gate, 1)  # returns for all of them when the last writer closes it
            try:
                WorkspaceLock(root, home, f"run-{number}").acquire()
                os.write(report, f"own|run-{number}\n".encode())
                os.read(hold, 1)
            except WorkspaceLocked as error:
                os.write(report, f"told|{error}|{error.remedy}\n".encode())
            os._exit(0)
        children.append(child)
    os.close(open_gate)
    os.close(report)
    said: list[str] = []
    with os.fdopen(results, "r") as lines:
        while len(said) < 50:
            said.append(next(lines).rstrip("\n"))
    os.close(let_go)
    for child in children:
        assert os.waitpid(child, 0)[1] == 0
    os.close(gate)
    os.close(hold)
    owners = [line.split("|")[1] for line in said if line.startswith("own|")]
    assert len(owners) == 1
    told = [line for line in said if line.startswith("told|")]
    assert len(told) == 49
    assert all(f"run {owners[0]} (process " in line and "wait for it" in line for line in told)
