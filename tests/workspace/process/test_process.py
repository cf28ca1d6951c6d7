"""Real commands: their results, their limits, and that no process survives, however hostile the command."""

import asyncio
import contextlib
import errno
import itertools
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.sandboxes import KINDS, sandbox_of
from support.tricks import processes_like
from surefoot.errors import ToolError, WorkspaceError
from surefoot.workspace.process import command as command_module
from surefoot.workspace.process.launch import SUPERVISOR
from surefoot.workspace.process.process import Limits, ProcessResult, command_env, run_process, shell_argv
from surefoot.workspace.sandbox.sandbox import Sandbox

ALL_KINDS = ("none", *KINDS)
_sleep_lengths = itertools.count(10_000_000 + os.getpid() * 100)


@pytest.fixture(params=ALL_KINDS)
def sandbox(request: pytest.FixtureRequest, tmp_path: Path) -> Sandbox | None:
    return None if request.param == "none" else sandbox_of(request.param, tmp_path)


@pytest.fixture
def sleep_length() -> Iterator[str]:
    """An unusual argument for `sleep`, by which the processes of a command are found."""
    seconds = str(next(_sleep_lengths))
    yield seconds
    for pid in survivors(seconds):
        os.kill(pid, signal.SIGKILL)


def survivors(seconds: str) -> list[int]:
    return processes_like(f"\0{seconds}\0".encode())


async def shell(
    command: str,
    folder: Path,
    sandbox: Sandbox | None = None,
    *,
    limits: Limits | None = None,
    stdin: bytes | None = None,
) -> ProcessResult:
    limits = limits or Limits()
    return await run_process(
        shell_argv(command), cwd=folder, env=command_env(), sandbox=sandbox, limits=limits, stdin=stdin
    )


async def wait_until_started(seconds: str) -> None:
    while not survivors(seconds):  # noqa: ASYNC110 - other processes set no events here
        await asyncio.sleep(0.02)


# --- results --------------------------------------------------------------------------------------------------


async def test_result_of_a_command(tmp_path: Path, sandbox: Sandbox | None) -> None:
    result = await shell("echo one; echo two >&2; pwd; exit 3", tmp_path, sandbox)
    assert result.output == f"one\ntwo\n{tmp_path}\n"
    assert (result.exit_code, result.signal, result.timed_out, result.ok) == (3, None, False, False)
    assert (result.output_bytes, result.truncated, result.notes) == (len(result.output), False, ())
    assert (await shell("true", tmp_path, sandbox)).ok


