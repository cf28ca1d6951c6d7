"""The process of the embedded model: starting, stopping, errors, and that it never outlives its parent."""

import asyncio
import json
import os
import select
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.fake_weights import CONTENT, tiny_weights
from surefoot.config.extras import install_remedy
from surefoot.errors import ModelError, ModelRuntimeMissing, UsageError, WeightsError
from surefoot.models.base import Message, ModelReply, ModelRequest
from surefoot.models.local import process, runtime, threads
from surefoot.models.local.model import LocalModel
from surefoot.models.local.process import LocalServer, serve
from surefoot.models.local.weights import KNOWN

STAND_IN = Path(__file__).parents[2] / "support" / "llama_stand_in"

PARENT = """
import os, sys, threading, time
from surefoot.models.local.process import LocalServer
from surefoot.models.local.weights_known import KNOWN, Weights
KNOWN["tiny"] = Weights.model_validate_json(sys.argv[1])
server = LocalServer("tiny")
threading.Thread(target=server.start, daemon=True).start()
while server.pid is None or (sys.argv[2] != "loading" and not server.address):
    time.sleep(0.01)
if sys.argv[2] == "forked":
    holder = os.fork()
    if holder == 0:
        time.sleep(10_000)
    print(holder, end=" ")
print(server.pid, flush=True)
time.sleep(10_000)
"""


@pytest.fixture(autouse=True)
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tiny.gguf").write_bytes(CONTENT)
    monkeypatch.setitem(KNOWN, "tiny", tiny_weights())
    monkeypatch.setenv("SUREFOOT_WEIGHTS", str(tmp_path / "tiny.gguf"))
    monkeypatch.setenv("SUREFOOT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("SUREFOOT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PYTHONPATH", str(STAND_IN))
    monkeypatch.syspath_prepend(STAND_IN)


@pytest.fixture
def server() -> Iterator[LocalServer]:
    server = LocalServer("tiny", api_key="secret-key", threads=3)
    yield server
    server.stop()


def get(address: str, key: str) -> dict[str, object]:
    request = urllib.request.Request(address, headers={"Authorization": f"Bearer {key}"})
    with urllib.request.urlopen(request) as response:
        body: dict[str, object] = json.load(response)
    return body


def has_ended(pid: int) -> bool:
    """Wait until the process is gone. The limit is reached only if the test fails."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(120_000))


def test_start_applies_the_settings(server: LocalServer) -> None:
    server.start()
    assert server.running
    assert get(server.address, "secret-key") == {"threads": 3, "spins": process.SPIN_COUNT}
    with pytest.raises(urllib.error.HTTPError, match="401"):
        get(server.address, "guessed")


def test_the_key_is_not_on_the_command_line(server: LocalServer) -> None:
    server.start()
    assert b"secret-key" not in Path(f"/proc/{server.pid}/cmdline").read_bytes()


def test_stop_ends_the_process(server: LocalServer) -> None:
    server.start()
    pid = server.pid
    assert pid is not None
    server.stop()
    assert not server.running
    assert has_ended(pid)


@pytest.mark.req("X5")
@pytest.mark.parametrize("when", ["running", "loading", "forked"])
def test_the_process_ends_when_its_parent_is_killed(when: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also while the model loads, and if another child of the parent keeps its pipe open."""
    if when == "loading":
        monkeypatch.setenv("STAND_IN", "loads for ever")
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, KNOWN["tiny"].model_dump_json(), when], stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    *holders, pid = (int(word) for word in parent.stdout.readline().split())
    if when == "loading":
        wait_for(lambda: "this goes to stdout" in LocalServer("tiny").log.read_text())
    parent.kill()
    parent.wait()
    try:
        assert has_ended(pid)
    finally:
        for holder in holders:
            os.kill(holder, signal.SIGKILL)


def wait_for(condition: Callable[[], bool]) -> None:
    while not condition():
        threading.Event().wait(0.01)


