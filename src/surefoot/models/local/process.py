"""The server process of the embedded model, as seen by its parent.

LocalServer   starts the child process, waits until it is ready, stops it
serve         runs it in the foreground, for many runs at once
"""

import contextlib
import os
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from surefoot.config import paths
from surefoot.errors import ModelError, ModelUnavailable, UsageError
from surefoot.models.local import runtime
from surefoot.models.local import server as local_server
from surefoot.models.local.server import ServerAnswer, ServerSettings
from surefoot.models.local.threads import default_threads
from surefoot.models.local.weights import DEFAULT, require_weights
from surefoot.models.providers.errors import is_loopback
from surefoot.workspace.process.programs import python_argv, python_env

CONTEXT_TOKENS = 8192
EXIT_SECONDS = 5.0
LOG_LIMIT = 5_000_000
SPIN_COUNT = "1000"
"""How long a thread of the model busy-waits for the others. The default is so long that one other busy process makes
the model twenty times slower. With this value it is twice as slow, and as fast as before on an idle machine."""


class LocalServer:
    """One child process. It can be started once; after `stop` it cannot be started again."""

    def __init__(
        self,
        name: str = DEFAULT,
        *,
        weights: Path | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
        api_key: str | None = None,
        threads: int | None = None,
        parallel: int = 1,
    ) -> None:
        """`port` 0 selects a free port, `threads` None a number that fits the machine."""
        self.name = name
        self.api_key = api_key
        self.address = ""
        """Such as http://127.0.0.1:41234, once started."""
        self.log = paths.state_home() / "logs" / "local-model.log"
        self._weights = weights
        self._settings = {"host": host, "port": port, "threads": threads or default_threads(), "parallel": parallel}
        self._process: subprocess.Popen[str] | None = None
        self._stopped = False
        self._lock = threading.Lock()

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start the process and return when the model is loaded. Blocking; `stop` in another thread interrupts it."""
        if error := runtime.not_installed():
            raise error
        settings = ServerSettings(
            parent=os.getpid(),
            weights=str(require_weights(self.name, self._weights)),
            alias=self.name,
            api_key=self.api_key,
            context=CONTEXT_TOKENS,
            **self._settings,
        )
        with self._open_log() as log:
            log_start = log.tell()
            process = self._spawn(log)
        answer = _send_settings(process, settings)
        if not answer.address:
            process.kill()
            raise self._start_error(answer, process.wait(), log_start)
        self.address = answer.address

    def stop(self) -> None:
        """Kill the process. It needs no orderly shutdown, because it holds no state."""
        with self._lock:
            self._stopped = True
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            if self._process.stdin:
                self._process.stdin.close()

    def wait(self) -> int:
        """Wait until the process ends by itself and return its exit status."""
        return self._process.wait() if self._process else 0

    def has_exited(self) -> bool:
        """Whether the process has ended. Waits briefly, because its connections close a moment before it exits."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self._process is None or self._process.wait(EXIT_SECONDS) is not None
        return False

    def exit_error(self) -> ModelUnavailable:
        """The error for a server that ended unexpectedly."""
        return ModelUnavailable(
            f"the embedded model's process has ended ({runtime.describe_exit(self.wait())})",
            remedy=f"the next call starts it again; it needs about 2.5 GB of memory; its log is {self.log}",
        )

    def _spawn(self, log: TextIO) -> "subprocess.Popen[str]":
        with self._lock:
            if self._stopped:
                raise ModelUnavailable("the embedded model was stopped before it had started")
            self._process = subprocess.Popen(
                python_argv(local_server.__name__),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env={"GOMP_SPINCOUNT": SPIN_COUNT, **python_env()},
                start_new_session=True,  # Ctrl-C in the terminal must not reach it
            )
            return self._process

    def _open_log(self) -> TextIO:
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            if self.log.stat().st_size > LOG_LIMIT:
                self.log.replace(self.log.with_suffix(".old.log"))
        return self.log.open("a")

    def _start_error(self, answer: ServerAnswer, status: int, log_start: int) -> ModelError:
        if answer.missing:
            return runtime.runtime_missing(answer.missing)
        reason = self._first_logged_error(log_start) or f"its process ended ({runtime.describe_exit(status)})"
        return ModelError(f"the embedded model could not be started: {reason}", remedy=f"its log is {self.log}")

    def _first_logged_error(self, log_start: int) -> str:
        """The first error in the log since the start, which is the cause; empty if there is none.

        llama.cpp marks errors with an E: `0.00.008.881 E srv  start: couldn't bind ...`.
        """
        with self.log.open(errors="replace") as log:
            log.seek(log_start)
            errors = [line.partition(" E ")[2] for line in log if " E " in line[:20]]
        return " ".join(errors[0].split()) if errors else ""


def serve(
    name: str = DEFAULT,
    *,
    host: str = "127.0.0.1",
    port: int = 8080,
    threads: int | None = None,
    parallel: int = 1,
    api_key: str | None = None,
    weights: Path | None = None,
    on_ready: Callable[[str], None],
) -> None:
    """Run the server in the foreground until Ctrl-C. `on_ready` gets the base URL for OpenAI-compatible clients."""
    if not api_key and not is_loopback(f"http://{host}"):
        raise UsageError(f"anyone who reaches {host} could use the model", remedy="give an API key, or use 127.0.0.1")
    server = LocalServer(
        name, weights=weights, host=host, port=port, api_key=api_key, threads=threads, parallel=parallel
    )
    try:
        server.start()
        on_ready(f"{server.address}/v1")
        server.wait()
        raise server.exit_error()
    finally:
        server.stop()


def _send_settings(process: "subprocess.Popen[str]", settings: ServerSettings) -> ServerAnswer:
    """Send the settings and wait for the one line of the answer; it is empty if the process ends without one."""
    assert process.stdin is not None
    assert process.stdout is not None
    with contextlib.suppress(BrokenPipeError):
        process.stdin.write(settings.model_dump_json() + "\n")
        process.stdin.flush()
    with process.stdout:
        line = process.stdout.readline()
    return ServerAnswer.model_validate_json(line) if line else ServerAnswer()