async def test_a_python_that_was_called_by_a_relative_path_is_found_in_the_sandbox(
    tmp_path: Path, sandbox: Sandbox | None, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """As `../../lib/bin/python -m surefoot` in a folder that the sandbox hides."""
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    monkeypatch.setattr(sys, "executable", f"{elsewhere}/{os.path.relpath(sys.executable, elsewhere)}")
    result = await shell("echo ok", tmp_path, sandbox)
    assert (result.ok, result.output) == (True, "ok\n")


async def test_death_by_signal_is_reported(tmp_path: Path, sandbox: Sandbox | None) -> None:
    result = await shell("kill -SEGV $$", tmp_path, sandbox)
    assert (result.exit_code, result.signal) == (128 + signal.SIGSEGV, signal.SIGSEGV)


async def test_output_may_have_any_bytes(tmp_path: Path, sandbox: Sandbox | None) -> None:
    result = await shell("cat; head -c1 >/dev/null", tmp_path, sandbox, stdin=b"zero \0 bad \xff\xfe \xe4\xbd\xa0\n")
    assert result.output == "zero \0 bad \ufffd\ufffd 你\n"


async def test_command_has_no_input_and_no_terminal(tmp_path: Path, sandbox: Sandbox | None) -> None:
    result = await shell("read line || echo none; (: < /dev/tty) 2>/dev/null || echo no terminal", tmp_path, sandbox)
    assert result.output == "none\nno terminal\n"


async def test_broken_pipe_kills_the_writer(tmp_path: Path, sandbox: Sandbox | None) -> None:
    """Python ignores SIGPIPE; a command must not inherit that."""
    result = await shell("yes | head -n1; echo ${PIPESTATUS[0]}", tmp_path, sandbox)
    assert result.output == f"y\n{128 + signal.SIGPIPE}\n"


async def test_error_names_a_missing_program(tmp_path: Path, sandbox: Sandbox | None) -> None:
    with pytest.raises(ToolError, match="no-such-program") as caught:
        await run_process(["no-such-program"], cwd=tmp_path, env=command_env(), sandbox=sandbox)
    assert "no-such-program" in caught.value.remedy


async def test_file_that_is_not_executable_is_an_error(tmp_path: Path, sandbox: Sandbox | None) -> None:
    (tmp_path / "text").write_text("hello")
    with pytest.raises(ToolError, match="permission denied") as caught:
        await run_process([str(tmp_path / "text")], cwd=tmp_path, env=command_env(), sandbox=sandbox)
    assert "chmod" in caught.value.remedy


@pytest.mark.parametrize(
    ("argv", "folder", "words"),
    [
        ([], ".", "no command"),
        (["true"], "missing", "missing"),
        (["echo", "x" * 3_000_000], ".", "too long"),
    ],
    ids=["nothing", "no folder", "too long"],
)
async def test_invalid_command_is_an_error_with_a_remedy(
    argv: list[str], folder: str, words: str, tmp_path: Path
) -> None:
    with pytest.raises(ToolError, match=words) as caught:
        await run_process(argv, cwd=tmp_path / folder, env=command_env())
    assert caught.value.remedy


async def test_no_file_descriptor_leaks(tmp_path: Path, sandbox: Sandbox | None) -> None:
    await shell("true", tmp_path, sandbox)
    before = os.listdir("/proc/self/fd")  # noqa: PTH208
    for command in ("true", "exit 1", "sleep 60"):
        await shell(command, tmp_path, sandbox, limits=Limits(timeout=0.5))
    with pytest.raises(ToolError):
        await run_process(["no-such-program"], cwd=tmp_path, env=command_env(), sandbox=sandbox)
    assert os.listdir("/proc/self/fd") == before  # noqa: PTH208


# --- no process survives --------------------------------------------------------------------------------------

HOSTILE = {
    "plain": "sleep {n}",
    "child in the background": "sleep {n} & wait",
    "own session": "setsid sleep {n} & sleep {n}",
    "no hang-up": "nohup sleep {n} >/dev/null 2>&1 & sleep {n}",
    "forked twice": "( ( setsid sleep {n} & ) & ) ; sleep {n}",
    "ignores SIGTERM": "trap '' TERM INT HUP; (trap '' TERM; setsid sleep {n}) & while :; do sleep {n}; done",
    "stopped": "sleep {n} & kill -STOP $!; kill -STOP $$",
    "cleared environment": "env -i setsid sleep {n} </dev/null >/dev/null 2>&1 & env -i sleep {n}",
    "ignores SIGTERM, cleared environment": "env -i sh -c \"trap '' TERM; exec sleep {n}\" >/dev/null 2>&1 & sleep {n}",
    "many": "for i in $(seq 30); do setsid sleep {n} & done; wait",
}


@pytest.mark.req("D4")
@pytest.mark.parametrize("kind_of_command", HOSTILE)
async def test_timeout_ends_every_process(
    kind_of_command: str, tmp_path: Path, sandbox: Sandbox | None, sleep_length: str
) -> None:
    for seconds in (0.5, 2, 8, 32):  # on a busy machine the start takes a while
        result = await shell(
            "echo begun; " + HOSTILE[kind_of_command].format(n=sleep_length),
            tmp_path,
            sandbox,
            limits=Limits(timeout=seconds),
        )
        if result.output:
            break
    assert survivors(sleep_length) == []
    assert result.timed_out
    assert (result.exit_code, result.ok, result.output) == (None, False, "begun\n")


@pytest.mark.parametrize("kind_of_command", ["own session", "ignores SIGTERM", "cleared environment"])
async def test_cancellation_ends_every_process(
    kind_of_command: str, tmp_path: Path, sandbox: Sandbox | None, sleep_length: str
) -> None:
    task = asyncio.create_task(shell(HOSTILE[kind_of_command].format(n=sleep_length), tmp_path, sandbox))
    await wait_until_started(sleep_length)
    task.cancel()
    await asyncio.sleep(0.05)
    task.cancel()  # a second cancellation makes no difference
    with pytest.raises(asyncio.CancelledError):
        await task
    assert survivors(sleep_length) == []


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_no_process_survives_when_surefoot_is_killed(kind: str, tmp_path: Path, sleep_length: str) -> None:
    program = f"""
        import asyncio
        from pathlib import Path
        from support.sandboxes import sandbox_of
        from surefoot.workspace.process.process import command_env, run_process, shell_argv
        folder = Path({str(tmp_path)!r})
        sandbox = None if {kind!r} == "none" else sandbox_of({kind!r}, folder)
        command = shell_argv({HOSTILE["ignores SIGTERM"].format(n=sleep_length)!r})
        asyncio.run(run_process(command, cwd=folder, env=command_env(), sandbox=sandbox))
    """
    paths = ":".join([str(Path(__file__).parents[2]), *sys.path])
    surefoot = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program)], env={**os.environ, "PYTHONPATH": paths}
    )
    while len(survivors(sleep_length)) < 2:
        assert surefoot.poll() is None
        time.sleep(0.05)
    surefoot.kill()
    surefoot.wait()
    deadline = time.monotonic() + 60
    while survivors(sleep_length) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert survivors(sleep_length) == []


