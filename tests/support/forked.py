"""Starts `surefoot` as a child process that need not import anything: it is forked from a server that already has.

The child belongs to this process like any other: its exit code, signals and streams are those of the system.
"""

import atexit
import ctypes
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

PR_SET_CHILD_SUBREAPER = 36
SERVER = Path(__file__).parent / "fork_server.py"
READ_AT_START = ("PYTHON", "LANG", "LC_", "COVERAGE", "TZ")
"""Variables that the interpreter reads only when it starts: a forked process has those of the server."""


def can_fork(env: Mapping[str, str]) -> bool:
    """Whether a process with this environment would be the same, had it been started by itself."""
    return _at_start(env) == _at_start(_server_env())


def _at_start(env: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in env.items() if name.startswith(READ_AT_START)}


def _server_env() -> dict[str, str]:
    inherited = {name: os.environ[name] for name in ("PATH", "HOME", "PYTHONPATH") if name in os.environ}
    return {**inherited, "LANG": "C.UTF-8"}


def fork(argv: Sequence[str], cwd: Path, env: Mapping[str, str], fds: Sequence[int], *, terminal: bool = False) -> int:
    """Start the command with these standard streams. Returns its process id.

    `terminal`: the first stream becomes the controlling terminal of a new session.
    """
    server = _server()
    wanted = {"argv": list(argv), "cwd": str(cwd), "env": dict(env), "terminal": terminal}
    with _adopting():
        socket.send_fds(server, [json.dumps(wanted).encode()], fds)
        return int(server.recv(100))


class Forked(subprocess.Popen[str]):
    """A `Popen` whose process is forked from the server."""

    def _execute_child(self, args: Any, *rest: Any) -> None:
        _, _, _, _, cwd, env, _, _, _, *pipes = rest
        stdin, write_end, read_end, stdout, errors, stderr = pipes[:6]
        self.pid = fork(args, cwd, env, [stdin, stdout, stderr])
        self._child_created = True
        self._close_pipe_fds(stdin, write_end, read_end, stdout, errors, stderr)  # type: ignore[attr-defined]


@cache
def _server() -> socket.socket:
    own, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    argv = [sys.executable, str(SERVER), str(theirs.fileno())]
    process = subprocess.Popen(argv, env=_server_env(), pass_fds=[theirs.fileno()])
    theirs.close()

    @atexit.register
    def end() -> None:
        own.close()
        process.wait()

    return own


@contextmanager
def _adopting() -> Iterator[None]:
    """Become the parent of processes below this one that lose theirs."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        libc.prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
