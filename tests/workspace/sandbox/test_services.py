"""Services and keys of the user that no network namespace separates from a command."""

import ctypes
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.sandboxes import KINDS, sandbox_of, shell
from support.tricks import SECRET
from surefoot.workspace.process.supervisor.confine import landlock_abi
from surefoot.workspace.sandbox import services

CONNECT = f"""{sys.executable} -c 'import socket, sys
socket.socket(socket.AF_UNIX).connect(sys.argv[1])
print("REACHED")'"""

SERVICE = """
import socket, sys
server = socket.socket(socket.AF_UNIX)
server.bind(sys.argv[1])
server.listen()
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def fresh_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "MAX_AGE", -1.0)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Commands see the home folder; the rest of /tmp is not visible to them."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    return folder


def service(*argv: str) -> subprocess.Popen[str]:
    """Start a service in its own network and mount namespace, and wait until it listens."""
    if not shutil.which("unshare"):
        pytest.skip("needs unshare")
    process = subprocess.Popen(
        ["unshare", "--net", "--mount", *(["--map-root-user"] if os.geteuid() else []), *argv],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    if process.stdout.readline() != "ready\n":
        pytest.skip("namespaces cannot be created here")
    return process


def bare(*argv: str) -> str:
    """The output of a program without a sandbox."""
    return subprocess.run(argv, capture_output=True, text=True, check=False).stdout


def stop(process: subprocess.Popen[str]) -> None:
    assert process.stdin
    process.stdin.close()
    process.wait()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("elsewhere", [False, True], ids=["same path", "another path"])
@pytest.mark.attack("escape")
async def test_socket_of_a_service_in_another_network_namespace_is_unreachable(
    elsewhere: bool, kind: str, workspace: Path, home: Path
) -> None:
    sandbox = sandbox_of(kind, workspace)
    (home / "data").mkdir()
    (home / "mounted").mkdir()
    listen = f'mount --bind {home}/data {home}/mounted && exec {sys.executable} -c "$0" {home}/mounted/db.sock'
    argv = ["sh", "-c", listen, SERVICE] if elsewhere else [sys.executable, "-c", SERVICE, f"{home}/data/db.sock"]
    process = service(*argv)
    try:
        connect = f"{CONNECT} {home}/data/db.sock"
        assert "REACHED" not in (await shell(connect, sandbox, workspace)).output
        # Last, because a connection that waits is listed in the namespace of its client.
        assert bare("sh", "-c", connect) == "REACHED\n"
    finally:
        stop(process)


async def test_own_sockets_of_a_command_work(workspace: Path) -> None:
    """Test runners and pools of processes use them."""
    program = "import multiprocessing as m; m.set_start_method('forkserver'); print(m.Manager().list([1]))"
    result = await shell(f'{sys.executable} -c "{program}"', sandbox_of("bubblewrap", workspace), workspace)
    assert "[1]" in result.output


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.attack("escape")
async def test_abstract_socket_is_unreachable_also_with_network(kind: str, workspace: Path) -> None:
    if landlock_abi() < 6:
        pytest.skip("needs version 6 of Landlock")
    name = f"\0surefoot-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(name)
        server.listen()
        program = f"import socket; socket.socket(socket.AF_UNIX).connect({name!r}); print('REACHED')"
        argv = f'{sys.executable} -c "{program}"'
        assert "REACHED" not in (await shell(argv, sandbox_of(kind, workspace), workspace, network=True)).output


# --- keys -----------------------------------------------------------------------------------------------------

KEYS = """
import ctypes
libc = ctypes.CDLL(None)
for ring in (-3, -4, -5):
    key = libc.syscall(CALL_KEYCTL, 10, ring, b"user", b"surefoot-canary", 0)
    buffer = ctypes.create_string_buffer(100)
    if key > 0 and libc.syscall(CALL_KEYCTL, 11, key, buffer, 100) > 0:
        print("READ", buffer.value)
    if libc.syscall(CALL_ADD, b"user", b"surefoot-planted", b"x", 1, ring) > 0:
        print("WROTE", ring)
if libc.syscall(CALL_REQUEST, b"user", b"surefoot-canary", None, 0) > 0:
    print("REQUESTED")
"""
NUMBERS = {"x86_64": (248, 249, 250), "aarch64": (217, 218, 219)}


@pytest.fixture
def keys() -> Iterator[str]:
    """A program that reads and writes the session's keys, with a canary among them."""
    if os.uname().machine not in NUMBERS:
        pytest.skip("unknown machine")
    add, request, keyctl = NUMBERS[os.uname().machine]
    libc = ctypes.CDLL(None, use_errno=True)
    key = libc.syscall(add, b"user", b"surefoot-canary", SECRET.encode(), len(SECRET), -3)
    if key < 0:
        pytest.skip("the kernel has no keys for us")
    calls = f"CALL_ADD, CALL_REQUEST, CALL_KEYCTL = {add}, {request}, {keyctl}\n"
    yield calls + KEYS
    libc.syscall(keyctl, 9, key, -3)  # unlink


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.attack("escape")
async def test_keys_of_the_session_cannot_be_read_or_written(kind: str, workspace: Path, keys: str) -> None:
    unconfined = bare(sys.executable, "-c", keys)
    assert SECRET in unconfined
    assert "WROTE" in unconfined
    (workspace / "keys.py").write_text(keys + "print('end')\n")
    result = await shell(f"{sys.executable} keys.py", sandbox_of(kind, workspace), workspace)
    assert result.output == "end\n"


def test_session_keyring_is_left_behind(keys: str) -> None:
    """Also where system calls cannot be filtered."""
    source = "from surefoot.workspace.process.supervisor import confine; confine.leave_keyring()\n"
    probe = keys.replace("(-3, -4, -5)", "(-3,)")
    done = subprocess.run([sys.executable, "-c", source + probe], capture_output=True, text=True, check=False)
    assert "WROTE" in done.stdout
    assert SECRET not in done.stdout