def test_supervisor_loads_only_what_starts_fast() -> None:
    """It starts before every command. These modules would take as long as all the rest of it."""
    code = f"import sys; sys.path.insert(0, {str(SUPERVISOR)!r}); import supervise; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True)
    assert not {"enum", "typing", "pathlib", "contextlib"} & set(loaded.stdout.split())
    assert "supervise" in loaded.stdout.split()


async def test_background_process_does_not_delay_the_end(
    tmp_path: Path, sandbox: Sandbox | None, sleep_length: str
) -> None:
    """It holds the output open, so waiting for the end of the output would never return."""
    result = await shell(f"setsid sleep {sleep_length} & echo done", tmp_path, sandbox)
    assert survivors(sleep_length) == []
    assert (result.exit_code, result.output) == (0, "done\n")
    assert any("ended its background processes" in note for note in result.notes)


async def test_output_of_a_lingering_child_is_collected(
    tmp_path: Path, sandbox: Sandbox | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command_module, "LINGER", 60)
    result = await shell("(sleep 0.1; echo late) & echo first", tmp_path, sandbox)
    assert (result.output, result.notes) == ("first\nlate\n", ())


@pytest.mark.parametrize("kind", ["none", "landlock"])
@pytest.mark.parametrize("signal_name", ["KILL", "STOP"])
async def test_no_process_survives_when_the_command_attacks_its_supervisor(
    signal_name: str, kind: str, tmp_path: Path, sleep_length: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command_module, "SUPERVISOR_TIMEOUT", 0.5)
    sandbox = None if kind == "none" else sandbox_of(kind, tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path.parent))
    command = f"setsid sleep {sleep_length} & kill -{signal_name} $PPID; sleep {sleep_length}"
    result = await shell(command, tmp_path, sandbox, limits=Limits(timeout=1))
    assert survivors(sleep_length) == []
    assert result.exit_code is None
    assert not list(tmp_path.parent.glob("surefoot-*")), "its temporary folder was left"


async def test_supervisor_in_bubblewrap_cannot_be_signalled(tmp_path: Path) -> None:
    result = await shell("kill -KILL $PPID; kill -STOP $PPID; echo on", tmp_path, sandbox_of("bubblewrap", tmp_path))
    assert (result.exit_code, result.output) == (0, "on\n")


async def test_stopped_supervisor_is_killed_with_all_processes_below(
    tmp_path: Path, sleep_length: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command_module, "SUPERVISOR_TIMEOUT", 0.5)
    sandbox = sandbox_of("bubblewrap", tmp_path)
    task = asyncio.create_task(shell(f": {sleep_length}; sleep {sleep_length} & wait", tmp_path, sandbox))
    await wait_until_started(sleep_length)
    for pid in processes_like(f"; sleep {sleep_length} ".encode()):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert survivors(sleep_length) == []