def test_stop_interrupts_start(server: LocalServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STAND_IN", "loads for ever")

    def stop_soon() -> None:
        wait_for(lambda: server.running)
        server.stop()

    threading.Thread(target=stop_soon).start()
    with pytest.raises(ModelError, match="killed by SIGKILL"):
        server.start()
    with pytest.raises(ModelError, match="stopped before"):
        server.start()


async def test_cancelling_the_first_request_ends_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """As by Ctrl-C while the model loads. If the server did not end, this test would hang."""
    monkeypatch.setenv("STAND_IN", "loads for ever")
    model = LocalModel("tiny")
    request = asyncio.create_task(model.complete(ModelRequest(messages=(Message(role="user", content="hello"),))))
    server = await asyncio.to_thread(loading_server, model, request)
    request.cancel()
    with pytest.raises(asyncio.CancelledError):
        await request
    assert server.pid is not None
    assert has_ended(server.pid)
    await model.aclose()


def loading_server(model: LocalModel, request: "asyncio.Task[ModelReply]") -> LocalServer:
    wait_for(lambda: request.done() or (model.server is not None and model.server.running))
    assert model.server is not None, "the request ended before the server had started"
    return model.server


def test_a_port_in_use_is_reported_with_the_log(server: LocalServer) -> None:
    server.start()
    second = LocalServer("tiny", port=int(server.address.rpartition(":")[2]))
    with pytest.raises(ModelError, match="couldn't bind, port") as caught:
        second.start()
    assert "local-model.log" in caught.value.remedy
    assert not second.running


def test_without_xllamacpp_the_remedy_is_to_install_it(server: LocalServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "find_spec", lambda name: None)
    with pytest.raises(ModelRuntimeMissing) as caught:
        server.start()
    assert caught.value.remedy == install_remedy("local")


def test_a_missing_system_library_is_named(server: LocalServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STAND_IN", "broken")
    with pytest.raises(ModelRuntimeMissing, match="needs the system's libgomp") as caught:
        server.start()
    assert "apt-get install libgomp1" in caught.value.remedy


def test_without_weights_the_remedy_is_to_pull(server: LocalServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SUREFOOT_WEIGHTS")
    with pytest.raises(WeightsError, match="are not installed") as caught:
        server.start()
    assert "surefoot model pull" in caught.value.remedy


def test_serve_reports_its_address_and_ends_with_ctrl_c() -> None:
    addresses = []

    def interrupt(address: str) -> None:
        addresses.append(address)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        serve("tiny", port=0, on_ready=interrupt)
    assert addresses[0].startswith("http://127.0.0.1:")
    with pytest.raises(urllib.error.URLError, match="refused"):
        urllib.request.urlopen(addresses[0])


def test_serve_on_other_interfaces_requires_a_key() -> None:
    with pytest.raises(UsageError, match=r"0\.0\.0\.0"):
        serve("tiny", host="0.0.0.0", on_ready=print)


def test_a_large_log_is_rotated(server: LocalServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "LOG_LIMIT", 1000)
    server.log.parent.mkdir(parents=True)
    server.log.write_text("x" * 2000)
    server.start()
    assert server.log.stat().st_size < 2000
    assert (server.log.parent / "local-model.old.log").stat().st_size == 2000


def test_name_and_traits_are_known_before_the_server_starts() -> None:
    model = LocalModel("tiny")
    assert model.name == "local/tiny"
    assert model.traits.small
    assert not model.traits.inline_bodies
    assert model.server is None
    with pytest.raises(UsageError):
        LocalModel("unknown")


def test_the_default_number_of_threads_respects_the_cpu_affinity() -> None:
    code = "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n"
    code += "from surefoot.models.local.threads import default_threads; print(default_threads())"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout == "1\n"
    assert 1 <= threads.default_threads() <= min(len(os.sched_getaffinity(0)), threads.MAX_THREADS)


@pytest.mark.parametrize(
    ("content", "limits"), [("50000 100000", [0.5]), ("200000 100000", [2.0]), ("max 100000", []), ("", [])]
)
def test_the_cpu_limit_of_a_container_is_read(tmp_path: Path, content: str, limits: list[float]) -> None:
    (tmp_path / "cpu.max").write_text(content)
    assert threads._read_limit(tmp_path / "cpu.max") == limits
