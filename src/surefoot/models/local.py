"""The embedded model: no key, no account, no network. llama.cpp in a child process of its own, spoken to over loopback.

LocalServer   the child process: starts, is ready, ends with its parent
LocalModel    a LanguageModel that starts the server when it is first asked
serve         the same server in the foreground, for many runs at once
"""

import asyncio
import contextlib
import os
import re
import secrets
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TextIO

from surefoot import paths
from surefoot.errors import ModelError, ModelRuntimeMissing, ModelUnavailable, UsageError, WeightsError
from surefoot.models import local_server
from surefoot.models.base import ModelReply, ModelRequest, ModelTraits, OnText
from surefoot.models.cores import default_threads
from surefoot.models.faults import is_loopback
from surefoot.models.local_server import ServerAnswer, ServerSettings
from surefoot.models.openai_compatible import OpenAICompatible
from surefoot.models.weights import DEFAULT, PULL_AGAIN, known, weights_path

CONTEXT_TOKENS = 8192
SILENCE_SECONDS = 3600.0
"""A long prompt is read for minutes before the first word comes, and for much longer on a machine that is busy."""
LAST_MOMENT_SECONDS = 5.0
LOG_LIMIT = 5_000_000
SPINS = "1000"
"""How long a thread of the model waits awake for the others. By default it is so long that one other busy process
makes the model twenty times slower; with this it is twice as slow, and nothing is lost when the machine is idle."""

INSTALL_RUNTIME = """\
install it, in the way that Surefoot was installed:
  pip install 'surefoot[local]'        with pip
  pipx inject surefoot xllamacpp       with pipx
  pip install '.[local]'               from a checkout"""