async def test_input_without_room_is_an_error_with_a_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is kept in memory, which may be full as a disk may."""

    def full(fd: int, *_: object) -> None:
        os.close(fd)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    before = [path.name for path in Path("/proc/self/fd").iterdir()]
    monkeypatch.setattr(os, "fdopen", full)
    with pytest.raises(WorkspaceError) as raised:
        await run_process(["cat"], cwd=tmp_path, env=command_env(), stdin=b"x" * 100_000)
    assert raised.value.remedy
    assert [path.name for path in Path("/proc/self/fd").iterdir()] == before


async def test_several_commands_at_the_same_time(tmp_path: Path, sandbox: Sandbox | None) -> None:
    results = await asyncio.gather(*(shell(f"echo {i}; exit {i}", tmp_path, sandbox) for i in range(6)))
    assert [(r.exit_code, r.output) for r in results] == [(i, f"{i}\n") for i in range(6)]
    assert list(tmp_path.iterdir()) == []


# --- limits ---------------------------------------------------------------------------------------------------


async def test_memory_is_limited(tmp_path: Path, sandbox: Sandbox | None) -> None:
    allocate = [sys.executable, "-S", "-c", "b = bytearray(400_000_000); print(len(b))"]
    for limit, succeeds in ((200_000_000, False), (None, True)):
        result = await run_process(
            allocate, cwd=tmp_path, env=command_env(), sandbox=sandbox, limits=Limits(memory_bytes=limit)
        )
        assert result.ok is succeeds, result.output
    assert "400000000" in result.output


async def test_fork_bomb_is_limited(tmp_path: Path, sandbox: Sandbox | None, sleep_length: str) -> None:
    bomb = f"for i in $(seq 60); do (setsid sleep {sleep_length} &) ; done; sleep {sleep_length}"
    result = await shell(bomb, tmp_path, sandbox, limits=Limits(timeout=60, processes=25))
    assert survivors(sleep_length) == []
    assert not result.ok
    refused_by_kernel = "Resource temporarily unavailable" in result.output
    assert refused_by_kernel or any("more than it may" in note for note in result.notes)


@pytest.mark.parametrize("size", [300_000_000, pytest.param(10_000_000_000, marks=pytest.mark.nightly)])
async def test_long_output_needs_little_memory(tmp_path: Path, sandbox: Sandbox | None, size: int) -> None:
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    before = peak_memory()
    result = await shell(f"echo first; yes | head -c {size}; echo last", tmp_path, sandbox, limits=Limits(timeout=3600))
    assert peak_memory() - before < 64_000_000
    assert result.output_bytes == size + len("first\nlast\n")
    assert result.truncated
    assert len(result.output) < 1_001_000
    assert result.output.startswith("first\ny\n")
    assert result.output.endswith("\nlast\n")
    assert "bytes of output left out" in result.output


def peak_memory() -> int:
    line = next(x for x in Path("/proc/self/status").read_text().splitlines() if x.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


async def test_output_is_streamed(tmp_path: Path, sandbox: Sandbox | None) -> None:
    pieces: list[str] = []

    def show(text: str) -> None:
        pieces.append(text)
        (tmp_path / "seen").touch()

    command = r"printf 'a\xe4\xbd'; until [ -e seen ]; do sleep 0.01; done; printf '\xa0b\xff'"
    result = await run_process(shell_argv(command), cwd=tmp_path, env=command_env(), sandbox=sandbox, on_output=show)
    assert pieces[0] == "a"
    assert "".join(pieces) == result.output == "a你b\ufffd"


async def test_error_of_the_output_callback_is_raised_after_the_command_ended(
    tmp_path: Path, sleep_length: str
) -> None:
    def broken(text: str) -> None:
        raise ValueError("no screen")

    with pytest.raises(ValueError, match="no screen"):
        await run_process(
            shell_argv(f"echo x; setsid sleep {sleep_length} &"), cwd=tmp_path, env=command_env(), on_output=broken
        )
    assert survivors(sleep_length) == []
