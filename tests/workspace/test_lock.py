"""The workspace lock: one run at a time, also when fifty start at once or the holder is killed."""

import asyncio
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
from surefoot.workspace.lock import WorkspaceLock, held_lock_fds


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "root").mkdir()
    return tmp_path / "root"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def fork_holder(root: Path, home: Path, run_id: str) -> int:
    """Start a process that holds the lock until it is killed; return its id."""
    ready, signal_ready = os.pipe()
    child = os.fork()
    if child == 0:
        WorkspaceLock(root, home, run_id).acquire()
        os.write(signal_ready, b"!")
        time.sleep(600)
        os._exit(0)
    os.close(signal_ready)
    assert os.read(ready, 1) == b"!"
    os.close(ready)
    return child


@pytest.mark.req("X2")
def test_second_run_gets_an_error_that_names_the_holder_and_a_remedy(root: Path, home: Path) -> None:
    with (
        WorkspaceLock(root, home, "run-1"),
        pytest.raises(WorkspaceLocked, match=rf"run run-1 \(process {os.getpid()}\).*since 20") as caught,
        WorkspaceLock(root, home, "run-2"),
    ):
        pass
    assert "--worktree" in caught.value.remedy
    with WorkspaceLock(root, home, "run-3"):
        pass


def test_lock_is_per_resolved_folder(tmp_path: Path, root: Path, home: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "alias").symlink_to(root)
    with (
        WorkspaceLock(root, home, "run-1"),
        WorkspaceLock(tmp_path / "other", home, "run-2"),
        pytest.raises(WorkspaceLocked, match="run-1"),
    ):
        WorkspaceLock(tmp_path / "alias", home, "run-3").acquire()


@pytest.mark.req("X2")
def test_lock_of_a_killed_holder_is_free(root: Path, home: Path) -> None:
    child = fork_holder(root, home, "run-1")
    with pytest.raises(WorkspaceLocked, match=f"process {child}"):
        WorkspaceLock(root, home, "run-2").acquire()
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with WorkspaceLock(root, home, "run-2"), pytest.raises(WorkspaceLocked, match="run-2"):
        WorkspaceLock(root, home, "run-3").acquire()


HOLDER = """
import asyncio, sys
from pathlib import Path
from surefoot.workspace.sandbox.environment import command_env
from surefoot.workspace.lock import WorkspaceLock, held_lock_fds
from surefoot.workspace.process.process import Limits, run_process
from surefoot.workspace.sandbox.sandbox import choose_sandbox

root, home = Path(sys.argv[1]), Path(sys.argv[2])
sandbox, _ = choose_sandbox(sys.argv[3], root, state_folders=[home])
stubborn = "trap '' TERM INT HUP; while :; do echo x >> ticks; done"
with WorkspaceLock(root, home, "run-1"):
    asyncio.run(run_process(["sh", "-c", stubborn], cwd=root, env=command_env(), limits=Limits(), sandbox=sandbox))
"""


@pytest.mark.req("X2")
@pytest.mark.parametrize("sandbox", ["off", "auto"])
def test_lock_of_a_killed_holder_is_free_only_after_its_commands_ended(root: Path, home: Path, sandbox: str) -> None:
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, root, home, sandbox])
    ticks = root / "ticks"
    while not ticks.exists():
        assert holder.poll() is None
        time.sleep(0.01)
    holder.kill()
    holder.wait()
    with WorkspaceLock(root, home, "run-2"):
        size = ticks.stat().st_size
        time.sleep(0.3)
        assert ticks.stat().st_size == size


@pytest.mark.req("X2")
def test_holder_name_in_the_file_of_a_free_lock_is_ignored(root: Path, home: Path) -> None:
    """Even if its process id now belongs to a live process: only the kernel's lock counts."""
    with WorkspaceLock(root, home, "run-1"):
        (file,) = (home / "locks").iterdir()
        holder = json.loads(file.read_text())
    file.write_text(json.dumps({**holder, "pid": os.getppid()}))
    with WorkspaceLock(root, home, "run-2"):
        assert json.loads(file.read_text())["run_id"] == "run-2"


@pytest.mark.req("X2")
def test_dead_holder_is_not_named_while_the_new_one_writes_its_name(root: Path, home: Path) -> None:
    with WorkspaceLock(root, home, "run-new"):
        (file,) = (home / "locks").iterdir()
        content = file.read_text()
        file.write_text(json.dumps({**json.loads(content), "run_id": "run-dead", "started": 1}))
        writer = threading.Timer(0.3, file.write_text, [content])
        writer.start()
        with pytest.raises(WorkspaceLocked, match="run-new"):
            WorkspaceLock(root, home, "run-2").acquire()
        writer.join()


@pytest.mark.slow
@pytest.mark.req("X2")
def test_fifty_processes_at_once_give_one_holder_and_clear_errors(root: Path, home: Path) -> None:
    gate, open_gate = os.pipe()
    results, report = os.pipe()
    hold, release = os.pipe()
    children = []
    for number in range(50):
        child = os.fork()
        if child == 0:
            os.close(open_gate)
            os.close(release)
            os.read(gate, 1)  # returns for all of them when the last writer closes it
            try:
                WorkspaceLock(root, home, f"run-{number}").acquire()
                os.write(report, f"acquired|run-{number}\n".encode())
                os.read(hold, 1)
            except WorkspaceLocked as error:
                os.write(report, f"refused|{error}|{error.remedy}\n".encode())
            os._exit(0)
        children.append(child)
    os.close(open_gate)
    os.close(report)
    reports: list[str] = []
    with os.fdopen(results, "r") as lines:
        while len(reports) < 50:
            reports.append(next(lines).rstrip("\n"))
    os.close(release)
    for child in children:
        assert os.waitpid(child, 0)[1] == 0
    os.close(gate)
    os.close(hold)
    holders = [line.split("|")[1] for line in reports if line.startswith("acquired|")]
    assert len(holders) == 1
    refused = [line for line in reports if line.startswith("refused|")]
    assert len(refused) == 49
    assert all(f"run {holders[0]} (process " in line and "wait for it" in line for line in refused)


async def test_commands_of_a_run_do_not_inherit_the_locks_of_other_runs_in_the_process(tmp_path: Path) -> None:
    async def drive(name: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
        (tmp_path / name).mkdir()
        with WorkspaceLock(tmp_path / name, tmp_path / "home", name):
            await asyncio.sleep(0.01)
            own = held_lock_fds()
            assert await asyncio.to_thread(held_lock_fds) == own
        return own, held_lock_fds()

    (first, after), (second, _) = await asyncio.gather(drive("a"), drive("b"))
    assert len(first) == len(second) == 1
    assert first != second
    assert after == ()