class LocalServer:
    """One child process: `start` it once, `stop` it for good."""

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
        """`port` 0 is any free one, `threads` None as many as make sense. Nothing happens before `start`."""
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
        """Returns when the model is loaded. Blocking; `stop` from another thread ends the wait."""
        if find_spec("xllamacpp") is None:
            raise runtime_missing("xllamacpp is not installed")
        settings = ServerSettings(
            parent=os.getpid(),
            weights=str(_weights_or_remedy(self.name, self._weights)),
            alias=self.name,
            api_key=self.api_key,
            context=CONTEXT_TOKENS,
            **self._settings,
        )
        with self._opened_log() as log:
            begin = log.tell()
            process = self._spawn(log)
        answer = _ask(process, settings)
        if not answer.address:
            process.kill()
            raise self._why_not(answer, process.wait(), begin)
        self.address = answer.address

    def stop(self) -> None:
        """Nothing in it needs an orderly end: it holds no state that is not in the prompts."""
        with self._lock:
            self._stopped = True
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            if self._process.stdin:
                self._process.stdin.close()

    def wait(self) -> int:
        """Until it ends by itself."""
        return self._process.wait() if self._process else 0

    def is_gone(self) -> bool:
        """Its connections close a moment before its process has ended; this waits for that moment."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self._process is None or self._process.wait(LAST_MOMENT_SECONDS) is not None
        return False

    def obituary(self) -> ModelUnavailable:
        """For a server that was there and is gone."""
        return ModelUnavailable(
            f"the embedded model's process has ended ({_how(self.wait())})",
            remedy=f"it is started again at the next call; it needs about 2.5 GB of memory; its log is {self.log}",
        )

    def _spawn(self, log: TextIO) -> "subprocess.Popen[str]":
        with self._lock:
            if self._stopped:
                raise ModelUnavailable("the embedded model was stopped before it had started")
            self._process = subprocess.Popen(
                [sys.executable, "-m", local_server.__name__],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env={"GOMP_SPINCOUNT": SPINS, **os.environ},
                start_new_session=True,  # Ctrl-C in the terminal is for us, not for it
            )
            return self._process

    def _opened_log(self) -> TextIO:
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            if self.log.stat().st_size > LOG_LIMIT:
                self.log.replace(self.log.with_suffix(".old.log"))
        return self.log.open("a")

    def _why_not(self, answer: ServerAnswer, status: int, begin: int) -> ModelError:
        if answer.missing:
            return runtime_missing(answer.missing)
        said = self._first_error(begin) or f"its process ended ({_how(status)})"
        return ModelError(f"the embedded model could not be started: {said}", remedy=f"its log is {self.log}")

    def _first_error(self, begin: int) -> str:
        """llama.cpp marks its lines, `0.00.008.881 E srv  start: couldn't bind ...`; the first error is the cause."""
        with self.log.open(errors="replace") as log:
            log.seek(begin)
            errors = [line.partition(" E ")[2] for line in log if " E " in line[:20]]
        return " ".join(errors[0].split()) if errors else ""


class LocalModel:
    """Answers with the embedded model. Its server starts with the first question and ends with `aclose`."""

    def __init__(
        self, name: str = DEFAULT, *, weights: Path | None = None, threads: int | None = None, parallel: int = 1
    ) -> None:
        known(name)
        self._name = name
        self._weights = weights
        self._threads = threads
        self._parallel = parallel
        self._starting = asyncio.Lock()
        self._client: OpenAICompatible | None = None
        self.server: LocalServer | None = None

    @property
    def name(self) -> str:
        return f"local/{self._name}"

    @property
    def traits(self) -> ModelTraits:
        return ModelTraits(context_tokens=CONTEXT_TOKENS, inline_bodies=False, small=True, continues=True)

    async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelReply:
        client, server = await self._ready()
        try:
            return await client.complete(request, on_text)
        except ModelUnavailable as error:
            if await asyncio.to_thread(server.is_gone):
                raise server.obituary() from error
            raise

    async def aclose(self) -> None:
        client, self._client = self._client, None
        server, self.server = self.server, None
        if client is not None:
            await client.aclose()
        if server is not None:
            await asyncio.to_thread(server.stop)

    async def _ready(self) -> tuple[OpenAICompatible, LocalServer]:
        async with self._starting:
            if self._client is not None and self.server is not None and self.server.running:
                return self._client, self.server
            await self.aclose()
            return await self._start()

    async def _start(self) -> tuple[OpenAICompatible, LocalServer]:
        # With the key of this one process other users of the machine cannot ask through the open port.
        key = secrets.token_urlsafe(32)
        server = self.server = LocalServer(
            self._name, weights=self._weights, api_key=key, threads=self._threads, parallel=self._parallel
        )
        try:
            await asyncio.to_thread(server.start)
        except BaseException:
            server.stop()  # cancelled: the thread still waits for the model to load, and this ends its wait
            raise
        self._client = OpenAICompatible(
            f"{server.address}/v1", self._name, key, traits=self.traits, name=self.name, timeout=SILENCE_SECONDS
        )
        return self._client, server


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
        raise server.obituary()
    finally:
        server.stop()


def _ask(process: "subprocess.Popen[str]", settings: ServerSettings) -> ServerAnswer:
    """Hand over the settings and wait for the one line that says how it went; no line when the process ends."""
    assert process.stdin is not None
    assert process.stdout is not None
    with contextlib.suppress(BrokenPipeError):
        process.stdin.write(settings.model_dump_json() + "\n")
        process.stdin.flush()
    with process.stdout:
        line = process.stdout.readline()
    return ServerAnswer.model_validate_json(line) if line else ServerAnswer()


def _weights_or_remedy(name: str, given: Path | None) -> Path:
    if path := weights_path(name, given):
        return path
    raise WeightsError(f"the weights of {name} are not here", remedy=f"fetch them (1.1 GB) with: {PULL_AGAIN}")


def runtime_missing(why: str) -> ModelRuntimeMissing:
    if library := re.match(r"(lib[\w+.-]+?)\.so[.\d]*: cannot open shared object", why):
        return ModelRuntimeMissing(
            f"xllamacpp, which runs the embedded model, needs the system's {library[1]}",
            remedy="install it; on Debian and Ubuntu: apt-get install libgomp1 libstdc++6",
        )
    return ModelRuntimeMissing(f"what runs the embedded model cannot be used: {why}", remedy=INSTALL_RUNTIME)


def runtime_trouble() -> ModelRuntimeMissing | None:
    """Why the embedded model could not run here, found out where it would: in a process of its own. Blocking."""
    if find_spec("xllamacpp") is None:
        return runtime_missing("xllamacpp is not installed")
    tried = subprocess.run(
        [sys.executable, "-c", "import xllamacpp"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if tried.returncode == 0:
        return None
    last = (tried.stderr.strip().splitlines() or [_how(tried.returncode)])[-1]
    return runtime_missing(re.sub(r"^(ImportError|OSError): ", "", last))


def _how(status: int) -> str:
    return f"killed by {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"
